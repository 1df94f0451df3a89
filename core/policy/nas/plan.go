package nas

import (
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/state"
)

// Targets implements dispatch.Rule: ReduceNum per rack. For maps it is the rank
// alone: MTS limits what a node puts out and prefers no rack.
func (r *rule) Targets(v state.View, j *state.Job, s *state.Stage) (t dispatch.Targets, ok bool) {
	switch s.Kind {
	case model.StageMap:
		return dispatch.Targets{Reason: model.ReasonRankOnly}, true
	case model.StageReduce:
		return r.reduceTargets(v, j), true
	case model.StageOther, model.StageAM:
	}
	return t, false
}

func (r *rule) reduceTargets(v state.View, j *state.Job) dispatch.Targets {
	predicted := predict(j)
	s := r.reduces.spreadOf(v, j, &predicted)
	t := dispatch.Targets{Reason: model.ReasonRankOnly}
	switch {
	case !r.params.CARTS:
	case s.known:
		t.Reason = model.ReasonMapOutput
		t.Racks = slices.Clone(r.reduces.targets(v, s))
	case !predicted.Predicted:
		t.Reason = model.ReasonUnpredicted
	}
	return t
}

// Causes of holds.
const (
	causeMaps = iota
	causeCongestion
)

// Hold implements dispatch.Rule: it holds the reduces nothing would start now. The
// slides' threshold may not be reached, though Hadoop's is; or CR-RTS would pass
// the job over on every rack it wants. A plan cannot let reduces pass one by one,
// so it holds all of them for as long as that would take: D^r for each.
func (r *rule) Hold(v state.View, j *state.Job, s *state.Stage) (h dispatch.Hold, ok bool) {
	if s.Kind != model.StageReduce {
		return h, false
	}
	predicted := predict(j)
	most := policy.Seconds(r.params.HoldMaxS)
	switch due := r.reduces.due(v, j, &predicted); {
	case !due:
		return dispatch.Hold{Reason: model.ReasonHoldForMaps, AtMost: most, Cause: causeMaps}, j.ReducesDue()
	case r.classes.of(&predicted) == light:
		return h, false
	}
	each := policy.Seconds(r.params.ReduceWaitS) * model.Duration(max(toLaunch(s), 1))
	h = dispatch.Hold{Reason: model.ReasonHoldWhileSaturated, AtMost: min(most, each), Cause: causeCongestion}
	return h, r.congestedFor(v, j, r.reduces.spreadOf(v, j, &predicted))
}

// toLaunch returns how many tasks of a stage neither run nor are complete.
func toLaunch(s *state.Stage) int { return s.Tasks() - s.Completed - s.Running }

// congestedFor reports whether every rack the job still wants reduces on is
// congested. A plan is for no one rack: as long as one is free, reduces can go
// there.
func (r *rule) congestedFor(v state.View, j *state.Job, s *spread) bool {
	all := false
	for i, rack := range v.Racks() {
		if !rack.Runs() || (s.known && j.Reduce.Launched(i) >= r.reduces.counted(s)[i]) {
			continue
		}
		if !r.isCongested(rack) {
			return false
		}
		all = true
	}
	return all
}

// Lines of a rank: the categories of Algorithm 3 for jobs whose reduces are due,
// from firstCategory; the map categories of Algorithm 2 after them; the reduces
// CR-RTS passes over; and last the jobs that have nothing to launch.
const (
	rankMaps = 10
	rankHeld = 20
	rankIdle = 30
)

// Rank implements dispatch.Rule: by the rule that would serve a job next, then as
// within a category of CA-RTS.
func (r *rule) Rank(v state.View, j *state.Job) dispatch.Key {
	predicted := predict(j)
	of := r.classes.of(&predicted)
	switch {
	case toLaunch(j.Reduce) > 0 && r.reduces.due(v, j, &predicted):
		k := dispatch.Key{Line: firstCategory + int(heavy-of), First: float64(r.reduces.priority(j)), Second: -float64(predicted.Shuffle)}
		if of != light && r.congestedFor(v, j, r.reduces.spreadOf(v, j, &predicted)) {
			k.Line = rankHeld + int(of)
		}
		return k
	case toLaunch(j.Map) > 0:
		return dispatch.Key{Line: rankMaps + r.classes.mapCategory(&predicted)}
	}
	return dispatch.Key{Line: rankIdle}
}
