package tez

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// The application and the DAG of the recorded answers.
const (
	recordedApp = model.AppID("application_1795334805775_0001")
	recordedDAG = "dag_1795334805775_0001_1"
)

func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "3.4.3-0.10.5", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// graphOf puts the recorded plan and vertices together.
func graphOf(tb testing.TB, vertices string) model.GraphFact {
	tb.Helper()
	p, err := decodePlan(recorded(tb, "plan"), recordedDAG)
	if err != nil {
		tb.Fatal(err)
	}
	v, err := decodeVertices(recorded(tb, vertices), recordedDAG)
	if err != nil {
		tb.Fatal(err)
	}
	return p.graph(recordedApp, v)
}

// TestRecordedGraphs compares the graphs that a real server's answers decode to
// with the golden files (go test -rewrite).
func TestRecordedGraphs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dags-none", "vertices-nameless", "vertices-running", "vertices-two-ended", "vertices-ended"} {
		got, err := json.MarshalIndent(graphOf(t, name), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "golden", name+".json")
		if *rewrite {
			if err := os.WriteFile(path, append(got, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestRecordedByHand checks figures of the recordings that were read by eye.
func TestRecordedByHand(t *testing.T) {
	t.Parallel()
	want := model.GraphFact{
		App: recordedApp,
		Stages: []model.GraphStage{
			{Name: "Tokenizer", Tasks: 2, Completed: 2, Input: 400_000, Output: 424_040},
			{Name: "Summation", Tasks: 2, Completed: 2, Output: 404_034},
			{Name: "Sorter", Tasks: 1, Completed: 1, Output: 408_000},
		},
		Edges: []model.GraphEdge{{From: "Tokenizer", To: "Summation", Kind: model.ScatterGather}, {From: "Summation", To: "Sorter", Kind: model.ScatterGather}},
	}
	if diff := cmp.Diff(want, graphOf(t, "vertices-ended")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, runs := range map[string]bool{"dags-none": false, "dags-submitted": true, "dags-running": true, "dags-ended": false} {
		dags, err := decodeDAGs(recorded(t, name), recordedApp)
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := current(dags); ok != runs || ok && d.id != recordedDAG {
			t.Errorf("%s: the current DAG is %+v, %t; want one: %t", name, d, ok, runs)
		}
	}
}

// TestEdgeKinds: every type of movement of EdgeProperty has a kind.
func TestEdgeKinds(t *testing.T) {
	t.Parallel()
	for movement, want := range map[string]model.EdgeKind{
		"SCATTER_GATHER": model.ScatterGather, "ONE_TO_ONE": model.OneToOne, "BROADCAST": model.Broadcast, "CUSTOM": model.ScatterGather,
	} {
		body := `{"entity":"dag_1_1_1","otherinfo":{"dagPlan":{"vertices":[{"vertexName":"a"},{"vertexName":"b"}],
			"edges":{"inputVertexName":"a","outputVertexName":"b","dataMovementType":"` + movement + `"}}}}`
		p, err := decodePlan([]byte(body), "dag_1_1_1")
		if err != nil || len(p.edges) != 1 || p.edges[0].Kind != want {
			t.Errorf("%s: %+v, %v", movement, p, err)
		}
	}
}

// TestBadAnswers: what cannot be a graph is an error that says why.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	planOf := func(b []byte) error { _, err := decodePlan(b, "dag_1_1_1"); return err }
	dagsOf := func(b []byte) error { _, err := decodeDAGs(b, "application_1_1"); return err }
	verticesOf := func(b []byte) error { _, err := decodeVertices(b, "dag_1_1_1"); return err }
	info := func(rest string) string { return `{"entity":"dag_1_1_1","otherinfo":{"dagPlan":` + rest + `}}` }
	for _, c := range []struct {
		decode     func([]byte) error
		body, want string
	}{
		{planOf, `{"entity":"dag_1_1_2"}`, `it is that of "dag_1_1_2"`},
		{planOf, info(`{}`), "it has no vertices"},
		{planOf, info(`{"vertices":[{"vertexName":"a"},{"vertexName":"a"}]}`), `vertex "a" is named twice`},
		{planOf, info(`{"vertices":[{}]}`), "or not at all"},
		{planOf, info(`{"vertices":[{"vertexName":"a"}],"edges":[{"inputVertexName":"a","outputVertexName":"b"}]}`), `joins "a" and "b"`},
		{dagsOf, `{}`, `no "entities"`},
		{dagsOf, `{"entities":[`, "unexpected end"},
		{dagsOf, `{"entities":[{"entity":"dag_1_2_1"}]}`, `"dag_1_2_1" is no DAG of it`},
		{dagsOf, `{"entities":[{"entity":"dag_1_1_1","otherinfo":{"dagPlan":{}}}]}`, "plan of dag_1_1_1: it has no vertices"},
		{verticesOf, `{"entities":[{"entity":"vertex_1_1_2_00"}]}`, "is none of it"},
		{verticesOf, `{"entities":[{"entity":"vertex_1_1_1_00","otherinfo":{"vertexName":"a","numTasks":-1}}]}`, "-1 tasks"},
		{verticesOf, `{"entities":[{"entity":"vertex_1_1_1_00","otherinfo":{"vertexName":"a","numTasks":1,"counters":{"counterGroups":[{"counters":[{"counterName":"X","counterValue":-5}]}]}}}]}`, "counter X is -5"},
	} {
		if err := c.decode([]byte(c.body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.body, err, c.want)
		}
	}
}

func seed(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		f.Add(recorded(f, name))
	}
	f.Add([]byte(`{"entities":null}`))
	f.Add([]byte(`{"entities":{"entity":"vertex_1795334805775_0001_1_00","otherinfo":{"vertexName":"a","numTasks":"3","status":"SUCCEEDED"}}}`))
}

func FuzzDecodeDAGs(f *testing.F) {
	seed(f, "dags-none", "dags-submitted", "dags-running", "dags-ended")
	f.Fuzz(func(t *testing.T, body []byte) {
		dags, err := decodeDAGs(body, recordedApp)
		if err != nil {
			return
		}
		for _, d := range dags {
			if d.number <= 0 || d.plan != nil && len(d.plan.vertices) == 0 {
				t.Errorf("%+v", d)
			}
		}
	})
}

// FuzzGraph: whatever plan and vertices say, the graph has unique names, edges
// between them, and no count below what it may be.
func FuzzGraph(f *testing.F) {
	for _, name := range []string{"vertices-nameless", "vertices-running", "vertices-ended", "dags-none"} {
		f.Add(recorded(f, "plan"), recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, planBody, body []byte) {
		p, err := decodePlan(planBody, recordedDAG)
		if err != nil || p == nil {
			return
		}
		vertices, err := decodeVertices(body, recordedDAG)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, s := range p.graph(recordedApp, vertices).Stages {
			if s.Name == "" || names[s.Name] || s.Completed < 0 || s.Completed > s.Tasks || s.Input < model.Unknown || s.Output < model.Unknown {
				t.Errorf("%+v", s)
			}
			names[s.Name] = true
		}
		for _, e := range p.edges {
			if !names[e.From] || !names[e.To] {
				t.Errorf("%+v", e)
			}
		}
	})
}
