package workload_test

import (
	"math"
	"strings"
	"testing"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// pair returns a valid workload of two jobs, the second with two stages that
// reads the output of the first.
func pair() *workload.Workload {
	size := model.Resource{MemoryMiB: 1024, VCores: 1}
	return &workload.Workload{Jobs: []workload.Job{
		{ID: "a", User: "u", Queue: "q", Stages: []workload.Stage{{Name: "map", Tasks: 1, Output: 7, Container: size}}},
		{ID: "b", User: "u", Queue: "q", Parents: []int{0}, Stages: []workload.Stage{
			{Name: "map", Tasks: 2, Reads: []workload.File{{Bytes: 7, Place: workload.OfParent}}, Output: 5, Container: size},
			{Name: "reduce", Tasks: 1, Edges: []workload.Edge{{From: 0, Kind: model.ScatterGather}}, Output: 3, Container: size},
		}},
	}}
}

// The rules that hold for workloads made in memory as for those that are read.
func TestValidate(t *testing.T) {
	t.Parallel()
	if err := pair().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(b *workload.Job){
		"parents[0]: no earlier job":                                  func(b *workload.Job) { b.Parents[0] = 1 },
		"parents[0]: no earlier job; a parent stands":                 func(b *workload.Job) { b.Parents[0] = -1 },
		"parents[1]: listed twice":                                    func(b *workload.Job) { b.Parents = []int{0, 0} },
		"stages: a job has at least one stage":                        func(b *workload.Job) { b.Stages = nil },
		"stages[1].edges[0].from: no earlier stage":                   func(b *workload.Job) { b.Stages[1].Edges[0].From = 1 },
		"stages[1].edges[0].from: no earlier stage; stages":           func(b *workload.Job) { b.Stages[1].Edges[0].From = -1 },
		"stages[1].edges[1].from: a second edge from":                 func(b *workload.Job) { b.Stages[1].Edges = append(b.Stages[1].Edges, b.Stages[1].Edges[0]) },
		"stages[1].edges[0].kind: want one of":                        func(b *workload.Job) { b.Stages[1].Edges[0].Kind = "" },
		"stages[0].reads[0].parent: is not among the job's":           func(b *workload.Job) { b.Parents = nil },
		"stages[0].reads[0].place: say racks, shares":                 func(b *workload.Job) { b.Stages[0].Reads[0].Racks = 2 },
		"stages[0].reads[0].place: say racks, shares, parent or node": func(b *workload.Job) { b.Stages[0].Reads[0].Place = 9 },
		"stages[0].reads[0].place: say racks, shares, parent":         func(b *workload.Job) { b.Stages[0].Reads[0].Node.Rack = 1 },
		"stages[0].reads[0].racks: want 1 to":                         func(b *workload.Job) { b.Stages[0].Reads[0].Place = workload.OnRacks },
		"stages[0].reads[0].shares: their sum is 1, not 0":            func(b *workload.Job) { b.Stages[0].Reads[0].Place = workload.ByShares },
		"stages[0].reads[0].bytes: want 0 to":                         func(b *workload.Job) { b.Stages[0].Reads[0].Bytes = workload.MaxBytes + 1 },
		"stages[0].tasks: want 1 to 67108864":                         func(b *workload.Job) { b.Stages[0].Tasks = workload.MaxTasks + 1 },
		"stages[0].output_bytes: is -1, below zero":                   func(b *workload.Job) { b.Stages[0].Output = -1 },
		"stages[0].fixed_ms: is -1":                                   func(b *workload.Job) { b.Stages[0].Cost.Fixed = -1 },
		"stages[0].per_gib_ms: want":                                  func(b *workload.Job) { b.Stages[0].Cost.PerGiB = workload.MaxCost + 1 },
		"stages[0].memory_mib: want 1 to":                             func(b *workload.Job) { b.Stages[0].Container.MemoryMiB = 0 },
		"stages[0].vcores: want 1 to":                                 func(b *workload.Job) { b.Stages[0].Container.VCores = 0 },
		"stages[1].skew: want 0 to 8, is NaN":                         func(b *workload.Job) { b.Stages[1].Skew = math.NaN() },
		"stages[1].name: an earlier stage is called \"map\" too":      func(b *workload.Job) { b.Stages[1].Name = "map" },
		"stages[1].name: is empty":                                    func(b *workload.Job) { b.Stages[1].Name = "" },
		"stages[1].name: is not UTF-8":                                func(b *workload.Job) { b.Stages[1].Name = "\xff" },
		"id: an earlier job is called \"a\" too":                      func(b *workload.Job) { b.ID = "a" },
		"name: is not UTF-8":                                          func(b *workload.Job) { b.Name = "\xff" },
		"queue: is empty":                                             func(b *workload.Job) { b.Queue = "" },
		"submit_ms: is -1, below zero":                                func(b *workload.Job) { b.Submit = -1 },
		"submit_ms: want 0 to 35184372088832, is 9223372036854775807": func(b *workload.Job) { b.Submit = math.MaxInt64 },
	} {
		w := pair()
		spoil(&w.Jobs[1])
		err := w.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "job 1 (") || !strings.Contains(err.Error(), "): "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
