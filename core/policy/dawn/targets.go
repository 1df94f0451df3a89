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
// racks that are next. A plan, which ties reduces to racks, does not follow dep_r where
// that sends more bytes across racks than the dependents save; the paper weighs
// neither against the other (algorithms.md 4.6, point 4).
func (r *rule) Targets(v state.View, j *state.Job, s *state.Stage) (t dispatch.Targets, ok bool) {
	if s.Kind == model.StageOther && (j.Graph == nil || !dispatch.Unfinished(s)) {
		return t, false // executors of which nothing is known
	}
	c := r.plan.choice(v, j, r.plan.jobs.Find(j), s.Kind)
	saturated := isSaturated(v, c.dep.Rack) || c.loses && r.params.PlanBusier > 0
	t.Reason = c.reason(s.Kind, saturated)
	pick := c.pick(saturated)
	if pick.Rack == shuffle.None {
		return t, true
	}
	if c.tentative {
		t.Reason = model.ReasonTentative
	}
	n := s.Tasks()
	for rack, count := range r.counts(v, s, c, pick.Rack, r.uplinkLimit(j, c, t.Reason)) {
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
// rest on the preferred rack, and what that cannot hold in PlanWaves waves, or its
// uplink cannot carry, on the racks that are next by what draws the stage. What no rack
// can hold waits for the preferred one.
func (r *rule) counts(v state.View, s *state.Stage, c *choice, preferred int, limit float64) []int {
	r.plan.loads(v)
	left := s.Tasks()
	counts, order := make([]int, len(v.Racks())), make([]int, 0, len(v.Racks()))
	least, most := bounds(c, left, limit)
	for rack := range counts {
		if r.plan.open[rack] {
			counts[rack] = min(s.Launched(rack), left)
			left -= counts[rack]
			order = append(order, rack)
		}
	}
	fill := func(rack, upTo int) {
		more := min(left, max(upTo-counts[rack], 0))
		counts[rack] += more
		left -= more
	}
	room := func(rack int) int {
		if r.params.PlanWaves > 0 {
			return min(most[rack], r.params.PlanWaves*s.RoomIn(v.Racks()[rack]))
		}
		return most[rack]
	}
	for _, rack := range order {
		fill(rack, least[rack])
	}
	fill(preferred, room(preferred))
	if left > 0 {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(c.ByRack[b], c.ByRack[a]), cmp.Compare(r.plan.load[a], r.plan.load[b]))
		})
		for _, rack := range order {
			fill(rack, room(rack))
		}
		fill(preferred, most[preferred]) // further waves
		for _, rack := range order {
			fill(rack, most[rack])
		}
	}
	counts[preferred] += left
	return counts
}

// uplinkLimit returns what a plan may send over one uplink; 0 is no limit.
//
// Deviation: the paper puts all reduces on one rack. Where the map output is on
// several, that loads the rack's uplink up to R times as much as reduces that are
// spread do, and sends hardly fewer bytes (algorithms.md 4.2, "tension"). A plan ties
// reduces to racks, so it stays within PlanBusier of an even spread's busiest uplink, and
// off racks without map output. What is put where dependents read it is to save bytes of
// other jobs, and is not limited.
func (r *rule) uplinkLimit(j *state.Job, c *choice, reason model.Reason) float64 {
	if c != &r.plan.jobs.Find(j).reduces || j.Graph != nil || c.tentative || reason == model.ReasonDependents {
		return 0
	}
	return r.params.PlanBusier * float64(shuffle.Busiest(c.ByRack, shuffle.Even(r.plan.open, j.Reduce.Tasks())))
}

// bounds returns how many of n tasks each rack is to have at least and at most.
func bounds(c *choice, n int, limit float64) (least, most []int) {
	least, most = make([]int, len(c.ByRack)), make([]int, len(c.ByRack))
	total := float64(shuffle.Total(c.ByRack))
	for rack, output := range c.ByRack {
		switch {
		case limit == 0:
			most[rack] = n
		case output > 0:
			least[rack], most[rack] = shuffle.Bounds(float64(output), total, n, limit)
		}
	}
	return least, most
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
