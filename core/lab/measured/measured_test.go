package measured_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/lab/measured"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// job is a job of three maps and two reduces on three racks. Map 2 read from another rack.
func job() measured.Job {
	task := func(host string, from, to int) measured.Task {
		return measured.Task{Host: host, Rack: model.RackID("/" + host[:2]), Launched: model.Time(from), Finished: model.Time(to), Read: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
	}
	read := func(t measured.Task, bytes, out model.Bytes, on ...string) measured.Task {
		t.Read, t.Output, t.Replicas = bytes, out, on
		return t
	}
	fetched := func(t measured.Task, at int, bytes, out model.Bytes) measured.Task {
		t.Fetched, t.Shuffled, t.Output = model.Time(at), bytes, out
		return t
	}
	return measured.Job{
		ID: "job_1_0001", Name: "sort", User: "ann", Submitted: 100_000,
		Maps: []measured.Task{
			read(task("r1a", 105_000, 115_000), 100e6, 60e6, "r1a", "r2a"),
			read(task("r2a", 105_000, 119_000), 100e6, 40e6, "r2b"),
			read(task("r3a", 105_000, 165_000), 90e6, 20e6, "r1b"),
		},
		Reduces: []measured.Task{
			fetched(task("r1b", 116_000, 175_000), 166_000, 80e6, 10e6),
			fetched(task("r2b", 170_000, 180_000), 0, 40e6, 30e6),
		},
	}
}

func convert(t *testing.T, o measured.Options, jobs ...measured.Job) *measured.Result {
	t.Helper()
	r, err := measured.Workload(jobs, &o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWorkload(t *testing.T) {
	t.Parallel()
	r := convert(t, measured.Options{Name: "w", Racks: map[model.RackID][]string{"/r4": {"r4a"}}}, job())
	want := []measured.Rack{{ID: "/r1", Hosts: []string{"r1a", "r1b"}}, {ID: "/r2", Hosts: []string{"r2a", "r2b"}}, {ID: "/r3", Hosts: []string{"r3a"}}, {ID: "/r4", Hosts: []string{"r4a"}}}

	if diff := cmp.Diff(want, r.Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	n := func(rack, number int) workload.Node { return workload.Node{Rack: rack, Number: number} }
	stages := []workload.Stage{
		{
			Name: "map", Tasks: 3, Reads: []workload.File{{Bytes: 290e6}}, Output: 120e6, Start: 5000, Container: workload.DefaultSizing().Container,
			Measured: []workload.Measured{
				{Compute: 10_000, Read: 100e6, Output: 60e6, Replicas: []workload.Node{n(1, 1), n(2, 1)}, RanOn: n(1, 1), Launched: 5000},
				{Compute: 14_000, Read: 100e6, Output: 40e6, Replicas: []workload.Node{n(2, 2)}, RanOn: n(2, 1), Launched: 5000},
				{Compute: 14_000, Read: 90e6, Output: 20e6, Replicas: []workload.Node{n(1, 2)}, RanOn: n(3, 1), Launched: 5000}, // took 60 s, over the network
			},
		},
		{
			Name: "reduce", Tasks: 2, Edges: []workload.Edge{{From: 0, Kind: model.ScatterGather}}, Output: 40e6, Start: 5000, Container: workload.DefaultSizing().Container,
			Measured: []workload.Measured{
				{Compute: 9000, Output: 10e6, Shuffled: 80e6, RanOn: n(1, 2), Launched: 16_000},
				{Compute: 5000, Output: 30e6, Shuffled: 40e6, RanOn: n(2, 2), Launched: 70_000}, // launched after the last map
			},
		},
	}
	if diff := cmp.Diff(stages, r.Workload.Jobs[0].Stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	if err := workload.Write(&out, r.Workload); err != nil {
		t.Fatal(err)
	}
	back, err := workload.Read(&out, workload.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Workload, back); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}

// Jobs are in the order of their submissions, the first at 0, and one of which too little
// is known is named.
func TestOrderAndLeft(t *testing.T) {
	t.Parallel()
	second, early, broken := job(), job(), job()
	second.ID, second.Submitted = "b", 130_000
	early.ID, early.Submitted = "c", 90_000
	broken.ID, broken.Maps[1].Finished = "d", 0
	r := convert(t, measured.Options{Anywhere: true}, job(), second, early, broken)
	var got []string
	for _, j := range r.Workload.Jobs {
		got = append(got, string(j.ID))
		if len(j.Stages[0].Measured[0].Replicas) > 0 {
			t.Errorf("%s says where its blocks were", j.ID)
		}
	}
	if diff := cmp.Diff([]string{"c", "job_1_0001", "b"}, got); diff != "" {
		t.Error(diff)
	}
	if s := r.Workload.Jobs[2].Submit; s != 40_000 {
		t.Errorf("submitted at %d", s)
	}
	if len(r.Left) != 1 || r.Left[0].ID != "d" {
		t.Errorf("left out: %v", r.Left)
	}
}

// A run of measured tasks on the nodes they ran on puts every byte where it was.
func TestAsRan(t *testing.T) {
	t.Parallel()
	r := convert(t, measured.Options{Racks: map[model.RackID][]string{"/r1": {"r1b"}, "/r2": {"r2b"}}}, job())
	c := sim.Uniform(0, 0, 0, 1, 1)
	for _, rack := range r.Racks {
		one := sim.Uniform(1, len(rack.Hosts), 2, 10e6, 125e6)
		c.Racks = append(c.Racks, one.Racks...)
	}
	c.Replication, c.CrossRackWrites = 1, false
	s, err := sim.NewAsRan(sim.DefaultParams(), c, r.Workload)
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := model.Bytes(90e6); run.CrossRack.MapRead != want {
		t.Errorf("maps read %d bytes across racks, want %d", run.CrossRack.MapRead, want)
	}
	// Two thirds of rack 2's and 3's output go to rack 1, a third of that of 1 and 3 to rack 2.
	if got, want := float64(run.CrossRack.Shuffle), 2.0/3*60e6+80e6/3; got < want-4 || got > want+4 {
		t.Errorf("the shuffle sent %g bytes across racks, want %g", got, want)
	}
	if run.Locality.Node == 0 || run.Locality.Off == 0 {
		t.Errorf("locality %+v", run.Locality)
	}
	c.Racks = c.Racks[:2]
	if _, err := sim.NewAsRan(sim.DefaultParams(), c, r.Workload); err == nil {
		t.Error("a cluster without rack 3 was taken")
	}
}

// TestLeftOut: a job whose id another one has, or of which it is not known when it was submitted, is
// left out, and so is one that breaks a rule of workloads; the others are not.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	again, unknown, odd := job(), job(), job()
	again.Submitted++
	unknown.ID, unknown.Submitted = "job_1_0002", 0
	odd.ID, odd.Name = "job_1_0003", "\xff"
	r := convert(t, measured.Options{}, again, unknown, odd, job())
	why := map[string]string{}
	for _, l := range r.Left {
		why[l.ID] = l.Why
	}
	want := map[string]string{
		"job_1_0001": "another job has its id", "job_1_0002": "when it was submitted is not known", "job_1_0003": "it breaks a rule of workloads: job 0 (job_1_0003): name: is not UTF-8",
	}
	if diff := cmp.Diff(want, why); diff != "" || len(r.Workload.Jobs) != 1 {
		t.Errorf("%d jobs (-want +got):\n%s", len(r.Workload.Jobs), diff)
	}
}

// asRan runs jobs where they ran, on a rack of two nodes with a container each. ApplicationMasters take
// so long to start, and no container with 0.
func asRan(amStart model.Duration, jobs ...measured.Job) (sim.Run, error) {
	r, err := measured.Workload(jobs, &measured.Options{Racks: map[model.RackID][]string{"/r1": {"r1a", "r1b"}}})
	if err != nil {
		return sim.Run{}, err
	}
	c, p := sim.Uniform(1, 2, 1, 10e6, 125e6), sim.DefaultParams()
	p.Slowstart, p.AMStart, p.AMShare = 0, amStart, 1
	s, err := sim.NewAsRan(p, c, r.Workload)
	if err != nil {
		return sim.Run{}, err
	}
	return s.Run(nil)
}

// Tasks of ten minutes wait for the node they ran on as long as others of their job run, though another one is free.
func TestAsRanWaitsForItsNode(t *testing.T) {
	t.Parallel()
	task := measured.Task{Host: "r1a", Rack: "/r1", Launched: 1000, Finished: 601_000}
	run, err := asRan(0, measured.Job{ID: "j", Submitted: 1, Maps: []measured.Task{task, task, task}})
	if err != nil || run.Makespan < 1800 || run.Makespan > 1810 {
		t.Errorf("%.0f s for three maps of 600 s on one container, %v", run.Makespan, err)
	}
}

// A node starts what it started in the order it was measured to: an ApplicationMaster that waited in the cluster, as all
// containers were for an earlier job's tasks, does not take one of them.
func TestAsRanKeepsTheOrder(t *testing.T) {
	t.Parallel()
	task := func(host string, launched, took model.Time) measured.Task {
		return measured.Task{Host: host, Rack: "/r1", Launched: launched, Finished: launched + took}
	}
	early := measured.Job{ID: "early", Submitted: 1, AMHost: "r1a", AMLaunched: 2, Maps: []measured.Task{task("r1b", 5000, 20_000), task("r1b", 25_000, 20_000)}}
	late := measured.Job{ID: "late", Submitted: 3, AMHost: "r1b", AMLaunched: 46_000, Maps: []measured.Task{task("r1a", 50_000, 10_000)}}
	if run, err := asRan(1000, early, late); err != nil || run.Makespan < 51 || run.Makespan > 60 {
		t.Errorf("%.0f s, %v; want the late job's 11 s after the early one's 41", run.Makespan, err)
	}
}

// However jobs wait for each other's nodes, all end.
func TestAsRanEnds(t *testing.T) {
	t.Parallel()
	hosts := rapid.SampledFrom([]string{"r1a", "r1b", ""})
	rapid.Check(t, func(t *rapid.T) {
		task := rapid.Custom(func(t *rapid.T) measured.Task {
			launched := model.Time(rapid.IntRange(1, 200_000).Draw(t, "launched"))
			return measured.Task{Host: hosts.Draw(t, "host"), Rack: "/r1", Launched: launched, Finished: launched + model.Time(rapid.IntRange(0, 300_000).Draw(t, "took")), Shuffled: 1}
		})
		var jobs []measured.Job
		for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			jobs = append(jobs, measured.Job{
				ID: string(rune('a' + i)), Submitted: 1 + model.Time(rapid.IntRange(0, 100_000).Draw(t, "submitted")),
				Maps: rapid.SliceOfN(task, 1, 4).Draw(t, "maps"), Reduces: rapid.SliceOfN(task, 0, 4).Draw(t, "reduces"),
				AMHost: hosts.Draw(t, "am"), AMLaunched: model.Time(rapid.IntRange(0, 200_000).Draw(t, "am launched")),
			})
		}
		start := model.Duration(rapid.SampledFrom([]int{0, 5000}).Draw(t, "am start"))
		if start > 0 {
			jobs = jobs[:1] // two ApplicationMasters can take all containers
		}
		if run, err := asRan(start, jobs...); err != nil || run.Finished != len(jobs) {
			t.Fatalf("%d of %d jobs ended, %v", run.Finished, len(jobs), err)
		}
	})
}
