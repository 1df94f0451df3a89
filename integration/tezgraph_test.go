//go:build linux

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/trace"
	"heddle/integration/hadoop"
)

// TestTezGraph: while a Tez application runs heddle learns its graph of
// vertices from the timeline server, and what they put out as they end.
func TestTezGraph(t *testing.T) {
	hadoop.Require(t, hadoop.Tez)
	hadoop.RequireTezHistory(t)
	c := cluster(t)
	url, err := hadoop.StartTimeline(withTimeout(t, time.Minute), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.TeraInput(withTimeout(t, time.Minute), "/tez-graph", c.HostsOf("/rack3"), 1, 200_000); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "recording.jsonl.zst")
	s := startConfigured(t, c, baseSettings+fmt.Sprintf("policy: {name: dawn}\ntez: {timeline_server: %q, poll_interval: 500ms}\nrecord: {file: %s}\n", url, file))
	id, err := c.TezJob(withTimeout(t, 5*time.Minute), hadoop.TimelineSettings(), "orderedwordcount", "/tez-graph", "/tez-graph-out", "2")
	if err != nil {
		t.Fatal(err)
	}
	if up, err := s.metric(withTimeout(t, 10*time.Second), "heddle_source_up", `source="tez"`); err != nil || up != 1 {
		t.Errorf("heddle_source_up of the timeline server is %v, %v", up, err)
	}
	s.stop() // what it observed is in the recording then
	graphs := graphsOf(t, file, model.AppID(id))
	if len(graphs) == 0 {
		t.Fatalf("heddle learnt no graph of %s; its log:\n%s", id, s.log)
	}
	wantEdges := []model.GraphEdge{
		{From: "Tokenizer", To: "Summation", Kind: model.ScatterGather}, {From: "Summation", To: "Sorter", Kind: model.ScatterGather},
	}
	for i, g := range graphs {
		if diff := cmp.Diff(wantEdges, g.Edges); diff != "" || len(g.Stages) != 3 {
			t.Fatalf("graph %d has stages %+v, edges (-want +got):\n%s", i, g.Stages, diff)
		}
		t.Logf("graph %d: %+v", i, g.Stages)
	}
	first := graphs[len(graphs)-1].Stages[0]
	if first.Tasks == 0 || first.Completed != first.Tasks || first.Input <= 0 || first.Output <= 0 {
		t.Errorf("the first vertex ended as %+v: want all its tasks completed, and what they read and put out", first)
	}
}

// graphsOf are the graphs with stages that a recording has of an application. Each
// must also be in the cluster state that heddle builds of the recording.
func graphsOf(t *testing.T, file string, app model.AppID) (graphs []model.GraphFact) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	r, err := trace.NewReader(zip, trace.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clusterState := state.New(state.DefaultConfig())
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Observation == nil {
			continue
		}
		clusterState.Apply(*rec.Observation)
		fact, ok := rec.Observation.Fact.(model.GraphFact)
		if !ok || fact.App != app || len(fact.Stages) == 0 {
			continue
		}
		j := clusterState.View().Job(app)
		if j == nil || j.Graph == nil || len(j.Graph.Stages) != len(fact.Stages) || len(j.Graph.Edges) != len(fact.Edges) {
			t.Errorf("the graph %+v is not in the cluster state", fact)
		}
		graphs = append(graphs, fact)
	}
	return graphs
}
