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
//     weight 1 - alpha, to P2's; counters of what is due make the mix exact to
//     one container. Halves of SplitSRPT are counted in the same way, and Fair's
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
//   - a job takes a map at the best locality the node gives, after DelayS without
//     a node-local one if that is set.
//   - users and queues count for nothing, as in the paper.
//
// The paper supports no hold: no plan holds anything, and a free container is
// never kept free but for DelayS.
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

// Policy is NUM, or one of its schedules alone.
type Policy struct {
	params Params
	delay  model.Duration

	first, second side        // P1 and P2; second has no lanes where P1 is alone
	mix           policy.Wait // Owed is P2's deficit
	queues        index
	stash         []*entry // jobs looked at that the node cannot serve
}

var (
	_ policy.Policy  = (*Policy)(nil)
	_ policy.Planner = (*Policy)(nil)
)

// side is a schedule of the map queue.
type side struct {
	policy schedule.Schedule
	lanes  []*order
	halves policy.Wait // Owed is the deficit of the second lane
	reason model.Reason
}

// Place implements policy.Policy.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	p.queues.look(in.View)
	if n := in.Offer.Node; n == nil || !n.State.Usable() {
		return nil
	}
	return p.serve(in)
}

// serve answers the offer: reduces that have something to fetch, maps, other
// reduces.
func (p *Policy) serve(in *policy.Input) []model.Placement {
	if j := p.reduceOf(in, true); j != nil {
		return in.Launch(j, j.Reduce, model.ReasonShuffleOrder)
	}
	if j, reason := p.mapOf(in); j != nil {
		return in.Launch(j, j.Map, reason)
	}
	if j := p.reduceOf(in, false); j != nil {
		return in.Launch(j, j.Reduce, model.ReasonShuffleOrder)
	}
	return nil
}

// reduceOf returns the first job of the shuffle queue that a reduce can be
// started of, nil for none.
func (p *Policy) reduceOf(in *policy.Input, ready bool) *state.Job {
	return p.best(in, p.queues.shuffle, func(e *entry, j *state.Job) verdict {
		switch {
		case ready && !e.ready:
			return stop
		case j.Blacklisted(in.Offer.Node.Host) || !in.Admits(j.Reduce):
			return pass
		}
		return take
	})
}

// mapOf returns the job whose turn it is in the map queue, nil for none, and why.
func (p *Policy) mapOf(in *policy.Input) (*state.Job, model.Reason) {
	s, weight := &p.first, 1-p.alpha()
	if secondsTurn(&p.mix, weight) {
		s = &p.second
	}
	j := p.pick(in, s)
	if j != nil {
		charge(in.Journal.Edit(&p.mix), weight)
	}
	return j, s.reason
}

// alpha returns the part of the map capacity that is P1's.
func (p *Policy) alpha() float64 {
	if len(p.second.lanes) == 0 {
		return 1
	}
	buffered := float64(p.queues.buffered) * bufferUnit
	if buffered <= p.params.BufferS {
		buffered = 0
	}
	return schedule.Alpha(buffered, p.first.output(), p.second.output(), p.params.Theta)
}

// output returns the rate at which the schedule puts out shuffle work, in parts
// of the network.
func (s *side) output() float64 {
	sum, jobs := int64(0), 0
	for _, o := range s.lanes {
		switch {
		case len(o.heap) == 0:
		case s.policy.Shares():
			sum += o.ratios
			jobs += len(o.heap)
		default:
			sum += parts(o.heap[0])
			jobs++
		}
	}
	return float64(sum) / float64(max(jobs, 1)) * ratioUnit
}

// pick returns the job the schedule gives a container of the offered node to.
func (p *Policy) pick(in *policy.Input, s *side) *state.Job {
	fits := func(e *entry, j *state.Job) verdict {
		if j.Blacklisted(in.Offer.Node.Host) || !in.Admits(j.Map) || p.waits(in, e, j) {
			return pass
		}
		return take
	}
	if len(s.lanes) == 1 {
		return p.best(in, s.lanes[0], fits)
	}
	a, b := s.lanes[0], s.lanes[1]
	weight := 0.5
	switch {
	case len(b.heap) == 0:
		weight = 0
	case len(a.heap) == 0:
		weight = 1
	}
	if secondsTurn(&s.halves, weight) {
		a, b = b, a
	}
	j := p.best(in, a, fits)
	if j == nil {
		j = p.best(in, b, fits)
	}
	if j != nil && weight == 0.5 {
		charge(in.Journal.Edit(&s.halves), weight)
	}
	return j
}

// waits reports whether the job lets the offer pass for a node-local one. As in
// delay scheduling a node-local launch ends the wait, and one that is late does
// not start it anew.
func (p *Policy) waits(in *policy.Input, e *entry, j *state.Job) bool {
	if p.delay <= 0 {
		return false
	}
	level, _ := j.Map.Locality(in.Offer.Node)
	now := in.View.Now()
	switch {
	case level == model.NodeLocal:
		in.Journal.Edit(&e.wait).On = false
		return false
	case !e.wait.On || e.wait.Since > now: // a clock that was set back starts the wait anew
		*in.Journal.Edit(&e.wait) = policy.Wait{On: true, Since: now}
	}
	return now.Sub(e.wait.Since) < p.delay
}

// verdict is what an offer has to say to a job.
type verdict uint8

const (
	take verdict = iota
	pass
	stop // nor will any job after it do
)

// best returns the first job of an order that takes the offer, nil for none.
func (p *Policy) best(in *policy.Input, o *order, judge func(*entry, *state.Job) verdict) *state.Job {
	var found *state.Job
search:
	for len(o.heap) > 0 {
		e := o.heap[0]
		j := in.View.Job(e.id)
		v := pass
		if j != nil && !j.State.Final() {
			v = judge(e, j)
		}
		switch v {
		case take:
			found = j
			break search
		case stop:
			break search
		case pass:
			o.remove(e)
			p.stash = append(p.stash, e)
		}
	}
	for i, e := range p.stash {
		o.push(e)
		p.stash[i] = nil
	}
	p.stash = p.stash[:0]
	return found
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
