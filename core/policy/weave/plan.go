package weave

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// Targets implements dispatch.Rule: the racks chosen for maps, the quotas for reduces, and racks for executors.
func (r *rule) Targets(v state.View, j *state.Job, s *state.Stage) (t dispatch.Targets, ok bool) {
	e := r.jobs.Find(j)
	if s.Kind == model.StageOther {
		return executorTargets(v, e, r.journal)
	}
	t.Reason, t.Rank = model.ReasonRankOnly, len(r.asking.rows)+1
	if e.listings[listAsking].in {
		t.Rank = r.asking.place(e) + 1
	}
	switch s.Kind {
	case model.StageMap:
		share := r.racksOf(v, e).share
		if share == nil {
			share = localShare(v, j.Input, s.Tasks())
		}
		if share != nil {
			t.Reason = model.ReasonInputRacks
			t.Racks = targets(v, share, shuffle.Apportion(share, s.Tasks()), func(rack int) model.Bytes { return topology.At(j.Input.ByRack, rack) })
		} else if len(j.Input.Blocks) == 0 {
			t.Reason = model.ReasonNoInput
		}
	case model.StageReduce:
		q := r.quotasOf(v, e)
		if t.Reason = model.ReasonMapOutput; len(q.counts) == 0 {
			t.Reason = model.ReasonUnpredicted
			break
		}
		if q.pulled {
			t.Reason = model.ReasonDependents
		}
		share := make([]float64, len(q.counts))
		for i, n := range q.counts {
			share[i] = float64(n) / float64(sum(q.counts))
		}
		t.Racks = targets(v, share, q.counts, func(rack int) model.Bytes { return model.Bytes(e.expected.output[rack]) })
		if r.limits && s.Pending > 0 {
			t.MaxRunning, t.Limited = due(r, v, e)
		}
	case model.StageOther, model.StageAM:
		return t, false
	}
	return t, true
}

// localShare returns by rack the part of a job's input that is there, nil where none is known. It is where maps cost no bytes if no racks were chosen: an
// ask for these racks waits for them as Place does. It is nil as well for fewer maps than there are racks with input: counts would take away
// racks with replicas.
func localShare(v state.View, in *state.Input, maps int) []float64 {
	share := make([]float64, len(in.ByRack))
	racks, all := 0, 0.0
	for i, bytes := range in.ByRack {
		if bytes > 0 && v.Racks()[i].Runs() {
			share[i] = float64(bytes)
			all += share[i]
			racks++
		}
	}
	if racks == 0 || racks > maps {
		return nil
	}
	for i := range share {
		share[i] /= all
	}
	return share
}

// executorTargets gives executors the racks with input where that is known, and the fewest racks in any case: an executor is map and
// reduce at once. What an application does with them is not known, so that it waits for no other.
func executorTargets(v state.View, e *entry, journal *policy.Journal) (t dispatch.Targets, ok bool) {
	var prefers func(rack int) bool
	if in := e.job.Input; len(in.Blocks) > 0 {
		prefers = func(rack int) bool { return topology.At(in.ByRack, rack) > 0 }
	}
	t, ok = e.executors.Targets(v, e.job, journal, prefers)
	t.Rank = 1
	return t, ok
}

// due returns how many of a job's reduces may run now, those on racks whose uplinks admit them; false is all. Reduces that
// are asked for before all maps have been started are not looked at: they are held whatever the policy.
func due(r *rule, v state.View, e *entry) (n int, limited bool) {
	j := e.job
	if !startsReduces(j) {
		return 0, false
	}
	open := 0
	for rack, quota := range e.quotas.counts {
		if more := quota - j.Reduce.Launched(rack); more > 0 && r.hasRoom(e, rack) {
			open += more
		}
	}
	w := r.journal.Edit(&e.waits.admission)
	switch now := v.Now(); {
	case open > 0:
		*w = policy.Wait{}
	case !w.On || w.Since > now:
		*w = policy.Wait{On: true, Since: now}
	case now.Sub(w.Since) >= model.Duration(r.params.AdmitMaxS*float64(model.Second)):
		return 0, false
	}
	if open == 0 {
		return 0, true
	}
	return j.Reduce.Running + open, true
}

// targets are the racks of a plan that have a count.
func targets(v state.View, share []float64, counts []int, bytes func(rack int) model.Bytes) (out []model.RackTarget) {
	for i, n := range counts {
		if n > 0 {
			out = append(out, model.RackTarget{Rack: v.Racks()[i].ID, Count: n, Share: share[i], Bytes: bytes(i)})
		}
	}
	return out
}

// Hold implements dispatch.Rule: nothing is held.
func (r *rule) Hold(state.View, *state.Job, *state.Stage) (h dispatch.Hold, ok bool) { return h, false }

// Rank implements dispatch.Rule: Targets has the ranks.
func (r *rule) Rank(state.View, *state.Job) (k dispatch.Key) { return k }
