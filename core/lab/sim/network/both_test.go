package network_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
	"heddle/core/topology"
)

// drawTransfers draws transfers between nodes that no two of them share, so that
// the caps of the fast form are what the interfaces do in the exact one.
func drawTransfers(t *rapid.T, racks []network.Rack, bytes *rapid.Generator[int]) []network.Flow {
	flows := make([]network.Flow, rapid.IntRange(1, 25).Draw(t, "transfers"))
	for i := range flows {
		rackOf := func(name string) int { return rapid.IntRange(0, len(racks)-1).Draw(t, name) }
		f := network.Flow{
			Kind: network.MapRead, From: network.Node{Rack: rackOf("from"), Number: 2 * i}, To: network.Node{Rack: rackOf("to"), Number: 2*i + 1},
			Bytes: model.Bytes(bytes.Draw(t, "bytes")), Weight: 1,
		}
		if rapid.Bool().Draw(t, "write") {
			f.Kind, f.Weight = network.Write, 3
		}
		flows[i] = f
	}
	return flows
}

// drawWide draws racks with nodes for all of drawTransfers.
func drawWide(t *rapid.T) []network.Rack {
	racks := drawRacks(t)
	faster(racks, 10)
	for i := range racks {
		racks[i].Nodes = 50
		racks[i].NIC = racks[0].NIC
	}
	return racks
}

func newBoth(t *rapid.T, racks []network.Rack, step model.Duration) (*network.Exact, *network.Fast) {
	c := network.DefaultConfig(racks)
	c.Step, c.Streams[network.Write] = step, 3
	f, err := network.NewFast(c)
	if err != nil {
		t.Fatal(err)
	}
	return newExact(t, racks), f
}

// TestFastSolvesAsExact gives both forms transfers that last. Between two solves
// both carry the same over every link.
func TestFastSolvesAsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := drawWide(t)
		x, f := newBoth(t, racks, 1000)
		for _, flow := range drawTransfers(t, racks, rapid.Just(1_000_000)) {
			start(t, x, flow)
			f.AddTransfer(flow.Kind, flow.From.Rack, flow.To.Rack, flow.Bytes)
		}
		none := func(d network.Done) { t.Errorf("%+v is done", d) }
		for r := range racks {
			load := topology.Link{Out: racks[r].Uplink.Out * model.BytesPerSecond(rapid.Float64Range(0, 1.1).Draw(t, "load")), In: racks[r].Uplink.In / 3}
			x.SetBackground(r, load)
			f.SetBackground(r, load)
		}
		x.Advance(10_000, none)
		f.Advance(10_000, none)
		want, got := x.Traffic(nil), f.Traffic(nil)
		for r := range racks {
			for kind := range network.Kinds {
				if !near(got[r].Up[kind], want[r].Up[kind]) || !near(got[r].Down[kind], want[r].Down[kind]) {
					t.Errorf("rack %d: %v, want %v", r, got[r], want[r])
				}
			}
		}
	})
}

// near allows for rounding, a byte a flow.
func near(a, b model.Bytes) bool { return a-b <= 25 && b-a <= 25 }

// TestFastFollowsExact starts transfers one after another and wants their ends at
// the times of the exact form, but for the steps between two solves.
func TestFastFollowsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const step = 10
		racks := drawWide(t)
		x, f := newBoth(t, racks, step)
		want, got := map[network.ID]model.Time{}, map[network.ID]model.Time{}
		now := model.Time(0)
		ofExact, ofFast := map[network.ID]int{}, map[network.ID]int{}
		exactEnds := func(d network.Done) { want[network.ID(ofExact[d.ID])] = d.At }
		fastEnds := func(d network.Done) { got[network.ID(ofFast[d.ID])] = d.At }
		flows := drawTransfers(t, racks, rapid.IntRange(1, 2000))
		for i, flow := range flows {
			ofExact[start(t, x, flow)] = i
			ofFast[f.AddTransfer(flow.Kind, flow.From.Rack, flow.To.Rack, flow.Bytes)] = i
			now += model.Time(rapid.IntRange(0, 2000).Draw(t, "wait"))
			x.Advance(now, exactEnds)
			f.Advance(now, fastEnds)
		}
		x.Advance(now+10_000_000, exactEnds)
		f.Advance(now+10_000_000, fastEnds)
		for i := range flows {
			id := network.ID(i)
			off := got[id] - want[id]
			if most := model.Time(3 * step * len(flows)); off > most || off < -most || got[id] == 0 {
				t.Errorf("transfer %d %+v of %d ends at %d, want %d", i, flows[i], len(flows), got[id], want[id])
			}
		}
	})
}
