package state_test

import (
	"math"
	"testing"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// maps reports completed maps of job 1 with what each read and put out.
func mapsDone(c *state.Cluster, bytes ...[2]model.Bytes) {
	f := model.TasksFact{App: "application_1_0001"}
	for i, b := range bytes {
		f.Tasks = append(f.Tasks, model.Task{
			Stage: model.StageMap, Index: i, State: model.TaskSucceeded, Host: "w11", Rack: "/r1", Input: b[0], Output: b[1], Shuffled: model.Unknown,
		})
	}
	c.Apply(model.Observation{Source: model.SourceMapReduce, At: 2000, Fact: f})
}

func predicted(t *testing.T, maps int) *state.Cluster {
	t.Helper()
	c := state.New(state.DefaultConfig())
	for _, f := range []model.Fact{
		model.NodesFact{Nodes: []model.Node{
			{ID: "w11:1", Host: "w11", Rack: "/r1", State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8}},
			{ID: "w21:1", Host: "w21", Rack: "/r2", State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8}},
		}},
		model.AppsFact{Apps: []model.App{{ID: "application_1_0001", User: "ann", State: model.AppRunning, Submitted: 1000}}},
		model.JobFact{App: "application_1_0001", MapsTotal: maps, MapsPending: maps},
	} {
		c.Apply(model.Observation{Source: model.SourceRM, At: 1000, Fact: f})
	}
	return c
}

// A job's shuffle is predicted by the unweighted mean of its maps' ratios (NAS
// §III-A: "the average of all the completed map tasks").
func TestPredict(t *testing.T) {
	t.Parallel()
	const mib = model.MiB
	for _, tc := range []struct {
		name      string
		input     int // blocks of 100 MiB
		done      [][2]model.Bytes
		ratio     float64
		predicted bool
		output    model.Bytes // of one map
		shuffle   model.Bytes
	}{
		{"nothing known", 0, nil, 1, false, 0, 0},
		{"input known", 4, nil, 1, false, 100 * mib, 400 * mib},
		{"ratios count, not bytes", 4, [][2]model.Bytes{{100 * mib, 50 * mib}, {10 * mib, 15 * mib}}, 1, true, 100 * mib, 400 * mib},
		{"a map without input counts for nothing", 4, [][2]model.Bytes{{100 * mib, 200 * mib}, {0, 7 * mib}}, 2, true, 200 * mib, 800 * mib},
		{"no input at all", 0, [][2]model.Bytes{{0, 4 * mib}, {0, 6 * mib}}, 1, false, 5 * mib, 20 * mib},
		{"bytes not known", 4, [][2]model.Bytes{{model.Unknown, 5}, {100 * mib, model.Unknown}}, 1, false, 100 * mib, 400 * mib},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := predicted(t, 4)
			if tc.input > 0 {
				b := model.BlocksFact{Path: "/in"}
				for range tc.input {
					b.Blocks = append(b.Blocks, model.Block{Length: 100 * mib, Hosts: []string{"w11"}, Racks: []model.RackID{"/r1"}})
				}
				c.Apply(model.Observation{Source: model.SourceMapReduce, At: 1000, Fact: model.JobConfFact{App: "application_1_0001", Inputs: []string{"/in"}, Slowstart: .05}})
				c.Apply(model.Observation{Source: model.SourceHDFS, At: 1000, Fact: b})
			}
			mapsDone(c, tc.done...)
			p := c.View().Job("application_1_0001").Predict()
			if p.Ratio != tc.ratio || p.Predicted != tc.predicted || p.MapOutput() != tc.output || p.Shuffle != tc.shuffle {
				t.Errorf("ratio %g (predicted %t), a map puts out %d, the job %d; want %g (%t), %d, %d",
					p.Ratio, p.Predicted, p.MapOutput(), p.Shuffle, tc.ratio, tc.predicted, tc.output, tc.shuffle)
			}
		})
	}
}

// RunningMaps follows tasks and live containers, whichever know of more, and
// what is assumed.
func TestRunningMaps(t *testing.T) {
	t.Parallel()
	c := predicted(t, 5)
	v := c.View()
	on := func(id model.NodeID) int {
		n := 0
		for _, r := range v.RunningMaps(v.Node(id)) {
			n += r.Count
		}
		return n
	}
	want := func(step string, w11, w21 int) {
		t.Helper()
		if on("w11:1") != w11 || on("w21:1") != w21 {
			t.Errorf("%s: %d and %d maps run, want %d and %d", step, on("w11:1"), on("w21:1"), w11, w21)
		}
	}
	apply := func(f model.Fact) {
		c.Apply(model.Observation{Source: model.SourceMapReduce, At: 2000, Fact: f})
	}
	task := func(i int, s model.TaskState, host string, rack model.RackID) model.Task {
		return model.Task{Stage: model.StageMap, Index: i, State: s, Host: host, Rack: rack, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
	}
	want("nothing runs", 0, 0)
	apply(model.TasksFact{App: "application_1_0001", Tasks: []model.Task{task(0, model.TaskRunning, "w11", "/r1"), task(1, model.TaskRunning, "w21", "/r2")}})
	want("two tasks", 1, 1)
	container := func(i string, node model.NodeID, priority int) model.Container {
		return model.Container{ID: "container_1_0001_01_00000" + i, Node: node, Priority: priority}
	}
	apply(model.ContainersFact{App: "application_1_0001", Containers: []model.Container{
		container("1", "w11:1", 0), container("2", "w11:1", model.PriorityMap), container("3", "w11:1", model.PriorityMap), container("4", "w21:1", model.PriorityReduce),
	}})
	want("two containers on w11", 2, 1)
	assumed := model.Placement{App: "application_1_0001", Stage: model.StageMap, Task: model.AnyTask, Node: "w21:1", Locality: model.OffSwitch}
	c.Assume(assumed)
	want("one more assumed", 2, 2)
	c.Withdraw(assumed)
	want("withdrawn", 2, 1)
	apply(model.TasksFact{App: "application_1_0001", Tasks: []model.Task{task(0, model.TaskSucceeded, "w11", "/r1"), task(1, model.TaskRunning, "w11", "/r1")}})
	want("one ended, one moved", 2, 0)
	apply(model.ContainersFact{App: "application_1_0001"})
	want("no container lives", 1, 0)
	apply(model.AppsFact{})
	want("the job ended", 0, 0)
}

// The map output of a job is expected where its maps were launched: what is reported where it lies, the rest as much
// a map as is known of others, or of the input.
func TestForecast(t *testing.T) {
	t.Parallel()
	type expected struct {
		rack1, rack2 float64 // in bytes, or in maps
		off          int     // percent of the output that may lie elsewhere, at most of a rack
		known, sized bool
	}
	task := func(i int, s model.TaskState, host string, output model.Bytes) model.Task {
		t := model.Task{Stage: model.StageMap, Index: i, State: s, Host: host, Input: model.Unknown, Output: output, Shuffled: model.Unknown}
		if host != "" {
			t.Rack = model.RackID("/r" + host[1:2])
		}
		return t
	}
	tasks := func(list ...model.Task) model.Fact { return model.TasksFact{App: "application_1_0001", Tasks: list} }
	bound := func(relax bool, rows ...model.AskRow) model.Fact {
		return model.AsksFact{App: "application_1_0001", Rows: append(rows, model.AskRow{Priority: model.PriorityMap, ResourceName: "*", Count: 2, RelaxLocality: relax})}
	}
	done, runs, silent := model.TaskSucceeded, model.TaskRunning, model.Unknown
	for _, tc := range []struct {
		name  string
		facts []model.Fact
		want  expected
	}{
		{"nothing is launched", nil, expected{}},
		{"maps run, no size is known", []model.Fact{tasks(task(0, runs, "w11", silent), task(1, runs, "w21", silent), task(2, runs, "w21", silent), task(3, runs, "w21", silent))}, expected{1, 3, 43, true, false}},
		{"one has reported", []model.Fact{tasks(task(0, done, "w11", 30), task(1, runs, "w21", silent), task(2, runs, "w21", silent), task(3, runs, "w21", silent))}, expected{30, 90, 43, true, true}},
		{"those to be launched go as the others went", []model.Fact{tasks(task(0, done, "w11", 30), task(1, done, "w21", 30))}, expected{60, 60, 50, true, true}},
		{"containers alone", []model.Fact{model.ContainersFact{App: "application_1_0001", Containers: []model.Container{
			{ID: "c_2", Node: "w11:1", Priority: model.PriorityMap}, {ID: "c_3", Node: "w21:1", Priority: model.PriorityMap},
			{ID: "c_4", Node: "w21:1", Priority: model.PriorityMap}, {ID: "c_5", Node: "w21:1", Priority: model.PriorityMap},
		}}}, expected{1, 3, 43, true, false}},
		{"what runs reads the rest of the input", []model.Fact{
			model.JobConfFact{App: "application_1_0001", Inputs: []string{"/in"}},
			model.BlocksFact{Path: "/in", Blocks: []model.Block{{Length: 35}, {Length: 965}}},
			model.JobFact{App: "application_1_0001", MapsTotal: 4, MapsRunning: 3, MapsCompleted: 1},
			tasks(task(0, done, "w11", 35), task(1, runs, "w21", silent), task(2, runs, "w21", silent), task(3, runs, "w21", silent)),
			model.CountersFact{App: "application_1_0001", MapInput: 35, MapOutput: 35, CompletedMapsNow: 1},
		}, expected{35, 965, 56, true, true}},
		{"counters older than the tasks", []model.Fact{
			tasks(task(0, done, "w11", silent), task(1, done, "w21", silent), task(2, done, "w21", silent), task(3, done, "w21", silent)),
			model.CountersFact{App: "application_1_0001", MapInput: model.Unknown, MapOutput: 10, CompletedMapsNow: 1},
		}, expected{10, 30, 43, true, true}},
		{"those to be launched are bound to a rack", []model.Fact{
			tasks(task(0, runs, "w11", silent), task(1, runs, "w11", silent)),
			bound(false, model.AskRow{Priority: model.PriorityMap, ResourceName: "/r2", Count: 2}),
		}, expected{2, 2, 35, true, false}},
		{"bound, before any is launched", []model.Fact{bound(false, model.AskRow{Priority: model.PriorityMap, ResourceName: "/r2", Count: 4})}, expected{0, 4, 50, true, false}},
		{"asked for on a rack, and anywhere", []model.Fact{
			tasks(task(0, runs, "w11", silent), task(1, runs, "w11", silent)),
			bound(true, model.AskRow{Priority: model.PriorityMap, ResourceName: "/r2", Count: 2}),
		}, expected{4, 0, 122, true, false}},
		{"complete on unknown racks, and all output known", []model.Fact{
			model.JobFact{App: "application_1_0001", MapsTotal: 4, MapsCompleted: 4},
			tasks(task(0, done, "w11", 10), task(1, done, "w21", 30)),
			model.CountersFact{App: "application_1_0001", MapInput: model.Unknown, MapOutput: 40, CompletedMapsNow: 4},
		}, expected{10, 30, 0, true, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := predicted(t, 4)
			for _, f := range tc.facts {
				source := model.SourceMapReduce
				if _, asks := f.(model.AsksFact); asks {
					source = model.SourceRM
				}
				c.Apply(model.Observation{Source: source, At: 2000, Fact: f})
			}
			var f shuffle.Forecast
			got := expected{known: c.View().Job("application_1_0001").Forecast(&f, 2)}
			got.rack1, got.rack2, got.sized = math.Round(f.ByRack[0]), math.Round(f.ByRack[1]), f.Sized && got.known
			if got.known {
				got.off = int(math.Round(100 * max(f.Off[0], f.Off[1]) / f.Total))
			}
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
