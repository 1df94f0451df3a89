package policy

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// EvenSpread returns where n tasks go that are spread evenly over the racks with nodes, by rack number.
func EvenSpread(v state.View, n int) []int {
	open := make([]bool, len(v.Racks()))
	for i, r := range v.Racks() {
		open[i] = r.Runs()
	}
	return shuffle.Even(open, n)
}

// Counts returns a plan's counts by rack number. Racks that the cluster does not have are left out.
func Counts(v state.View, p *model.Plan) []int {
	out := make([]int, len(v.Racks()))
	for _, t := range p.Racks {
		if r := v.RackOf(t.Rack); r != nil {
			out[r.Index] = t.Count
		}
	}
	return out
}

// SortTargets sorts the racks of a plan by falling count, then share, then by name: in the order of a decision.
func SortTargets(racks []model.RackTarget) {
	slices.SortFunc(racks, func(a, b model.RackTarget) int {
		switch {
		case a.Count != b.Count:
			return b.Count - a.Count
		case a.Share != b.Share:
			return cmp.Compare(b.Share, a.Share)
		}
		return cmp.Compare(a.Rack, b.Rack)
	})
}

// HasRoom reports whether a rack's nodes have room for so many tasks of a stage now.
func HasRoom(v state.View, r *state.Rack, s *state.Stage, tasks int) bool {
	for _, n := range r.Nodes {
		for free := n.Free; n.State.Usable() && tasks > 0 && !s.Capability.IsZero() && v.Fits(s, free); tasks-- {
			free = free.Sub(s.Capability)
		}
	}
	return tasks <= 0
}
