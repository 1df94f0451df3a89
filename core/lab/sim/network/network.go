// Package network shares the links of a simulated cluster max-min fairly: the
// uplink and the downlink of every rack and the interfaces of its nodes
// (algorithms.md 1.7). Fast follows shuffles and single transfers between racks.
// The tests hold it against a form that follows every flow between two nodes and
// solves all rates again at every start, finish and change of capacity; how far the
// two are apart is in docs/network-model.md.
//
// A network holds a clock that only Advance moves. Bytes and times are whole
// numbers, bytes and milliseconds; a flow that ends within a millisecond ends at
// its end, and leaves its share idle until then. Rates are held in bytes per
// millisecond.
//
// Nothing here is safe for use by several goroutines.
package network

import (
	"errors"
	"fmt"
	"math"

	"heddle/core/model"
	"heddle/core/topology"
)

// Kind is what a flow carries, as the traffic between racks is reported.
type Kind uint8

// The kinds of traffic.
const (
	Shuffle Kind = iota // map output to reduces
	MapRead             // a block to a map that runs elsewhere
	Write               // a copy of a block that is being written
	Kinds   = 3
)

// Rack is one rack of the cluster.
type Rack struct {
	Uplink topology.Link        // capacity of the uplink (Out) and the downlink (In)
	NIC    model.BytesPerSecond // of the interface of each node, in each direction
	Nodes  int
}

// Traffic is what has crossed one rack's links since the start, in bytes by kind.
type Traffic struct {
	Up, Down [Kinds]model.Bytes
}

// ID names a transfer or a group of reduces from when it is added until
// it is done or removed. IDs are small, and are used again.
type ID int32

// Done says that something has arrived in full. ID is a group of reduces where
// Kind is Shuffle, else a transfer.
type Done struct {
	At   model.Time
	Kind Kind
	ID   ID
}

// never is later than any event.
const never = model.Time(math.MaxInt64)

// What is left of a flow below a thousandth of a byte is rounding, and so is a
// millionth of a millisecond.
const (
	negligibleBytes = 1e-3
	negligibleTime  = 1e-6
)

// validate reports the racks that cannot be simulated.
func validate(racks []Rack) error {
	if len(racks) == 0 {
		return errors.New("network: no racks; give at least one")
	}
	var errs []error
	for i, r := range racks {
		if !positive(r.Uplink.Out) || !positive(r.Uplink.In) || !positive(r.NIC) || r.Nodes <= 0 {
			errs = append(errs, fmt.Errorf("network: rack %d: uplink %g out and %g in, %d nodes with %g each: give rates and nodes above 0",
				i, r.Uplink.Out, r.Uplink.In, r.Nodes, r.NIC))
		}
	}
	return errors.Join(errs...)
}

func positive(rate model.BytesPerSecond) bool { return rate > 0 && !math.IsInf(float64(rate), 1) }

// perMs turns a rate into bytes per millisecond.
func perMs(rate model.BytesPerSecond) float64 { return float64(rate) / float64(model.Second) }

// remaining returns what a background load leaves of a capacity, bytes/ms.
func remaining(capacity, background model.BytesPerSecond) float64 {
	return perMs(max(capacity-max(background, 0), 0))
}

// toInt32 turns a number of flows, queues, links or reduces into what is kept of it.
func toInt32(n int) int32 { return int32(n) } //nolint:gosec // two thousand million of them do not fit into memory

// firstMillisecond returns the first whole millisecond at which a wait that began at a
// time is over. A millionth of a millisecond is rounding.
func firstMillisecond(from model.Time, wait float64) model.Time {
	if wait >= math.MaxInt64/4 || math.IsNaN(wait) {
		return never
	}
	return from + model.Time(math.Ceil(max(wait-negligibleTime, 0)))
}
