// Package capacity implements YARN's CapacityScheduler (algorithms.md 2.5.4,
// hadoop.md 6.3). The queue that uses the least of its guaranteed capacity is
// served first, and in it the job that stands first by priority and submission,
// within the limits of queue and user. A job's maps wait for their nodes for 40
// offers or as many as there are nodes, then for their racks, and a node is
// given one off-switch container in a heartbeat.
//
// What is changed, and why:
//   - Queues stand side by side: give each leaf its share of the whole cluster.
//     Priorities of queues, node labels and reservations are not there; an ask
//     that does not fit into what a node has free is passed by, where YARN would
//     reserve the node for it.
//   - Capacities are of memory, as with YARN's DefaultResourceCalculator.
//   - heddle places no ApplicationMasters. The limit on them makes jobs wait for
//     their turn all the same: a job that has containers, or whose
//     ApplicationMaster of the configured size finds room within the limit, is
//     active and stays so, the others get nothing (limits.go).
//   - A row of asks that fell to zero counts for the wait for a rack in YARN; it
//     is not kept here.
//
// Place costs O(Q log Q + J) for the queues, and the jobs in line before the one
// it serves. The user limit looks at all jobs of a queue where the percentage is
// below 100 or the factor above 1; at the defaults it looks at none.
package capacity

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "capacity"

// Policy is the capacity scheduler.
type Policy struct {
	params Params
	named  map[string]Queue // by path below the root
	left   float64          // percent that no named queue has

	jobs      policy.Jobs[jobState]
	offSwitch policy.Heartbeat
	queues    []queue                  // scratch of one offer
	active    []*state.QueueUser       // scratch of one user limit
	masters   map[model.UserID]float64 // scratch of one activation
}

var _ policy.Policy = (*Policy)(nil)

// jobState is what is kept of one live job.
type jobState struct {
	missed policy.Wait // Skips are offers since the maps last got a local container
	active bool        // its ApplicationMaster found room
	judged when        // for active
}

// Place implements policy.Policy.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	p.jobs.Prune(in.View)
	if !in.Offer.Usable() || p.offSwitch.Given(in) >= p.params.MaxOffSwitch {
		return nil
	}
	p.rank(in.View)
	for i := range p.queues {
		if placed := p.serve(in, &p.queues[i]); placed != nil {
			return placed
		}
	}
	return nil
}

// serve gives the offer to the first job of a queue that can use it.
func (p *Policy) serve(in *policy.Input, q *queue) []model.Placement {
	for _, j := range q.Jobs() {
		s := in.Next(j)
		if s == nil || !p.isActive(in, q, j) || p.overUserLimit(q, j) {
			continue
		}
		if q.Usage.MemoryMiB+s.Capability.MemoryMiB > q.most {
			return nil // the job first in line waits for the queue to have room: YARN's QUEUE_SKIPPED
		}
		if s.Kind != model.StageMap {
			if in.Locality(s) == model.OffSwitch {
				p.offSwitch.Give(in)
			}
			return in.Launch(j, s, model.ReasonQueueCapacity)
		}
		if reason := p.launch(in, j); reason != "" {
			return in.Launch(j, s, reason)
		}
	}
	return nil
}

// launch decides whether a job takes its best map for the offered node, and
// returns why; "" is to let the offer pass (RegularContainerAllocator.canAssign).
func (p *Policy) launch(in *policy.Input, j *state.Job) model.Reason {
	k := in.Journal.Edit(&p.jobs.Of(j).missed)
	k.Skips++
	level := in.Locality(j.Map)
	nodes := in.View.Capacity().Nodes
	switch level {
	case model.NodeLocal:
		k.Skips = 0
		return model.ReasonDelayNodeLocal
	case model.RackLocal:
		if k.Skips <= min(nodes, p.params.NodeLocalityDelay) {
			break
		}
		if p.params.RackFullReset {
			k.Skips = 0
		}
		return model.ReasonDelayRackLocal
	case model.OffSwitch:
	}
	return p.anyNode(in, j.Map, k.Skips, nodes)
}

// anyNode decides whether maps take a node as one that is as good as any other.
// As in YARN that can come before the node is good enough for being in the rack
// of an input: the wait for it is shorter where few containers are asked for in
// few places (hadoop.md 6.3, trap 2). The count of offers goes on.
func (p *Policy) anyNode(in *policy.Input, s *state.Stage, missed, nodes int) model.Reason {
	places := s.Places()
	if places == 0 {
		p.offSwitch.Give(in)
		return model.ReasonQueueCapacity // asked for anywhere: nothing better can come
	}
	wait := float64(s.Pending) * min(float64(places)/float64(nodes), 1)
	if p.params.RackLocalityDelay > Off {
		wait = float64(p.params.NodeLocalityDelay + p.params.RackLocalityDelay)
	}
	if float64(missed) <= min(float64(nodes), wait) {
		return ""
	}
	p.offSwitch.Give(in)
	return model.ReasonDelayExpired
}
