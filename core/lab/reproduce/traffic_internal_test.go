package reproduce

import (
	"math"
	"slices"
	"testing"

	"heddle/core/lab/sim"
	"heddle/core/lab/sim/network"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// two is a lab of one heavy and one light job under two variants.
func two() *experiments {
	run := func(heavy, light sim.JobTraffic) sim.Run {
		var r sim.Run
		r.PerJob = []sim.JobTraffic{heavy, light}
		r.CrossRack.Shuffle, r.CrossRack.MapRead = heavy.Crossed+light.Crossed, heavy.Read+light.Read
		return r
	}
	return &experiments{
		inputs: &Inputs{Seeds: 1}, variants: []variant{{name: "a", load: "x"}, {name: "b", load: "x"}},
		workloads: map[string][]*workload.Workload{"x": {{Jobs: []workload.Job{{Name: "terasort"}, {Name: "grep"}}}}},
		results: map[string][]sim.Run{
			"a": {run(sim.JobTraffic{Shuffle: 300, Crossed: 100, Read: 20, Sources: 2, Sinks: 1}, sim.JobTraffic{Shuffle: 100, Crossed: 10, Read: 30, Sources: 6, Sinks: 5})},
			"b": {run(sim.JobTraffic{Shuffle: 300, Crossed: 200, Sources: 4, Sinks: 1}, sim.JobTraffic{Shuffle: 100, Crossed: 40, Read: 80, Sources: 4, Sinks: 1})},
		},
	}
}

// Bytes are told by class of benchmark and by kind, which sum to the whole change.
func TestMoved(t *testing.T) {
	t.Parallel()
	l := two()
	for what, c := range map[string]struct {
		got  []float64
		want float64
	}{
		"heavy shuffle": {l.changeOfClass("a", "b", workload.Heavy, crossedShuffle), -50}, "heavy": {l.changeOfClass("a", "b", workload.Heavy, crossedAndRead), -40},
		"light reads": {l.changeOfClass("a", "b", workload.Light, remoteReads), -62.5}, "medium": {l.movedByClass("a", workload.Medium, crossedAndRead), 0},
		"all": {l.change("a", "b", crossRack), -50}, "shuffle of all": {l.pointsOf("a", "b", crossShuffle), -40.625}, "reads of all": {l.pointsOf("a", "b", crossRead), -9.375},
		"sources": {l.values("a", sources), 3}, "sinks": {l.values("a", sinks), 2},
	} {
		if len(c.got) != 1 || math.Abs(c.got[0]-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %g", what, c.got, c.want)
		}
	}
}

// What no policy can gain goes by the bounds, and by the busiest uplink.
func TestLimits(t *testing.T) {
	t.Parallel()
	l := &experiments{variants: []variant{{name: "Fair", cluster: sim.Uniform(2, 1, 1, 10, 10)}}, results: map[string][]sim.Run{"Fair": {{}}}}
	r := &l.results["Fair"][0]
	r.Makespan, r.Bounds.MakespanCompute, r.Bounds.MakespanNetwork = 150, 60, 100
	r.ByRack = make([]network.Traffic, 2)
	r.ByRack[1].Down[network.Shuffle], r.ByRack[1].Down[network.Write] = 700, 500
	if got, want := describeLimits(l, "Fair"), "by the simulator's bounds no policy can be more than 50 % above Fair there, nor more than 25 % where as many bytes cross the same uplinks"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.ByRack[1].Down[network.Write] = 0
	if got, want := describeLimits(l, "Fair"), "by the simulator's bounds no policy can be more than 50 % above Fair there"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Loads without the largest jobs, with inputs of one size, and with framing.
func TestLoads(t *testing.T) {
	t.Parallel()
	w, err := swWorkload("synth:shufflewatcher,users=5,scale=0.01", 1)
	if err != nil {
		t.Fatal(err)
	}
	small := withoutLargest(w, 0.1)
	most := func(w *workload.Workload) (b model.Bytes) {
		for i := range w.Jobs {
			b = max(b, w.Jobs[i].Shuffle())
		}
		return b
	}
	if len(w.Jobs) != 60 || len(small.Jobs) != 54 || most(small) >= most(w) {
		t.Errorf("%d of %d jobs, up to %d of %d bytes", len(small.Jobs), len(w.Jobs), most(small), most(w))
	}
	alike, err := swWorkload("synth:shufflewatcher,users=5,scale=0.01"+swOneSize, 1)
	if err != nil {
		t.Fatal(err)
	}
	ratio := func(j *workload.Job) float64 { return float64(j.Shuffle()) / float64(j.Input()) }
	for i := range w.Jobs {
		was, is := &w.Jobs[i], &alike.Jobs[i]
		if is.Input() != alike.Jobs[0].Input() || math.Abs(ratio(is)-ratio(was)) > 1e-5 {
			t.Fatalf("job %d: input %d of %d, ratio %g of %g", i, is.Input(), alike.Jobs[0].Input(), ratio(is), ratio(was))
		}
	}
	plain, err := (&Inputs{Parts: 8}).dawnJobs(dawnML, 1)
	if err != nil {
		t.Fatal(err)
	}
	framed, err := (&Inputs{Parts: 8}).dawnJobs(dawnML+dawnFramed, 1)
	if err != nil {
		t.Fatal(err)
	}
	heavy := func(w *workload.Workload) bool {
		return slices.ContainsFunc(w.Jobs, func(j workload.Job) bool { return ratio(&j) > 1 })
	}
	if heavy(plain) || !heavy(framed) {
		t.Error("jobs that shuffle more than they read come with framing alone")
	}
}
