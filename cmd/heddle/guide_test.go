package main

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"heddle/configs"
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/yarnproxy/amrm/asks"
)

const guidedApp model.AppID = "application_1_0001"

// fixedPlans is a policy that plans two reduces on /rack2 for whatever asks.
type fixedPlans struct{}

func (fixedPlans) Place(*policy.Input) []model.Placement { return nil }

func (fixedPlans) Plan(in *policy.Input) []model.Plan {
	var out []model.Plan
	for _, j := range in.Jobs {
		if j.Reduce.Pending > 0 {
			out = append(out, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonMapOutput, Racks: []model.RackTarget{{Rack: "/rack2", Count: 2}}})
		}
	}
	return out
}

// guidedLoop is a loop with two nodes and one application, as of 10 s.
func guidedLoop(t *testing.T) (*loop, *guide, func(model.Time)) {
	t.Helper()
	now := model.Time(10_000)
	clock := func() time.Time { return time.UnixMilli(int64(now)) }
	l := &loop{
		cluster: state.New(state.DefaultConfig()), in: make(chan model.Observation, 1), questions: make(chan func()),
		recorder: noRecorder{}, notes: quietNotes{}, log: hclog.NewNullLogger(), now: clock,
		publishEvery: time.Hour, sampleEvery: time.Hour,
	}
	l.engine = engine.New(engine.DefaultOptions("test"), fixedPlans{}, l.cluster)
	g := newGuide(l, clock, 30*model.Second)
	l.published = g.publish
	big := model.Resource{MemoryMiB: 2048, VCores: 4}
	for _, f := range []model.Fact{
		model.NodesFact{Nodes: []model.Node{
			{ID: "w1:1", Host: "w1", Rack: "/rack1", State: model.NodeRunning, Total: big, Used: model.Resource{MemoryMiB: 512, VCores: 1}},
			{ID: "w2:1", Host: "w2", Rack: "/rack2", State: model.NodeRunning, Total: big},
			{ID: "w3:1", Host: "w3", Rack: "/rack2", State: model.NodeLost, Total: big},
		}},
		model.AppsFact{Apps: []model.App{{ID: guidedApp, User: "ann", Queue: "root.default", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1, Tags: "nightly,heddle-off"}}},
		model.PollFact{Result: model.PollOK},
	} {
		l.take(model.Observation{Source: model.SourceRM, At: now, Fact: f})
	}
	return l, g, func(at model.Time) { now = at }
}

// TestGuideCountsVCores: of what a host has, vcores count where the scheduler counts them.
func TestGuideCountsVCores(t *testing.T) {
	t.Parallel()
	l, g, _ := guidedLoop(t)
	for _, c := range []struct {
		scheduler string
		want      bool
	}{{"capacityScheduler", false}, {"fairScheduler", true}, {"", true}} { // an answer without it changes nothing
		l.take(model.Observation{Source: model.SourceRM, At: 10_000, Fact: model.ClusterFact{Started: 1, Scheduler: c.scheduler}})
		l.publish()
		if site, _ := g.Site(); site.VCores != c.want {
			t.Errorf("%s counts vcores: %t", c.scheduler, site.VCores)
		}
	}
	settings := configs.Default()
	settings.ResourceManager.CountVCores = true
	if s, err := stateConfig(&settings); err != nil || !s.CountVCores {
		t.Errorf("count_vcores does not reach the state: %v", err)
	}
}

type quietNotes struct{}

func (quietNotes) Round(string, time.Duration) {}
func (quietNotes) QueueFull(string)            {}

// TestGuide: the relay is told what was published, in its own terms.
func TestGuide(t *testing.T) {
	t.Parallel()
	l, g, setClock := guidedLoop(t)
	if _, fresh := g.Site(); fresh {
		t.Error("a site before anything was published")
	}
	if _, ok := g.App(guidedApp); ok {
		t.Error("an application before anything was published")
	}
	l.publish()
	site, fresh := g.Site()
	want := &asks.Site{
		Racks: []asks.Rack{
			{ID: "/rack1", Hosts: []asks.Host{{Name: "w1", Total: model.Resource{MemoryMiB: 2048, VCores: 4}, Free: model.Resource{MemoryMiB: 1536, VCores: 3}}}},
			{ID: "/rack2", Hosts: []asks.Host{{Name: "w2", Total: model.Resource{MemoryMiB: 2048, VCores: 4}, Free: model.Resource{MemoryMiB: 2048, VCores: 4}}}},
		},
		RackOf: map[string]model.RackID{"w1": "/rack1", "w2": "/rack2", "w3": "/rack2"},
	}
	if diff := cmp.Diff(want, site); diff != "" || !fresh {
		t.Errorf("fresh %v, site (-want +got):\n%s", fresh, diff)
	}
	if app, ok := g.App(guidedApp); !ok || !cmp.Equal(app.Tags, []string{"nightly", "heddle-off"}) || app.Queue != "root.default" {
		t.Errorf("application %+v, %v", app, ok)
	}
	l.publish()
	if again, _ := g.Site(); again != site {
		t.Error("nothing changed, and the site was made anew")
	}
	setClock(40_001)
	if _, fresh := g.Site(); fresh {
		t.Error("state of 30.001 s ago counts as fresh")
	}
}

// TestGuideDecides: an application that has just asked is planned for at once,
// and what it asked is in the state.
func TestGuideDecides(t *testing.T) {
	t.Parallel()
	l, g, _ := guidedLoop(t)
	l.publish()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	if _, ok := g.Target(guidedApp, model.StageReduce); ok {
		t.Error("a target before anything was asked")
	}
	rows := []model.AskRow{{Priority: model.PriorityReduce, ResourceName: "*", Count: 2, Capability: model.Resource{MemoryMiB: 512, VCores: 1}}}
	g.Decide(ctx, guidedApp, rows)
	target, ok := g.Target(guidedApp, model.StageReduce)
	if !ok || len(target.Racks) != 1 || target.Racks[0].Rack != "/rack2" || target.Reason != model.ReasonMapOutput {
		t.Errorf("target %+v, %v", target, ok)
	}
	g.Observe(guidedApp, rows)
	g.Observe(guidedApp, rows) // room or not, it returns
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if target, ok := g.Target(guidedApp, model.StageReduce); !ok || len(target.Racks) != 1 {
		t.Errorf("after the next snapshot: %+v, %v", target, ok)
	}
	if _, _, ok := g.Pending(guidedApp); ok {
		t.Error("the ResourceManager has not told what it holds")
	}
	l.take(model.Observation{Source: model.SourceRM, At: 10_500, Fact: model.AsksFact{App: guidedApp, Rows: rows}})
	l.publish()
	if held, at, ok := g.Pending(guidedApp); !ok || len(held) != 1 || at != 10_500 {
		t.Errorf("held %v at %d, %v", held, at, ok)
	}
}

// TestGuideDoesNotWait: a loop that does not answer costs a call its deadline and no more.
func TestGuideDoesNotWait(t *testing.T) {
	t.Parallel()
	_, g, _ := guidedLoop(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Decide(ctx, guidedApp, nil)
	g.Observe(guidedApp, nil)
	g.Observe(guidedApp, nil) // the queue of one is full, and nobody reads it
}
