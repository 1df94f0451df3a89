package shufflewatcher_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/policytest"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/state"
)

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

// rackOf and hostOf name the racks, which have one node each.
func rackOf(r int) model.RackID { return model.RackID(fmt.Sprintf("/r%03d", r)) }
func hostOf(r int) string       { return fmt.Sprintf("h%03d", r) }

// input returns one block on each listed set of racks.
func input(blocks [][]int, length func(i int) model.Bytes) (out []model.Block) {
	for i, racks := range blocks {
		b := model.Block{Length: length(i)}
		for _, r := range racks {
			b.Hosts, b.Racks = append(b.Hosts, hostOf(r)), append(b.Racks, rackOf(r))
		}
		out = append(out, b)
	}
	return out
}

// oneJob is a cluster of racks with room for eight maps each, and a job of so many
// pending maps and reduces, whose ratio is taken to be sigma.
func oneJob(racks, maps, reduces int, in []model.Block, sigma float64) policytest.Scene {
	s := policytest.Scene{Config: state.DefaultConfig()}
	s.Config.InitialRatio = sigma
	for r := range racks {
		s.Nodes = append(s.Nodes, model.Node{
			ID: model.NodeID(hostOf(r)), Host: hostOf(r), Rack: rackOf(r), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8},
		})
	}
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	a := policytest.App{
		App:     model.App{ID: "a", User: "u", State: model.AppRunning, Submitted: policytest.Epoch},
		MapTask: one, ReduceTask: one, Slowstart: 0.05, Input: in, MapInput: model.Unknown, MapOutput: model.Unknown,
	}
	task := model.Task{State: model.TaskPending, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
	for i := range maps {
		task.Stage, task.Index = model.StageMap, i
		a.Maps = append(a.Maps, task)
	}
	for i := range reduces {
		task.Stage, task.Index = model.StageReduce, i
		a.Reduces = append(a.Reduces, task)
	}
	s.Apps = []policytest.App{a}
	return s
}

// assume has SAMP run at the initial ratio.
func assume(p *shufflewatcher.Params) { p.AssumeUnknown, p.RecomputeAt = true, 0 }

// choice is which racks SAMP prefers, with their shares of the maps.
type choice map[model.RackID]float64

// search is how SAMP looks for racks.
type search struct {
	sigma   float64
	atLeast int // racks, because the job has as many maps as they run in a wave; 0 is any number
	scan    shufflewatcher.Scan
}

// chosen returns SAMP's choice for a job with an input.
func chosen(tb testing.TB, racks int, in []model.Block, how search) choice {
	tb.Helper()
	params := shufflewatcher.DefaultParams()
	assume(&params)
	params.Scan = how.scan
	maps := 1
	if how.atLeast > 0 {
		maps, params.Waves = 8*how.atLeast, 1
	}
	p, err := shufflewatcher.NewWith(params)
	if err != nil {
		tb.Fatal(err)
	}
	plans := policytest.NewSession(p, oneJob(racks, maps, 0, in, how.sigma)).Plan()
	if len(plans) != 1 {
		tb.Fatalf("plans %+v, want one of maps", plans)
	}
	c := choice{}
	for _, r := range plans[0].Racks {
		c[r.Rack] = r.Share
	}
	return c
}

// cost returns T over I of a choice (Fig. 4 line 6), by the blocks and the shares.
func (c choice) cost(in []model.Block, sigma float64) float64 {
	covered, total := c.covered(in)
	squares := 0.0
	for _, p := range c {
		squares += p * p
	}
	return 1 - covered/total + sigma*(1-squares)
}

// covered returns the bytes with a replica on a rack that is preferred, and all bytes.
func (c choice) covered(in []model.Block) (covered, total float64) {
	for _, b := range in {
		total += float64(b.Length)
		if slices.ContainsFunc(b.Racks, func(r model.RackID) bool { _, ok := c[r]; return ok }) {
			covered += float64(b.Length)
		}
	}
	return covered, total
}

// A.2 and algorithms.md 2.1.3c: uniform blocks over 30 racks cost
// T(1) = .9333 I, T(2) = (.8690 + .5 sigma) I, and all racks sigma x .967.
func TestSAMPUniform(t *testing.T) {
	t.Parallel()
	const racks = 30
	in := input(pairs(racks), even)
	for _, sigma := range []float64{0, 0.1, 1, 2} {
		for k, want := range map[int]float64{1: 0.9333, 2: 0.8690 + 0.5*sigma, racks: 0.9667 * sigma} { // each on its own
			c := chosen(t, racks, in, search{10, k, shufflewatcher.ScanGreedy}) // at a ratio of 10 each rack more costs more
			if got := c.cost(in, sigma); len(c) != k || math.Abs(got-want) > 5e-4*(1+sigma) {
				t.Errorf("sigma %g: T(%d) = %.4f I on %d racks, want %.4f", sigma, k, got, len(c), want)
			}
		}
	}
}

// A.2: from sigma .129 on the greedy loop stops at one rack; the full scan takes
// all of them as long as their shuffle costs less than one rack's remote reads.
func TestSAMPScan(t *testing.T) {
	t.Parallel()
	const racks = 30
	in := input(pairs(racks), even)
	for _, tc := range []struct {
		sigma float64
		scan  shufflewatcher.Scan
		want  int
	}{
		{0.129, shufflewatcher.ScanGreedy, 1},
		{1, shufflewatcher.ScanGreedy, 1},
		{0.128, shufflewatcher.ScanGreedy, 29}, // T(2) is below T(1); 29 racks hold a replica of every block, the last only spreads the shuffle
		{0.129, shufflewatcher.ScanFull, 29},
		{0.9, shufflewatcher.ScanFull, 29},
		{1, shufflewatcher.ScanFull, 1}, // 0.933 against 0.967
	} {
		if got := chosen(t, racks, in, search{tc.sigma, 0, tc.scan}); len(got) != tc.want {
			t.Errorf("sigma %g, %s: %d racks, want %d", tc.sigma, tc.scan, len(got), tc.want)
		}
	}
}

// Equal costs go to more racks, and racks without input are never preferred.
func TestSAMPTies(t *testing.T) {
	t.Parallel()
	got := chosen(t, 5, input([][]int{{1, 3}, {1, 3}}, even), search{0, 0, shufflewatcher.ScanFull})
	if len(got) != 2 || got[rackOf(1)] != 0.5 || got[rackOf(3)] != 0.5 {
		t.Errorf("shares %v, want halves on racks 1 and 3", got)
	}
}

// The full scan costs the least of what any number of racks costs, the greedy one
// no less; racks map what they store.
func TestSAMPProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		racks := rapid.IntRange(1, 8).Draw(rt, "racks")
		blocks := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, racks-1), 1, min(3, racks), rapid.ID), 1, 20).Draw(rt, "blocks")
		lengths := rapid.SliceOfN(rapid.IntRange(1, 128), len(blocks), len(blocks)).Draw(rt, "lengths")
		sigma := rapid.Float64Range(0, 3).Draw(rt, "sigma")
		in := input(blocks, func(i int) model.Bytes { return model.Bytes(lengths[i]) * model.MiB })
		full := chosen(t, racks, in, search{sigma, 0, shufflewatcher.ScanFull})
		others := []choice{chosen(t, racks, in, search{sigma, 0, shufflewatcher.ScanGreedy})}
		for k := range racks {
			others = append(others, chosen(t, racks, in, search{sigma, k + 1, shufflewatcher.ScanFull}))
		}
		for _, c := range others {
			covered, _ := c.covered(in)
			sum := 0.0
			for rack, p := range c { // each on its own
				on, _ := choice{rack: 1}.covered(in)
				if sum += p; p*covered > on+1 {
					rt.Fatalf("%v: rack %s maps more than it stores", c, rack)
				}
			}
			if math.Abs(sum-1) > 1e-9 || full.cost(in, sigma) > c.cost(in, sigma)+1e-9 {
				rt.Fatalf("shares of %v sum to %g; the full scan took %v at %g, %d racks cost %g", c, sum, full, full.cost(in, sigma), len(c), c.cost(in, sigma))
			}
		}
	})
}

// The floor of algorithms.md 2.1.3e: k >= ceil(K / (W x containers per rack)).
func TestSAMPFloor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		maps, waves int
		memory      int64
		want        int
	}{
		{100, 0, 1024, 1},
		{3, 1, 8192, 1}, // so few maps may take turns
		{4, 1, 8192, 4},
		{9, 1, 1024, 2},
		{16, 1, 1024, 2},
		{17, 1, 1024, 3},
		{17, 2, 1024, 2},
		{1000, 1, 1024, 10},
	} {
		p := build(t, func(p *shufflewatcher.Params) { assume(p); p.Waves, p.Scan = tc.waves, shufflewatcher.ScanGreedy })
		s := oneJob(10, tc.maps, 0, input(pairs(10), even), 10)
		s.Apps[0].MapTask.MemoryMiB = tc.memory
		plans := policytest.NewSession(p, s).Plan()
		if got := len(plans[0].Racks); got != tc.want {
			t.Errorf("%d maps in %d waves: %d racks, want %d", tc.maps, tc.waves, got, tc.want)
		}
	}
}

// An input whose blocks become known, or become others, is chosen for again.
func TestSAMPFollowsTheInput(t *testing.T) {
	t.Parallel()
	p := build(t, assume)
	c := oneJob(3, 3, 0, input([][]int{}, even), 1).Cluster()
	for _, tc := range []struct {
		lengths []model.Bytes
		want    []model.RackID
	}{
		{nil, nil},
		{[]model.Bytes{100, 100, 100}, []model.RackID{rackOf(0)}},
		{[]model.Bytes{1, 1, 100}, []model.RackID{rackOf(1)}},
	} {
		if tc.lengths != nil {
			blocks := input([][]int{{0}, {0}, {1}}, func(i int) model.Bytes { return tc.lengths[i] * model.MiB })
			c.Apply(model.Observation{Source: model.SourceHDFS, At: policytest.Epoch, Fact: model.BlocksFact{Path: "/in/a", Files: 1, Blocks: blocks}})
		}
		var got []model.RackID
		for _, r := range p.Plan(&policy.Input{View: c.View(), Jobs: c.View().Jobs()})[0].Racks {
			got = append(got, r.Rack)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("blocks of %d MiB: racks %v, want %v", tc.lengths, got, tc.want)
		}
	}
}

// benchFirstPlan plans a cluster's only job for the first time.
func benchFirstPlan(b *testing.B, s policytest.Scene, change func(*shufflewatcher.Params), last model.Reason) {
	b.Helper()
	params := shufflewatcher.DefaultParams()
	change(&params)
	in := &policy.Input{View: s.Cluster().View()}
	in.Jobs = in.View.Jobs()
	b.ReportAllocs()
	for b.Loop() {
		p, err := shufflewatcher.NewWith(params)
		if err != nil {
			b.Fatal(err)
		}
		if plans := p.Plan(in); plans[len(plans)-1].Reason != last {
			b.Fatalf("%+v", plans)
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
	benchFirstPlan(b, oneJob(racks, len(blocks), 0, input(blocks, even), 1), assume, model.ReasonInputRacks)
}

// BenchmarkSARP divides 1,000 reduces over 200 racks.
func BenchmarkSARP(b *testing.B) {
	const racks = 200
	s := oneJob(racks, 1000, 1000, nil, 1)
	a := &s.Apps[0]
	a.MapInput, a.MapOutput = 500*model.MiB, 0
	for i := range a.Maps[:500] {
		m := &a.Maps[i]
		m.State, m.Host, m.Rack, m.Output = model.TaskSucceeded, hostOf(i%racks), rackOf(i%racks), model.Bytes(i+1)*model.MiB
		a.MapOutput += m.Output
	}
	benchFirstPlan(b, s, func(*shufflewatcher.Params) {}, model.ReasonMapOutput)
}
