package num

import (
	"slices"

	"heddle/core/model"
	"heddle/core/policy/dispatch"
	"heddle/core/state"
)

// Targets implements dispatch.Rule: a rank for every job's maps and reduces, on any
// rack.
func (r *rule) Targets(_ state.View, j *state.Job, s *state.Stage) (t dispatch.Targets, ok bool) {
	t.Reason = model.ReasonRankOnly
	switch s.Kind {
	case model.StageMap:
		t.Rank = r.queues.jobs.Find(j).rank[0]
	case model.StageReduce:
		t.Rank = r.queues.jobs.Find(j).rank[1]
	case model.StageOther, model.StageAM:
		return t, false
	}
	return t, s.Pending > 0
}

// Hold implements dispatch.Rule: the paper holds nothing.
func (r *rule) Hold(state.View, *state.Job, *state.Stage) (h dispatch.Hold, ok bool) { return h, false }

// Rank implements dispatch.Rule: Targets has the ranks.
func (r *rule) Rank(state.View, *state.Job) (k dispatch.Key) { return k }

// rankMaps ranks maps in the order in which containers would be given out if every
// job wanted one, with the mix of P1 and P2 as it is now.
func (r *rule) rankMaps(v state.View) {
	mix, halves := r.mix, [2]float64{r.first.halves.Owed, r.second.halves.Owed}
	weight := 1 - r.alpha()
	var ranked []*entry
	for {
		s := r.sideInTurn(weight)
		lane, _ := s.lanesInTurn()
		if lane.heap.Len() == 0 {
			break
		}
		r.charge(s, weight)
		e := lane.heap.First()
		ranked = append(ranked, e)
		e.rank[0] = len(ranked)
		for _, q := range r.queues.mapQueues() {
			q.remove(e)
		}
	}
	for _, e := range ranked {
		for _, q := range r.queues.mapQueues() {
			q.update(e, v.Job(e.id), e.ready)
		}
	}
	r.mix, r.first.halves.Owed, r.second.halves.Owed = mix, halves[0], halves[1]
}

// rankReduces ranks reduces in P1's order: those with something to fetch first and
// those before slowstart last.
func (r *rule) rankReduces(v state.View) {
	q := r.queues.shuffle
	var list []*entry
	for _, j := range v.Jobs() {
		if e := r.queues.jobs.Find(j); j.Reduce.Pending > 0 {
			e.key[q.n], _ = q.keyOf(e, j)
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int {
		if a.reducesDue != b.reducesDue && a.reducesDue || a.reducesDue == b.reducesDue && q.before(a, b) {
			return -1
		}
		return 1
	})
	for i, e := range list {
		e.rank[1] = i + 1
	}
}
