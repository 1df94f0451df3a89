package workload_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// published is stages/edges/depth/sources of Q1 to Q22 (algorithms 5.3).
func published() []string {
	return []string{
		"4/3/4/1", "18/19/7/8", "6/5/4/3", "6/5/5/2", "14/13/9/6", "2/1/2/1", "13/13/7/5", "18/17/8/8", "14/13/8/6", "9/8/6/4", "11/11/9/3",
		"6/5/5/2", "7/6/6/2", "4/3/3/2", "7/7/7/1", "9/8/7/3", "6/6/4/3", "8/7/5/4", "4/3/3/2", "12/11/6/5", "16/15/7/6", "8/8/7/1",
	}
}

// exactEdges are the graphs that are published edge by edge.
func exactEdges() map[string]string {
	return map[string]string{
		"q3":  "0-2 1-2 2-4 3-4 4-5 ",
		"q10": "0-2 1-2 2-4 3-4 4-6 5-6 6-7 7-8 ",
		"q17": "0-2 1-2 0-4 2-4 3-4 4-5 ",
		"q22": "0-1 1-2 1-3 2-4 3-4 4-5 5-6 6-7 ",
	}
}

// shapeOf counts a job's stages, edges, stages on the longest path and
// sources, lists its edges, and counts its sinks.
func shapeOf(j *workload.Job) (shape, edges string, sinks int) {
	depth := make([]int, len(j.Stages))
	read := make([]bool, len(j.Stages))
	n, sources, deepest := 0, 0, 0
	var list strings.Builder
	for i, s := range j.Stages {
		for _, e := range s.Edges {
			depth[i] = max(depth[i], depth[e.From])
			read[e.From] = true
			fmt.Fprintf(&list, "%d-%d ", e.From, i)
			n++
		}
		depth[i]++
		deepest = max(deepest, depth[i])
		if len(s.Edges) == 0 {
			sources++
		}
	}
	for _, r := range read {
		if !r {
			sinks++
		}
	}
	return fmt.Sprintf("%d/%d/%d/%d", len(j.Stages), n, deepest, sources), list.String(), sinks
}

// The stage graphs of the queries have the published counts, one sink each,
// and the published edges where those are known; sources read tables and
// nothing else does.
func TestTPCHGraphs(t *testing.T) {
	t.Parallel()
	w := synth(t, "synth:dawn-tpch")
	if len(w.Jobs) != 22 {
		t.Fatalf("%d jobs, want 22", len(w.Jobs))
	}
	kinds := map[model.EdgeKind]int{}
	stages := 0
	for i := range w.Jobs {
		j := &w.Jobs[i]
		var q int
		if _, err := fmt.Sscanf(j.Name, "q%d", &q); err != nil {
			t.Fatal(err)
		}
		shape, edges, sinks := shapeOf(j)
		if shape != published()[q-1] || sinks != 1 {
			t.Errorf("%s: %s with %d sinks, published %s with 1", j.Name, shape, sinks, published()[q-1])
		}
		if want, ok := exactEdges()[j.Name]; ok && edges != want {
			t.Errorf("%s: edges %s, published %s", j.Name, edges, want)
		}
		stages += len(j.Stages)
		for k, s := range j.Stages {
			if (len(s.Edges) == 0) != (len(s.Reads) == 1) {
				t.Errorf("%s, stage %d: %d edges and %d tables", j.Name, k, len(s.Edges), len(s.Reads))
			}
			var gathered model.Bytes
			for _, e := range s.Edges {
				kinds[e.Kind]++
				if e.Kind == model.ScatterGather {
					gathered += j.Stages[e.From].Output
				}
				if e.Kind == model.Broadcast && j.Stages[e.From].Output > 10_000_000 {
					t.Errorf("%s: stage %d broadcasts %d bytes", j.Name, e.From, j.Stages[e.From].Output)
				}
			}
			if want := workload.Blocks(gathered, 256*model.MiB); len(s.Edges) > 0 && s.Tasks != want {
				t.Errorf("%s, stage %d: %d tasks for the %d bytes it gathers, want %d", j.Name, k, s.Tasks, gathered, want)
			}
		}
		if j.Submit >= model.Time(25*model.Minute) {
			t.Errorf("%s comes at %d ms, want within 25 minutes", j.Name, j.Submit)
		}
	}
	if mean := float64(stages) / 22; math.Abs(mean-9.18) > .005 {
		t.Errorf("%.3f stages a query, published 9.18", mean)
	}
	if kinds[model.Broadcast] == 0 || kinds[model.ScatterGather] <= kinds[model.Broadcast] {
		t.Errorf("edges by kind: %v", kinds)
	}
}

// On MapReduce a query is one job for every stage that reads stages: 124 jobs,
// 5.6 a query, where Dawn says 6. They read each other as the stages do, and
// all but the outputs that others read is read once.
func TestTPCHMapReduce(t *testing.T) {
	t.Parallel()
	tez, mr := synth(t, "synth:dawn-tpch"), synth(t, "synth:dawn-tpch,form=mr")
	want := 0
	for _, j := range tez.Jobs {
		for _, s := range j.Stages {
			if len(s.Edges) > 0 {
				want++
			}
		}
	}
	if len(mr.Jobs) != want || want != 124 {
		t.Errorf("%d jobs, want %d, 124 by the published counts", len(mr.Jobs), want)
	}
	byQuery := map[string][]workload.Job{}
	for _, j := range mr.Jobs {
		byQuery[j.Name] = append(byQuery[j.Name], j)
	}
	for _, query := range tez.Jobs {
		jobs := byQuery[query.Name]
		edges := 0
		for _, j := range jobs {
			edges += len(j.Parents)
			if j.Submit != query.Submit || j.User != query.User {
				t.Errorf("%s: submitted at %d by %s, on Tez at %d by %s", j.ID, j.Submit, j.User, query.Submit, query.User)
			}
			for _, f := range j.Stages[0].Reads {
				if f.Place == workload.OfParent && f.Bytes != mr.Jobs[f.Parent].Output() {
					t.Errorf("%s reads %d bytes of %s, which wrote %d", j.ID, f.Bytes, mr.Jobs[f.Parent].ID, mr.Jobs[f.Parent].Output())
				}
			}
		}
		between := 0
		for _, s := range query.Stages {
			for _, e := range s.Edges {
				if len(query.Stages[e.From].Edges) > 0 {
					between++
				}
			}
		}
		if edges != between {
			t.Errorf("%s: %d jobs read jobs, %d stages read such stages", query.Name, edges, between)
		}
		last := jobs[len(jobs)-1]
		if last.Output() != query.Output() {
			t.Errorf("%s writes %d bytes, on Tez %d", query.Name, last.Output(), query.Output())
		}
	}
}

// The tables make up the 50 GB, by the largest scan of each query.
func TestTPCHTables(t *testing.T) {
	t.Parallel()
	var largest model.Bytes
	w := synth(t, "synth:dawn-tpch,gb=100")
	var files []model.Bytes
	for i := range w.Jobs {
		for _, s := range w.Jobs[i].Stages {
			for _, f := range s.Reads {
				largest = max(largest, f.Bytes)
				if !slices.Contains(files, f.Bytes) {
					files = append(files, f.Bytes)
				}
			}
		}
	}
	var all model.Bytes
	for _, f := range files {
		all += f
	}
	if len(files) != 8 {
		t.Errorf("%d tables, want 8", len(files))
	}
	near(t, "all tables", float64(all), 100*float64(model.GiB), .001)
	near(t, "lineitem", float64(largest), 69*float64(model.GiB), .01)
	if n := len(synth(t, "synth:dawn-tpch,rounds=3").Jobs); n != 66 {
		t.Errorf("%d jobs in three rounds, want 66", n)
	}
}
