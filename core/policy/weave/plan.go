package weave

import (
	"heddle/core/model"
	"heddle/core/policy/dispatch"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// Targets implements dispatch.Rule: the racks chosen for maps, the quotas for reduces.
func (r *rule) Targets(v state.View, j *state.Job, s *state.Stage) (t dispatch.Targets, ok bool) {
	e := r.jobs.Find(j)
	t.Rank, t.Reason = e.places[listAsking], model.ReasonRankOnly
	switch s.Kind {
	case model.StageMap:
		if share := r.racksOf(v, e).share; share != nil {
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
		share := make([]float64, len(q.counts))
		for i, n := range q.counts {
			share[i] = float64(n) / float64(e.size.reduces)
		}
		t.Racks = targets(v, share, q.counts, func(rack int) model.Bytes { return model.Bytes(e.expected.output[rack]) })
	case model.StageOther, model.StageAM:
		return t, false
	}
	return t, s.Pending > 0
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
