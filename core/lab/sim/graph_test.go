package sim_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

// gather adds a stage that reads earlier ones.
func gather(j *workload.Job, name string, tasks int, output model.Bytes, edges ...workload.Edge) {
	j.Stages = append(j.Stages, workload.Stage{
		Name: model.Stage(name), Tasks: tasks, Edges: edges, Output: output, Cost: workload.Cost{Fixed: reduceTime}, Container: model.Resource{MemoryMiB: 1024, VCores: 1},
	})
}

func edge(from int, kind model.EdgeKind) workload.Edge { return workload.Edge{From: from, Kind: kind} }

// A chain of three stages on one rack takes what its tasks take, each started by a
// heartbeat.
func TestGraphByHand(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 4, 2, 125e6, 125e6)
	c.CrossRackWrites = false
	j := mapReduce("a", 500, 3, 2, 0)
	gather(&j, "last", 1, 0, edge(1, model.ScatterGather))
	r := run(t, sim.DefaultParams(), c, &workload.Workload{Jobs: []workload.Job{j}}, "fifo")
	// Maps until 11 s. The two next are asked for with the first that is done, wait, and compute until 16 s; the last until 21 s.
	if got := r.JCT.Mean; got != 20.5 {
		t.Errorf("the job took %g s, want 20.5", got)
	}
	if r.Bounds.JCTMean != 20 {
		t.Errorf("bound %g s, want the chain's 20", r.Bounds.JCTMean)
	}
}

// What crosses racks of each kind of edge follows from where the tasks ran: a
// broadcast goes to every task, one-to-one goes from a task to its own reader.
func TestEdgesMoveTheirBytes(t *testing.T) {
	t.Parallel()
	const output = 90e6
	for _, kind := range model.EdgeKinds() {
		j := mapReduce("a", 0, 3, 0, output)
		gather(&j, "next", 3, 0, edge(0, kind))
		w := &workload.Workload{Jobs: []workload.Job{j}}
		for seed := range uint64(10) {
			c := sim.Uniform(3, 1, 1, 10e6, 1e9)
			c.Replication, c.CrossRackWrites = 1, false
			p := sim.DefaultParams()
			p.Seed = seed
			r := run(t, p, c, w, "fifo")
			// One container a rack: each stage has a task on each. One-to-one pairs any two of them.
			got := float64(r.CrossRack.Shuffle)
			switch kind {
			case model.ScatterGather:
				if math.Abs(got-output*2/3) > 3 {
					t.Errorf("%s: %g bytes crossed, want two thirds of %g", kind, got, output)
				}
			case model.Broadcast:
				if math.Abs(got-output*2) > 3 {
					t.Errorf("%s: %g bytes crossed, want twice %g", kind, got, output)
				}
			case model.OneToOne:
				if part := got / (output / 3); math.Abs(part-math.Round(part)) > 1e-6 || part > 3 {
					t.Errorf("%s: %g bytes crossed, want the outputs of whole tasks", kind, got)
				}
			}
		}
	}
}

// A stage that reads files and a stage asks for its tasks when the stage is done,
// where their blocks lie, fetches, and then reads and computes, as long as the
// slower of the two.
func TestFilesAndStages(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 4, 2, 125e6, 125e6)
	c.CrossRackWrites = false
	j := mapReduce("a", 500, 1, 0, 0)
	gather(&j, "join", 3, 0, edge(0, model.Broadcast))
	j.Stages[1].Reads = []workload.File{{Bytes: 3 * 128 * model.MiB}}
	gather(&j, "last", 1, 0, edge(1, model.ScatterGather))
	local := 0
	r := watching{see: func(in *policy.Input) {
		m := in.View.Jobs()[0].Map
		if want := map[bool]int{true: 1, false: 4}[m.Completed == 0]; m.Total != want {
			t.Errorf("%d maps are known with %d done, want %d", m.Total, m.Completed, want)
		}
		if m.Completed == 1 && m.Pending > 0 {
			local = max(local, m.Places())
		}
	}}.run(t, sim.DefaultParams(), c, &workload.Workload{Jobs: []workload.Job{j}}, "fifo")
	if local < 3 {
		t.Errorf("the join's tasks name %d hosts and racks, want those of their blocks", local)
	}
	// The map from 1 s to 11 s, the join's tasks, which compute 5 s, to 16 s, the last to 21 s.
	if r.JCT.Mean != 20.5 || r.Bounds.JCTMean != 20 || r.Locality.Node+r.Locality.Rack != 1 {
		t.Errorf("the job took %g s with a bound of %g s, locality %+v, want 20.5 s, 20 s, no map off its rack", r.JCT.Mean, r.Bounds.JCTMean, r.Locality)
	}

	// One container a rack, both blocks on the first: the other rack's task reads its 128 MiB over 10 MB/s, 13.422 s.
	// Before that it has fetched the 25 MB of the broadcast: in 2.5 s from the first rack, in 25 ms over an interface of its own.
	j = mapReduce("a", 0, 1, 0, 25e6)
	j.Stages[0].Reads[0].Bytes = 0
	gather(&j, "join", 2, 0, edge(0, model.Broadcast))
	j.Stages[1].Reads = []workload.File{{Bytes: 2 * 128 * model.MiB, Place: workload.OnNode, Node: workload.Node{Rack: 1, Number: 1}}}
	slow := j // computes for longer than it reads: from 13.5 s on where it fetches from the other rack, wherever that is
	slow.Stages = slices.Clone(j.Stages)
	slow.Stages[1].Cost.Fixed = 20 * model.Second
	seen := map[float64]bool{}
	for seed := range uint64(10) {
		c := sim.Uniform(2, 1, 1, 10e6, 1e9)
		c.Replication = 1
		p := sim.DefaultParams()
		p.Seed = seed
		r := run(t, p, c, &workload.Workload{Jobs: []workload.Job{j}}, "fifo")
		if late := run(t, p, c, &workload.Workload{Jobs: []workload.Job{slow}}, "fifo"); late.JCT.Mean != 33.5 {
			t.Errorf("seed %d: the job took %g s, want 33.5", seed, late.JCT.Mean)
		}
		if seen[r.JCT.Mean] = true; r.CrossRack.MapRead != 128*model.MiB || r.CrossRack.Shuffle != 25e6 {
			t.Errorf("seed %d: %d bytes of blocks and %d of the broadcast crossed racks, want 128 MiB and 25 MB", seed, r.CrossRack.MapRead, r.CrossRack.Shuffle)
		}
	}
	p := sim.DefaultParams()
	p.Speculation = true
	if _, err := sim.New(p, sim.Uniform(2, 1, 1, 10e6, 1e9), &workload.Workload{Jobs: []workload.Job{j}}, "fifo", nil); err == nil || !strings.Contains(err.Error(), "job a: stage join reads files and stages") {
		t.Errorf("with speculation: %v", err)
	}
	if len(seen) != 2 || !seen[26.922] || !seen[24.447] {
		t.Errorf("the job took %v s, want 26.922 and 24.447", seen)
	}
}

// Skewed keys: a reduce that draws more has more to fetch, and computes longer; all
// of it is fetched once.
func TestSkewedKeys(t *testing.T) {
	t.Parallel()
	const shuffled = 300e6
	jobOf := func(skew float64) *workload.Workload {
		j := mapReduce("a", 0, 4, 3, shuffled)
		j.Stages[1].Skew, j.Stages[1].Cost.PerGiB = skew, 100*model.Second
		return &workload.Workload{Jobs: []workload.Job{j}}
	}
	c := sim.Uniform(3, 2, 1, 1e9, 1e9)
	c.Replication, c.CrossRackWrites = 1, false
	for seed := range uint64(5) {
		p := sim.DefaultParams()
		p.Seed = seed
		even, skewed := run(t, p, c, jobOf(0), "fifo"), run(t, p, c, jobOf(2), "fifo")
		if attempt := float64(skewed.CrossRack.Shuffle) - skewed.ShuffleFraction.ByBytes*shuffled; math.Abs(attempt) > 20 {
			t.Errorf("seed %d: %g bytes more crossed than by where the tasks ran", seed, attempt)
		}
		// The first of three parts has 1/(1+1/4+1/9) of the bytes instead of a third: 0.40 of 300 MB more at 100 s/GiB.
		if later := skewed.Makespan - even.Makespan; later < 10 || later > 13 {
			t.Errorf("seed %d: skewed keys take %g s longer", seed, later)
		}
	}
}

// drawnGraph is a job of a few stages.
func drawnGraph(t *rapid.T, id string, at int) workload.Job {
	n := func(lo, hi int, what string) int { return rapid.IntRange(lo, hi).Draw(t, what) }
	j := mapReduce(id, model.Time(at), n(1, 5, "tasks"), 0, model.Bytes(n(0, 200, "output"))*model.MiB)
	for i := 1; i < n(1, 6, "stages"); i++ {
		if n(0, 3, "source") == 0 {
			s := mapReduce("", 0, n(1, 4, "tasks"), 0, model.Bytes(n(0, 100, "output"))*model.MiB).Stages[0]
			if s.Name = model.Stage(rune('a' + i)); n(0, 4, "reads") == 0 {
				s.Reads = nil
			}
			j.Stages = append(j.Stages, s)
			continue
		}
		tasks := n(1, 4, "tasks")
		var edges []workload.Edge
		for from := range i {
			if from != i-1 && n(0, 2, "edge") > 0 {
				continue
			}
			kind := model.EdgeKinds()[n(0, 2, "kind")]
			if kind == model.OneToOne && j.Stages[from].Tasks != tasks {
				kind = model.ScatterGather
			}
			edges = append(edges, edge(from, kind))
		}
		gather(&j, string(rune('a'+i)), tasks, model.Bytes(n(0, 100, "output"))*model.MiB, edges...)
		j.Stages[i].Skew = []float64{0, 0, 0.5, 3}[n(0, 3, "skew")]
		if len(edges) > 0 && n(0, 2, "files") == 0 {
			j.Stages[i].Reads = []workload.File{{Bytes: model.Bytes(n(0, 128*tasks, "bytes")) * model.MiB}}
		}
	}
	return j
}

// Every graph comes to its end under every policy, no run gets below a bound,
// placements keep the rules, and the same input gives the same result.
func TestGraphs(t *testing.T) {
	t.Parallel()
	names := builtin.Registry().Names()
	rapid.Check(t, func(t *rapid.T) {
		c, w, p := drawn(t)
		for i := range w.Jobs {
			if rapid.Bool().Draw(t, "graph") {
				w.Jobs[i] = drawnGraph(t, string(w.Jobs[i].ID), int(w.Jobs[i].Submit))
			}
		}
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom(names).Draw(t, "policy")
		r := run(t, p, c, w, name)
		if again := run(t, p, c, w, name); !reflect.DeepEqual(r, again) {
			t.Fatalf("twice the same, and\n%+v\n%+v", r, again)
		}
		tasks := 0
		for i := range w.Jobs {
			tasks += w.Jobs[i].Tasks()
		}
		if r.Finished != len(w.Jobs) || r.Placements != tasks+r.Preempted || r.Rejected > 0 {
			t.Fatalf("%d of %d jobs, %d placements of %d tasks, %d given up, %d broke a rule", r.Finished, len(w.Jobs), r.Placements, tasks, r.Preempted, r.Rejected)
		}
	})
}

// A scheduler sees a graph as it sees one of Tez: its stages with their tasks, what
// is done of them and where that lies, in the job's order.
func TestGraphIsTold(t *testing.T) {
	t.Parallel()
	j := mapReduce("a", 0, 3, 0, 100)
	gather(&j, "join", 2, 50, edge(0, model.ScatterGather))
	gather(&j, "last", 1, 1, edge(1, model.Broadcast))
	c := sim.Uniform(2, 1, 1, 125e6, 125e6)
	inner, err := builtin.Registry().New("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	var outputs []model.Bytes
	s, err := sim.New(sim.DefaultParams(), c, &workload.Workload{Jobs: []workload.Job{j}}, "fifo", watching{inner, func(in *policy.Input) {
		told := in.View.Jobs()[0]
		if told.Type != "TEZ" || told.Graph == nil || told.Graph.Len() != 3 || told.Map.Total != 3 || told.Reduce.Total != 3 {
			t.Fatalf("told of %s with %d maps, %d reduces: %+v", told.Type, told.Map.Total, told.Reduce.Total, told.Graph)
		}
		if g := told.Graph; len(g.Next(0)) != 1 || len(g.Next(1)) != 1 || g.Stages[0].Tasks != 3 || g.Stages[0].Input.Total != 3*128*model.MiB {
			t.Errorf("stages %+v", g.Stages)
		}
		if told.Map.Completed < 3 && told.Graph.Stages[0].Output != model.Unknown {
			t.Errorf("the first stage's output is told with %d of 3 tasks done", told.Map.Completed)
		}
		if out := told.Graph.Stages[0].Output; !slices.Contains(outputs, out) {
			outputs = append(outputs, out)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(outputs, []model.Bytes{model.Unknown, 100}) {
		t.Errorf("the first stage's output was told as %v, want unknown until it is complete", outputs)
	}
}
