package nas

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// mapTask is the map one job could launch on the offered node. All maps of a
// job count as average ones, so a job has one candidate: its most local.
type mapTask struct {
	job       *state.Job
	level     model.Locality
	output    model.Bytes // predicted
	cost      float64     // MapCost
	category  int
	predicted bool
}

// closer is the order of step 1: unpredicted jobs, then the output closest to
// the available space, then arrival.
func (t *mapTask) closer(o *mapTask) bool {
	switch {
	case o.job == nil:
		return true
	case t.predicted != o.predicted:
		return !t.predicted
	case t.output != o.output:
		return t.output > o.output
	}
	return model.CompareApps(&t.job.App, &o.job.App) < 0
}

// cheaper is the order of rule 2(a): category, MapCost, the output closest to
// the available space, arrival.
func (t *mapTask) cheaper(o *mapTask) bool {
	switch {
	case o.job == nil:
		return true
	case t.category != o.category:
		return t.category < o.category
	case t.cost != o.cost:
		return t.cost < o.cost
	}
	return t.output > o.output
}

// smaller is the order of rule 2(b): node-local maps, then the least output,
// then arrival.
func (t *mapTask) smaller(o *mapTask) bool {
	if o.job == nil {
		return true
	}
	if here, there := t.level == model.NodeLocal, o.level == model.NodeLocal; here != there {
		return here
	}
	return t.output < o.output
}

// userMaps are the best maps of one user under rule 2; a rule without any has no
// job in it.
type userMaps struct {
	local     mapTask // of step 1, that the gate kept from it
	qualified mapTask // shuffle-qualified: rule 2(a)
	least     mapTask // any: rule 2(b)
}

func (m *userMaps) add(t mapTask, available model.Bytes) {
	if t.output <= available && t.cheaper(&m.qualified) {
		m.qualified = t
	}
	if t.smaller(&m.least) {
		m.least = t
	}
}

// place is Algorithm 2.
//
// What it leaves open (algorithms.md 2.3.3): Delay scheduling counts a skip only
// for who could have launched something, so does this; a user without a map for
// the node is not skipped. The counter is set back in step 1 alone
// (map_reset=local), so a user for whom nothing good turns up is not slowed map
// by map.
func (ms *mapScheduler) place(in *policy.Input, congested bool) []model.Placement {
	available := ms.available(in.View, in.Offer.Node)
	gated := congested && ms.params.MapGate != GateOff
	var over mapTask // rule 2(b) of the first user who may, with over_threshold=all
	qualified := false
	for _, u := range in.View.Users() {
		s := ms.users.Find(u)
		if s == nil || s.waiting == 0 {
			continue
		}
		if j := ms.localOf(in, u, available, gated); j != nil {
			s.maps.reset()
			return in.Launch(j, j.Map, model.ReasonShuffleQualified)
		}
		if !ms.has(in, u, gated) {
			continue
		}
		waits := !ms.skip.over(&s.maps, in.View.Now())
		if waits {
			s.maps.skip(in.View.Now())
			if ms.params.OverThreshold == ExcessUser || qualified {
				continue // what maps the user has decides nothing
			}
		}
		best := ms.mapsOf(in, u, available, gated)
		qualified = qualified || best.qualified.job != nil
		switch {
		case waits:
		case best.local.job != nil:
			s.maps.reset()
			return in.Launch(best.local.job, best.local.job.Map, model.ReasonShuffleQualified)
		case best.qualified.job != nil:
			return ms.launchLate(in, s, best.qualified.job, model.ReasonMapWaited)
		case ms.params.OverThreshold == ExcessUser:
			return ms.launchLate(in, s, best.least.job, model.ReasonOverThreshold)
		case over.job == nil:
			over = best.least
		}
	}
	if over.job != nil && !qualified {
		return ms.launchLate(in, ms.users.Of(over.job.Owner), over.job, model.ReasonOverThreshold)
	}
	return nil
}

// launchLate launches a map of a user who was passed over for long enough.
func (ms *mapScheduler) launchLate(in *policy.Input, s *userState, j *state.Job, reason model.Reason) []model.Placement {
	if ms.params.MapReset == ResetLaunch {
		s.maps.reset()
	}
	return in.Launch(j, j.Map, reason)
}

// localOf returns the job of step 1, nil without one: of a user's jobs with
// node-local and shuffle-qualified maps the one that is closest. It looks at
// the user's jobs or at those with maps on the node, whichever are fewer.
func (ms *mapScheduler) localOf(in *policy.Input, u *state.User, available model.Bytes, gated bool) *state.Job {
	var best mapTask
	n := in.Offer.Node
	if len(u.Jobs()) <= in.View.StagesLocalTo(n) {
		for _, j := range u.Jobs() {
			if j.Map.Wanted.Local(n) {
				ms.consider(in, j, available, gated, &best)
			}
		}
		return best.job
	}
	for j := range in.View.MapsLocalTo(n) {
		if j.Owner == u {
			ms.consider(in, j, available, gated, &best)
		}
	}
	return best.job
}

// consider replaces the best job of step 1 by one that is closer.
func (ms *mapScheduler) consider(in *policy.Input, j *state.Job, available model.Bytes, gated bool, best *mapTask) {
	if !ms.startable(in, j) || !ms.free(j, gated) {
		return
	}
	predicted := predict(j)
	t := mapTask{job: j, output: predicted.MapOutput(), predicted: predicted.Predicted}
	if t.output <= available && t.closer(best) {
		*best = t
	}
}

// startable reports whether a job has a map for the offer.
func (ms *mapScheduler) startable(in *policy.Input, j *state.Job) bool {
	return in.Admits(j.Map) && !j.Blacklisted(in.Offer.Node.Host)
}

// free reports whether a job's maps may be launched while the gate is as it is.
func (ms *mapScheduler) free(j *state.Job, gated bool) bool {
	return !gated || ms.jobs.Of(j).class == light
}

// has reports whether a user has any map that may be launched on the offered
// node: while the gate is shut one of a light job or, with a soft gate, any.
func (ms *mapScheduler) has(in *policy.Input, u *state.User, gated bool) bool {
	for _, j := range u.Jobs() {
		if ms.startable(in, j) && (ms.params.MapGate == GateSoft || ms.free(j, gated)) {
			return true
		}
	}
	return false
}

// mapsOf returns the user's best maps for the offer: while the gate is shut those
// of light jobs or, with a soft gate and for want of them, of the others. Of these
// step 1 has not seen any, so that it goes first once the user has waited.
func (ms *mapScheduler) mapsOf(in *policy.Input, u *state.User, available model.Bytes, gated bool) userMaps {
	var free, held userMaps
	for _, j := range u.Jobs() { // by arrival, so the first of equals is the earliest
		if !ms.startable(in, j) {
			continue
		}
		predicted := predict(j)
		level, _ := in.View.Locality(j.Map, in.Offer.Node)
		t := mapTask{
			job: j, level: level, output: predicted.MapOutput(), cost: ms.mapCost(level, predicted.MapInput()),
			category: ms.classes.mapCategory(&predicted), predicted: predicted.Predicted,
		}
		if !ms.free(j, gated) {
			held.add(t, available)
			if level == model.NodeLocal && t.output <= available && t.closer(&held.local) {
				held.local = t
			}
		} else {
			free.add(t, available)
		}
	}
	if free.least.job == nil && ms.params.MapGate == GateSoft {
		return held
	}
	return free
}

// mapCost is MapCost = gamma x MapInputSize (§III-C).
func (ms *mapScheduler) mapCost(level model.Locality, input model.Bytes) float64 {
	gamma := ms.params.GammaRemote
	switch level {
	case model.NodeLocal:
		gamma = ms.params.GammaNode
	case model.RackLocal:
		gamma = ms.params.GammaRack
	case model.OffSwitch:
	}
	return gamma * float64(input)
}
