package weave

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// takesMap returns why a job starts a map on the offered rack now, "" if it does not.
func (r *rule) takesMap(in *policy.Input, e *entry) model.Reason {
	s, rack := e.job.Map, in.Offer.Node.Rack
	set := r.racksOf(in.View, e)
	if e.cheapest = s.Anywhere() && set.share == nil; e.cheapest {
		return model.ReasonAnyMap
	}
	here := e.mapCost(s, rack.Index)
	least := r.cluster.leastMapCost(e, here)
	if e.cheapest = here <= least; !e.cheapest && r.waits(in, &e.waits.maps, here-least, s) {
		return ""
	}
	switch {
	case s.PendingIn(rack.Index) > 0:
		return model.ReasonLocalMap
	case e.cheapest:
		return model.ReasonPreferredMapRack
	}
	return model.ReasonAnyMap
}

// mapCost returns the bytes that a map of the job sends across racks if it runs on a rack: its input if that is on other
// ones, and the part of its output that is reduced elsewhere.
func (e *entry) mapCost(s *state.Stage, rack int) float64 {
	cost := 0.0
	if !s.Anywhere() && s.PendingIn(rack) == 0 {
		cost = e.size.input / float64(e.size.maps)
	}
	if share := e.racks.share; share != nil {
		cost += e.size.outputOfMap() * (1 - share[rack])
	}
	return cost
}

// leastMapCost returns the least that a map costs on any rack, no more than on the offered one.
func (c *cluster) leastMapCost(e *entry, here float64) float64 {
	lowest := e.size.outputOfMap() * (1 - e.racks.most)
	if e.racks.share == nil {
		lowest = 0
	}
	if here <= lowest {
		return here
	}
	b := &e.best.maps
	if b.revision != e.revision || b.choice != e.racks.version {
		b.revision, b.choice, b.bytes = e.revision, e.racks.version, here
		for i, memory := range c.memory {
			if memory > 0 {
				if b.bytes = min(b.bytes, e.mapCost(e.job.Map, i)); b.bytes <= lowest {
					break
				}
			}
		}
	}
	return min(here, b.bytes)
}

// best is what a task costs or has at best, as found for a revision of its job.
type best struct {
	revision, choice int
	bytes            float64
}

// takesReduce returns why a job starts a reduce on the offered rack now, "" if it does not.
func (r *rule) takesReduce(in *policy.Input, e *entry) model.Reason {
	s, here := e.job.Reduce, in.Offer.Node.Rack.Index
	if e.cheapest = e.size.shuffle <= 0; e.cheapest {
		return model.ReasonAnyReduce
	}
	q := r.quotasOf(in.View, e)
	if len(q.counts) == 0 {
		e.cheapest = true
		return model.ReasonAnyReduce
	}
	if !r.admits(in, e) {
		return ""
	}
	if s.Launched(here) < q.counts[here] {
		e.cheapest = true
		return model.ReasonPreferredReduce
	}
	if more := (e.mostDrawn() - q.draws[here]) / float64(q.n); more > 0 && r.waits(in, &e.waits.reduces, more, s) {
		return ""
	}
	return model.ReasonAnyReduce
}

// mostDrawn returns the most bytes that draw reduces to a rack which wants one more, by the quotas.
func (e *entry) mostDrawn() float64 {
	b, q := &e.best.reduces, &e.quotas
	if b.revision != e.revision || b.choice != q.version {
		b.revision, b.choice, b.bytes = e.revision, q.version, 0
		for i, n := range q.counts {
			if e.job.Reduce.Launched(i) < n {
				b.bytes = max(b.bytes, q.draws[i])
			}
		}
	}
	return b.bytes
}

// waits reports whether a stage lets an offer pass on which a task costs so many bytes more than elsewhere: for as long as
// they are worth. A byte is worth the time in which the rack's uplink carries its part for one of the rack's containers, by
// how busy uplinks are.
func (r *rule) waits(in *policy.Input, w *policy.Wait, bytes float64, s *state.Stage) bool {
	rack, now := in.Offer.Node.Rack, in.View.Now()
	if !w.On || w.Since > now { // a clock that was set back starts the wait anew
		*in.Journal.Edit(w) = policy.Wait{On: true, Since: now}
	}
	busy := max(min(rack.Utilization, 1), r.cluster.utilization(in.View), r.params.IdlePrice)
	worth := bytes * busy * r.cluster.containers(rack.Index, s) / r.cluster.uplink[rack.Index]
	return now.Sub(w.Since).Seconds() < min(worth*r.params.Patience, r.params.PatienceS)
}
