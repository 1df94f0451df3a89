package sls_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/lab/measured"
	"heddle/core/lab/measured/sls"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

func TestRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/trace.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := sls.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	// Times are a millisecond later than in the trace, whose 0 would be not known.
	task := func(from, to model.Time) measured.Task { return measured.Task{Launched: from + 1, Finished: to + 1} }
	on := func(task measured.Task, rack model.RackID, host string) measured.Task {
		task.Rack, task.Host = rack, host
		return task
	}
	five, short := task(105204, 110204), task(105204, 105604)
	copied := measured.Job{User: "default", Queue: "root.default", Submitted: 105205, Maps: []measured.Task{five, five, five}, Reduces: []measured.Task{short, short}}
	first, second := copied, copied
	first.ID, second.ID = "job_3_1", "job_3_2"
	want := []measured.Job{{
		ID: "job_1", User: "ann", Queue: "root.sls_queue_1", Submitted: 1, Finished: 95376, MapTask: model.Resource{},
		Maps:    []measured.Task{on(task(6664, 23707), "/rack1", "node1"), on(task(6665, 21593), "/default-rack", "node3")},
		Reduces: []measured.Task{on(task(20000, 86613), "/dc/rack2", "node2")},
	}, first, second}
	want[0].MapTask = model.Resource{MemoryMiB: 2048, VCores: 1}
	if diff := cmp.Diff(want, got.Jobs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Left) != 2 || !strings.Contains(got.Left[0].Why, `its task 1 has the type "vertex"`) || !strings.Contains(got.Left[1].Why, "its task 1 does not say how long it ran") {
		t.Errorf("left out: %+v", got.Left)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // order-free: each on its own
		`{"job.id":"a"`:                      "object 1, at byte 0: the file stops within it",
		`{"job.start.ms":"soon"}`:            `object 1, at byte 0: "soon" is no whole number`,
		`{"job.id":"a","job.count":1000000}`: "object 1, at byte 0: job.count is 1000000, more than 100000",
		`{"job.count":100000,"job.tasks":[{"count":100000,"container.duration.ms":1}]}`: "",
	} {
		got, err := sls.Read(strings.NewReader(text))
		if want == "" {
			if err == nil && len(got.Left) == 1 && len(got.Jobs) == 0 {
				continue
			}
			want = "with its counts the trace has more than 4194304 tasks"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// workloads draws workloads of maps and reduces that name nodes of three racks of three, or none.
func workloads(t *rapid.T) *workload.Workload {
	w := &workload.Workload{Name: "w"}
	at := model.Time(0)
	named := rapid.Bool().Draw(t, "named")
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		measure := func(s workload.Stage) workload.Stage {
			for range s.Tasks {
				m := workload.Measured{Compute: model.Duration(rapid.IntRange(1, 1e6).Draw(t, "compute"))}
				if named {
					m.RanOn = workload.Node{Rack: rapid.IntRange(1, 3).Draw(t, "rack"), Number: rapid.IntRange(1, 3).Draw(t, "node")}
				}
				s.Measured = append(s.Measured, m)
			}
			return s
		}
		size := func() model.Resource {
			return model.Resource{MemoryMiB: rapid.Int64Range(1, 8192).Draw(t, "memory"), VCores: rapid.Int64Range(1, 4).Draw(t, "cores")}
		}
		j := workload.Job{
			ID: workload.JobID([]string{"a", "b", "c", "d", "e"}[i]), Name: rapid.StringMatching(`[a-zé<&"]*`).Draw(t, "name"), User: "u", Queue: "root.q", Submit: at,
			Stages: []workload.Stage{measure(workload.Stage{Name: model.StageMap, Tasks: rapid.IntRange(1, 5).Draw(t, "maps"), Container: size()})},
		}
		if n := rapid.IntRange(0, 4).Draw(t, "reduces"); n > 0 {
			j.Stages = append(j.Stages, measure(workload.Stage{Name: model.StageReduce, Tasks: n, Container: size(), Edges: []workload.Edge{{Kind: model.ScatterGather}}}))
		}
		w.Jobs = append(w.Jobs, j)
		at += model.Time(rapid.IntRange(0, 1e5).Draw(t, "gap"))
	}
	return w
}

// TestRoundTrip writes workloads as traces and reads them back: submissions, tasks, how long they
// compute, their containers and nodes are the same.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := workloads(t)
		var trace, nodes bytes.Buffer
		left, err := sls.Write(&trace, w, workload.DefaultBlock)
		if err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		if err := sls.WriteNodes(&nodes, []int{3, 3, 3}, model.Resource{MemoryMiB: 8192, VCores: 8}); err != nil {
			t.Fatal(err)
		}
		in, err := sls.Read(&trace)
		if err != nil {
			t.Fatal(err)
		}
		racks, err := sls.ReadNodes(&nodes)
		if err != nil {
			t.Fatal(err)
		}
		back, err := measured.Workload(in.Jobs, &measured.Options{Name: "w", Racks: racks, StartsAtOnce: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range back.Workload.Jobs { // when tasks start is the trace's own
			for k := range back.Workload.Jobs[i].Stages {
				for m := range back.Workload.Jobs[i].Stages[k].Measured {
					back.Workload.Jobs[i].Stages[k].Measured[m].Launched = 0
				}
			}
		}
		if diff := cmp.Diff(w, back.Workload); diff != "" || len(back.Left) > 0 {
			t.Fatalf("%v (-written +read):\n%s", back.Left, diff)
		}
	})
}

// TestWrite holds what the load simulator demands of a trace: durations above 0, its keys, texts
// where it casts to texts.
func TestWrite(t *testing.T) {
	t.Parallel()
	w := &workload.Workload{Jobs: []workload.Job{
		{ID: "mr", User: "u", Queue: "root.q", Submit: 7, Stages: []workload.Stage{
			{Name: "map", Tasks: 2, Reads: []workload.File{{Bytes: workload.DefaultBlock + model.MiB}}, Output: 2 * model.GiB, Cost: workload.Cost{PerGiB: 1024}, Container: model.Resource{MemoryMiB: 1, VCores: 2}},
			{Name: "reduce", Tasks: 2, Edges: []workload.Edge{{Kind: model.ScatterGather}}, Cost: workload.Cost{Fixed: 3, PerGiB: 10}, Container: model.Resource{MemoryMiB: 1, VCores: 2}},
		}},
		{ID: "dag", Stages: make([]workload.Stage, 3)},
		{ID: "tree", Stages: []workload.Stage{{}, {Edges: []workload.Edge{{Kind: model.Broadcast}}}}},
		{ID: "empty", User: "u", Stages: []workload.Stage{{Name: "map", Tasks: 1}}},
	}}
	var out bytes.Buffer
	left, err := sls.Write(&out, w, workload.DefaultBlock)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 || left[0].ID != "dag" || left[1].ID != "tree" {
		t.Errorf("left out: %+v", left)
	}
	dec := json.NewDecoder(&out)
	var got []map[string]any
	for {
		var o map[string]any
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, o)
	}
	task := func(kind string, priority, from, to float64) any {
		return map[string]any{"container.start.ms": from, "container.end.ms": to, "container.priority": priority, "container.type": kind, "container.memory-mb": 1.0, "container.vcores": 2.0}
	}
	want := map[string]any{
		"am.type": "mapreduce", "job.start.ms": 7.0, "job.end.ms": 148.0, "job.queue.name": "root.q", "job.id": "mr", "job.user": "u",
		"job.tasks": []any{task("map", 20, 7, 135), task("map", 20, 7, 8), task("reduce", 10, 135, 148), task("reduce", 10, 135, 148)},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" || len(got) != 2 {
		t.Errorf("%d jobs (-want +got):\n%s", len(got), diff)
	}
}

func TestReadNodes(t *testing.T) {
	t.Parallel()
	got, err := sls.ReadNodes(strings.NewReader(`{"rack":"rack1","nodes":[{"node":"b","memory-mb":1024},{"node":"a"}]} {"rack":"/dc/rack2","nodes":[{"node":"c"},{}]}`))
	if diff := cmp.Diff(map[model.RackID][]string{"/rack1": {"b", "a"}, "/dc/rack2": {"c"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{ // order-free: each on its own
		``:             "there is no node in it",
		`{"nodes":[]}`: "object 1, at byte 0: it names no rack",
		`{"rack":"r","nodes":[{"node":"a"},{"node":"a"}]}`: "object 1, at byte 0: node a is there twice",
		`{"rack":7}`: "rack: want a text, has number",
	} {
		if _, err := sls.ReadNodes(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzRead holds that any bytes are read as a trace or refused, and that what is read makes a
// workload.
func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/trace.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"job.start.ms":9223372036854775807,"job.tasks":[{"container.start.ms":-1,"container.duration.ms":9}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 || bytes.Contains(data, []byte("00000")) {
			return // counts cost time
		}
		got, err := sls.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if _, err := measured.Workload(got.Jobs, &measured.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzReadNodes holds that any bytes are read as nodes or refused.
func FuzzReadNodes(f *testing.F) {
	f.Add([]byte(`{"rack":"rack1","nodes":[{"node":"b"},{}]}{"rack":"rack2","nodes":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		racks, err := sls.ReadNodes(bytes.NewReader(data))
		if (err == nil) != (len(racks) > 0) {
			t.Fatalf("%v, %v", racks, err)
		}
	})
}
