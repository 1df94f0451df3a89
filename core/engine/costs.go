package engine

import (
	"maps"
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
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
	n := j.Reduce.Tasks()
	known := j.Forecast(&e.forecast, len(v.Racks()))
	plan, even := policy.Counts(v, p), policy.EvenSpread(v, n)
	doubt := e.doubt(j, p, known, plan, even)
	if known && e.forecast.Sized && n > 0 {
		p.Costs = e.priced.of(j, &e.forecast, reduceWays{plan: plan, even: even, sure: doubt == ""})
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

// pricedReduces keeps, by application, what ways to place its reduces cost, as long as all that follows from stays the
// same: most rounds change few jobs.
type pricedReduces struct {
	jobs map[model.AppID]*priced
	out  []model.Bytes // of the job at hand
}

// priced is what the costs of one job follow from, and the costs. Slices are by rack number.
type priced struct {
	reduces  int // of the job
	out      []model.Bytes
	launched []int
	ways     reduceWays
	costs    []model.Cost
}

// reduceWays are ways to place the reduces of a job, by rack number.
type reduceWays struct {
	plan, even []int
	sure       bool // the plan pins reduces; else only it and the even spread are of interest
}

// of returns the costs of a job. The slice must not be changed.
func (k *pricedReduces) of(j *state.Job, f *shuffle.Forecast, ways reduceWays) []model.Cost {
	k.out = k.out[:0]
	for _, m := range f.ByRack {
		k.out = append(k.out, model.Bytes(m+0.5))
	}
	n, launched, old := j.Reduce.Tasks(), j.Reduce.LaunchedByRack(), k.jobs[j.ID]
	if old != nil && old.ways.sure == ways.sure && slices.Equal(old.out, k.out) && slices.Equal(old.launched, launched) &&
		slices.Equal(old.ways.plan, ways.plan) && slices.Equal(old.ways.even, ways.even) && old.reduces == n {
		return old.costs
	}
	p := &priced{reduces: n, out: slices.Clone(k.out), launched: slices.Clone(launched), ways: ways}
	p.price()
	if k.jobs == nil {
		k.jobs = map[model.AppID]*priced{}
	}
	k.jobs[j.ID] = p
	return p.costs
}

// price sets the costs, of all ways that place reduces.
func (p *priced) price() {
	exact := make([]float64, len(p.out))
	for r, m := range p.out {
		exact[r] = float64(m)
	}
	add := func(name string, reduces []int) {
		if slices.ContainsFunc(reduces, func(n int) bool { return n > 0 }) {
			p.costs = append(p.costs, model.Cost{Name: name, CrossRack: shuffle.CrossRack(p.out, reduces), Busiest: model.Bytes(shuffle.BusiestOf(exact, reduces) + 0.5)})
		}
	}
	if !p.ways.sure {
		add(notPinned, p.ways.plan)
		add("uniform", p.ways.even)
		return
	}
	add("plan", p.ways.plan)
	add("fewest_bytes", shuffle.FewestBytes(p.out, p.reduces))
	add("proportional", shuffle.Proportional(p.out, p.reduces))
	add("uniform", p.ways.even)
	add("as_placed", p.launched)
}

// prune forgets applications that the cluster has forgotten, once there are many.
func (k *pricedReduces) prune(v state.View) {
	if len(k.jobs) > 2*len(v.Jobs())+planSlack {
		maps.DeleteFunc(k.jobs, func(app model.AppID, _ *priced) bool { return v.Job(app) == nil })
	}
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
