package state_test

import (
	"math"
	"slices"
	"testing"

	"heddle/core/model"
	"heddle/core/state"
)

const asker model.AppID = "application_1_0007"

func askRows(maps int, rows ...model.AskRow) []model.AskRow {
	one := model.Resource{MemoryMiB: 512, VCores: 1}
	out := []model.AskRow{{Priority: model.PriorityMap, ResourceName: model.AnyName, Count: maps, RelaxLocality: true, Capability: one}}
	return append(out, rows...)
}

func rackRow(rack string, n int) model.AskRow {
	return model.AskRow{Priority: model.PriorityMap, ResourceName: rack, Count: n, RelaxLocality: true}
}

// asking is a cluster of three racks with one application, as the given source
// reports its asks at 10 s.
func asking(source model.Source, app model.App, rows []model.AskRow) *state.Cluster {
	c := state.New(state.DefaultConfig())
	var nodes model.NodesFact
	for _, h := range []string{"w11", "w21", "w31"} {
		nodes.Nodes = append(nodes.Nodes, model.Node{ID: model.NodeID(h + ":1"), Host: h, Rack: model.RackID("/rack" + h[1:2]), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 4096, VCores: 8}})
	}
	app.ID, app.User, app.State, app.Submitted = asker, "ann", model.AppRunning, 1000
	for _, f := range []model.Fact{nodes, model.AppsFact{Apps: []model.App{app}}} {
		c.Apply(model.Observation{Source: model.SourceRM, At: 9_000, Fact: f})
	}
	c.Apply(model.Observation{Source: source, At: 10_000, Fact: model.AsksFact{App: asker, Rows: rows}})
	return c
}

// TestInputFromAsks: before the NameNode has reported where a job's input lies, its
// asks for maps do, when the relay sees them whole.
func TestInputFromAsks(t *testing.T) {
	t.Parallel()
	whole := askRows(6, rackRow("/rack1", 6), rackRow("/rack2", 4), rackRow("/rack3", 2))
	c := asking(model.SourceRelay, model.App{}, whole)
	in := c.View().Job(asker).Input
	if in.Known || len(in.Blocks) != 6 {
		t.Fatalf("known %v, %d blocks; want 6 that are only supposed", in.Known, len(in.Blocks))
	}
	counts := make([]int, 3)
	for _, b := range in.Blocks {
		if len(b.Racks) != 2 {
			t.Errorf("a block has replicas on racks %v; 12 replicas dealt evenly to 6 blocks are 2 each", b.Racks)
		}
		for _, r := range b.Racks {
			counts[r]++
		}
	}
	if want := []int{6, 4, 2}; !slices.Equal(counts, want) {
		t.Errorf("blocks by rack %v, want the rows' %v", counts, want)
	}
	c.Apply(model.Observation{Source: model.SourceRelay, At: 11_000, Fact: model.AsksFact{App: asker, Rows: askRows(2, rackRow("/rack3", 2))}})
	if again := c.View().Job(asker).Input; again != in {
		t.Error("the rest of an ask replaced the whole")
	}
	c.Apply(model.Observation{Source: model.SourceMapReduce, At: 11_500, Fact: model.JobConfFact{App: asker, Inputs: []string{"/in"}}})
	if again := c.View().Job(asker).Input; again != in {
		t.Error("a path that has not been read replaced the input of the asks")
	}
	c.Apply(model.Observation{Source: model.SourceHDFS, At: 12_000, Fact: model.BlocksFact{Path: "/in", Blocks: []model.Block{{Length: 7, Hosts: []string{"w21"}, Racks: []model.RackID{"/rack2"}}}}})
	if now := c.View().Job(asker).Input; !now.Known || now.Bytes != 7 {
		t.Errorf("the NameNode's word did not replace the supposed input: %+v", now)
	}
}

// TestNoInputFromARest: asks that do not show every map of the job say nothing
// of where its input lies.
func TestNoInputFromARest(t *testing.T) {
	t.Parallel()
	rows := askRows(2, rackRow("/rack1", 2))
	if in := asking(model.SourceRM, model.App{}, rows).View().Job(asker).Input; len(in.Blocks) > 0 {
		t.Error("the ResourceManager's table may be a rest")
	}
	c := asking(model.SourceRelay, model.App{}, nil)
	c.Apply(model.Observation{Source: model.SourceMapReduce, At: 10_500, Fact: model.JobFact{App: asker, MapsTotal: 10, MapsPending: 2, MapsRunning: 8}})
	c.Apply(model.Observation{Source: model.SourceRelay, At: 11_000, Fact: model.AsksFact{App: asker, Rows: rows}})
	if in := c.View().Job(asker).Input; len(in.Blocks) > 0 {
		t.Error("2 of 10 maps were taken for the whole")
	}
	c = asking(model.SourceRelay, model.App{}, askRows(2))
	if in := c.View().Job(asker).Input; len(in.Blocks) > 0 {
		t.Error("maps without racks have no known input")
	}
}

// TestRelayReportsTheApplicationsAsks: what the ResourceManager holds for a steered
// application is heddle's own doing, and counts again once the relay is silent.
func TestRelayReportsTheApplicationsAsks(t *testing.T) {
	t.Parallel()
	c := asking(model.SourceRelay, model.App{}, askRows(6, rackRow("/rack1", 4), rackRow("/rack2", 4)))
	trimmed := askRows(6, rackRow("/rack1", 4))
	c.Apply(model.Observation{Source: model.SourceRM, At: 20_000, Fact: model.AsksFact{App: asker, Rows: trimmed}})
	m := c.View().Job(asker).Map
	if m.Pending != 6 || m.PendingIn(1) != 4 {
		t.Errorf("%d pending, %d of them on rack2: the rewritten rows were taken for the application's", m.Pending, m.PendingIn(1))
	}
	if held := c.Snapshot().App(asker).Held; len(held) != 2 {
		t.Errorf("the ResourceManager's rows are %v, want its 2", held)
	}
	c.Apply(model.Observation{Source: model.SourceRM, At: 25_001, Fact: model.AsksFact{App: asker, Rows: trimmed}})
	if m.PendingIn(1) != 0 {
		t.Error("15.001 s after the relay's last word the ResourceManager's table still does not count")
	}
}

// TestStagesByRule: the relay's rules say what stage a priority means, for asks
// and for the containers granted to them.
func TestStagesByRule(t *testing.T) {
	t.Parallel()
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	c := asking(model.SourceRelay, model.App{Type: "SPARK"}, []model.AskRow{{Priority: 0, ResourceName: "*", Count: 3, Capability: one, Stage: model.StageOther}})
	c.Apply(model.Observation{Source: model.SourceRM, At: 10_100, Fact: model.ContainersFact{App: asker, Containers: []model.Container{{ID: "a", Node: "w21:1", Priority: 0}}}})
	j := c.View().Job(asker)
	if j.Other.Pending != 3 || j.Other.Running != 1 || j.Other.Launched(1) != 1 {
		t.Errorf("%d pending, %d running, %d on rack2; want 3, 1, 1", j.Other.Pending, j.Other.Running, j.Other.Launched(1))
	}
}

// TestVCoresCount: FairScheduler fits containers by every resource,
// CapacityScheduler as its resource calculator does.
func TestVCoresCount(t *testing.T) {
	t.Parallel()
	ask := model.AsksFact{App: "application_1_0001", Rows: []model.AskRow{{
		Priority: model.PriorityReduce, RequestID: -1, ResourceName: model.AnyName, Count: 1, RelaxLocality: true,
		Capability: model.Resource{MemoryMiB: 1024, VCores: 2},
	}}}
	for _, c := range []struct {
		scheduler string
		counted   bool
		want      bool
	}{{"capacityScheduler", false, true}, {"capacityScheduler", true, false}, {"fairScheduler", false, false}} {
		cfg := state.DefaultConfig()
		cfg.CountVCores = c.counted
		f := newFeed(cfg).apply(model.ClusterFact{Started: 1, Scheduler: c.scheduler}, nodes(1, 1), apps(app(1, "ann", 1)), ask)
		got := f.c.View().Fits(f.c.View().Job("application_1_0001").Reduce, model.Resource{MemoryMiB: 2048, VCores: 1})
		if got != c.want {
			t.Errorf("%s, count_vcores %t: two vcores fit into one: %t", c.scheduler, c.counted, got)
		}
		if s := f.c.Snapshot(); s.App("application_1_0001").HeldAt != f.at || s.Cluster.VCores == c.want {
			t.Errorf("%s: held at %d, vcores %t", c.scheduler, s.App("application_1_0001").HeldAt, s.Cluster.VCores)
		}
	}
}

// A task is as large as the job's configuration says until an ask shows it.
func TestTaskSize(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(nodes(2, 2), apps(app(1, "ann", 900_000)))
	conf := model.JobConfFact{App: id, Slowstart: .05, MapTask: model.Resource{MemoryMiB: 512, VCores: 1}}
	f.apply(conf)
	j := f.c.View().Job(id)
	if j.Map.Capability != conf.MapTask || j.Reduce.Capability != state.DefaultConfig().TaskDefault {
		t.Errorf("map %v, reduce %v: want what the configuration says, and the default where it says nothing", j.Map.Capability, j.Reduce.Capability)
	}
	asked := model.Resource{MemoryMiB: 768, VCores: 1}
	f.apply(model.AsksFact{App: id, Rows: []model.AskRow{{Priority: 20, ResourceName: "*", Count: 2, Capability: asked}}})
	f.apply(conf)
	if j.Map.Capability != asked {
		t.Errorf("map %v, want the ask's %v", j.Map.Capability, asked)
	}
}

// What an application asks for, and reports of itself, has no bound: the state keeps counts that
// policies can work with, and assumes no input for more maps than it tracks.
func TestCountsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 1 << 24
	for _, n := range []int{150_000, 250_000, 1 << 40, math.MaxInt64} {
		c := asking(model.SourceRelay, model.App{}, append(askRows(n, rackRow("/rack1", n)), askRows(n)...))
		j := c.View().Job(asker)
		if len(j.Input.Blocks) != 0 || j.Map.Pending != min(2*min(n, most), most) {
			t.Errorf("%d: %d blocks, %d pending", n, len(j.Input.Blocks), j.Map.Pending)
		}
	}
	c := asking(model.SourceRM, model.App{}, nil)
	for _, tt := range []struct{ reported, want int }{{-1, 0}, {7, 7}, {math.MaxInt64, most}, {math.MinInt64, 0}} {
		n := tt.reported
		c.Apply(model.Observation{Source: model.SourceMapReduce, At: 10_000, Fact: model.JobFact{
			App: asker, MapsTotal: n, MapsRunning: n, MapsCompleted: n, MapsPending: n, ReducesTotal: n, ReducesPending: n, ReducesRunning: n, ReducesCompleted: n,
		}})
		j := c.View().Job(asker)
		got := []int{j.Map.Total, j.Map.Running, j.Map.Completed, j.Reduce.Total, j.Reduce.Pending, j.Reduce.Running, j.Reduce.Completed}
		if slices.ContainsFunc(got, func(k int) bool { return k != tt.want }) {
			t.Errorf("%d: %v, want %d", n, got, tt.want)
		}
	}
}
