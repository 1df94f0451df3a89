package network_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
	"heddle/core/topology"
)

// rack returns a rack with the same rate both ways.
func rack(uplink, nic model.BytesPerSecond, nodes int) network.Rack {
	return network.Rack{Uplink: topology.Link{Out: uplink, In: uplink}, NIC: nic, Nodes: nodes}
}

// form is what both forms have in common.
type form interface {
	Next() (model.Time, bool)
	Advance(to model.Time, done func(network.Done))
}

// fatal is a test or a rapid test.
type fatal interface{ Fatal(args ...any) }

// run lets a network go on until nothing is on its way, and returns what was done.
func run(tb fatal, n form) []network.Done {
	var all []network.Done
	for range 100_000 {
		at, ok := n.Next()
		if !ok {
			return all
		}
		n.Advance(at, func(d network.Done) { all = append(all, d) })
	}
	tb.Fatal("it does not come to an end")
	return nil
}

func newExact(tb fatal, racks []network.Rack) *network.Exact {
	x, err := network.NewExact(racks)
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func start(tb fatal, x *network.Exact, f network.Flow) network.ID {
	id, err := x.Start(f)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// Hand-computed cases of max-min sharing (algorithms.md 1.7).
func TestExactFinishes(t *testing.T) {
	t.Parallel()
	flow := func(fr, fn, tr, tn int, bytes model.Bytes, weight float64) network.Flow {
		return network.Flow{From: network.Node{Rack: fr, Number: fn}, To: network.Node{Rack: tr, Number: tn}, Bytes: bytes, Weight: weight}
	}
	capped := func(f network.Flow, rate model.BytesPerSecond) network.Flow { f.Cap = rate; return f }
	wide := []network.Rack{rack(1000, 1e6, 2), rack(1000, 1e6, 2), rack(400, 1e6, 2)}
	narrow := []network.Rack{rack(1e6, 100, 2), rack(1e6, 100, 2)}
	type (
		flows = []network.Flow
		times = []model.Time
	)
	for _, tc := range []struct {
		name  string
		racks []network.Rack
		flows []network.Flow
		want  []model.Time // by flow
	}{
		{"one flow, rounded up", wide, flows{flow(0, 0, 1, 0, 1001, 1)}, times{1001}},
		{"a byte at 1000 B/s", wide, flows{flow(0, 0, 1, 0, 1, 1)}, times{1}},
		{"nothing to send", wide, flows{flow(0, 0, 1, 0, 0, 1)}, times{0}},
		{"two share an uplink, then one has it", wide, flows{flow(0, 0, 1, 0, 1000, 1), flow(0, 1, 1, 1, 2000, 1)}, times{2000, 3000}},
		{"three to one", wide, flows{flow(0, 0, 1, 0, 750, 3), flow(0, 1, 1, 1, 1250, 1)}, times{1000, 2000}},
		{"a narrower downlink leaves the rest", wide, flows{flow(0, 0, 2, 0, 400, 1), flow(0, 1, 1, 1, 600, 1)}, times{1000, 1000}}, // 400 and 600
		{"a cap leaves the rest", wide, flows{capped(flow(0, 0, 1, 0, 100, 1), 100), flow(0, 1, 1, 1, 900, 1)}, times{1000, 1000}},  // 100 and 900
		{"the interface of a node", narrow, flows{flow(0, 0, 1, 0, 100, 1), flow(0, 0, 1, 1, 100, 1)}, times{2000, 2000}},
		{"within a rack", narrow, flows{flow(0, 0, 0, 1, 100, 1)}, times{1000}},
		{"within a node", narrow, flows{flow(0, 0, 0, 0, 1<<40, 1)}, times{0}},
	} {
		x := newExact(t, tc.racks)
		for i, f := range tc.flows {
			if id := start(t, x, f); int(id) != i {
				t.Fatalf("%s: flow %d has ID %d", tc.name, i, id)
			}
		}
		got := make([]model.Time, len(tc.flows))
		for _, d := range run(t, x) {
			got[d.ID] = d.At
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: done at %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestExactBackgroundAndRemove(t *testing.T) {
	t.Parallel()
	x := newExact(t, []network.Rack{rack(1000, 1e6, 1), rack(1000, 1e6, 1)})
	f := network.Flow{Kind: network.Write, To: network.Node{Rack: 1}, Bytes: 3000, Weight: 1}
	id := start(t, x, f)
	none := func(d network.Done) { t.Errorf("%+v is done", d) }
	x.Advance(1000, none)
	x.SetBackground(0, topology.Link{Out: 750})
	x.Advance(2000, none)
	x.SetBackground(0, topology.Link{Out: 5000})
	if at, ok := x.Next(); ok {
		t.Errorf("done at %d over a full link", at)
	}
	if left := x.Remove(id); left != 1750 {
		t.Errorf("%d bytes left, want 1750", left)
	}
	got := x.Traffic(nil)
	if got[0].Up[network.Write] != 1250 || got[1].Down[network.Write] != 1250 || got[1].Up != [network.Kinds]model.Bytes{} {
		t.Errorf("traffic %+v, want 1250 bytes from rack 0 to rack 1", got)
	}
}

// drawRacks and drawFlow make small clusters and flows.
func drawRacks(t *rapid.T) []network.Rack {
	rate := rapid.Float64Range(10, 1000)
	racks := make([]network.Rack, rapid.IntRange(1, 4).Draw(t, "racks"))
	for i := range racks {
		racks[i] = network.Rack{
			Uplink: topology.Link{Out: model.BytesPerSecond(rate.Draw(t, "out")), In: model.BytesPerSecond(rate.Draw(t, "in"))},
			NIC:    model.BytesPerSecond(rate.Draw(t, "nic")), Nodes: rapid.IntRange(1, 3).Draw(t, "nodes"),
		}
	}
	return racks
}

// faster makes the links of all racks so many times as fast, for runs of fewer steps.
func faster(racks []network.Rack, by model.BytesPerSecond) {
	for i := range racks {
		r := &racks[i]
		r.Uplink, r.NIC = topology.Link{Out: r.Uplink.Out * by, In: r.Uplink.In * by}, r.NIC*by
	}
}

func drawFlow(t *rapid.T, racks []network.Rack) network.Flow {
	node := func(name string) network.Node {
		r := rapid.IntRange(0, len(racks)-1).Draw(t, name+" rack")
		return network.Node{Rack: r, Number: rapid.IntRange(0, racks[r].Nodes-1).Draw(t, name)}
	}
	f := network.Flow{
		Kind: network.Kind(rapid.IntRange(0, network.Kinds-1).Draw(t, "kind")), From: node("from"), To: node("to"),
		Bytes: model.Bytes(rapid.IntRange(0, 5000).Draw(t, "bytes")), Weight: rapid.Float64Range(.1, 10).Draw(t, "weight"),
	}
	if rapid.Bool().Draw(t, "capped") {
		f.Cap = model.BytesPerSecond(rapid.Float64Range(1, 500).Draw(t, "cap"))
	}
	return f
}

// linksOf names the links of a flow, with their capacities.
func linksOf(racks []network.Rack, f network.Flow) map[[3]int]float64 {
	links := map[[3]int]float64{}
	if f.From != f.To {
		links[[3]int{0, f.From.Rack, f.From.Number}] = float64(racks[f.From.Rack].NIC)
		links[[3]int{1, f.To.Rack, f.To.Number}] = float64(racks[f.To.Rack].NIC)
	}
	if f.From.Rack != f.To.Rack {
		links[[3]int{2, f.From.Rack}] = float64(racks[f.From.Rack].Uplink.Out)
		links[[3]int{3, f.To.Rack}] = float64(racks[f.To.Rack].Uplink.In)
	}
	return links
}

// TestExactIsMaxMinFair checks rates against what makes them max-min fair and
// nothing else does: no link above its capacity, and every flow either at its
// cap or on a full link where none has more per weight (Bertsekas and Gallager,
// Data Networks, 6.5.2).
func TestExactIsMaxMinFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := drawRacks(t)
		x := newExact(t, racks)
		flows := make([]network.Flow, rapid.IntRange(1, 12).Draw(t, "flows"))
		used, highest := map[[3]int]float64{}, map[[3]int]float64{}
		for i := range flows {
			flows[i] = drawFlow(t, racks)
			flows[i].Bytes++
			start(t, x, flows[i])
		}
		for i, f := range flows {
			rate := float64(x.Rate(network.ID(i)))
			for l := range linksOf(racks, f) { // order-free: sums and maxima of different links
				used[l] += rate
				highest[l] = max(highest[l], rate/f.Weight)
			}
		}
		for i, f := range flows {
			rate := float64(x.Rate(network.ID(i)))
			links := linksOf(racks, f)
			why := f.Cap > 0 && rate >= float64(f.Cap)*(1-1e-9) || len(links) == 0
			for l, capacity := range links { // order-free: any of them will do
				if used[l] > capacity*(1+1e-9) {
					t.Errorf("link %v carries %g of %g", l, used[l], capacity)
				}
				why = why || used[l] >= capacity*(1-1e-9) && rate/f.Weight >= highest[l]*(1-1e-9)
			}
			if !why || f.Cap > 0 && rate > float64(f.Cap)*(1+1e-9) {
				t.Errorf("flow %d %+v has %g, and could have another rate", i, f, rate)
			}
		}
	})
}

// TestExactConserves starts, removes and ends flows at random, and wants every
// byte counted once, on the links of its flow, and no link above its capacity.
func TestExactConserves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := drawRacks(t)
		x := newExact(t, racks)
		want := make([]network.Traffic, len(racks))
		count := func(f network.Flow, bytes model.Bytes) {
			if f.From.Rack != f.To.Rack {
				want[f.From.Rack].Up[f.Kind] += bytes
				want[f.To.Rack].Down[f.Kind] += bytes
			}
		}
		alive := map[network.ID]network.Flow{}
		done := func(d network.Done) {
			count(alive[d.ID], alive[d.ID].Bytes)
			delete(alive, d.ID)
		}
		now := model.Time(0)
		before := x.Traffic(nil)
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			f := drawFlow(t, racks)
			alive[start(t, x, f)] = f
			now += model.Time(rapid.IntRange(0, 3000).Draw(t, "wait"))
			took := now
			x.Advance(now, done)
			after := x.Traffic(nil)
			checkCapacity(t, racks, before, after, took)
			if id := network.ID(rapid.IntRange(0, 5).Draw(t, "remove")); alive[id].Weight > 0 {
				count(alive[id], alive[id].Bytes-x.Remove(id))
				delete(alive, id)
			}
		}
		for _, d := range run(t, x) {
			done(d)
		}
		if got := x.Traffic(nil); !slices.Equal(got, want) || len(alive) > 0 {
			t.Errorf("traffic %v, want %v; %d flows left", got, want, len(alive))
		}
	})
}

// checkCapacity wants no more bytes over a link since the start than it carries
// until now; a byte of each kind and rack is rounding.
func checkCapacity(t interface{ Errorf(string, ...any) }, racks []network.Rack, before, after []network.Traffic, now model.Time) {
	for r := range racks {
		up, down := sum(after[r].Up)-sum(before[r].Up), sum(after[r].Down)-sum(before[r].Down)
		slack := float64(network.Kinds * len(racks))
		most := func(rate model.BytesPerSecond) float64 { return float64(rate)*float64(now)/1000*(1+1e-9) + slack }
		if float64(up) > most(racks[r].Uplink.Out) || float64(down) > most(racks[r].Uplink.In) {
			t.Errorf("rack %d of %+v: %d bytes up and %d down in %d ms", r, racks[r], up, down, now)
		}
	}
}

func sum(kinds [network.Kinds]model.Bytes) (all model.Bytes) {
	for _, b := range kinds {
		all += b
	}
	return all
}

func TestExactRejects(t *testing.T) {
	t.Parallel()
	good := rack(10, 10, 1)
	for _, racks := range [][]network.Rack{nil, {good, rack(0, 10, 1)}, {rack(10, -1, 1)}, {rack(10, 10, 0)}, {rack(model.BytesPerSecond(math.NaN()), 1, 1)}} {
		if _, err := network.NewExact(racks); err == nil {
			t.Errorf("%+v: no error", racks)
		}
	}
	x := newExact(t, []network.Rack{good})
	for _, f := range []network.Flow{
		{},
		{Weight: math.NaN()},
		{Weight: 1, Bytes: -1},
		{Weight: 1, Cap: -1},
		{Weight: 1, Kind: network.Kinds},
		{Weight: 1, From: network.Node{Rack: 1}},
		{Weight: 1, To: network.Node{Number: 1}},
	} {
		if _, err := x.Start(f); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
}
