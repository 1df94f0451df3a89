package shuffle

import (
	"slices"

	"heddle/core/model"
)

// Field is what the choice of a rack depends on besides bytes. Each slice is by
// rack number; one that is too short says false or zero of the missing racks,
// a nil Open that every rack will do.
type Field struct {
	Open  []bool    // racks that run anything
	Tasks []int     // tasks of the stage that run or ran there
	Load  []float64 // how busy the rack is
}

func (f *Field) isOpen(rack int) bool {
	return f.Open == nil || (rack < len(f.Open) && f.Open[rack])
}

// before compares two racks that hold the same: the one where the stage has
// begun goes first, so that a load that comes and goes does not scatter it,
// then the one with less load (algorithms.md 2.4.3). byLoad tells that the load
// decided.
func (f *Field) before(a, b int) (first, byLoad bool) {
	if x, y := at(f.Tasks, a), at(f.Tasks, b); x != y {
		return x > y, false
	}
	return at(f.Load, a) < at(f.Load, b), true
}

func at[T any](s []T, i int) T {
	if i < len(s) {
		return s[i]
	}
	var zero T
	return zero
}

// Pick is a rack chosen for a stage.
type Pick struct {
	Rack int         // None when no rack has anything to offer
	Cost model.Bytes // what goes across racks when every task of the stage runs there
	Tied bool        // another rack was as good, and the load decided
}

// None is the rack of a Pick that prefers none.
const None = -1

// MostOn returns the rack that holds most of what a stage reads: max_r of Dawn's
// eq. 1 for input and of eq. 2 for intermediate data. total is all the stage
// reads; it is less than the sum of byRack where blocks have replicas, and more
// where some of it lies nowhere known.
func MostOn(byRack []model.Bytes, total model.Bytes, f Field) Pick {
	return PickOf(Most(nil, byRack, f.Open), byRack, total, f)
}

// Most returns, in the memory of racks, the open racks that hold most, by number: none
// where no open rack holds anything. They follow from the bytes alone, so that a caller
// may keep them while only tasks and load change.
func Most(racks []int, byRack []model.Bytes, open []bool) []int {
	racks = racks[:0]
	most := model.Bytes(1)
	f := Field{Open: open}
	for r, b := range byRack {
		if b < most || !f.isOpen(r) {
			continue
		}
		if b > most {
			racks, most = racks[:0], b
		}
		racks = append(racks, r)
	}
	return racks
}

// PickOf is MostOn of the racks that hold most, as Most lists them, and looks at no others.
func PickOf(most []int, byRack []model.Bytes, total model.Bytes, f Field) Pick {
	if len(most) == 0 {
		return Pick{Rack: None, Cost: total}
	}
	best := Pick{Rack: most[0], Cost: max(total-byRack[most[0]], 0)}
	for _, r := range most[1:] {
		first, byLoad := f.before(r, best.Rack)
		best.Tied = best.Tied || byLoad
		if first {
			best.Rack, best.Tied = r, byLoad
		}
	}
	return best
}

// Inflow is what a job reads: of eq. 3 the sum of the outputs of the other jobs
// it depends on, with what it reads from outside where that is known.
type Inflow struct {
	ByRack []model.Bytes // a replica there
	Total  model.Bytes
}

// DependentCosts appends, for every rack, what the dependents of a job read
// across racks when the job's output is put there (eqs. 1, 3 and 4):
//
//	cost(r) = sum over dependents y of  total_y + out - max_i In_y,i(r)
//
// The first replica of the output alone counts, as in the paper. It costs
// O(racks x dependents): of a dependent's racks only the two with most can be the
// maximum beside r.
func DependentCosts(costs []model.Bytes, racks int, out model.Bytes, dependents []Inflow) []model.Bytes {
	costs = costs[:0]
	for range racks {
		costs = append(costs, 0)
	}
	for i := range dependents {
		in := &dependents[i]
		most, second := None, None
		for r := range racks {
			switch b := at(in.ByRack, r); {
			case most == None || b > at(in.ByRack, most):
				most, second = r, most
			case second == None || b > at(in.ByRack, second):
				second = r
			}
		}
		for r := range costs {
			local := at(in.ByRack, r) + out
			other := most
			if r == most {
				other = second
			}
			if other != None {
				local = max(local, at(in.ByRack, other))
			}
			costs[r] += max(in.Total+out-local, 0)
		}
	}
	return costs
}

// LeastDependent returns dep_r: the rack with the least of DependentCosts, with
// what the stage itself sends across racks from there (eq. 5). Of racks that
// cost the same it takes max_r, then Field's order. Where all cost the same, as
// without dependents or with an output of nothing, dep_r is max_r.
func LeastDependent(costs, inter []model.Bytes, total model.Bytes, most Pick, f Field) Pick {
	if len(costs) == 0 || slices.Min(costs) == slices.Max(costs) {
		return most
	}
	best := Pick{Rack: None, Cost: total}
	for r, c := range costs {
		if !f.isOpen(r) {
			continue
		}
		switch {
		case best.Rack == None || c < costs[best.Rack]:
			best.Rack, best.Tied = r, false
		case c > costs[best.Rack] || best.Rack == most.Rack:
		case r == most.Rack:
			best.Rack, best.Tied = r, false
		default:
			first, byLoad := f.before(r, best.Rack)
			best.Tied = best.Tied || byLoad
			if first {
				best.Rack = r
				best.Tied = byLoad
			}
		}
	}
	switch best.Rack {
	case None:
	case most.Rack:
		best.Tied = most.Tied
		best.Cost = most.Cost
	default:
		best.Tied = best.Tied || most.Tied
		best.Cost = max(total-at(inter, best.Rack), 0)
	}
	return best
}
