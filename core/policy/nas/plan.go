package nas

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Plan implements policy.Planner: ReduceNum per rack, a hold for the reduces that
// would not be started on any rack now, and every job's rank. For maps it gives the
// rank alone: MTS limits what a node puts out and prefers no rack.
func (p *Policy) Plan(in *policy.Input) []model.Plan {
	p.cluster.read(in.View)
	p.reduces.follow(in.View)
	p.rank(in.View)
	plans := make([]model.Plan, 0, 2*len(in.Jobs))
	for _, j := range in.Jobs {
		if j.State.Final() {
			continue
		}
		if wantsMore(j.Map) {
			plans = append(plans, model.Plan{App: j.ID, Stage: model.StageMap, Rank: p.jobs.Of(j).rank, Reason: model.ReasonRankOnly})
		}
		if wantsMore(j.Reduce) {
			plans = append(plans, p.planReduces(in.View, j))
		}
	}
	return plans
}

// wantsMore reports whether a stage has tasks that are not complete.
func wantsMore(s *state.Stage) bool {
	n := s.Tasks()
	return n > 0 && s.Completed < n
}

// toLaunch returns how many tasks of a stage neither run nor are complete.
func toLaunch(s *state.Stage) int { return s.Tasks() - s.Completed - s.Running }

func (p *Policy) planReduces(v state.View, j *state.Job) model.Plan {
	predicted := predict(j)
	s := p.reduces.spreadOf(v, j, &predicted)
	plan := model.Plan{App: j.ID, Stage: model.StageReduce, Rank: p.jobs.Of(j).rank, Reason: model.ReasonRankOnly}
	switch {
	case !p.params.CARTS:
	case s.known:
		plan.Reason = model.ReasonMapOutput
		plan.Racks = make([]model.RackTarget, 0, min(len(s.share), s.from.reduces))
		for r, n := range s.counted() {
			if n > 0 {
				plan.Racks = append(plan.Racks, model.RackTarget{
					Rack: v.Racks()[r].ID, Count: n, Share: s.share[r], Bytes: p.reduces.outputOn(j, r, predicted.MapOutput()),
				})
			}
		}
		slices.SortFunc(plan.Racks, func(a, b model.RackTarget) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Rack, b.Rack))
		})
	case !predicted.Predicted:
		plan.Reason = model.ReasonUnpredicted
	}
	p.holdBack(v, j, &predicted, s, &plan)
	return plan
}

// holdBack holds the reduces nothing would start now. The slides' threshold may
// not be reached, though Hadoop's is; or CR-RTS would pass the job over on every
// rack it wants. A plan cannot let reduces pass one by one, so it holds all of
// them for as long as that would take.
func (p *Policy) holdBack(v state.View, j *state.Job, predicted *state.Prediction, s *spread, plan *model.Plan) {
	now, h := v.Now(), p.jobs.Of(j)
	due := p.reduces.due(v, j, predicted)
	h.early.set(!due && j.ReducesDue(), now, p.holdMax)
	h.congested.set(due && p.classes.of(predicted) != light && p.congestedFor(v, j, s), now, p.holdFor(j))
	switch {
	case h.early.heldAt(now):
		plan.Hold, plan.Until, plan.Reason = true, h.early.end, model.ReasonHoldForMaps
	case h.congested.heldAt(now):
		plan.Hold, plan.Until, plan.Reason = true, h.congested.end, model.ReasonHoldWhileSaturated
	}
}

// congestedFor reports whether every rack the job still wants reduces on is
// congested. A plan is for no one rack: as long as one is free, reduces can go
// there.
func (p *Policy) congestedFor(v state.View, j *state.Job, s *spread) bool {
	all := false
	for r, rack := range v.Racks() {
		if !rack.Runs() || (s.known && j.Reduce.Launched(r) >= s.counted()[r]) {
			continue
		}
		if !p.congested(v, rack) {
			return false
		}
		all = true
	}
	return all
}

// hold is how long a job's reduces have been held back for one cause. It ends
// once, counted from the first time, whatever happened since: uplinks that come
// and go cannot hold a job again and again (I9).
type hold struct {
	on         bool
	since, end model.Time // 0 before the first time
}

func (h *hold) set(on bool, now model.Time, length model.Duration) {
	h.on = on
	if on && h.end == 0 {
		h.since, h.end = now, now.Add(length)
	}
}

func (h *hold) heldAt(now model.Time) bool { return h.on && now >= h.since && now < h.end }

// holdFor is how long CR-RTS would take to let all of a job's reduces pass one
// by one: D^r for each, which a plan holds them for as one. hold_max_s bounds it.
func (p *Policy) holdFor(j *state.Job) model.Duration {
	return min(p.holdMax, p.reduces.skip.wait*model.Duration(max(toLaunch(j.Reduce), 1)))
}

// ranked is a job with what it is ranked by.
type ranked struct {
	job   *state.Job
	place int // the rule that would serve it, the earliest first
	turn  int
	size  model.Bytes
}

// Places of a rank: the categories of Algorithm 3 for jobs whose reduces are
// due, from firstCategory; the map categories of Algorithm 2 after them; the
// reduces CR-RTS passes over; and last the jobs that have nothing to launch.
const (
	placeMaps  = 10
	placeHeld  = 20
	placeIdle  = 30
	placeFirst = firstCategory
)

// rank orders all live jobs: users in fair order, a user's jobs by the rule that
// would serve them next, then as within a category of CA-RTS, then by arrival.
func (p *Policy) rank(v state.View) {
	next := 1
	for _, u := range v.Users() {
		p.order = p.order[:0]
		for _, j := range u.Jobs() {
			p.order = append(p.order, p.ranked(v, j))
		}
		slices.SortStableFunc(p.order, func(a, b ranked) int {
			return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.turn, b.turn), cmp.Compare(b.size, a.size))
		})
		for _, r := range p.order {
			p.jobs.Of(r.job).rank = next
			next++
		}
	}
	clear(p.order[:cap(p.order)]) // keep no jobs
}

func (p *Policy) ranked(v state.View, j *state.Job) ranked {
	predicted := predict(j)
	c := p.classes.of(&predicted)
	r := ranked{job: j, place: placeIdle}
	switch {
	case toLaunch(j.Reduce) > 0 && p.reduces.due(v, j, &predicted):
		r.place, r.turn, r.size = placeFirst+int(heavy-c), p.reduces.turn(j), predicted.Shuffle
		if c != light && p.congestedFor(v, j, p.reduces.spreadOf(v, j, &predicted)) {
			r.place = placeHeld + int(c)
		}
	case toLaunch(j.Map) > 0:
		r.place = placeMaps + p.classes.mapCategory(&predicted)
	}
	return r
}
