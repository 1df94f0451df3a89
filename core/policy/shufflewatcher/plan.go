package shufflewatcher

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Plan implements policy.Planner: SAMP's racks for the maps, SARP's counts for
// the reduces, a hold for the reduces Fig. 3 would put last now, and every
// job's rank.
func (p *Policy) Plan(in *policy.Input) []model.Plan {
	follow(p, in.View)
	p.rank(in.View)
	plans := make([]model.Plan, 0, 2*len(in.Jobs))
	for _, j := range in.Jobs {
		if j.State.Final() {
			continue
		}
		if wantsMore(j.Map) {
			plans = append(plans, p.planMaps(in.View, j))
		}
		if wantsMore(j.Reduce) {
			plans = append(plans, p.planReduces(in.View, j))
		}
		if plan, ok := planExecutors(p, in.View, j); ok {
			plans = append(plans, plan)
		}
	}
	return plans
}

// wantsMore reports whether a stage has tasks that are not complete.
func wantsMore(s *state.Stage) bool {
	n := s.Tasks()
	return n > 0 && s.Completed < n
}

func (p *Policy) planMaps(v state.View, j *state.Job) model.Plan {
	m := p.mapChoice(v, j)
	plan := model.Plan{App: j.ID, Stage: model.StageMap, Rank: p.jobs.Of(j).rank, Reason: m.reason}
	if !m.decided {
		return plan
	}
	counts := m.counts(j.Map.Tasks())
	for r, rack := range v.Racks() {
		if m.prefers(r) {
			plan.Racks = append(plan.Racks, model.RackTarget{Rack: rack.ID, Count: counts[r], Share: m.share[r], Bytes: j.Input.ByRack[r]})
		}
	}
	sortTargets(plan.Racks)
	return plan
}

func (p *Policy) planReduces(v state.View, j *state.Job) model.Plan {
	c := p.targets(v, j, enabled(j))
	plan := model.Plan{App: j.ID, Stage: model.StageReduce, Rank: p.jobs.Of(j).rank, Reason: c.reason}
	if c.reason != model.ReasonNoInput { // those counts would follow nothing but capacity
		for r, n := range c.counts {
			if n > 0 {
				plan.Racks = append(plan.Racks, model.RackTarget{Rack: v.Racks()[r].ID, Count: n, Share: c.share[r], Bytes: bytesOn(j, c, r)})
			}
		}
		sortTargets(plan.Racks)
	}
	if until, held := p.jobs.Of(j).hold.until(p.holdMax, v.Now()); held {
		plan.Hold, plan.Until, plan.Reason = true, until, model.ReasonHoldWhileSaturated
	}
	return plan
}

// bytesOn returns what draws reduces to a rack: map output, or the input whose
// maps will run there.
func bytesOn(j *state.Job, c *reduceChoice, rack int) model.Bytes {
	from := j.Output.ByRack
	if c.reason == model.ReasonTentative {
		from = j.Input.ByRack
	}
	if rack < len(from) {
		return from[rack]
	}
	return 0
}

func sortTargets(t []model.RackTarget) {
	slices.SortFunc(t, func(a, b model.RackTarget) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Rack, b.Rack))
	})
}

// class orders the jobs of one window of one user by Fig. 3 as far as it
// depends on the job alone. There is no requesting worker in a plan, so a
// shuffle-heavy job counts as it would on the racks its reduces want.
type class uint8

const (
	classFree      class = iota // heavy, and a rack it wants is not saturated: lines 13 and 14
	classLight                  // lines 7 and 15
	classSaturated              // heavy, and every rack it wants is saturated: lines 8 and 9
)

type ranked struct {
	job   *state.Job
	class class
}

// rank orders all live jobs: users in fair order, a user's windows by age, in a
// window Fig. 3's order of classes, in a class by arrival. It also starts the
// holds of the jobs whose turn it makes last.
func (p *Policy) rank(v state.View) {
	next := 1
	for _, u := range p.params.Fairness.Users(v) {
		w := policy.Windows(v, p.window, p.params.WindowMode)
		work := false
		p.order = p.order[:0]
		for _, j := range u.Jobs() {
			if w.Next(j) {
				next, work = p.close(v, next, work)
			}
			p.order = append(p.order, ranked{j, p.classOf(v, j)})
		}
		next, _ = p.close(v, next, work)
	}
	clear(p.order[:cap(p.order)]) // keep no jobs
}

// close ranks the jobs of one window, the first at next, and returns the rank
// after them and whether the user has work that spares the uplinks in this or
// an earlier window.
//
// The hold needs such work. NASS delays a heavy shuffle by running the user's
// other tasks meanwhile; a user who has none gets the reduce on a saturated
// uplink too (line 9), so that fairness and progress are never lost (§3.1).
// Only work the starvation window would not put behind the job counts.
func (p *Policy) close(v state.View, next int, work bool) (rank int, spares bool) {
	slices.SortStableFunc(p.order, func(a, b ranked) int { return cmp.Compare(a.class, b.class) })
	for _, r := range p.order {
		work = work || r.job.Map.Pending > 0 || (!r.job.Heavy && r.job.Reduce.Pending > 0 && enabled(r.job))
	}
	for _, r := range p.order {
		s := p.jobs.Of(r.job)
		s.rank = next
		next++
		s.hold.set(work && r.class == classSaturated && wantsMore(r.job.Reduce), v.Now())
	}
	p.order = p.order[:0]
	return next, work
}

func (p *Policy) classOf(v state.View, j *state.Job) class {
	if !j.Heavy {
		return classLight
	}
	if p.params.Scope != policy.ScopeRack {
		if len(v.Racks()) > 0 && p.params.Scope.Saturated(v, v.Racks()[0]) {
			return classSaturated
		}
		return classFree
	}
	wanted, counts := false, p.targets(v, j, enabled(j)).counts
	for r := range v.Racks() {
		if !p.params.SARP && v.Racks()[r].Runs() || r < len(counts) && j.Reduce.Launched(r) < counts[r] {
			if !v.Racks()[r].Load.Saturated {
				return classFree
			}
			wanted = true
		}
	}
	if wanted {
		return classSaturated
	}
	return classFree
}

// hold is how long a job's reduces have been held back. Its length counts from
// the first hold, whatever happened since: uplinks that go in and out of
// saturation cannot hold a job again and again (I9).
type hold struct {
	on    bool
	began bool
	since model.Time
}

func (h *hold) set(on bool, now model.Time) {
	h.on = on
	if on && !h.began {
		h.began, h.since = true, now
	}
}

// until returns when the hold ends, and whether it is on at now.
func (h *hold) until(longest model.Duration, now model.Time) (end model.Time, held bool) {
	end = h.since.Add(longest)
	return end, h.on && now < end && now >= h.since
}
