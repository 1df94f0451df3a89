// Package num implements NUM(P1, P2, theta) and the schedules it is made of:
// MaxSRPT, SplitSRPT, UOPT and NUM's Fair (Blanca, Shin: "Optimizing Network
// Usage in MapReduce Scheduling"; algorithms.md 2.2). NUM serves the jobs in the
// order of P1, which is good for response time, and gives a part of the map
// containers to the pick of P2, which is good for the network, whenever P1 alone
// would let the network run dry. The rules themselves are package schedule's.
//
// The paper divides capacities among jobs of arbitrarily divisible work and
// leaves real systems open (§6). What heddle makes of it (algorithms.md 2.2.10):
//
//   - a free container is a piece of map capacity. It goes to P1's pick or, with
//     weight 1 - alpha, to P2's; deficit counters make the mix exact to one
//     container. Halves of SplitSRPT are counted in the same way, and Fair's
//     equal shares are the job with the least map memory in use. Containers that
//     run are not taken back.
//   - the map queue is the jobs that have maps to start. A job whose maps all run
//     can take no more capacity.
//   - the buffer is map output of jobs past slowstart that no reduce has fetched;
//     before slowstart nothing can fetch it. Up to BufferS seconds of the network
//     count as none, because with whole tasks some output always waits a moment.
//   - reduces, which the model leaves out, are the shuffle queue: in P1's order,
//     and before maps if there is output for them to fetch, since the paper's
//     shuffle never idles while there is work. A reduce with nothing to fetch
//     would hold a container and use neither queue: it comes after the maps.
//   - a job takes a map at the best locality the node gives.
//   - users and queues count for nothing, as in the paper.
//
// The paper supports no hold: no plan holds anything, and a free container is
// never kept free.
//
// Place costs O(log J) for J live jobs for each job that changed since the offer
// before and for each that does not fit the node, and allocates nothing; when
// nodes come or go all jobs are sized anew, in O(J log J). Plan costs O(J log J).
// It trusts the predicted shuffle of a job, the completed maps, the bytes fetched
// and the uplinks' capacity in the cluster state; each may be wrong and costs
// order, never progress.
package num

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/policy/num/schedule"
	"heddle/core/state"
)

// The policies' keys in configuration, metrics and recordings.
const (
	Name      = "num"
	MaxSRPT   = string(schedule.MaxSRPT)
	SplitSRPT = string(schedule.SplitSRPT)
	UOPT      = string(schedule.UOPT)
	Fair      = string(schedule.Fair)
)

// rule is NUM, or one of its schedules alone, for package dispatch.
type rule struct {
	params Params
	queues queues

	first, second side        // P1 and P2; second has no lanes where P1 is alone
	mix           policy.Wait // Owed is P2's deficit
	passes        []dispatch.Pass

	// Of the present pass:
	serving *side   // the schedule whose container it is
	weight  float64 // of P2
	reason  model.Reason
}

// side is a schedule of the map queue.
type side struct {
	schedule schedule.Schedule
	lanes    []*queue
	halves   policy.Wait // Owed is the deficit of the second lane
	reason   model.Reason
}

// The passes: reduces that have something to fetch, maps, other reduces.
const (
	passReady = iota
	passMaps
	passReduces
)

// Prepare implements dispatch.Rule.
func (r *rule) Prepare(in *policy.Input) {
	r.queues.update(in.View)
	if in.Offer.Node == nil { // plans
		r.rankMaps(in.View)
		r.rankReduces(in.View)
	}
}

// Startable implements dispatch.Rule.
func (r *rule) Startable(_ state.View, j *state.Job, s *state.Stage) bool {
	return s.Kind == model.StageMap || (s.Kind == model.StageReduce && j.ReducesDue())
}

// Passes implements dispatch.Rule.
func (r *rule) Passes(*policy.Input) []dispatch.Pass { return r.passes }

// Each implements dispatch.Index: the jobs of the shuffle queue, or those of the
// schedule whose container it is.
func (r *rule) Each(in *policy.Input, pass int, _ *state.User, try func(*state.Job) bool) {
	if pass != passMaps {
		r.reason = model.ReasonShuffleOrder
		r.queues.each(in.View, r.queues.shuffle, pass == passReady, try)
		return
	}
	r.weight = 1 - r.alpha()
	r.serving = r.sideInTurn(r.weight)
	r.reason = r.serving.reason
	lane, other := r.serving.lanesInTurn()
	if !r.queues.each(in.View, lane, false, try) && other != nil {
		r.queues.each(in.View, other, false, try)
	}
}

// Order implements dispatch.Rule: Each has put the jobs in order.
func (r *rule) Order(_ *policy.Input, c *dispatch.Candidate) bool {
	c.Key = dispatch.Key{Reason: r.reason, Least: true}
	return true
}

// Launched implements dispatch.Launcher: a map's container is charged.
func (r *rule) Launched(in *policy.Input, _ *state.Job, s *state.Stage) {
	if s.Kind == model.StageMap {
		in.Journal.Edit(&r.mix)
		in.Journal.Edit(&r.serving.halves)
		r.charge(r.serving, r.weight)
	}
}

// charge counts a container that goes to a side, whose second has a weight.
func (r *rule) charge(from *side, weight float64) {
	charge(&r.mix, weight)
	if from.isSplit() {
		charge(&from.halves, 0.5)
	}
}

// sideInTurn returns the schedule that the next container for a map goes to.
func (r *rule) sideInTurn(weight float64) *side {
	if secondsTurn(&r.mix, weight) {
		return &r.second
	}
	return &r.first
}

// lanesInTurn returns the lane that the schedule's next container goes to, and the
// other one, nil without.
func (s *side) lanesInTurn() (lane, other *queue) {
	if len(s.lanes) == 1 {
		return s.lanes[0], nil
	}
	a, b := s.lanes[0], s.lanes[1]
	if a.heap.Len() == 0 || (s.isSplit() && secondsTurn(&s.halves, 0.5)) {
		return b, a
	}
	return a, b
}

// isSplit reports whether two lanes share the schedule's containers.
func (s *side) isSplit() bool {
	return len(s.lanes) > 1 && s.lanes[0].heap.Len() > 0 && s.lanes[1].heap.Len() > 0
}

// alpha returns the part of the map capacity that is P1's.
func (r *rule) alpha() float64 {
	if len(r.second.lanes) == 0 {
		return 1
	}
	buffered := float64(r.queues.buffered) * bufferUnit
	if buffered <= r.params.BufferS {
		buffered = 0
	}
	return schedule.Alpha(buffered, r.first.output(), r.second.output(), r.params.Theta)
}

// output returns the rate at which the schedule puts out shuffle work, in parts
// of the network.
func (s *side) output() float64 {
	sum, jobs := int64(0), 0
	for _, q := range s.lanes {
		switch {
		case q.heap.Len() == 0:
		case s.schedule.Shares():
			sum += q.ratios
			jobs += q.heap.Len()
		default:
			sum += q.heap.First().ratio
			jobs++
		}
	}
	return float64(sum) / float64(max(jobs, 1)) * ratioUnit
}

// almost is how far below one container rounding may leave a sum of weights.
const almost = 1 - 1e-9

// secondsTurn reports whether the next container goes to the second of two that
// share containers, whose weight it has: after n containers the second has had the
// sum of its weights, less than one off.
func secondsTurn(d *policy.Wait, weight float64) bool { return d.Owed+weight >= almost }

// charge counts a container.
func charge(d *policy.Wait, weight float64) {
	isSeconds := secondsTurn(d, weight)
	d.Owed += weight
	if isSeconds {
		d.Owed = max(d.Owed-1, 0)
	}
}
