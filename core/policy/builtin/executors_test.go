package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/policy/weave"
	"heddle/core/state"
)

// planExecutors calls test for every policy that plans executors of which nothing is known.
func planExecutors(t *testing.T, test func(t *testing.T, build policy.Factory)) {
	t.Helper()
	for name, build := range map[string]policy.Factory{shufflewatcher.Name: shufflewatcher.New, weave.Name: weave.New} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, build)
		})
	}
}

// TestExecutors: an application of long-lived containers gets the fewest racks
// that have room, those it runs on first, and never more than it asks for.
func TestExecutors(t *testing.T) {
	t.Parallel()
	planExecutors(t, testExecutors)
}

func testExecutors(t *testing.T, build policy.Factory) {
	t.Helper()
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
		p, err := build(nil)
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

// TestExecutorsStay: what the scheduler grants before the application has heard
// of it takes room and is still asked for. The plan stays what it was, until
// nothing has come of it for long.
func TestExecutorsStay(t *testing.T) {
	t.Parallel()
	planExecutors(t, testExecutorsStay)
}

func testExecutorsStay(t *testing.T, build policy.Factory) {
	t.Helper()
	const id = "application_1_0003"
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	c := state.New(state.DefaultConfig())
	now := model.Time(1000)
	apply := func(src model.Source, f model.Fact) {
		c.Apply(model.Observation{Source: src, At: now, Fact: f})
	}
	nodes := func(used1 int64) {
		apply(model.SourceRM, model.NodesFact{Nodes: []model.Node{
			{ID: "w1:1", Host: "w1", Rack: "/rack1", State: model.NodeRunning, Total: one.Times(3), Used: one.Times(used1)},
			{ID: "w2:1", Host: "w2", Rack: "/rack2", State: model.NodeRunning, Total: one.Times(2)},
		}})
	}
	asks := func(n int) {
		apply(model.SourceRelay, model.AsksFact{App: id, Rows: []model.AskRow{{ResourceName: "*", Count: n, Capability: one, Stage: model.StageOther}}})
	}
	runs := func(containers ...string) {
		list := make([]model.Container, 0, len(containers))
		for _, k := range containers {
			list = append(list, model.Container{ID: k, Node: "w1:1"})
		}
		apply(model.SourceRM, model.ContainersFact{App: id, Containers: list})
	}
	nodes(0)
	apply(model.SourceRM, model.AppsFact{Apps: []model.App{{ID: id, User: "ann", Type: "SPARK", State: model.AppRunning, Submitted: 1}}})
	p, err := build(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.DefaultOptions("test"), p, c)
	for _, step := range []struct {
		name string
		do   func()
		want []model.RackTarget
	}{
		{"asked", func() { asks(3) }, []model.RackTarget{{Rack: "/rack1", Count: 3, Share: 1}}},
		{"granted, and not yet told", func() { nodes(3); runs("a", "b", "c") }, []model.RackTarget{{Rack: "/rack1", Count: 3, Share: 1}}},
		{"told of two before they are listed", func() { asks(1); runs() }, []model.RackTarget{{Rack: "/rack1", Count: 3, Share: 1}}},
		{"the containers are not listed yet", func() { asks(3); runs() }, []model.RackTarget{{Rack: "/rack1", Count: 3, Share: 1}}},
		{"told of one", func() { asks(2); runs("a", "b", "c") }, []model.RackTarget{{Rack: "/rack1", Count: 3, Share: 1}}},
		{"asks for one more", func() { asks(3) }, []model.RackTarget{{Rack: "/rack1", Count: 3, Share: 0.75}, {Rack: "/rack2", Count: 1, Share: 0.25}}},
		{"two end, and somebody else is given their room", func() { runs("a"); asks(3) }, []model.RackTarget{{Rack: "/rack1", Count: 3, Share: 0.75}, {Rack: "/rack2", Count: 1, Share: 0.25}}},
		{"nothing has come of it for long", func() { now = now.Add(11 * model.Second); nodes(3) }, []model.RackTarget{{Rack: "/rack2", Count: 2, Share: 0.5}, {Rack: "/rack1", Count: 1, Share: 0.25}}},
	} {
		step.do()
		for range 2 { // a plan that is asked for again is the same
			plans, err := e.PlanJobs(c.View().Jobs())
			if err != nil || len(plans) != 1 {
				t.Fatalf("%s: plans %+v, %v", step.name, plans, err)
			}
			if diff := cmp.Diff(step.want, plans[0].Racks); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.name, diff)
			}
		}
	}
}
