package weave

import (
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// outputRatio is what a job is taken to write for a byte of map output before its first task has written.
const outputRatio = 1

// pulling is the memory of one look at what the jobs read that read a job's output.
type pulling struct {
	costs []model.Bytes
	in    []shuffle.Inflow
	bytes []float64 // by rack number
}

// pull returns by rack how many bytes less cross racks later if the job writes there what it has still to write, than if it does on the
// rack where that is worst; nil where it does not matter. Jobs that read the output read that of other jobs too, and best on the
// rack where that is (Dawn §III-B2, eqs. 3 and 4).
//
// It is looked at when the job's own facts change, not when those of the others do: by then most of its reduces run.
func (p *pulling) pull(v state.View, e *entry) []float64 {
	dependents := v.Dependents(e.job)
	if len(dependents) == 0 || !e.writes() {
		return nil
	}
	own, racks := e.job.Result(outputRatio), v.Racks()
	left := own.Total
	for i := range racks {
		left -= own.On(i)
	}
	if left <= 0 || !p.look(dependents, own, len(racks)) {
		return nil
	}
	p.costs = shuffle.DependentCosts(p.costs, len(racks), left, p.in)
	most := model.Bytes(0)
	for i, c := range p.costs {
		if racks[i].Runs() {
			most = max(most, c)
		}
	}
	p.bytes = p.bytes[:0]
	for i, c := range p.costs {
		bytes := 0.0
		if racks[i].Runs() {
			bytes = float64(most - c)
		}
		p.bytes = append(p.bytes, bytes)
	}
	return p.bytes
}

// look sets what each dependent that has not begun reads beside the output that is to come, and reports whether that is anything of
// other jobs.
func (p *pulling) look(dependents []state.Dependent, own state.Result, racks int) (others bool) {
	p.in = p.in[:0]
	for _, d := range dependents {
		if d.Began() {
			continue // it reads already
		}
		f := shuffle.Inflow{ByRack: make([]model.Bytes, racks)}
		for _, parent := range d.Others {
			if parent.Job != nil {
				others = parent.Job.Result(outputRatio).AddTo(&f) > 0 || others
			}
		}
		own.AddTo(&f)
		p.in = append(p.in, f)
	}
	return others
}

// writes reports whether the reduces to be placed write the job's output: of a graph those of a stage that no other reads.
func (e *entry) writes() bool {
	g := e.job.Graph
	if g == nil {
		return true
	}
	last := false
	e.stages.inTurn(g, e.job.Reduce, func(x, _ int) { last = last || len(g.Next(x)) == 0 })
	return last
}
