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
	// Step is how often rates are solved anew while demand changes, and how often a job's new map output reaches
	// its reduces. It grows up to MaxStep where what is on its way takes long: see fabric.step.
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
	net      fabric
	shuffles shuffles
	free     []ID // of transfers
}

// NewFast returns an idle network at time 0.
func NewFast(c Config) (*Fast, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	f := &Fast{net: newFabric(c)}
	f.shuffles = shuffles{net: &f.net, racks: len(c.Racks)}
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
		id = ID(small(len(f.net.transfers)))
		f.net.transfers = append(f.net.transfers, flow{})
	}
	f.net.transfers[id] = flow{weight: f.net.config.Streams[kind], route: f.net.routeOf(kind, from, to), slot: idle}
	f.net.insert(f.net.transfers, int32(id), max(bytes, 0))
	f.net.watch(f.net.transfers, int32(id))
	return id
}

// RemoveTransfer ends a transfer now and returns the bytes it had not sent.
func (f *Fast) RemoveTransfer(id ID) model.Bytes {
	left := f.net.takeBack(f.net.transfers, int32(id))
	f.net.forget(Write, id)
	f.free = append(f.free, id)
	return left
}

// SetBackground sets the load of other traffic on a rack's links from now on.
func (f *Fast) SetBackground(rack int, load topology.Link) {
	f.net.links.set(rack, &f.net.config.Racks[rack], load)
	f.net.mode.changed, f.net.mode.forced = true, true
}

// Next returns the next moment at which something may be done or rates change,
// and false when nothing is on its way. Nothing is done before it unless
// something is added or removed first.
func (f *Fast) Next() (model.Time, bool) {
	f.settle()
	_, at := f.net.calendar.earliest()
	if len(f.net.ended) > 0 {
		at = f.net.now
	}
	if f.net.mode.changed {
		at = min(at, f.net.due())
	}
	return at, at < never
}

// settle hands on what cannot wait for the next step, and solves if a step is over.
func (f *Fast) settle() {
	if !f.net.mode.changed || !f.net.mode.forced && f.net.due() > f.net.now {
		f.shuffles.flush(&f.shuffles.urgent)
		return
	}
	f.net.mode.quiet = true
	f.shuffles.flush(&f.shuffles.urgent)
	f.shuffles.flush(&f.shuffles.dirty)
	f.net.solve()
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
		f.net.now = max(f.net.now, at)
		if queue, ends := f.net.calendar.earliest(); ends <= f.net.now {
			f.net.serve(small(queue))
			f.net.adjust(small(queue))
		}
		f.report(done)
	}
	f.net.now = max(f.net.now, to)
}

// report reports what has ended.
func (f *Fast) report(done func(Done)) {
	for len(f.net.ended) > 0 {
		d := f.net.ended[0]
		f.net.ended = slices.Delete(f.net.ended, 0, 1)
		d.At = f.net.now
		if d.Kind != Shuffle {
			done(d)
			f.free = append(f.free, d.ID)
			continue
		}
		if !f.shuffles.watch(d.ID) {
			f.shuffles.detach(d.ID)
			done(d)
			f.shuffles.freeGroups = append(f.shuffles.freeGroups, d.ID)
		}
	}
}

// Traffic writes what has crossed every rack's links so far to dst, which it
// grows as needed, and returns it.
func (f *Fast) Traffic(dst []Traffic) []Traffic {
	if f.net.now != f.net.solved { // a solve brings all queues forward
		for i := range f.net.queues {
			f.net.serve(small(i))
			f.net.cross(small(i))
		}
	}
	return append(dst[:0], f.net.crossed...)
}

// Solved reports whether rates were solved at this very moment, or nothing is on
// its way: then Traffic costs next to nothing.
func (f *Fast) Solved() bool { return f.net.now == f.net.solved || len(f.net.queues) == 0 }
