package shufflewatcher

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/state"
)

// Targets implements dispatch.Rule: SAMP's racks for the maps, SARP's counts for
// the reduces, and racks for executors.
func (r *rule) Targets(v state.View, j *state.Job, s *state.Stage) (dispatch.Targets, bool) {
	switch s.Kind {
	case model.StageMap:
		return r.mapTargets(v, j), true
	case model.StageReduce:
		return r.reduceTargets(v, j), true
	case model.StageOther, model.StageAM:
	}
	return r.executorTargets(v, j)
}

// executorTargets gives racks to executors. The paper knows maps and reduces only; this is its cost T for what an executor is: both at
// once. Where the asks tell of an input, that is SAMP's choice of racks.
func (r *rule) executorTargets(v state.View, j *state.Job) (dispatch.Targets, bool) {
	var prefers func(rack int) bool
	if j.Other.Pending > 0 {
		if m := r.mapChoice(v, j); m.decided {
			prefers = m.prefers
		}
	}
	return r.jobs.Of(j).executors.Targets(v, j, r.journal, prefers)
}

func (r *rule) mapTargets(v state.View, j *state.Job) dispatch.Targets {
	m := r.mapChoice(v, j)
	t := dispatch.Targets{Reason: m.reason}
	if !m.decided {
		return t
	}
	counts := m.counts(j.Map.Tasks())
	for i, rack := range v.Racks() {
		if m.prefers(i) {
			t.Racks = append(t.Racks, model.RackTarget{Rack: rack.ID, Count: counts[i], Share: m.share[i], Bytes: j.Input.SizeOn(i)})
		}
	}
	return t
}

func (r *rule) reduceTargets(v state.View, j *state.Job) dispatch.Targets {
	c := r.reduceChoice(v, j, enabled(j))
	t := dispatch.Targets{Reason: c.reason}
	if c.reason == model.ReasonNoInput { // the counts would follow nothing but capacity
		return t
	}
	for i, n := range c.counts {
		if n > 0 {
			t.Racks = append(t.Racks, model.RackTarget{Rack: v.Racks()[i].ID, Count: n, Share: c.share[i], Bytes: c.bytesOn(j, i)})
		}
	}
	return t
}

// bytesOn returns what draws reduces to a rack: map output, or the input whose maps will run there.
func (c *reduceChoice) bytesOn(j *state.Job, rack int) model.Bytes {
	if c.reason == model.ReasonTentative {
		return j.Input.SizeOn(rack)
	}
	return model.Bytes(c.share[rack]*c.output + 0.5)
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

// Rank implements dispatch.Rule: Fig. 3's order of classes.
func (r *rule) Rank(v state.View, j *state.Job) dispatch.Key {
	return dispatch.Key{Line: int(r.classOf(v, j))}
}

// Hold implements dispatch.Rule: the reduces Fig. 3 would put last now are held.
//
// NASS delays a heavy shuffle by running the user's other tasks meanwhile; a user
// who has none gets the reduce on a saturated uplink too (line 9), so that fairness
// and progress are never lost (§3.1). Only work the starvation window would not
// put behind the job counts.
func (r *rule) Hold(v state.View, j *state.Job, s *state.Stage) (dispatch.Hold, bool) {
	if s.Kind != model.StageReduce || r.classOf(v, j) != classSaturated {
		return dispatch.Hold{}, false
	}
	return dispatch.Hold{Reason: model.ReasonHoldWhileSaturated, AtMost: policy.Seconds(r.params.HoldMaxS)}, hasOtherWork(j, policy.Windows(v, policy.Seconds(r.params.WindowS), r.params.WindowMode))
}

// hasOtherWork reports whether the job's user has tasks that spare the uplinks in
// the job's starvation window or an earlier one.
func hasOtherWork(j *state.Job, w policy.Window) bool {
	reached := false
	for _, o := range j.Owner.Jobs() {
		if w.Next(o) && reached {
			return false
		}
		if o.Map.Pending > 0 || (!o.Heavy && o.Reduce.Pending > 0 && enabled(o)) {
			return true
		}
		reached = reached || o == j
	}
	return false
}

func (r *rule) classOf(v state.View, j *state.Job) class {
	if !j.Heavy {
		return classLight
	}
	if r.params.Scope != policy.ScopeRack {
		if len(v.Racks()) > 0 && r.params.Scope.Saturated(v, v.Racks()[0]) {
			return classSaturated
		}
		return classFree
	}
	wanted, counts := false, r.reduceChoice(v, j, enabled(j)).counts
	for i := range v.Racks() {
		if !r.params.SARP && v.Racks()[i].Runs() || i < len(counts) && j.Reduce.Launched(i) < counts[i] {
			if !v.Racks()[i].Load.Saturated {
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
