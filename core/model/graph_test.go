package model_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
)

func TestWorkflowOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		conf map[string]string
		want *model.Workflow
	}{
		{name: "none", conf: map[string]string{"mapreduce.job.name": "sort"}},
		{name: "no node name", conf: map[string]string{"mapreduce.workflow.id": "hive_1"}},
		{name: "no id", conf: map[string]string{"mapreduce.workflow.node.name": "Stage-1"}},
		{name: "blank", conf: map[string]string{"mapreduce.workflow.id": " ", "mapreduce.workflow.node.name": "Stage-1"}},
		{
			name: "alone", conf: map[string]string{"mapreduce.workflow.id": "hive_1", "mapreduce.workflow.node.name": "Stage-1"},
			want: &model.Workflow{ID: "hive_1", Node: "Stage-1"},
		},
		{
			// Hive's Utilities.setWorkflowAdjacencies: one key per stage that has readers.
			name: "hive", conf: map[string]string{
				"mapreduce.workflow.id": "hive_20261122_q3", "mapreduce.workflow.name": "select 1", "mapreduce.workflow.node.name": "Stage-2",
				"mapreduce.workflow.adjacency.Stage-2": "Stage-0", "mapreduce.workflow.adjacency.Stage-1": "Stage-2, Stage-3,,Stage-2",
				"mapreduce.workflow.tags": "x", "mapreduce.workflow.adjacency.": "nobody", "mapreduce.workflow.adjacency": "nobody",
			},
			want: &model.Workflow{
				ID: "hive_20261122_q3", Name: "select 1", Node: "Stage-2",
				Edges: []model.WorkflowEdges{{Node: "Stage-1", Next: []string{"Stage-2", "Stage-3"}}, {Node: "Stage-2", Next: []string{"Stage-0"}}},
			},
		},
		{
			// Pig's MRScriptState: one key per operator, those without successors too.
			name: "pig", conf: map[string]string{
				"mapreduce.workflow.id": "pig_9", "mapreduce.workflow.node.name": "scope-12",
				"mapreduce.workflow.adjacency.scope-12": "scope-20", "mapreduce.workflow.adjacency.scope-20": "",
			},
			want: &model.Workflow{ID: "pig_9", Node: "scope-12", Edges: []model.WorkflowEdges{{Node: "scope-12", Next: []string{"scope-20"}}}},
		},
	} {
		if diff := cmp.Diff(tc.want, model.WorkflowOf(tc.conf)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// Whatever a configuration says, names are not empty, and come once and in order.
func FuzzWorkflowOf(f *testing.F) {
	f.Add("id", "node", "a", "b,c")
	f.Add("hive_1", " Stage-1", "Stage-1", ",,Stage-2, Stage-2")
	f.Fuzz(func(t *testing.T, id, node, from, to string) {
		w := model.WorkflowOf(map[string]string{
			"mapreduce.workflow.id": id, "mapreduce.workflow.node.name": node, "mapreduce.workflow.adjacency." + from: to,
		})
		if (w == nil) != (strings.TrimSpace(id) == "" || strings.TrimSpace(node) == "") {
			t.Fatalf("%+v of id %q and node %q", w, id, node)
		}
		if w == nil {
			return
		}
		for _, e := range w.Edges {
			next := slices.Sorted(slices.Values(e.Next))
			if e.Node == "" || len(e.Next) == 0 || slices.Contains(e.Next, "") || len(slices.Compact(next)) != len(e.Next) {
				t.Fatalf("edges %+v", e)
			}
		}
	})
}

func TestGraphFactInRecordings(t *testing.T) {
	t.Parallel()
	want := model.Observation{Source: model.SourceRM, At: 7, Fact: model.GraphFact{
		App: "application_1_0001",
		Stages: []model.GraphStage{
			{Name: "Map 1", Tasks: 4, Completed: 4, Input: 400, Output: 100, Placed: []model.RackBytes{{Rack: "/r1", Bytes: 100}}},
			{Name: "Reducer 2", Tasks: 2, Input: 0, Output: model.Unknown},
		},
		Edges: []model.GraphEdge{{From: "Map 1", To: "Reducer 2", Kind: model.ScatterGather}},
	}}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got model.Observation
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", raw, diff)
	}
}
