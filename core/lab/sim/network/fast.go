package network

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/topology"
)

// Config is a cluster and how finely Fast follows it.
type Config struct {
	Racks []Rack
	// Step is how often rates are solved again while demand changes, and how often a job's new map output reaches
	// its reduces. It grows up to MaxStep where what is on its way takes long: see flowQueues.stepLength.
	Step, MaxStep model.Duration
	// Streams is the weight of one reduce and of one transfer: the parallel streams with which it competes.
	Streams [Kinds]float64
}

// DefaultConfig returns steps of 1 to 5 s, five streams a reduce
// (mapreduce.reduce.shuffle.parallelcopies) and one a transfer.
func DefaultConfig(racks []Rack) Config {
	return Config{Racks: racks, Step: model.Second, MaxStep: 5 * model.Second, Streams: [Kinds]float64{Shuffle: 5, MapRead: 1, Write: 1}}
}

// Validate reports every setting that is out of range.
func (c *Config) Validate() error {
	errs := []error{validate(c.Racks)}
	if c.Step <= 0 {
		errs = append(errs, errors.New("network: step: must be above 0"))
	}
	if c.MaxStep < c.Step {
		errs = append(errs, errors.New("network: longest step: must not be below the step"))
	}
	for kind, streams := range c.Streams {
		if !(streams > 0) || math.IsInf(streams, 1) {
			errs = append(errs, fmt.Errorf("network: streams of kind %d: must be above 0", kind))
		}
	}
	return errors.Join(errs...)
}

// Fast shares the links among shuffles and transfers between racks.
//
// Between two racks all flows of a kind have the same bytes per unit of weight,
// so that one queue for each (kind, rack, rack) stands for all of them, and a
// change of rates touches queues alone. A solve gives every queue a rate for the
// next step: max-min fair by weight over uplinks and downlinks, none more than
// it can use in the step, and what that leaves free shared in a second filling.
// Between two solves the links stay within their capacity and a queue keeps its
// rate: a flow that ends leaves its share to its queue, and one that starts
// takes what is free, or shares what its queue has until the next solve.
//
// Interfaces of nodes are caps: a queue's level is at most one interface over
// the streams of a reduce or transfer, and a rack's links carry no more than its
// interfaces together. Flows within a rack have the interfaces of the rack to
// share.
type Fast struct {
	queues   flowQueues
	shuffles shuffles
	free     []ID // of transfers
}

// NewFast returns an idle network at time 0.
func NewFast(c Config) (*Fast, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	f := &Fast{queues: newFlowQueues(c)}
	f.shuffles = shuffles{queues: &f.queues, racks: len(c.Racks)}
	return f, nil
}

// AddTransfer starts a transfer of one node to another now. A transfer within a
// rack uses the interfaces; one within a node is not for the network.
func (f *Fast) AddTransfer(kind Kind, from, to int, bytes model.Bytes) ID {
	var id ID
	if n := len(f.free); n > 0 {
		id = f.free[n-1]
		f.free = f.free[:n-1]
	} else {
		id = ID(toInt32(len(f.queues.transfers)))
		f.queues.transfers = append(f.queues.transfers, flow{})
	}
	f.queues.transfers[id] = flow{weight: f.queues.config.Streams[kind], route: f.queues.routeOf(kind, from, to), slot: idle}
	f.queues.addFlow(f.queues.transfers, int32(id), max(bytes, 0))
	f.queues.watchFlow(f.queues.transfers, int32(id))
	return id
}

// RemoveTransfer ends a transfer now and returns the bytes it had not sent.
func (f *Fast) RemoveTransfer(id ID) model.Bytes {
	left := f.queues.removeFlow(f.queues.transfers, int32(id))
	f.queues.dropEnded(Write, id)
	f.free = append(f.free, id)
	return left
}

// SetBackground sets the load of other traffic on a rack's links from now on.
func (f *Fast) SetBackground(rack int, load topology.Link) {
	f.queues.links.setBackground(rack, &f.queues.config.Racks[rack], load)
	f.queues.state.needed, f.queues.state.overCapacity = true, true
}

// Next returns the next moment at which something may be done or rates change,
// and false when nothing is on its way. Nothing is done before it unless
// something is added or removed first.
func (f *Fast) Next() (model.Time, bool) {
	f.flushAndSolve()
	_, at := f.queues.calendar.earliest()
	if len(f.queues.ended) > 0 {
		at = f.queues.now
	}
	if f.queues.state.needed {
		at = min(at, f.queues.nextSolve())
	}
	return at, at < never
}

// flushAndSolve gives reduces the map output that cannot wait for the next step, and solves the
// rates if a step is over.
func (f *Fast) flushAndSolve() {
	if !f.queues.state.needed || !f.queues.state.overCapacity && f.queues.nextSolve() > f.queues.now {
		f.shuffles.flush(&f.shuffles.urgentJobs)
		return
	}
	f.queues.state.solving = true
	f.shuffles.flush(&f.shuffles.urgentJobs)
	f.shuffles.flush(&f.shuffles.pendingJobs)
	f.queues.solve()
}

// Advance moves the clock and calls done for all that arrives by then, in the
// order of time. done may add to the network and take from it; the ID it is
// given is free again when it returns.
func (f *Fast) Advance(to model.Time, done func(Done)) {
	for {
		at, ok := f.Next()
		if !ok || at > to {
			break
		}
		f.queues.now = max(f.queues.now, at)
		if queue, ends := f.queues.calendar.earliest(); ends <= f.queues.now {
			f.queues.advanceQueue(toInt32(queue))
			f.queues.adjustRate(toInt32(queue))
		}
		f.report(done)
	}
	f.queues.now = max(f.queues.now, to)
}

// report reports what has ended.
func (f *Fast) report(done func(Done)) {
	for len(f.queues.ended) > 0 {
		d := f.queues.ended[0]
		f.queues.ended = slices.Delete(f.queues.ended, 0, 1)
		d.At = f.queues.now
		if d.Kind != Shuffle {
			done(d)
			f.free = append(f.free, d.ID)
			continue
		}
		if !f.shuffles.watchLastFlow(d.ID) {
			f.shuffles.detach(d.ID)
			done(d)
			f.shuffles.freeGroups = append(f.shuffles.freeGroups, d.ID)
		}
	}
}

// Traffic writes what has crossed every rack's links so far to dst, which it
// grows as needed, and returns it.
func (f *Fast) Traffic(dst []Traffic) []Traffic {
	if f.queues.now != f.queues.solvedAt { // a solve brings all queues forward
		for i := range f.queues.queues {
			f.queues.advanceQueue(toInt32(i))
			f.queues.countSent(toInt32(i))
		}
	}
	return append(dst[:0], f.queues.traffic...)
}

// Solved reports whether rates were solved at this very moment, or nothing is on
// its way: then Traffic costs next to nothing.
func (f *Fast) Solved() bool { return f.queues.now == f.queues.solvedAt || len(f.queues.queues) == 0 }
