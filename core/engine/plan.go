package engine

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// Plan asks the policy for the targets of every live job at now, keeps them as the
// newest plans, and returns those that changed as numbered decisions.
func (e *Engine) Plan(now model.Time) ([]model.Decision, error) {
	return e.plan(now, e.in.View.Jobs())
}

// PlanApp does what Plan does for one live job: for an application that has just
// asked for something new and is not to wait for the next round. A job that is
// not known gets no decision.
func (e *Engine) PlanApp(now model.Time, id model.AppID) ([]model.Decision, error) {
	j := e.in.View.Job(id)
	if j == nil || j.State.Final() {
		return nil, nil
	}
	return e.plan(now, []*state.Job{j})
}

func (e *Engine) plan(now model.Time, jobs []*state.Job) ([]model.Decision, error) {
	if age, ok := e.cluster.SourceAge(model.SourceRM, now); e.opts.MaxAge > 0 && (!ok || age > e.opts.MaxAge) {
		return nil, ErrStale
	}
	plans, err := e.PlanJobs(jobs)
	if err != nil {
		return nil, err
	}
	var changed []model.Decision
	for i := range plans {
		old := e.log.planOf(plans[i].App, plans[i].Stage)
		same := old != nil && sameTargets(old, &plans[i])
		if same && samePlan(old, &plans[i]) {
			continue
		}
		p := new(model.Plan) // of its own: what is kept of one plan does not keep all of its round
		if *p = plans[i]; same {
			e.log.setPlan(p)
			continue
		}
		changed = append(changed, model.Decision{At: e.in.View.Now(), Policy: e.opts.Name, Plan: p})
	}
	e.log.add(changed)
	e.log.prune(e.in.View)
	return changed, nil
}

// sameTargets reports whether two plans ask for the same. Rank and costs move
// all the time and are not worth a decision of their own.
func sameTargets(a, b *model.Plan) bool {
	return a.Hold == b.Hold && a.Reason == b.Reason && slices.EqualFunc(a.Racks, b.Racks, func(x, y model.RackTarget) bool {
		return x.Rack == y.Rack && x.Count == y.Count
	})
}

// samePlan reports whether two plans with the same targets are the same in all
// else: then what was published of the job is still right.
func samePlan(a, b *model.Plan) bool {
	return a.Rank == b.Rank && a.Until == b.Until && slices.Equal(a.Racks, b.Racks) && slices.Equal(a.Costs, b.Costs)
}

// PlanJobs returns verified plans with their costs for some jobs, recording
// nothing. The jobs must be in the cluster.
func (e *Engine) PlanJobs(jobs []*state.Job) ([]model.Plan, error) {
	plans, err := e.propose(jobs)
	if err != nil {
		return nil, err
	}
	kept := plans[:0]
	for i := range plans {
		p := plans[i]
		if rule := e.checkPlan(&p); rule != "" {
			e.log.reject(rule)
			continue
		}
		slices.SortFunc(p.Racks, func(a, b model.RackTarget) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Rack, b.Rack))
		})
		e.setCosts(&p)
		kept = append(kept, p)
	}
	return kept, nil
}

func (e *Engine) propose(jobs []*state.Job) (plans []model.Plan, err error) {
	planner, ok := e.policy.(policy.Planner)
	if !ok {
		return e.planFromOffers(jobs)
	}
	if e.opts.Recover {
		defer e.recovered(&err)
	}
	e.in.Offer, e.in.Jobs = policy.Offer{}, jobs
	return planner.Plan(&e.in), nil
}

// checkPlan returns the rule a plan breaks, "" if it stands.
func (e *Engine) checkPlan(p *model.Plan) model.Rule {
	j := e.in.View.Job(p.App)
	if j == nil || j.State.Final() {
		return model.RuleUnknownJob
	}
	s := j.Stage(p.Stage)
	if s == nil || p.Rank < 1 {
		return model.RulePlan
	}
	sum := 0
	for i := range p.Racks {
		t := &p.Racks[i]
		if t.Count < 0 || e.in.View.RackOf(t.Rack) == nil {
			return model.RulePlan
		}
		sum += t.Count
	}
	most := max(s.Total, s.Pending+s.Running+s.Completed) // an extra attempt of a task that is late counts beside it
	if s.Total > 0 && sum > most {
		return model.RulePlan
	}
	if now := e.in.View.Now(); p.Hold && (p.Until <= now || p.Until.Sub(now) > e.opts.MaxHold) { // I9
		return model.RulePlan
	}
	return ""
}

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
		e.out = e.out[:0]
		for _, m := range e.forecast.ByRack {
			e.out = append(e.out, model.Bytes(m+0.5))
		}
		ways := []way{{"plan", plan}, {"uniform", even}}
		if doubt == "" {
			ways = []way{
				{"plan", plan},
				{"fewest_bytes", shuffle.FewestBytes(e.out, n)},
				{"proportional", shuffle.Proportional(e.out, n)},
				{"uniform", even},
				{"as_placed", j.Reduce.LaunchedByRack()},
			}
		}
		p.Costs = reduceCosts(e.out, ways)
	}
	if doubt != "" {
		untie(p, doubt)
	}
}

// untie takes a plan's racks away. What it and an even spread would have sent across racks stays, for people.
func untie(p *model.Plan, reason model.Reason) {
	for i := range p.Costs {
		if p.Costs[i].Name == "plan" {
			p.Costs[i].Name = "not_pinned"
		}
	}
	if p.Racks = nil; !p.Hold {
		p.Reason = reason
	}
}

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

// WhatIf answers what PlanJobs would return, and changes no later decision (I11).
func (e *Engine) WhatIf(jobs []*state.Job) ([]model.Plan, error) {
	before := e.journal.Begin(true)
	plans, err := e.PlanJobs(jobs)
	e.journal.Discard(before)
	return plans, err
}
