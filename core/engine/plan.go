package engine

import (
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Plan asks the policy for the targets of every live job at now, keeps them as the
// newest plans, and returns those that changed as numbered decisions.
func (e *Engine) Plan(now model.Time) ([]model.Decision, error) {
	return e.plan(now, e.in.View.Jobs(), true)
}

// PlanApp does what Plan does for one live job: for an application that has just
// asked for something new and is not to wait for the next round. A job that is
// not known gets no decision.
func (e *Engine) PlanApp(now model.Time, id model.AppID) ([]model.Decision, error) {
	j := e.in.View.Job(id)
	if j == nil || j.State.Final() {
		return nil, nil
	}
	return e.plan(now, []*state.Job{j}, false)
}

func (e *Engine) plan(now model.Time, jobs []*state.Job, all bool) ([]model.Decision, error) {
	if age, ok := e.cluster.SourceAge(model.SourceRM, now); e.opts.MaxAge > 0 && (!ok || age > e.opts.MaxAge) {
		return nil, ErrStale
	}
	planJobs := e.PlanJobs
	if all {
		planJobs = e.PlanRound
	}
	plans, err := planJobs(jobs)
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
	return a.Rank == b.Rank && a.MaxRunning == b.MaxRunning && a.Until == b.Until && slices.Equal(a.Racks, b.Racks) && slices.Equal(a.Costs, b.Costs)
}

// PlanRound does what PlanJobs does for all jobs that ask for something. What each of them asks for decides what those
// after it by rank may ask for, until the next round.
func (e *Engine) PlanRound(jobs []*state.Job) ([]model.Plan, error) {
	plans, err := verifiedPlans(e, jobs)
	if err == nil && e.opts.HoldByRank {
		e.order.round(e.in.View, plans, e.opts.MaxHold)
	}
	return plans, err
}

// PlanJobs returns verified plans with their costs for some jobs, recording
// nothing. The jobs must be in the cluster.
func (e *Engine) PlanJobs(jobs []*state.Job) ([]model.Plan, error) {
	plans, err := verifiedPlans(e, jobs)
	if err == nil && e.opts.HoldByRank {
		e.order.some(e.in.View, plans, e.opts.MaxHold)
	}
	return plans, err
}

// verifiedPlans returns the plans of the policy that pass the rules, with their costs.
func verifiedPlans(e *Engine, jobs []*state.Job) ([]model.Plan, error) {
	plans, err := proposePlans(e, jobs)
	if err != nil {
		return nil, err
	}
	e.forecasts.follow(e.in.View)
	kept := plans[:0]
	for i := range plans {
		p := plans[i]
		if rule := e.checkPlan(&p); rule != "" {
			e.log.reject(rule)
			continue
		}
		policy.SortTargets(p.Racks)
		e.setCosts(&p)
		kept = append(kept, p)
	}
	return kept, nil
}

func proposePlans(e *Engine, jobs []*state.Job) (plans []model.Plan, err error) {
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

// checkPlan returns the rule a plan breaks, "" if it stands. It sets the counts.
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
	e.counts = slices.Grow(e.counts[:0], len(e.in.View.Racks()))[:len(e.in.View.Racks())]
	clear(e.counts)
	for i := range p.Racks {
		t := &p.Racks[i]
		r := e.in.View.RackOf(t.Rack)
		if t.Count < 0 || r == nil {
			return model.RulePlan
		}
		e.counts[r.Index] = t.Count
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

// WhatIf answers what PlanJobs would return, and changes no later decision (I11).
func (e *Engine) WhatIf(jobs []*state.Job) ([]model.Plan, error) {
	before := e.journal.Begin(true)
	plans, err := e.PlanJobs(jobs)
	e.journal.Discard(before)
	return plans, err
}
