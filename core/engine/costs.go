package engine

import (
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// setCosts computes what the plan and its alternatives send across racks, with the map output as it is expected once
// all maps are complete. It unties a plan of reduces from its racks if there is a reason to.
func (e *Engine) setCosts(p *model.Plan) {
	v := e.in.View
	j := v.Job(p.App)
	for i := range p.Racks {
		p.Racks[i].Share = math.Round(p.Racks[i].Share*1e4) / 1e4 // the rest would be most of a decision on file
	}
	if p.Stage != model.StageReduce {
		if p.Stage == model.StageMap {
			p.Costs = mapCosts(v, j, p)
		}
		if p.Reason == model.ReasonTentative {
			untie(p, model.ReasonUncertain)
		}
		return
	}
	o := e.forecasts.of(v, j)
	o.judge(e.counts)
	doubt := e.doubt(j, p, o)
	if o.known && o.forecast.Sized && j.Reduce.Tasks() > 0 {
		p.Costs = o.costsOf(j, doubt == "")
	}
	if doubt != "" {
		untie(p, doubt)
	}
}

// untie takes a plan's racks away. What it and an even spread would have sent across racks stays, for people.
func untie(p *model.Plan, reason model.Reason) {
	for i := range p.Costs {
		if p.Costs[i].Name == "plan" {
			p.Costs[i].Name = notPinned
		}
	}
	if p.Racks = nil; !p.Hold {
		p.Reason = reason
	}
}

// notPinned names what a plan would have sent that pins nothing.
const notPinned = "not_pinned"

// way is one way to place the reduces of a job, by rack number.
type way struct {
	name    string
	reduces []int
}

// reduceCosts prices ways to place reduces, those without any left out.
func reduceCosts(out []model.Bytes, ways []way) []model.Cost {
	exact := make([]float64, len(out))
	for r, m := range out {
		exact[r] = float64(m)
	}
	costs := make([]model.Cost, 0, len(ways))
	for _, w := range ways {
		if slices.ContainsFunc(w.reduces, func(n int) bool { return n > 0 }) {
			costs = append(costs, model.Cost{Name: w.name, CrossRack: shuffle.CrossRack(out, w.reduces), Busiest: model.Bytes(shuffle.BusiestOf(exact, w.reduces) + 0.5)})
		}
	}
	return costs
}

// mapCosts prices a map plan by the input its racks would have to read from
// other racks.
func mapCosts(v state.View, j *state.Job, p *model.Plan) []model.Cost {
	if len(p.Racks) == 0 || !j.Input.Known {
		return nil
	}
	wanted := make([]bool, len(v.Racks()))
	for _, t := range p.Racks {
		if t.Count > 0 || t.Share > 0 {
			wanted[v.RackOf(t.Rack).Index] = true
		}
	}
	var remote model.Bytes
	for _, b := range j.Input.Blocks {
		if !slices.ContainsFunc(b.Racks, func(r int) bool { return wanted[r] }) {
			remote += b.Length
		}
	}
	return []model.Cost{{Name: "plan", CrossRack: remote, Busiest: remote}}
}
