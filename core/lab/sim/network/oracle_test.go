package network

import (
	"fmt"
	"math"

	"heddle/core/model"
	"heddle/core/topology"
)

// Node is a node by its rack and its number in the rack, both from 0.
type Node struct{ Rack, Number int }

// Flow is bytes on their way from one node to another.
type Flow struct {
	Kind     Kind
	From, To Node
	Bytes    model.Bytes
	Weight   float64              // parallel streams: what it gets beside a flow of weight 1
	Cap      model.BytesPerSecond // of its own; 0 is none
}

// Exact, the form that Fast is held against, shares the links among flows between nodes. A flow to another rack uses
// the interfaces of both nodes, its rack's uplink and the other's downlink; a
// flow within a rack the interfaces alone; one within a node no link, it is done
// at once. Every event costs time in proportion to the flows.
type Exact struct {
	racks    []Rack
	first    []int     // link of the first node of each rack
	capacity []float64 // by link, bytes/ms: uplinks, downlinks, then two interfaces a node
	flows    []exactFlow
	free     []ID
	arrived  []Traffic // of flows that are done or removed
	now      model.Time
	stale    bool // rates have to be solved anew
	rates    rates
}

// exactFlow is a flow with what it still has to send at the clock.
type exactFlow struct {
	Flow
	left  float64 // bytes
	rate  float64 // bytes/ms
	alive bool
}

// rates is the scratch of solving.
type rates struct {
	shares       []share
	of           []ID
	rest, weight []float64
}

// NewExact returns an idle network at time 0.
func NewExact(racks []Rack) (*Exact, error) {
	if err := validate(racks); err != nil {
		return nil, err
	}
	x := &Exact{racks: racks, arrived: make([]Traffic, len(racks))}
	x.capacity = make([]float64, 2*len(racks))
	for r, rack := range racks {
		x.capacity[r], x.capacity[len(racks)+r] = perMs(rack.Uplink.Out), perMs(rack.Uplink.In)
		x.first = append(x.first, len(x.capacity))
		for range 2 * rack.Nodes {
			x.capacity = append(x.capacity, perMs(rack.NIC))
		}
	}
	x.rates.rest = make([]float64, len(x.capacity))
	x.rates.weight = make([]float64, len(x.capacity))
	return x, nil
}

// Start starts a flow now.
func (x *Exact) Start(f Flow) (ID, error) {
	if err := x.check(f); err != nil {
		return 0, err
	}
	e := exactFlow{Flow: f, left: float64(f.Bytes), alive: true}
	x.stale = true
	if n := len(x.free); n > 0 {
		id := x.free[n-1]
		x.free = x.free[:n-1]
		x.flows[id] = e
		return id, nil
	}
	x.flows = append(x.flows, e)
	return ID(toInt32(len(x.flows) - 1)), nil
}

func (x *Exact) check(f Flow) error {
	for _, n := range [...]Node{f.From, f.To} {
		if n.Rack < 0 || n.Rack >= len(x.racks) || n.Number < 0 || n.Number >= x.racks[n.Rack].Nodes {
			return fmt.Errorf("network: no node %d in rack %d; there are %d racks", n.Number, n.Rack, len(x.racks))
		}
	}
	if f.Bytes < 0 || !(f.Weight > 0) || math.IsInf(f.Weight, 1) || !(f.Cap >= 0) || f.Kind >= Kinds {
		return fmt.Errorf("network: flow of kind %d, %d bytes, weight %g, cap %g: give a known kind, bytes and a cap of at least 0, a weight above 0",
			f.Kind, f.Bytes, f.Weight, f.Cap)
	}
	return nil
}

// Add gives a flow more bytes to send.
func (x *Exact) Add(id ID, bytes model.Bytes) {
	f := &x.flows[id]
	f.Bytes += bytes
	f.left += float64(bytes)
}

// SetWeight changes the weight of a flow from now on; it must be above 0.
func (x *Exact) SetWeight(id ID, weight float64) {
	x.flows[id].Weight = weight
	x.stale = true
}

// Left returns the bytes a flow has not sent.
func (x *Exact) Left(id ID) model.Bytes { return model.Bytes(math.Round(x.flows[id].left)) }

// Remove ends a flow now and returns the bytes it had not sent.
func (x *Exact) Remove(id ID) model.Bytes {
	left := x.Left(id)
	x.end(id, left)
	return left
}

// SetBackground sets the load of other traffic on a rack's links from now on.
func (x *Exact) SetBackground(rack int, load topology.Link) {
	up := x.racks[rack].Uplink
	x.capacity[rack], x.capacity[len(x.racks)+rack] = remaining(up.Out, load.Out), remaining(up.In, load.In)
	x.stale = true
}

// Rate returns what a flow is given now, bytes/s.
func (x *Exact) Rate(id ID) model.BytesPerSecond {
	x.solve()
	return model.BytesPerSecond(x.flows[id].rate * float64(model.Second))
}

// Next returns when the next flow is done if nothing else happens before; false
// when none will be.
func (x *Exact) Next() (model.Time, bool) {
	x.solve()
	at := never
	for i := range x.flows {
		if f := &x.flows[i]; f.alive {
			at = min(at, f.ends(x.now))
		}
	}
	return at, at < never
}

// ends returns when a flow is done at its rate.
func (f *exactFlow) ends(now model.Time) model.Time {
	switch {
	case f.left < negligibleBytes:
		return now
	case f.rate == 0:
		return never
	}
	return firstMillisecond(now, f.left/f.rate)
}

// Advance moves the clock and calls done for every flow that ends by then, in
// the order of their ends and then of their IDs. done may start and remove flows.
func (x *Exact) Advance(to model.Time, done func(Done)) {
	for {
		at, ok := x.Next()
		if !ok || at > to {
			break
		}
		x.serve(at)
		for i := 0; i < len(x.flows); i++ { // done may add to it
			if f := &x.flows[i]; f.alive && f.ends(at) == at {
				kind := f.Kind
				id := ID(toInt32(i))
				x.end(id, 0)
				done(Done{At: at, Kind: kind, ID: id})
			}
		}
	}
	x.serve(to)
}

// serve moves the clock; no flow ends on the way.
func (x *Exact) serve(to model.Time) {
	dt := float64(to - x.now)
	if dt <= 0 {
		return
	}
	for i := range x.flows {
		f := &x.flows[i]
		f.left = max(f.left-f.rate*dt, 0)
	}
	x.now = to
}

// end takes a flow out, with so many bytes not sent.
func (x *Exact) end(id ID, left model.Bytes) {
	f := &x.flows[id]
	x.count(x.arrived, f, f.Bytes-left)
	*f = exactFlow{}
	x.free = append(x.free, id)
	x.stale = true
}

func (x *Exact) count(traffic []Traffic, f *exactFlow, sent model.Bytes) {
	if f.From.Rack != f.To.Rack {
		traffic[f.From.Rack].Up[f.Kind] += sent
		traffic[f.To.Rack].Down[f.Kind] += sent
	}
}

// Traffic writes what has crossed every rack's links so far to dst, which it
// grows as needed, and returns it.
func (x *Exact) Traffic(dst []Traffic) []Traffic {
	dst = append(dst[:0], x.arrived...)
	for i := range x.flows {
		if f := &x.flows[i]; f.alive {
			x.count(dst, f, f.Bytes-model.Bytes(math.Round(f.left)))
		}
	}
	return dst
}

// solve gives every flow its rate.
func (x *Exact) solve() {
	if !x.stale {
		return
	}
	x.stale = false
	r := &x.rates
	r.shares, r.of = r.shares[:0], r.of[:0]
	for i := range x.flows {
		f := &x.flows[i]
		switch {
		case !f.alive:
		case f.From == f.To && f.Cap == 0:
			f.left = 0
		default:
			r.shares = append(r.shares, x.share(f))
			r.of = append(r.of, ID(toInt32(i)))
		}
	}
	fill(r.shares, x.capacity, r.rest, r.weight)
	for i, id := range r.of {
		x.flows[id].rate = r.shares[i].level * r.shares[i].weight
	}
}

// share returns what a flow asks of the links.
func (x *Exact) share(f *exactFlow) share {
	s := share{links: [4]int32{-1, -1, -1, -1}, weight: f.Weight, limit: math.Inf(1)}
	if f.Cap > 0 {
		s.limit = perMs(f.Cap) / f.Weight
	}
	if f.From != f.To {
		s.links[0] = toInt32(x.first[f.From.Rack] + 2*f.From.Number)
		s.links[1] = toInt32(x.first[f.To.Rack] + 2*f.To.Number + 1)
	}
	if f.From.Rack != f.To.Rack {
		s.links[2] = toInt32(f.From.Rack)
		s.links[3] = toInt32(len(x.racks) + f.To.Rack)
	}
	return s
}

// share is one flow, or several that share alike, to be given a rate: weight
// times its level. It crosses up to four links; -1 is none.
type share struct {
	links  [4]int32
	weight float64
	limit  float64 // of the level: rate cap over weight, +Inf for none
	level  float64 // the result
}

// fill gives every share its weighted max-min fair level: the largest such that
// raising one would lower another that is not larger (progressive filling:
// Bertsekas and Gallager, Data Networks, 6.5.2, with weights and caps). Levels
// of all shares rise together; a share stops at its limit, or when a link it
// crosses is full. capacity is by link, weights in scratch of the same length.
func fill(shares []share, capacity, rest, weight []float64) {
	copy(rest, capacity)
	open := make([]int, len(shares))
	for i := range shares {
		open[i] = i
	}
	for len(open) > 0 {
		level := next(shares, open, rest, weight)
		kept := open[:0]
		for _, i := range open {
			if s := &shares[i]; s.stops(level, rest, weight) {
				s.level = min(level, s.limit)
				continue
			}
			kept = append(kept, i)
		}
		settle(shares, capacity, rest, kept)
		open = kept
	}
}

// next returns the level at which the next share stops, with the weight of the
// open shares by link.
func next(shares []share, open []int, rest, weight []float64) float64 {
	clear(weight)
	level := math.Inf(1)
	for _, i := range open {
		level = min(level, shares[i].limit)
		for _, l := range shares[i].links {
			if l >= 0 {
				weight[l] += shares[i].weight
			}
		}
	}
	for l, w := range weight {
		if w > 0 {
			level = min(level, rest[l]/w)
		}
	}
	return level
}

// stops reports whether a share goes no higher than a level.
func (s *share) stops(level float64, rest, weight []float64) bool {
	if s.limit <= level {
		return true
	}
	for _, l := range s.links {
		if l >= 0 && rest[l]/weight[l] <= level {
			return true
		}
	}
	return false
}

// settle works out what is left of every link once the shares that are not open
// have theirs. It starts from the capacity each time, so that nothing drifts.
func settle(shares []share, capacity, rest []float64, open []int) {
	copy(rest, capacity)
	o := 0
	for i := range shares {
		if o < len(open) && open[o] == i {
			o++
			continue
		}
		for _, l := range shares[i].links {
			if l >= 0 {
				rest[l] = max(rest[l]-shares[i].level*shares[i].weight, 0)
			}
		}
	}
}
