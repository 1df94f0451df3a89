package state_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/core/topology"
)

// feed applies facts from the ResourceManager one second apart.
type feed struct {
	c  *state.Cluster
	at model.Time
}

func newFeed(cfg state.Config) *feed { return &feed{c: state.New(cfg), at: 1_000_000} }

func (f *feed) apply(facts ...model.Fact) *feed {
	for _, fact := range facts {
		f.c.Apply(model.Observation{Source: model.SourceRM, At: f.at, Fact: fact})
	}
	return f
}

func (f *feed) later(d model.Duration) *feed { f.at = f.at.Add(d); return f }

func host(rack, i int) string { return fmt.Sprintf("w%d%d", rack, i) }

// nodes makes racks of hosts nodes each, /rack1 upwards, 4 GiB and 4 vcores a node.
func nodes(racks, hosts int) model.NodesFact {
	var f model.NodesFact
	for r := 1; r <= racks; r++ {
		for h := 1; h <= hosts; h++ {
			f.Nodes = append(f.Nodes, model.Node{
				ID: model.NodeID(host(r, h) + ":45454"), Host: host(r, h), Rack: model.RackID(fmt.Sprintf("/rack%d", r)),
				State: model.NodeRunning, Total: model.Resource{MemoryMiB: 4096, VCores: 4},
			})
		}
	}
	return f
}

func app(n int, user string, at model.Time) model.App {
	return model.App{
		ID: model.AppID(fmt.Sprintf("application_1_%04d", n)), User: model.UserID(user), Queue: "root.default",
		Type: "MAPREDUCE", State: model.AppRunning, Submitted: at,
	}
}

func apps(a ...model.App) model.AppsFact { return model.AppsFact{Apps: a} }

func mapDone(index, rack int, output model.Bytes) model.Task {
	return model.Task{
		Stage: model.StageMap, Index: index, State: model.TaskSucceeded, Progress: 1, Host: host(rack, 1),
		Rack: model.RackID(fmt.Sprintf("/rack%d", rack)), Input: model.Unknown, Output: output, Shuffled: model.Unknown,
	}
}

func reduce(index, rack int, state model.TaskState, shuffled model.Bytes) model.Task {
	return model.Task{
		Stage: model.StageReduce, Index: index, State: state, Progress: 0.5, Host: host(rack, 1),
		Rack: model.RackID(fmt.Sprintf("/rack%d", rack)), Input: model.Unknown, Output: model.Unknown, Shuffled: shuffled,
	}
}

func counters(id model.AppID, output, input, shuffled model.Bytes) model.CountersFact {
	return model.CountersFact{App: id, MapOutput: output, MapInput: input, ReduceShuffle: shuffled, HDFSWritten: model.Unknown}
}

func TestMapOutputSpread(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	job := model.JobFact{App: id, MapsTotal: 4, MapsCompleted: 4, ReducesTotal: 2}
	for _, tc := range []struct {
		name     string
		total    model.Bytes
		tasks    []model.Task
		want     []model.Bytes
		reported model.Bytes
		unplaced model.Bytes
	}{
		{"counter only, evenly over completed maps", 400, []model.Task{
			mapDone(0, 1, model.Unknown), mapDone(1, 1, model.Unknown), mapDone(2, 1, model.Unknown), mapDone(3, 2, model.Unknown),
		}, []model.Bytes{300, 100}, 0, 0},
		{"attempts refine", 400, []model.Task{
			mapDone(0, 1, 250), mapDone(1, 1, model.Unknown), mapDone(2, 2, model.Unknown), mapDone(3, 2, model.Unknown),
		}, []model.Bytes{300, 100}, 250, 0},
		{"all attempts known", 400, []model.Task{
			mapDone(0, 1, 10), mapDone(1, 1, 20), mapDone(2, 2, 30), mapDone(3, 2, 340),
		}, []model.Bytes{30, 370}, 400, 0},
		{"counter older than the attempts", 50, []model.Task{mapDone(0, 1, 40), mapDone(1, 2, 60)}, []model.Bytes{40, 60}, 100, 0},
		{"no rack known", 400, nil, nil, 0, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFeed(state.DefaultConfig()).apply(nodes(2, 2), apps(app(1, "ann", 900_000)), job,
				model.TasksFact{App: id, Tasks: tc.tasks}, counters(id, tc.total, 1000, 0))
			o := f.c.View().Job(id).Output
			if diff := cmp.Diff(tc.want, o.ByRack); diff != "" && len(tc.want)+len(o.ByRack) > 0 {
				t.Errorf("by rack (-want +got):\n%s", diff)
			}
			if o.Reported != tc.reported || o.Unplaced != tc.unplaced {
				t.Errorf("reported %d unplaced %d, want %d %d", o.Reported, o.Unplaced, tc.reported, tc.unplaced)
			}
		})
	}
}

// TestMapRunAgain: a map lost with its node gives its output back.
func TestMapRunAgain(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(nodes(2, 1), apps(app(1, "ann", 900_000)),
		model.JobFact{App: id, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 1},
		model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 1, 100), mapDone(1, 2, 50)}}, counters(id, 150, 300, 0))
	again := model.Task{Stage: model.StageMap, Index: 0, State: model.TaskPending, Input: -1, Output: -1, Shuffled: -1}
	f.apply(model.TasksFact{App: id, Tasks: []model.Task{again}})
	if got := f.c.View().Job(id).Map.Launched(0); got != 0 {
		t.Errorf("launched on rack1 = %d, want 0", got)
	}
	f.apply(model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 2, 100)}})
	if diff := cmp.Diff([]model.Bytes{0, 150}, f.c.View().Job(id).Output.ByRack); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// TestTraffic follows one job: the shuffle matrix sums to exactly what the
// reduces fetched, split by map output, and never goes back.
func TestTraffic(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(nodes(2, 1), apps(app(1, "ann", 999_000)),
		model.JobFact{App: id, MapsTotal: 10, MapsCompleted: 10, ReducesTotal: 2, ReducesRunning: 2},
		model.DataNodesFact{DataNodes: []model.DataNode{{Host: "w11", Rack: "/rack1", Live: true}, {Host: "w21", Rack: "/rack2", Live: true}}})
	f.apply(model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 1, 900), mapDone(1, 2, 100)}})
	f.later(model.Second).apply(model.TasksFact{App: id, Tasks: []model.Task{reduce(0, 1, model.TaskRunning, -1), reduce(1, 2, model.TaskRunning, -1)}},
		counters(id, 1000, 1000, 400))
	f.later(2*model.Second).apply(model.TasksFact{App: id, Tasks: []model.Task{reduce(0, 1, model.TaskSucceeded, 500), reduce(1, 2, model.TaskSucceeded, 500)}},
		counters(id, 1000, 1000, 1000))
	shuffled := f.c.Snapshot().Traffic.Bytes[snapshot.TrafficShuffle]
	want := [][]float64{{450, 450}, {50, 50}}
	if diff := cmp.Diff(want, shuffled, approx()); diff != "" {
		t.Errorf("shuffle matrix (-want +got):\n%s", diff)
	}
	// A counter that falls (a job counter read from another AM attempt) takes nothing back.
	f.later(model.Second).apply(counters(id, 1000, 1000, 10))
	if diff := cmp.Diff(want, f.c.Snapshot().Traffic.Bytes[snapshot.TrafficShuffle], approx()); diff != "" {
		t.Errorf("after a falling counter (-want +got):\n%s", diff)
	}
}

func approx() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
}

// TestWritesAndMapReads: output with two replicas or more sends one copy to
// another rack, and maps that were neither node- nor rack-local read across.
func TestWritesAndMapReads(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(nodes(2, 1), apps(app(1, "ann", 999_000)),
		model.DataNodesFact{DataNodes: []model.DataNode{{Host: "w11", Rack: "/rack1", Live: true}, {Host: "w21", Rack: "/rack2", Live: true}}},
		model.JobFact{App: id, MapsTotal: 4, MapsCompleted: 4, ReducesTotal: 1, ReducesCompleted: 1},
		model.JobConfFact{App: id, Inputs: []string{"/in"}, Slowstart: 0.05, Replication: 2},
		model.BlocksFact{Path: "/in", Files: 1, Blocks: []model.Block{{Length: 800, Hosts: []string{"w11"}, Racks: []model.RackID{"/rack1"}}}},
		model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 2, 0), mapDone(1, 1, 0), mapDone(2, 1, 0), mapDone(3, 1, 0), reduce(0, 2, model.TaskSucceeded, 0)}})
	k := counters(id, 0, 800, 0)
	k.HDFSWritten, k.NodeLocalMaps, k.OtherLocalMaps = 300, 3, 1
	f.later(model.Second).apply(k)
	s := f.c.Snapshot()
	if got := s.Traffic.Bytes[snapshot.TrafficMapRead]; len(got) < 1 || math.Abs(got[0][1]-200) > 1e-6 {
		t.Errorf("map reads %v, want 200 bytes from rack1 to rack2", got)
	}
	if got := s.Traffic.Bytes[snapshot.TrafficWrite]; len(got) < 2 || math.Abs(got[1][0]-300) > 1e-6 {
		t.Errorf("writes %v, want 300 bytes from rack2 to rack1", got)
	}
	if got := s.App(id).CrossRack; got[snapshot.TrafficMapRead] != 200 || got[snapshot.TrafficWrite] != 300 {
		t.Errorf("job's cross-rack bytes %v", got)
	}
}

// TestLateJob: a job that had run for long when heddle came adds only what it
// moves from now on.
func TestLateJob(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig())
	f.apply(nodes(2, 1), apps(app(1, "ann", f.at.Add(-10*model.Minute))),
		model.JobFact{App: id, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 1, ReducesRunning: 1},
		model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 1, 1000), reduce(0, 2, model.TaskRunning, -1)}}, counters(id, 1000, 1000, 700))
	f.later(model.Second).apply(counters(id, 1000, 1000, 800))
	if got := f.c.Snapshot().Traffic.Bytes[snapshot.TrafficShuffle][0][1]; math.Abs(got-100) > 1e-6 {
		t.Errorf("counted %v bytes, want the 100 new ones", got)
	}
}

// TestSaturation drives a rack's uplink over and under the threshold by the
// estimate and by samples, and lets samples grow old.
func TestSaturation(t *testing.T) {
	t.Parallel()
	cfg := state.DefaultConfig()
	cfg.UplinkMethod = state.MethodPrometheus
	cfg.Uplinks = topology.Uplinks{Default: topology.Link{Out: 1000, In: 1000}}
	f := newFeed(cfg).apply(nodes(1, 1))
	load := func(out model.BytesPerSecond) {
		f.apply(model.UplinkFact{Method: state.MethodPrometheus, Samples: []model.UplinkSample{{Rack: "/rack1", Out: out}}})
	}
	run := func(seconds int, out model.BytesPerSecond) *state.Rack {
		for range seconds {
			load(out)
			f.c.Advance(f.later(model.Second).at)
		}
		return f.c.View().Racks()[0]
	}
	if r := run(1, 700); r.Load.Saturated || math.Abs(r.Utilization-0.7) > 1e-9 {
		t.Fatalf("at 0.7: %+v", r)
	}
	if r := run(30, 900); !r.Load.Saturated {
		t.Fatalf("at 0.9 for 30 s: utilisation %v, not saturated", r.Utilization)
	}
	if r := run(60, 770); !r.Load.Saturated {
		t.Fatalf("at 0.77, within the hysteresis of 0.05 below 0.80: cleared")
	}
	if r := run(30, 740); r.Load.Saturated {
		t.Fatalf("at 0.74: utilisation %v, still saturated", r.Utilization)
	}
	for range 20 { // no samples any more
		f.c.Advance(f.later(model.Second).at)
	}
	if got := f.c.View().Racks()[0].Method; got != state.MethodEstimate {
		t.Errorf("20 s after the last sample the method is %q, want the estimate", got)
	}
	if f.c.Snapshot().Counts.EstimatedLoads == 0 {
		t.Error("the fallback was not counted")
	}
}

// TestAsks: the ask table is the demand, absolute at every reading.
func TestAsks(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(nodes(2, 2), apps(app(1, "ann", 900_000)))
	rows := []model.AskRow{
		{Priority: 20, ResourceName: "*", Count: 5, Capability: model.Resource{MemoryMiB: 512, VCores: 1}},
		{Priority: 20, ResourceName: "/rack1", Count: 4},
		{Priority: 20, ResourceName: "w11", Count: 3},
		{Priority: 10, ResourceName: "*", Count: 2, Capability: model.Resource{MemoryMiB: 768, VCores: 1}},
		{Priority: 77, ResourceName: "*", Count: 9},
	}
	for range 2 {
		f.apply(model.AsksFact{App: id, Rows: rows})
		j, v := f.c.View().Job(id), f.c.View()
		if j.Map.Pending != 5 || j.Map.PendingOn(f.c.View().Node("w11:45454")) != 3 || j.Map.PendingIn(0) != 4 || j.Reduce.Pending != 2 {
			t.Fatalf("map %+v reduce %+v", j.Map, j.Reduce)
		}
		for _, want := range []struct {
			node  model.NodeID
			level model.Locality
		}{{"w11:45454", model.NodeLocal}, {"w12:45454", model.RackLocal}, {"w21:45454", model.OffSwitch}} {
			if got, ok := j.Map.Locality(v.Node(want.node)); !ok || got != want.level {
				t.Errorf("%s: %v %v, want %v", want.node, got, ok, want.level)
			}
		}
	}
	f.apply(model.AsksFact{App: id})
	if j := f.c.View().Job(id); j.Map.Pending != 0 || j.Map.PendingOn(f.c.View().Node("w11:45454")) != 0 || j.Map.PendingIn(0) != 0 {
		t.Errorf("after an empty table: %+v", j.Map)
	}
}

// TestDemandFromBlocks: without an ask table the input's blocks stand in for it.
func TestDemandFromBlocks(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(nodes(2, 2), apps(app(1, "ann", 900_000)),
		model.JobConfFact{App: id, Inputs: []string{"/a", "/b"}, Slowstart: 0.05},
		model.BlocksFact{Path: "/a", Blocks: []model.Block{{Length: 10, Hosts: []string{"w11", "w21"}}, {Length: 10, Hosts: []string{"w11", "w22"}}}},
		model.BlocksFact{Path: "/b", Blocks: []model.Block{{Length: 10, Hosts: []string{"w12"}}, {Length: 10, Hosts: []string{"w12", "w11"}}}},
		model.JobFact{App: id, MapsTotal: 4, MapsPending: 4, ReducesTotal: 1})
	j := f.c.View().Job(id)
	if j.Map.Pending != 4 || j.Map.PendingOn(f.c.View().Node("w11:45454")) != 3 || j.Map.PendingIn(0) != 4 || j.Map.PendingIn(1) != 2 {
		t.Errorf("demand: %+v", j.Map)
	}
	if j.Input.Bytes != 40 || j.Input.ByRack[0] != 40 || j.Input.ByRack[1] != 20 {
		t.Errorf("input: %+v", j.Input)
	}
}

// TestRackDisagreement: hosts whose rack differs between ResourceManager and
// NameNode are counted, the ResourceManager's rack is used, and hosts in no
// rack land in the default rack, counted.
func TestRackDisagreement(t *testing.T) {
	t.Parallel()
	n := nodes(2, 1)
	n.Nodes = append(n.Nodes, model.Node{ID: "lost:1", Host: "lost", State: model.NodeRunning})
	f := newFeed(state.DefaultConfig()).apply(n, model.DataNodesFact{DataNodes: []model.DataNode{
		{Host: "w11", Rack: "/rack9", Live: true, Blocks: 5}, {Host: "w21", Rack: "/rack2", Live: true, Blocks: 7},
	}})
	s := f.c.Snapshot()
	want := []snapshot.RackMismatch{{Host: "w11", ResourceManager: "/rack1", NameNode: "/rack9"}}
	if diff := cmp.Diff(want, s.Mismatch); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Counts.RackMismatches != 1 || s.Counts.HostsNoRack != 1 || s.Rack(model.DefaultRack) == nil {
		t.Errorf("counts %+v", s.Counts)
	}
	if s.Rack("/rack9").HDFSBlocks != 5 || s.Rack("/rack2").HDFSBlocks != 7 {
		t.Errorf("blocks by the NameNode's racks: %+v", s.Racks)
	}
}

// TestRestartLosesNothing: a ResourceManager that starts over gives an empty
// list for a moment, then the same applications; its own counters start at 0.
func TestRestartLosesNothing(t *testing.T) {
	t.Parallel()
	const id = "application_1_0001"
	f := newFeed(state.DefaultConfig()).apply(
		model.ClusterFact{Started: 5, Address: "rm1", Localities: &model.LocalityCounts{NodeLocal: 100}}, nodes(2, 1), apps(app(1, "ann", 999_000)),
		model.JobFact{App: id, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 1, ReducesRunning: 1},
		model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 1, 1000), reduce(0, 2, model.TaskRunning, -1)}}, counters(id, 1000, 1000, 400))
	f.later(model.Second).apply(model.ClusterFact{Started: 6, Address: "rm1", Localities: &model.LocalityCounts{}}, model.NodesFact{}, apps())
	if got := len(f.c.View().Jobs()); got != 0 {
		t.Fatalf("%d live jobs", got)
	}
	f.later(model.Second).apply(nodes(2, 1), apps(app(1, "ann", 999_000)), model.ClusterFact{Started: 6, Address: "rm1", Localities: &model.LocalityCounts{NodeLocal: 7}},
		counters(id, 1000, 1000, 1000))
	s := f.c.Snapshot()
	if got := s.Traffic.Bytes[snapshot.TrafficShuffle][0][1]; math.Abs(got-1000) > 1e-6 {
		t.Errorf("shuffled %v bytes over the restart, want 1000", got)
	}
	if s.Cluster.Localities.NodeLocal != 107 || s.Counts.Restarts != 1 {
		t.Errorf("node-local %d, restarts %d; want 107, 1", s.Cluster.Localities.NodeLocal, s.Counts.Restarts)
	}
	if a := s.App(id); a == nil || a.State != model.AppRunning || len(f.c.View().Users()) != 1 {
		t.Errorf("application after the restart: %+v", a)
	}
}

// TestClockJumps: an old observation in a queue does not turn time back, a
// clock that was set back does.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	f := newFeed(state.DefaultConfig())
	f.apply(nodes(1, 1))
	was := f.at
	f.later(-2 * model.Second).apply(nodes(1, 1))
	if f.c.View().Now() != was {
		t.Errorf("now %d, want %d", f.c.View().Now(), was)
	}
	f.later(-2 * model.Minute * 60).apply(nodes(1, 1))
	if s := f.c.Snapshot(); s.At != f.at || s.Counts.ClockJumps != 1 {
		t.Errorf("now %d, jumps %d", s.At, s.Counts.ClockJumps)
	}
}

// A job whose place in the lists changes keeps a number of its own, also where no
// ended job stays.
func TestNumbersAreUniqueWithoutFinishedJobs(t *testing.T) {
	t.Parallel()
	for _, finished := range []int{0, 1} {
		cfg := state.DefaultConfig()
		cfg.FinishedJobs = finished
		f := newFeed(cfg).apply(nodes(1, 1), apps(app(1, "ann", 900_000), app(2, "ann", 900_001)))
		f.apply(apps(app(1, "bob", 900_000), app(2, "ann", 900_001)), apps(app(1, "bob", 900_000), app(2, "ann", 900_001), app(3, "eve", 900_002), app(4, "eve", 900_003)))
		numbers := map[int]model.AppID{}
		for _, j := range f.c.View().Jobs() {
			if other, taken := numbers[j.Number()]; taken {
				t.Errorf("%d ended jobs stay: %s and %s have the number %d", finished, other, j.ID, j.Number())
			}
			numbers[j.Number()] = j.ID
		}
		if len(numbers) != 4 {
			t.Errorf("%d ended jobs stay: %d numbers of 4 jobs", finished, len(numbers))
		}
	}
}

// A host that nothing is known of is counted once, however often it is named.
func TestUnknownHostsAreCountedOnce(t *testing.T) {
	t.Parallel()
	a := app(1, "ann", 900_000)
	f := newFeed(state.DefaultConfig()).apply(nodes(1, 1), apps(a))
	for range 3 {
		f.apply(
			model.BlocksFact{Path: "/in", Blocks: []model.Block{{Length: 1, Hosts: []string{"x1", "x2"}}, {Length: 1, Hosts: []string{"x1"}}}},
			model.TasksFact{App: a.ID, Tasks: []model.Task{{Stage: model.StageMap, State: model.TaskRunning, Host: "x1"}, {Stage: model.StageMap, Index: 1, State: model.TaskPending, Preferred: []string{"x2", "x3"}}}},
			model.ContainersFact{App: a.ID, Containers: []model.Container{{ID: "c", Node: "x4:1", Priority: 20}, {ID: "d", Node: "x4:1", Priority: 20}}},
		)
	}
	if n := f.c.Snapshot().Counts.UnknownHosts; n != 4 {
		t.Errorf("%d unknown hosts, want 4", n)
	}
}
