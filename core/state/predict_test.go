package state_test

import (
	"testing"

	"heddle/core/model"
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

// OutputOn is the output of completed maps as reported, or predicted like that of
// running ones while none has been reported.
func TestOutputOn(t *testing.T) {
	t.Parallel()
	c := predicted(t, 5)
	j := c.View().Job("application_1_0001")
	task := func(i int, s model.TaskState, host string, rack model.RackID, output model.Bytes) model.Task {
		return model.Task{Stage: model.StageMap, Index: i, State: s, Host: host, Rack: rack, Input: model.Unknown, Output: output, Shuffled: model.Unknown}
	}
	want := func(step string, r1, r2 model.Bytes) {
		t.Helper()
		on := func(id model.RackID) model.Bytes { return j.OutputOn(c.View().RackOf(id).Index, 100) }
		if on("/r1") != r1 || on("/r2") != r2 {
			t.Errorf("%s: %d and %d, want %d and %d", step, on("/r1"), on("/r2"), r1, r2)
		}
	}
	apply := func(tasks ...model.Task) {
		c.Apply(model.Observation{Source: model.SourceMapReduce, At: 2000, Fact: model.TasksFact{App: "application_1_0001", Tasks: tasks}})
	}
	want("no map runs", 0, 0)
	apply(task(0, model.TaskSucceeded, "w11", "/r1", model.Unknown), task(1, model.TaskRunning, "w11", "/r1", model.Unknown), task(2, model.TaskRunning, "w21", "/r2", model.Unknown))
	want("nothing reported", 200, 100)
	apply(task(0, model.TaskSucceeded, "w11", "/r1", 30))
	want("the completed one has reported", 130, 100)
	c.Assume(model.Placement{App: "application_1_0001", Stage: model.StageMap, Task: model.AnyTask, Node: "w21:1", Locality: model.OffSwitch})
	want("one more assumed", 130, 200)
	if got := j.OutputOn(99, 100); got != 0 {
		t.Errorf("a rack there is not: %d", got)
	}
}
