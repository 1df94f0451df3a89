package amrm

import (
	"sync/atomic"
	"time"

	"heddle/core/asks"
	"heddle/core/model"
)

// counts are sums since the relay started. All are updated without a lock: they
// lie on the way of every call.
type counts struct {
	accepted  atomic.Int64
	allocates atomic.Int64
	faults    atomic.Int64 // decisions that panicked or could not be written
	forgotten atomic.Int64 // calls whose answer was not recognised, because too many were under way
	refused   map[model.RefuseCause]*atomic.Int64
	rewritten map[model.Action]*atomic.Int64
	passed    map[model.PassCause]*atomic.Int64
	bounds    []time.Duration // of the buckets
	buckets   []atomic.Int64  // one more than bounds
	nanos     atomic.Int64
}

func newCounts() *counts {
	c := &counts{rewritten: map[model.Action]*atomic.Int64{}, passed: map[model.PassCause]*atomic.Int64{}, refused: map[model.RefuseCause]*atomic.Int64{}}
	for _, cause := range model.RefuseCauses() {
		c.refused[cause] = new(atomic.Int64)
	}
	for _, a := range model.Actions() {
		c.rewritten[a] = new(atomic.Int64)
	}
	for _, p := range model.PassCauses() {
		c.passed[p] = new(atomic.Int64)
	}
	for _, seconds := range model.RelayBuckets() {
		c.bounds = append(c.bounds, time.Duration(seconds*float64(time.Second)))
	}
	c.buckets = make([]atomic.Int64, len(c.bounds)+1)
	return c
}

// pass counts what went on as it came. A cause outside the closed set is not counted.
func (c *counts) pass(cause model.PassCause) {
	if n := c.passed[cause]; n != nil {
		n.Add(1)
	}
}

// refuse counts a connection that is closed because of a limit.
func (c *counts) refuse(cause model.RefuseCause) { c.refused[cause].Add(1) }

func (c *counts) rewrite(action model.Action) {
	if n := c.rewritten[action]; n != nil {
		n.Add(1)
	}
}

// step counts what was done to a key, or while heddle only advises, would have been.
func (c *counts) step(s *asks.Step) {
	if s.Action != "" {
		c.rewrite(s.Action)
	}
	if s.Action == "" || s.Cause == model.PassAdvise {
		c.pass(s.Cause)
	}
}

// added counts the time that an allocate call and its answer spent in the relay.
func (c *counts) added(d time.Duration) {
	at := len(c.bounds)
	for i, bound := range c.bounds {
		if d <= bound {
			at = i
			break
		}
	}
	c.buckets[at].Add(1)
	c.nanos.Add(int64(d))
}

func (c *counts) snapshot() model.RelayCounts {
	s := model.RelayCounts{
		Accepted: c.accepted.Load(), Allocates: c.allocates.Load(),
		Faults: c.faults.Load(), Forgotten: c.forgotten.Load(), Refused: make(map[model.RefuseCause]int64, len(c.refused)),
		Seconds:   time.Duration(c.nanos.Load()).Seconds(),
		Rewritten: make(map[model.Action]int64, len(c.rewritten)), Passed: make(map[model.PassCause]int64, len(c.passed)),
	}
	for cause, n := range c.refused { // order-free: into a map
		s.Refused[cause] = n.Load()
	}
	for a, n := range c.rewritten { // order-free: into a map
		s.Rewritten[a] = n.Load()
	}
	for p, n := range c.passed { // order-free: into a map
		s.Passed[p] = n.Load()
	}
	for i := range c.buckets {
		s.Buckets = append(s.Buckets, c.buckets[i].Load())
	}
	return s
}
