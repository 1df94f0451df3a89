package counterfactual_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/counterfactual"
	"heddle/core/lab/measured"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/topology"
	"heddle/core/trace"
)

// observed yields facts a second apart, the first at second 1000.
func observed(facts ...model.Fact) iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		for i, f := range facts {
			at := model.Time(1000+i) * model.Time(model.Second)
			if !yield(trace.Record{Seq: uint64(i + 1), At: at, Observation: &model.Observation{At: at, Fact: f}}, nil) {
				return
			}
		}
	}
}

// ran is a task that succeeded: when it was launched, had fetched everything and ended, and what it
// read, put out and fetched.
func ran(stage model.Stage, index int, host string, times [3]model.Time, bytes [3]model.Bytes) model.Task {
	return model.Task{
		Stage: stage, Index: index, State: model.TaskSucceeded, Host: host, Rack: model.RackID("/" + host[:1]), Progress: 1,
		Launched: times[0], Fetched: times[1], Finished: times[2], Input: bytes[0], Output: bytes[1], Shuffled: bytes[2],
	}
}

// cluster is two racks with two nodes and one, and a job that ended, one that runs and a
// Spark application.
func facts() []model.Fact {
	node := func(host string, rack model.RackID, memory int64) model.Node {
		return model.Node{ID: model.NodeID(host + ":1"), Host: host, Rack: rack, State: model.NodeRunning, Total: model.Resource{MemoryMiB: memory, VCores: 8}}
	}
	const mb = 1_000_000
	job := model.App{ID: "application_1_0001", Name: "sort", User: "ann", Queue: "root.q", Type: "MAPREDUCE", State: model.AppFinished, Submitted: 1_000_000, Finished: 1_050_000, AMNode: "b1:1"}
	return []model.Fact{
		model.NodesFact{Nodes: []model.Node{node("a1", "/a", 4096), node("a2", "/a", 4096), node("b1", "/b", 2048)}},
		model.AppsFact{Apps: []model.App{
			job, {ID: "application_1_0002", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1_001_000}, {ID: "application_1_0003", Type: "SPARK", State: model.AppFinished, Submitted: 1_002_000},
		}},
		model.JobConfFact{App: job.ID, Inputs: []string{"/in"}, Slowstart: 0.5, Replication: 1, MapTask: model.Resource{MemoryMiB: 1024, VCores: 1}, ReduceTask: model.Resource{MemoryMiB: 1024, VCores: 1}},
		// The second file's last piece is part of its last split; maps are numbered by length.
		model.BlocksFact{Path: "/in", Files: 2, Blocks: []model.Block{
			{Offset: 0, Length: 50 * mb, Hosts: []string{"b1"}}, {Offset: 0, Length: 100 * mb, Hosts: []string{"a2"}}, {Offset: 100 * mb, Length: 5 * mb, Hosts: []string{"b1"}},
		}},
		model.TasksFact{App: job.ID, Tasks: []model.Task{
			ran("map", 0, "a1", [...]model.Time{1_006_000, 0, 1_016_000}, [...]model.Bytes{105 * mb, 60 * mb, -1}),
			ran("map", 1, "b1", [...]model.Time{1_006_000, 0, 1_011_000}, [...]model.Bytes{50 * mb, 30 * mb, -1}),
			ran("reduce", 0, "b1", [...]model.Time{1_012_000, 1_027_000, 1_029_000}, [...]model.Bytes{-1, -1, 90 * mb}),
		}},
		model.CountersFact{App: job.ID, HDFSWritten: 80 * mb},
	}
}

func options() *counterfactual.Options {
	return &counterfactual.Options{
		Name: "w", Settings: &state.Config{Uplinks: topology.Uplinks{Default: topology.Link{Out: 5e6, In: 5e6}}, TaskDefault: model.Resource{MemoryMiB: 1024, VCores: 1}}, NIC: 125e6,
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	rec, err := counterfactual.Read(observed(facts()...), options())
	if err != nil {
		t.Fatal(err)
	}
	wantLeft := []measured.Left{{ID: "application_1_0002", Why: "it had not ended"}, {ID: "application_1_0003", Why: "not a MapReduce job: what its tasks did is not recorded"}}
	if diff := cmp.Diff(wantLeft, rec.Left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]counterfactual.Ran{{ID: "application_1_0001", Seconds: 29}}, rec.Ran); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
	link := topology.Link{Out: 0.945 * 5e6, In: 0.945 * 5e6}
	if diff := cmp.Diff([]sim.Rack{{Nodes: 2, Containers: 4, Uplink: link, NIC: 125e6}, {Nodes: 1, Containers: 2, Uplink: link, NIC: 125e6}}, rec.Cluster.Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if rec.Cluster.CrossRackWrites || rec.Cluster.Replication != 1 || rec.Params.Slowstart != 0.5 || rec.Params.AMStart != 5*model.Second {
		t.Errorf("writes %v, replication %d, slowstart %g, start %d", rec.Cluster.CrossRackWrites, rec.Cluster.Replication, rec.Params.Slowstart, rec.Params.AMStart)
	}
	if j := rec.Workload.Jobs[0]; j.AMRanOn != (workload.Node{Rack: 2, Number: 1}) || j.AMLaunched != 1000 { // the apps are seen a second after the nodes
		t.Errorf("its ApplicationMaster on %v at %d", j.AMRanOn, j.AMLaunched)
	}
	maps := rec.Workload.Jobs[0].Stages[0].Measured
	n := func(rack, number int) workload.Node { return workload.Node{Rack: rack, Number: number} }
	if diff := cmp.Diff([]workload.Measured{
		{Compute: 10_000, Read: 105e6, Output: 60e6, Replicas: []workload.Node{n(1, 2)}, RanOn: n(1, 1), Launched: 6000},
		{Compute: 5000, Read: 50e6, Output: 30e6, Replicas: []workload.Node{n(2, 1)}, RanOn: n(2, 1), Launched: 6000},
	}, maps); diff != "" {
		t.Errorf("maps (-want +got):\n%s", diff)
	}
	if r := rec.Workload.Jobs[0].Stages[1].Measured[0]; r.Compute != 2000 || r.Output != 80e6 {
		t.Errorf("reduce %+v", r)
	}
}

// The run with every task where it ran: 60 MB cross a link of 5 MB/s from the first map's end at the
// latest, so that the reduce has them 12 s later, and computes for 2 s.
func TestCompare(t *testing.T) {
	t.Parallel()
	rec, err := counterfactual.Read(observed(facts()...), options())
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.NewAsRan(rec.Params, rec.Cluster, rec.Workload)
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := counterfactual.Compare(rec, &run)
	if len(e.Jobs) != 1 || e.Jobs[0].Recorded != 29 || e.Jobs[0].Simulated < 29 || e.Jobs[0].Simulated > 32 {
		t.Fatalf("%+v", e)
	}
	if want := e.Jobs[0].Simulated/29 - 1; e.Mean != want || e.Median != want || e.Worst != want {
		t.Errorf("%+v", e)
	}
	if run.CrossRack.Shuffle != 60e6 || run.CrossRack.MapRead != 0 {
		t.Errorf("across racks: %+v", run.CrossRack)
	}
}

// Where tasks' times are not recorded, they are those at which they were first seen to run and
// to have succeeded.
func TestReadWithoutTimes(t *testing.T) {
	t.Parallel()
	all := facts()
	tasks := all[4].(model.TasksFact)
	var running, done []model.Task
	for _, k := range tasks.Tasks {
		k.Launched, k.Fetched, k.Finished = 0, 0, 0
		done = append(done, k)
		k.State = model.TaskRunning
		running = append(running, k)
	}
	all[4] = model.TasksFact{App: tasks.App, Tasks: running}
	again := model.TasksFact{App: tasks.App, Tasks: done}
	rec, err := counterfactual.Read(observed(append(all, again, again)...), options())
	if err != nil {
		t.Fatal(err)
	}
	if got := rec.Workload.Jobs[0].Stages[0].Measured[1].Compute; got != 2000 {
		t.Errorf("a map took %d ms", got)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	o := options()
	o.Settings = &state.Config{}
	if _, err := counterfactual.Read(observed(facts()...), o); !errors.Is(err, counterfactual.ErrNoUplinks) {
		t.Errorf("got %v", err)
	}
	o.Uplink = topology.Link{Out: 1e6, In: 1e6}
	if _, err := counterfactual.Read(observed(facts()...), o); err != nil {
		t.Errorf("with an uplink given: %v", err)
	}
	if _, err := counterfactual.Read(observed(facts()[1:]...), o); !errors.Is(err, counterfactual.ErrNoNodes) {
		t.Errorf("got %v", err)
	}
	o.Since = 1_000_001
	if _, err := counterfactual.Read(observed(facts()...), o); !errors.Is(err, counterfactual.ErrNoJobs) {
		t.Errorf("got %v", err)
	}
}
