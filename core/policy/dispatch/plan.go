package dispatch

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Hold is why a stage is not to ask now.
type Hold struct {
	Reason model.Reason
	AtMost model.Duration // in all, counted from the first time
	Cause  int            // below causes: each cause has its own time
}

// ranked is a job with its key.
type ranked struct {
	job *state.Job
	key Key
}

// Plan implements policy.Planner: a stage's targets, its hold, and the rank of its
// job.
func (d *Dispatcher) Plan(in *policy.Input) []model.Plan {
	d.follow(in)
	if d.settings.Fairness != "" {
		d.rank(in.View)
	}
	plans := make([]model.Plan, 0, 2*len(in.Jobs))
	for _, j := range in.Jobs {
		if j.State.Final() {
			continue
		}
		for _, s := range [...]*state.Stage{j.Map, j.Reduce, j.Other} {
			if plan, ok := d.planStage(in, j, s); ok {
				plans = append(plans, plan)
			}
		}
	}
	return plans
}

// Unfinished reports whether a stage has tasks that are not complete.
func Unfinished(s *state.Stage) bool {
	n := s.Tasks()
	return n > 0 && s.Completed < n
}

func (d *Dispatcher) planStage(in *policy.Input, j *state.Job, s *state.Stage) (plan model.Plan, ok bool) {
	if s.Kind != model.StageOther && !Unfinished(s) {
		return plan, false
	}
	t, ok := d.rule.Targets(in.View, j, s)
	if !ok {
		return plan, false
	}
	k := d.jobs.Of(j)
	plan = model.Plan{App: j.ID, Stage: s.Kind, Rank: cmp.Or(t.Rank, k.rank), Reason: t.Reason, Racks: t.Racks}
	policy.SortTargets(plan.Racks)
	if h, wanted := d.rule.Hold(in.View, j, s); wanted {
		if until, held := k.hold(in, h); held {
			plan.Hold, plan.Until, plan.Reason = true, until, h.Reason
		}
	}
	if t.Limited && in.HoldByRank && !plan.Hold {
		plan.Hold, plan.MaxRunning, plan.Until = true, t.MaxRunning, in.View.Now().Add(limitFor)
	}
	return plan, true
}

// hold returns when a hold ends and whether it is on. It ends once, counted from
// the first time, whatever happened since: uplinks that come and go cannot hold a
// job again and again (I9).
func (k *job) hold(in *policy.Input, h Hold) (until model.Time, held bool) {
	w, now := &k.holds[h.Cause], in.View.Now()
	if !w.On {
		*in.Journal.Edit(w) = policy.Wait{On: true, Since: now, Spent: h.AtMost}
	}
	until = w.Since.Add(w.Spent)
	return until, now >= w.Since && now < until
}

// rank orders all live jobs: users in fair order, a user's starvation windows by
// age, in a window by the rule's key, then by arrival.
func (d *Dispatcher) rank(v state.View) {
	next := 1
	numberRanked := func() {
		slices.SortStableFunc(d.ranked, func(a, b ranked) int {
			return cmp.Or(cmp.Compare(a.key.Line, b.key.Line), cmp.Compare(a.key.First, b.key.First), cmp.Compare(a.key.Second, b.key.Second))
		})
		for _, r := range d.ranked {
			d.jobs.Of(r.job).rank = next
			next++
		}
		d.ranked = d.ranked[:0]
	}
	for _, u := range d.settings.Fairness.Users(v) {
		w := policy.Windows(v, d.settings.Window, d.settings.WindowMode)
		for _, j := range u.Jobs() {
			if w.Next(j) {
				numberRanked()
			}
			d.ranked = append(d.ranked, ranked{j, d.rule.Rank(v, j)})
		}
		numberRanked()
	}
	clear(d.ranked[:cap(d.ranked)]) // keep no jobs
}
