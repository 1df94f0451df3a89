package dispatch

import (
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/topology"
)

// waiting is a stage that is known to wait for its targets, as long as its job does
// not change. It only spares looking at the stage: TargetWaits decides.
type waiting struct {
	on           bool
	since, until model.Time
	racks        []int // that it waits for, by number
}

// waitIndex counts the stages of a user's jobs that are known to wait.
type waitIndex struct {
	waiting [stages]int
	end     model.Time // no wait ends before
	seen    model.Time // when the user was last asked
	// wanted are the jobs with a stage of a kind that waits for a rack, by its number, and by arrival.
	wanted [stages][][]*state.Job
	// active are the jobs with a startable stage of a kind that is not known to wait, by arrival.
	active [stages][]*state.Job
}

// follow has a job among its user's active ones of a kind if it is one, and not else.
func (k *job) follow() {
	if k.user == nil {
		return
	}
	k.user.job = nil
	for stage := range k.open {
		k.setActive(stage, k.open[stage] && !k.waits[stage].on)
	}
}

// setActive puts a job among its user's active ones of a kind or takes it from there.
func (k *job) setActive(stage int, active bool) {
	if k.active[stage] == active {
		return
	}
	k.active[stage] = active
	if list := &k.user.active[stage]; active {
		*list = with(*list, k.of)
	} else {
		*list = without(*list, k.of)
	}
}

// with inserts a job into jobs by arrival.
func with(jobs []*state.Job, j *state.Job) []*state.Job {
	at, _ := slices.BinarySearchFunc(jobs, j, state.CompareJobs)
	return slices.Insert(jobs, at, j)
}

// without removes a job that is among jobs.
func without(jobs []*state.Job, j *state.Job) []*state.Job {
	at := slices.Index(jobs, j)
	return slices.Delete(jobs, at, at+1)
}

// merge goes through lists of jobs, each by arrival, as if they were one. The job that was
// returned last may leave a list meanwhile.
type merge struct {
	lists [2 * stages]*[]*state.Job
	next  [2 * stages]int
	n     int
}

// merge returns the active jobs of some kinds and those that wait for a rack.
func (x *waitIndex) merge(kinds []model.Stage, rack int) merge {
	var m merge
	for _, kind := range kinds {
		stage := stageIndex(kind)
		m.add(&x.active[stage])
		if wanted := x.wanted[stage]; rack < len(wanted) && len(wanted[rack]) > 0 {
			m.add(&wanted[rack])
		}
	}
	return m
}

func (m *merge) add(list *[]*state.Job) {
	m.lists[m.n] = list
	m.n++
}

// first returns the earliest job that is left, nil for none.
func (m *merge) first() *state.Job {
	var first *state.Job
	for i, list := range m.lists[:m.n] {
		if m.next[i] >= len(*list) {
			continue
		}
		if j := (*list)[m.next[i]]; first == nil || (j != first && state.CompareJobs(j, first) < 0) {
			first = j
		}
	}
	return first
}

// drop goes on after a job.
func (m *merge) drop(j *state.Job) {
	for i, list := range m.lists[:m.n] {
		if at := m.next[i]; at < len(*list) && (*list)[at] == j {
			m.next[i]++
		}
	}
}

// passing is what a user let an offer pass for who would let others pass for it
// too. It only spares looking at the user's jobs again, as long as none of them changes.
type passing struct {
	job     *state.Job // of the best candidate, which is not good; nil for none
	stage   *state.Stage
	pass    *Pass
	windows policy.Window
	at      model.Time
	// first is that no job of an earlier window can take an offer that is left over.
	first bool
}

// note takes note of the best candidate of a user who lets the offer pass.
func (y *passing) note(in *policy.Input, o *offer, u *state.User, h *hit, p *Pass) {
	if !h.Everywhere || !o.skipWaiting || o.refused || o.leftOver {
		return
	}
	*y = passing{job: h.Job, stage: h.Stage, pass: p, windows: o.windows, at: in.View.Now(), first: o.windows.Same(u.Jobs()[0], h.Job)}
}

// stillPasses reports whether a user is known to let the offer pass, as one before.
func (o *offer) stillPasses(in *policy.Input, k *user, w *policy.Wait, p *Pass) bool {
	y, now := &k.passing, in.View.Now()
	if y.job == nil || y.pass != p || !o.skipWaiting || p.Slack.ByCount || w.Skips == 0 || w.Since > now || now < y.at ||
		!o.windows.Equal(&y.windows) || !in.Admits(y.stage) || y.job.Blacklisted(in.Offer.Node.Host) {
		return false
	}
	for stage := range k.wanted {
		if len(topology.At(k.wanted[stage], in.Offer.Node.Rack.Index)) > 0 {
			return false
		}
	}
	if y.first {
		return true
	}
	mapsWait := k.waiting[stageIndex(model.StageMap)] > 0
	o.mapsWait = o.mapsWait || mapsWait
	return !mapsWait || !o.leftOver
}

// startWaiting notes that a stage waits for the racks that k.waits has.
func (k *job) startWaiting(stage int, since, until model.Time) {
	w := &k.waits[stage]
	if w.on || k.user == nil {
		return
	}
	w.on, w.since, w.until = true, since, until
	x := &k.user.waitIndex
	if x.waiting == ([stages]int{}) || until < x.end {
		x.end = until
	}
	x.waiting[stage]++
	for _, rack := range w.racks {
		x.wanted[stage] = topology.Extend(x.wanted[stage], rack)
		x.wanted[stage][rack] = with(x.wanted[stage][rack], k.of)
	}
	k.follow()
}

// stopWaiting notes that nothing is known of whether the job's stages wait.
func (k *job) stopWaiting() {
	for stage := range k.waits {
		w := &k.waits[stage]
		if !w.on {
			continue
		}
		w.on = false
		k.user.waiting[stage]--
		for _, rack := range w.racks {
			k.user.wanted[stage][rack] = without(k.user.wanted[stage][rack], k.of)
		}
	}
	k.follow()
}

// isWaiting reports whether a job's stage is known to let the offer pass.
func (o *offer) isWaiting(in *policy.Input, k *job, stage int) bool {
	w, now := &k.waits[stage], in.View.Now()
	isMap := stage == stageIndex(model.StageMap)
	if !w.on || now < w.since || now >= w.until || (isMap && o.leftOver) || slices.Contains(w.racks, in.Offer.Node.Rack.Index) {
		return false
	}
	o.mapsWait = o.mapsWait || isMap
	return true
}

// hasNothing reports whether a job has no startable stage, or none but those that are
// known to let the offer pass.
func (o *offer) hasNothing(in *policy.Input, k *job, p *Pass) bool {
	for _, kind := range p.Kinds {
		if n := stageIndex(kind); k.open[n] && !o.isWaiting(in, k, n) {
			return false
		}
	}
	return true
}

// allWait reports whether all of a user's stages with startable tasks are known to let
// the offer pass. Those that are let the others be found among the active jobs alone.
func (d *Dispatcher) allWait(in *policy.Input, u *state.User, k *user, p *Pass) bool {
	now := in.View.Now()
	if x := &k.waitIndex; x.waiting != ([stages]int{}) && (now >= x.end || now < x.seen) {
		d.endWaits(u, k, now)
	}
	k.seen = now
	all, mapsWait := true, false
	for _, kind := range p.Kinds {
		n := stageIndex(kind)
		all = all && k.open[n] == k.waiting[n] && len(topology.At(k.wanted[n], in.Offer.Node.Rack.Index)) == 0
		mapsWait = mapsWait || (kind == model.StageMap && k.waiting[n] > 0)
	}
	if mapsWait && d.offer.leftOver {
		return false
	}
	d.offer.mapsWait = d.offer.mapsWait || mapsWait
	d.offer.onlyActive = true
	return all
}

// endWaits has jobs looked at again of which a wait has ended, or was noted at a
// later time than now because the clock was set back.
func (d *Dispatcher) endWaits(u *state.User, k *user, now model.Time) {
	first := true
	for _, j := range u.Jobs() {
		of := d.jobs.Find(j)
		if of == nil || of.user != k {
			continue
		}
		for stage := range of.waits {
			switch w := &of.waits[stage]; {
			case !w.on:
			case now < w.since || now >= w.until:
				of.stopWaiting()
			case first || w.until < k.end:
				k.end, first = w.until, false
			}
		}
	}
}
