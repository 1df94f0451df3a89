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
	wanted  [stages][]int // of them, those that wait for a rack, by its number
	end     model.Time    // no wait ends before
	seen    model.Time    // when the user was last asked
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
		x.wanted[stage][rack]++
	}
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
			k.user.wanted[stage][rack]--
		}
	}
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
// the offer pass.
func (d *Dispatcher) allWait(in *policy.Input, u *state.User, k *user, p *Pass) bool {
	now := in.View.Now()
	if x := &k.waitIndex; x.waiting != ([stages]int{}) && (now >= x.end || now < x.seen) {
		d.endWaits(u, k, now)
	}
	k.seen = now
	mapsWait := false
	for _, kind := range p.Kinds {
		n := stageIndex(kind)
		if k.open[n] > k.waiting[n] || topology.At(k.wanted[n], in.Offer.Node.Rack.Index) > 0 {
			return false
		}
		mapsWait = mapsWait || (kind == model.StageMap && k.waiting[n] > 0)
	}
	if mapsWait && d.offer.leftOver {
		return false
	}
	d.offer.mapsWait = d.offer.mapsWait || mapsWait
	return true
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
