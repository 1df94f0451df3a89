package dawn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dawn"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want []string // keys named in the error
	}{
		{``, nil},
		{`{"among":"all","window_mode":"timeout","fairness":"drf","waves":2,"plan_waves":0,"wait":5,"wait_for_targets_s":20,"node_delay":-1}`, nil},
		{
			`{"wait":-1,"among":"x","fairness":"x","window_s":-1,"window_mode":"x","wait_for_targets_s":-1,"output_ratio":-1,"waves":-1,"plan_waves":-1,"node_delay":2}`,
			[]string{"wait:", "among:", "fairness:", "window_s:", "window_mode:", "wait_for_targets_s:", "output_ratio:", "waves:", "plan_waves:", "node_delay:"},
		},
		{`{"unknown":1}`, []string{"unknown"}},
	} {
		_, err := dawn.New([]byte(tc.raw))
		if (err != nil) != (tc.want != nil) {
			t.Errorf("%s: %v", tc.raw, err)
			continue
		}
		for _, key := range tc.want {
			if !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v does not name %s", tc.raw, err, key)
			}
		}
	}
}

// Settings far from the defaults conform as well.
func TestVariantsConform(t *testing.T) {
	t.Parallel()
	var variants policy.Registry
	for _, v := range []struct{ name, params string }{
		{"as printed", `{"among":"all","window_s":0,"node_delay":-1,"plan_waves":0}`},
		{"patient", `{"wait":5,"waves":1,"wait_for_targets_s":20}`},
		{"timeout", `{"window_mode":"timeout","window_s":120,"fairness":"drf","node_delay":1}`},
	} {
		variants = append(variants, policy.Entry{Name: v.name, New: func(json.RawMessage) (policy.Policy, error) { return dawn.New([]byte(v.params)) }})
	}
	policytest.Run(t, variants)
}

// While the network is saturated no plan sends more map output across racks
// than while it is not: cost(dep_r) >= cost(max_r) (A.3), in a whole cluster.
func TestSaturatedPlansSendNoMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
		scene := policytest.Generate(draw, policytest.DefaultShape())
		for i := range scene.Apps {
			scene.Apps[i].User = "ann"
			scene.Apps[i].Workflow = &model.Workflow{ID: "q", Node: string(scene.Apps[i].ID[len("application_1_000"):]), Edges: []model.WorkflowEdges{
				{Node: "0", Next: []string{"8"}}, {Node: "1", Next: []string{"8", "9"}}, {Node: "2", Next: []string{"9"}}, {Node: "3", Next: []string{"8"}},
			}}
		}
		first := func(load float64) map[model.AppID]model.Bytes {
			for i := range scene.Loads {
				scene.Loads[i].Out = scene.Capacity * model.BytesPerSecond(load)
			}
			p, err := dawn.New([]byte(`{"plan_waves":0}`))
			if err != nil {
				t.Fatal(err)
			}
			out := map[model.AppID]model.Bytes{}
			for _, plan := range policytest.NewSession(p, scene).Plan() {
				if plan.Stage == model.StageReduce && len(plan.Racks) == 1 {
					out[plan.App] = plan.Racks[0].Bytes
				}
			}
			return out
		}
		free, saturated := first(0), first(1)
		for app, drawn := range free { // order-free: each is judged on its own
			if there, ok := saturated[app]; ok && there < drawn {
				t.Fatalf("%s goes to a rack with %d of its map output when saturated, with %d when not", app, there, drawn)
			}
		}
	})
}

// Where all that names no host is told as reduces, they go by the first stage that
// reads others and has tasks to come, and not by the last.
func TestStageGraphOfMapsAndReduces(t *testing.T) {
	t.Parallel()
	scene := policytest.Scene{Capacity: 1e8, Config: state.DefaultConfig()}
	for _, n := range []string{"1", "2"} {
		scene.Nodes = append(scene.Nodes, model.Node{
			ID: model.NodeID("w" + n), Host: "w" + n, Rack: model.RackID("/r" + n), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8},
		})
	}
	c := scene.Cluster()
	apply := func(f model.Fact) { c.Apply(model.Observation{Source: model.SourceRM, At: policytest.Epoch, Fact: f}) }
	apply(model.AppsFact{Apps: []model.App{{ID: "tez", User: "ann", Type: "TEZ", State: model.AppRunning, Submitted: policytest.Epoch}}})
	apply(model.AsksFact{App: "tez", Rows: []model.AskRow{{
		Priority: 6, ResourceName: model.AnyName, Count: 2, Capability: model.Resource{MemoryMiB: 1024, VCores: 1}, Stage: model.StageReduce,
	}}})
	graph := model.GraphFact{
		App: "tez",
		Stages: []model.GraphStage{
			{Name: "a", Tasks: 2, Completed: 2, Output: 100, Placed: []model.RackBytes{{Rack: "/r1", Bytes: 100}}},
			{Name: "b", Tasks: 2, Completed: 2, Output: 900, Placed: []model.RackBytes{{Rack: "/r2", Bytes: 900}}},
			{Name: "j", Tasks: 2, Output: 50},
			{Name: "r", Tasks: 1, Output: 1},
		},
		Edges: []model.GraphEdge{
			{From: "a", To: "j", Kind: model.ScatterGather}, {From: "j", To: "r", Kind: model.ScatterGather}, {From: "b", To: "r", Kind: model.ScatterGather},
		},
	}
	p, err := dawn.New([]byte(`{"wait":9}`))
	if err != nil {
		t.Fatal(err)
	}
	in := &policy.Input{View: c.View(), Jobs: c.View().Jobs()}
	served := func() (nodes []model.NodeID) {
		for _, node := range []model.NodeID{"w1", "w2"} {
			if in.Offer.Node = in.View.Node(node); len(p.Place(in)) > 0 {
				nodes = append(nodes, node)
			}
		}
		return nodes
	}
	apply(graph)
	if diff := cmp.Diff([]model.NodeID{"w1"}, served()); diff != "" {
		t.Errorf("the join reads from rack 1 (-want +got):\n%s", diff)
	}
	graph.Stages[2].Completed, graph.Stages[2].Output, graph.Stages[2].Placed = 2, 50, []model.RackBytes{{Rack: "/r1", Bytes: 50}}
	apply(graph)
	if diff := cmp.Diff([]model.NodeID{"w2"}, served()); diff != "" {
		t.Errorf("the last stage reads most from rack 2 (-want +got):\n%s", diff)
	}
}

// A general job goes by its own graph: while the stage that reads from outside
// has tasks to come, to the input; then where that put its output.
func TestStageGraph(t *testing.T) {
	t.Parallel()
	scene := policytest.Scene{Capacity: 1e8, Config: state.DefaultConfig()}
	for _, n := range []string{"1", "2"} {
		scene.Nodes = append(scene.Nodes, model.Node{
			ID: model.NodeID("w" + n), Host: "w" + n, Rack: model.RackID("/r" + n), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8},
		})
	}
	app := model.App{ID: "tez", User: "ann", Type: "TEZ", State: model.AppRunning, Submitted: policytest.Epoch}
	c := scene.Cluster()
	apply := func(f model.Fact) { c.Apply(model.Observation{Source: model.SourceRM, At: policytest.Epoch, Fact: f}) }
	apply(model.AppsFact{Apps: []model.App{app}})
	apply(model.AsksFact{App: "tez", Rows: []model.AskRow{{
		Priority: 3, ResourceName: model.AnyName, Count: 4, Capability: model.Resource{MemoryMiB: 1024, VCores: 1}, Stage: model.StageOther,
	}}})
	graph := model.GraphFact{
		App: "tez",
		Stages: []model.GraphStage{
			{Name: "m", Tasks: 4, Input: 100, InputAt: []model.RackBytes{{Rack: "/r1", Bytes: 90}, {Rack: "/r2", Bytes: 10}}, Output: 80},
			{Name: "j", Tasks: 4, Output: 50},
			{Name: "r", Tasks: 1, Output: 1},
		},
		Edges: []model.GraphEdge{{From: "m", To: "j", Kind: model.ScatterGather}, {From: "j", To: "r", Kind: model.Broadcast}},
	}
	p, err := dawn.New([]byte(`{"wait":9}`))
	if err != nil {
		t.Fatal(err)
	}
	in := &policy.Input{View: c.View(), Jobs: c.View().Jobs()}
	offer := func(node model.NodeID) string {
		in.Offer.Node = in.View.Node(node)
		if got := p.Place(in); len(got) > 0 {
			return string(got[0].Stage) + " " + string(got[0].Reason)
		}
		return ""
	}
	apply(graph)
	if diff := cmp.Diff([]string{"other most_intermediate", ""}, []string{offer("w1"), offer("w2")}); diff != "" {
		t.Errorf("the first stage reads from rack 1 (-want +got):\n%s", diff)
	}
	graph.Stages[0].Completed, graph.Stages[0].Placed = 4, []model.RackBytes{{Rack: "/r2", Bytes: 80}} // it ran on rack 2 all the same
	apply(graph)
	if diff := cmp.Diff([]string{"", "other most_intermediate"}, []string{offer("w1"), offer("w2")}); diff != "" {
		t.Errorf("the second reads from rack 2 (-want +got):\n%s", diff)
	}
	plans := p.(policy.Planner).Plan(in)
	want := []model.Plan{{App: "tez", Stage: model.StageOther, Rank: 1, Reason: model.ReasonMostIntermediate, Racks: []model.RackTarget{{Rack: "/r2", Count: 4, Share: 1, Bytes: 80}}}}
	if diff := cmp.Diff(want, plans); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
