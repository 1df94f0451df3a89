package sim_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/sim"
	"heddle/core/workload"
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
		if by := float64(skewed.CrossRack.Shuffle) - skewed.ShuffleFraction.ByBytes*shuffled; math.Abs(by) > 20 {
			t.Errorf("seed %d: %g bytes more crossed than by where the tasks ran", seed, by)
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
