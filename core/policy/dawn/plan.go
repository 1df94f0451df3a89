package dawn

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// Plan implements policy.Planner: maps on max_r of their input, reduces on dep_r,
// or on max_r while dep_r is saturated, with what the rack cannot hold on the
// racks that are next, and every job's rank. Nothing is held.
func (p *Policy) Plan(in *policy.Input) []model.Plan {
	p.follow(in.View)
	p.rank(in.View)
	plans := make([]model.Plan, 0, 2*len(in.Jobs))
	for _, j := range in.Jobs {
		k := p.online.jobs.Find(j)
		if k == nil {
			continue
		}
		for _, s := range []*state.Stage{j.Map, j.Reduce, j.Other} {
			if s.Kind == model.StageOther && j.Graph == nil {
				continue // executors of which nothing is known
			}
			if n := s.Tasks(); n > 0 && s.Completed < n {
				plans = append(plans, p.planStage(in.View, j, s, k))
			}
		}
	}
	return plans
}

func (p *Policy) planStage(v state.View, j *state.Job, s *state.Stage, k *job) model.Plan {
	c := k.choiceOf(s.Kind)
	saturated := c.dep.Rack != shuffle.None && p.params.Scope.Saturated(v, v.Racks()[c.dep.Rack])
	plan := model.Plan{App: j.ID, Stage: s.Kind, Rank: k.rank, Reason: c.reason(s.Kind, saturated)}
	pick := c.pick(saturated)
	if pick.Rack == shuffle.None {
		return plan
	}
	if c.tentative {
		plan.Reason = model.ReasonTentative
	}
	n := s.Tasks()
	for r, count := range p.counts(v, s, c, pick.Rack, n) {
		if count > 0 {
			plan.Racks = append(plan.Racks, model.RackTarget{
				Rack: v.Racks()[r].ID, Count: count, Share: float64(count) / float64(n), Bytes: c.from[r],
			})
		}
	}
	slices.SortFunc(plan.Racks, func(a, b model.RackTarget) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rack, b.Rack))
	})
	return plan
}

// counts divides a stage's tasks over racks: those launched where they are, the
// rest on the preferred rack, and what that cannot hold in PlanWaves waves on
// the racks that are next by what draws the stage. What no rack can hold waits
// for the preferred one.
func (p *Policy) counts(v state.View, s *state.Stage, c *choice, preferred, n int) []int {
	counts := make([]int, len(v.Racks()))
	order := make([]int, 0, len(counts))
	left := n
	for r := range counts {
		if !p.online.open[r] {
			continue
		}
		counts[r] = min(s.Launched(r), left)
		left -= counts[r]
		order = append(order, r)
	}
	give := func(r int) {
		more := left
		if p.params.PlanWaves > 0 {
			more = min(left, max(p.params.PlanWaves*room(v, r, s)-counts[r], 0))
		}
		counts[r] += more
		left -= more
	}
	give(preferred)
	if left > 0 {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(c.from[b], c.from[a]), cmp.Compare(p.online.load[a], p.online.load[b]))
		})
		for _, r := range order {
			give(r)
		}
	}
	counts[preferred] += left
	return counts
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rank orders all live jobs: users in the queue's order, a user's windows by
// age, in a window as Algorithm 1 sorts them for their preferred racks. Jobs
// with nothing to launch come last of their user's.
func (p *Policy) rank(v state.View) {
	last := 0
	sort := func() {
		slices.SortFunc(p.ranks, func(a, b *job) int { return p.compare(v, a, b) })
		for _, k := range p.ranks {
			last++
			k.rank = last
		}
		clear(p.ranks)
		p.ranks = p.ranks[:0]
	}
	for _, u := range p.params.Fairness.Users(v) {
		for _, j := range u.Jobs() {
			p.ranks = append(p.ranks, p.online.jobs.Find(j))
		}
		if p.params.Among == AmongUser {
			sort()
		}
	}
	sort()
}

// compare orders two jobs. Those whose rack is not saturated launch what needs
// the network most, and go before those that are to spare it.
func (p *Policy) compare(v state.View, a, b *job) int {
	if a.filed.in == nil || b.filed.in == nil {
		return cmp.Or(cmp.Compare(boolean(a.filed.in == nil), boolean(b.filed.in == nil)), compareJobs(a, b))
	}
	if c := cmp.Compare(a.filed.window, b.filed.window); c != 0 {
		return c
	}
	x, y := p.spares(v, a), p.spares(v, b)
	switch {
	case x != y:
		return cmp.Compare(boolean(x), boolean(y))
	case x:
		return bySaturated(a, b)
	}
	return byFree(a, b)
}

func (p *Policy) spares(v state.View, k *job) bool {
	r := k.filed.free.rack
	return r != shuffle.None && p.params.Scope.Saturated(v, v.Racks()[r])
}
