package dawn

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy/dispatch"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// Targets implements dispatch.Rule: maps on max_r of their input, reduces on dep_r,
// or on max_r while dep_r is saturated, with what the rack cannot hold on the
// racks that are next.
func (r *rule) Targets(v state.View, j *state.Job, s *state.Stage) (t dispatch.Targets, ok bool) {
	if s.Kind == model.StageOther && (j.Graph == nil || !dispatch.Unfinished(s)) {
		return t, false // executors of which nothing is known
	}
	c := r.plan.jobs.Find(j).choiceOf(s.Kind)
	saturated := isSaturated(v, c.dep.Rack)
	t.Reason = c.reason(s.Kind, saturated)
	pick := c.pick(saturated)
	if pick.Rack == shuffle.None {
		return t, true
	}
	if c.tentative {
		t.Reason = model.ReasonTentative
	}
	n := s.Tasks()
	for rack, count := range r.counts(v, s, c, pick.Rack, n) {
		if count > 0 {
			t.Racks = append(t.Racks, model.RackTarget{
				Rack: v.Racks()[rack].ID, Count: count, Share: float64(count) / float64(n), Bytes: c.ByRack[rack],
			})
		}
	}
	return t, true
}

func isSaturated(v state.View, rack int) bool {
	return rack != shuffle.None && v.Racks()[rack].Load.Saturated
}

// counts divides a stage's tasks over racks: those launched where they are, the
// rest on the preferred rack, and what that cannot hold in PlanWaves waves on
// the racks that are next by what draws the stage. What no rack can hold waits
// for the preferred one.
func (r *rule) counts(v state.View, s *state.Stage, c *choice, preferred, n int) []int {
	counts := make([]int, len(v.Racks()))
	order := make([]int, 0, len(counts))
	left := n
	for rack := range counts {
		if !r.plan.open[rack] {
			continue
		}
		counts[rack] = min(s.Launched(rack), left)
		left -= counts[rack]
		order = append(order, rack)
	}
	fill := func(rack int) {
		more := left
		if r.params.PlanWaves > 0 {
			more = min(left, max(r.params.PlanWaves*s.RoomIn(v.Racks()[rack])-counts[rack], 0))
		}
		counts[rack] += more
		left -= more
	}
	fill(preferred)
	if left > 0 {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(c.ByRack[b], c.ByRack[a]), cmp.Compare(r.plan.load[a], r.plan.load[b]))
		})
		for _, rack := range order {
			fill(rack)
		}
	}
	counts[preferred] += left
	return counts
}

// Hold implements dispatch.Rule: the paper holds nothing.
func (r *rule) Hold(state.View, *state.Job, *state.Stage) (h dispatch.Hold, ok bool) { return h, false }

// Lines of a rank: jobs whose rack is not saturated launch what needs the network
// most, and go before those that are to spare it; those with nothing to launch
// come last.
const (
	rankFree = iota
	rankSaturated
	rankIdle
)

// Rank implements dispatch.Rule: as Algorithm 1 sorts the jobs for their preferred
// racks.
func (r *rule) Rank(v state.View, j *state.Job) dispatch.Key {
	k := r.plan.jobs.Find(j)
	switch {
	case k.stage == "":
		return dispatch.Key{Line: rankIdle}
	case isSaturated(v, k.dep.Rack):
		return dispatch.Key{Line: rankSaturated, First: traffic(float64(k.max.Cost), j.Stage(k.stage))}
	}
	return dispatch.Key{Line: rankFree, First: -traffic(float64(k.dep.Cost), j.Stage(k.stage))}
}
