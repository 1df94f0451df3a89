package shufflewatcher

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
)

// spread returns a cluster of one-node racks, and an input with one block of
// the given length on each listed set of racks.
func spread(racks int, blocks [][]int, length func(i int) model.Bytes) (*state.Cluster, *state.Input) {
	c := state.New(state.DefaultConfig())
	var nodes model.NodesFact
	for r := range racks {
		h := fmt.Sprintf("h%03d", r)
		nodes.Nodes = append(nodes.Nodes, model.Node{
			ID: model.NodeID(h), Host: h, Rack: model.RackID(fmt.Sprintf("/r%03d", r)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: 8192, VCores: 8},
		})
	}
	at := model.Time(1_000_000)
	for _, f := range []model.Fact{
		nodes,
		model.AppsFact{Apps: []model.App{{ID: "a", User: "u", State: model.AppRunning, Submitted: at}}},
		model.JobConfFact{App: "a", Inputs: []string{"/in"}, Slowstart: 0.05},
		blocksFact(blocks, length),
	} {
		c.Apply(model.Observation{Source: model.SourceRM, At: at, Fact: f})
	}
	return c, c.View().Job("a").Input
}

func blocksFact(blocks [][]int, length func(i int) model.Bytes) model.BlocksFact {
	f := model.BlocksFact{Path: "/in", Files: 1}
	for i, racks := range blocks {
		b := model.Block{Length: length(i)}
		for _, r := range racks {
			b.Hosts = append(b.Hosts, fmt.Sprintf("h%03d", r))
			b.Racks = append(b.Racks, model.RackID(fmt.Sprintf("/r%03d", r)))
		}
		f.Blocks = append(f.Blocks, b)
	}
	return f
}

func even(int) model.Bytes { return 128 * model.MiB }

// pairs is the uniform input: one block on every pair of racks, as HDFS puts
// every block on two racks.
func pairs(racks int) [][]int {
	var out [][]int
	for a := range racks {
		for b := a + 1; b < racks; b++ {
			out = append(out, []int{a, b})
		}
	}
	return out
}

// A.2 and algorithms.md 2.1.3c: uniform blocks over 30 racks cost
// T(1) = .9333 I, T(2) = (.8690 + .5 sigma) I, and all racks sigma x .967.
func TestSAMPUniform(t *testing.T) {
	t.Parallel()
	const racks = 30
	for _, sigma := range []float64{0, 0.1, 1, 2} {
		c, in := spread(racks, pairs(racks), even)
		var s sampScratch
		s.load(c.View(), in)
		want := map[int]float64{1: 0.9333, 2: 0.8690 + 0.5*sigma, racks: 0.9667 * sigma}
		for k, r := range s.order {
			s.add(r)
			if w, ok := want[k+1]; ok && math.Abs(s.cost(sigma)-w) > 5e-4*(1+sigma) {
				t.Errorf("sigma %g: T(%d) = %.4f I, want %.4f", sigma, k+1, s.cost(sigma), w)
			}
		}
	}
}

// A.2: from sigma .129 on the greedy loop stops at one rack; the full scan takes
// all of them as long as their shuffle costs less than one rack's remote reads.
func TestSAMPScan(t *testing.T) {
	t.Parallel()
	const racks = 30
	for _, tc := range []struct {
		sigma  float64
		greedy bool
		want   int
	}{
		{0.129, true, 1},
		{1, true, 1},
		{0.128, true, 29}, // T(2) is below T(1); 29 racks hold a replica of every block, the last only spreads the shuffle
		{0.129, false, 29},
		{0.9, false, 29},
		{1, false, 1}, // 0.933 against 0.967
	} {
		c, in := spread(racks, pairs(racks), even)
		var s sampScratch
		s.load(c.View(), in)
		share := make([]float64, racks)
		if got := s.scan(search{sigma: tc.sigma, atLeast: 1, greedy: tc.greedy}, share); got != tc.want {
			t.Errorf("sigma %g, greedy %v: %d racks, want %d", tc.sigma, tc.greedy, got, tc.want)
		}
	}
}

// Equal costs go to more racks, and racks without input are never preferred.
func TestSAMPTies(t *testing.T) {
	t.Parallel()
	c, in := spread(5, [][]int{{1, 3}, {1, 3}}, even)
	var s sampScratch
	s.load(c.View(), in)
	share := make([]float64, 5)
	if got := s.scan(search{sigma: 0, atLeast: 1}, share); got != 2 {
		t.Errorf("%d racks, want both that hold the input", got)
	}
	if share[1] != 0.5 || share[3] != 0.5 {
		t.Errorf("shares %v, want halves on racks 1 and 3", share)
	}
}

type scanned struct {
	cost  float64
	share []float64
}

// prefixes lists every prefix of the scan with its cost and shares.
func prefixes(s *sampScratch, racks int, sigma float64) []scanned {
	var out []scanned
	for _, r := range s.order {
		s.add(r)
		p := scanned{cost: s.cost(sigma), share: make([]float64, racks)}
		s.shares(p.share)
		out = append(out, p)
	}
	return out
}

func TestSAMPProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		racks := rapid.IntRange(1, 8).Draw(rt, "racks")
		blocks := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, racks-1), 1, min(3, racks), rapid.ID), 1, 20).Draw(rt, "blocks")
		lengths := rapid.SliceOfN(rapid.IntRange(1, 128), len(blocks), len(blocks)).Draw(rt, "lengths")
		sigma := rapid.Float64Range(0, 3).Draw(rt, "sigma")
		c, in := spread(racks, blocks, func(i int) model.Bytes { return model.Bytes(lengths[i]) * model.MiB })
		var s sampScratch
		s.load(c.View(), in)
		all := prefixes(&s, racks, sigma)
		checkPrefixes(rt, &s, in, all, sigma)

		share := make([]float64, racks)
		s.load(c.View(), in)
		full := s.scan(search{sigma: sigma, atLeast: 1}, share)
		for k := range all {
			if all[k].cost < all[full-1].cost-1e-9 {
				rt.Fatalf("the scan took %d racks at %g, %d cost %g", full, all[full-1].cost, k+1, all[k].cost)
			}
		}
		s.load(c.View(), in)
		greedy := s.scan(search{sigma: sigma, atLeast: 1, greedy: true}, share)
		if all[full-1].cost > all[greedy-1].cost+1e-9 {
			rt.Fatalf("full %g is worse than greedy %g", all[full-1].cost, all[greedy-1].cost)
		}
		for k := 1; k < greedy; k++ {
			if all[k].cost >= all[k-1].cost {
				rt.Fatalf("greedy went on to %d racks, where T rose from %g to %g", greedy, all[k-1].cost, all[k].cost)
			}
		}
		if greedy < len(all) && all[greedy].cost < all[greedy-1].cost-1e-9 {
			rt.Fatalf("greedy stopped at %d racks, one more lowers T", greedy)
		}
	})
}

// checkPrefixes recomputes T from the blocks and the shares themselves.
func checkPrefixes(rt *rapid.T, s *sampScratch, in *state.Input, all []scanned, sigma float64) {
	for k := range all {
		prefix := map[int]bool{}
		for _, r := range s.order[:k+1] {
			prefix[r] = true
		}
		covered := 0.0
		for _, b := range in.Blocks {
			for _, r := range b.Racks {
				if prefix[r] {
					covered += float64(b.Length)
					break
				}
			}
		}
		sum, squares := 0.0, 0.0
		for r, p := range all[k].share {
			if p > 1e-12 && !prefix[r] {
				rt.Fatalf("prefix of %d racks: rack %d outside it has share %g", k+1, r, p)
			}
			if p*covered > float64(in.ByRack[rackOr(in, r)])+1 {
				rt.Fatalf("prefix of %d racks: rack %d maps more than it stores", k+1, r)
			}
			sum += p
			squares += p * p
		}
		want := 1 - covered/float64(in.Bytes) + sigma*(1-squares)
		if math.Abs(sum-1) > 1e-9 || math.Abs(all[k].cost-want) > 1e-9 {
			rt.Fatalf("prefix of %d racks: shares sum to %g, T %g, want %g", k+1, sum, all[k].cost, want)
		}
	}
}

func rackOr(in *state.Input, r int) int { return min(r, len(in.ByRack)-1) }

// The floor of algorithms.md 2.1.3e: k >= ceil(K / (W x containers per rack)).
func TestSAMPFloor(t *testing.T) {
	t.Parallel()
	c, _ := spread(10, pairs(10), even) // eight containers of the default size a rack
	j := c.View().Job("a")
	for _, tc := range []struct{ maps, waves, want int }{
		{100, 0, 1}, {3, 1, 1}, {4, 1, 1}, {9, 1, 2}, {16, 1, 2}, {17, 1, 3}, {17, 2, 2}, {1000, 1, 10},
	} {
		j.Map.Total = tc.maps
		if got := floor(c.View(), j, tc.waves, 10); got != tc.want {
			t.Errorf("%d maps in %d waves: at least %d racks, want %d", tc.maps, tc.waves, got, tc.want)
		}
	}
}

// BenchmarkSAMP chooses the racks of a job of 10,000 blocks on 200 racks.
func BenchmarkSAMP(b *testing.B) {
	const racks = 200
	r := rand.New(rand.NewPCG(1, 1))
	blocks := make([][]int, 10_000)
	for i := range blocks {
		first := r.IntN(racks)
		blocks[i] = []int{first, (first + 1 + r.IntN(racks-1)) % racks}
	}
	c, in := spread(racks, blocks, even)
	var s sampScratch
	share := make([]float64, racks)
	b.ReportAllocs()
	for b.Loop() {
		s.load(c.View(), in)
		s.scan(search{sigma: 1, atLeast: 1}, share)
	}
}

// BenchmarkSARP divides 1,000 reduces over 200 racks.
func BenchmarkSARP(b *testing.B) {
	const racks = 200
	c, _ := spread(racks, pairs(racks)[:1000], even)
	p := newRule(DefaultParams())
	v := c.View()
	j := v.Job("a")
	j.Map.Total, j.Map.Completed, j.Reduce.Total, j.Reduce.Pending = 1000, 500, 1000, 1000
	for i := range racks {
		j.Output.ByRack = append(j.Output.ByRack, model.Bytes(i+1)*model.MiB)
	}
	p.racks = v.Capacity().Racks
	b.ReportAllocs()
	for b.Loop() {
		j.Output.Version++
		if c := p.reduceChoice(v, j, true); c.reason != model.ReasonMapOutput {
			b.Fatal(c.reason)
		}
	}
}
