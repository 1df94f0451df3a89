package shufflewatcher_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/state"
)

// TestExecutors: an application of long-lived containers gets the fewest racks
// that have room, those it runs on first, and never more than it asks for.
func TestExecutors(t *testing.T) {
	t.Parallel()
	const id = "application_1_0003"
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	plan := func(asked int, runsOn string) []model.RackTarget {
		c := state.New(state.DefaultConfig())
		var nodes model.NodesFact
		for rack, slots := range map[string]int64{"/rack1": 2, "/rack2": 4, "/rack3": 3} {
			nodes.Nodes = append(nodes.Nodes, model.Node{ID: model.NodeID("w" + rack[5:] + ":1"), Host: "w" + rack[5:], Rack: model.RackID(rack), State: model.NodeRunning, Total: one.Times(slots)})
		}
		facts := []model.Fact{
			nodes,
			model.AppsFact{Apps: []model.App{{ID: id, User: "ann", Type: "SPARK", State: model.AppRunning, Submitted: 1}}},
			model.AsksFact{App: id, Rows: []model.AskRow{{ResourceName: "*", Count: asked, Capability: one, Stage: model.StageOther}}},
		}
		if runsOn != "" {
			facts = append(facts, model.ContainersFact{App: id, Containers: []model.Container{{ID: "x", Node: model.NodeID(runsOn)}}})
		}
		for _, f := range facts {
			c.Apply(model.Observation{Source: model.SourceRelay, At: 1000, Fact: f})
		}
		p, err := shufflewatcher.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		plans, err := engine.New(engine.DefaultOptions("test"), p, c).PlanJobs(c.View().Jobs())
		if err != nil || len(plans) != 1 || plans[0].Stage != model.StageOther || plans[0].Reason != model.ReasonFewestRacks {
			t.Fatalf("plans %+v, %v", plans, err)
		}
		for i := range plans[0].Racks {
			plans[0].Racks[i].Share = 0
		}
		return plans[0].Racks
	}
	for _, tc := range []struct {
		name   string
		asked  int
		runsOn string
		want   []model.RackTarget
	}{
		{"one rack has room for all", 3, "", []model.RackTarget{{Rack: "/rack2", Count: 3}}},
		{"two racks are needed", 6, "", []model.RackTarget{{Rack: "/rack2", Count: 4}, {Rack: "/rack3", Count: 2}}},
		{"where it runs already comes first", 2, "w1:1", []model.RackTarget{{Rack: "/rack1", Count: 3}}},
		{"more than there is room for", 20, "", []model.RackTarget{{Rack: "/rack2", Count: 4}, {Rack: "/rack3", Count: 3}, {Rack: "/rack1", Count: 2}}},
	} {
		if diff := cmp.Diff(tc.want, plan(tc.asked, tc.runsOn)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
