package clusterview_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/yarnproxy/amrm/asks"
	"heddle/yarnproxy/clusterview"
)

const viewedApp model.AppID = "application_1_0001"

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

// testLoop is a loop without a goroutine: what it is asked for happens at once.
type testLoop struct {
	cluster *state.Cluster
	engine  *engine.Engine
	view    *clusterview.View
	now     model.Time
	offered []model.Observation
}

func (l *testLoop) PlanApp(ctx context.Context, asked model.Observation, app model.AppID, use func([]*model.Plan)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.cluster.Apply(asked)
	if _, err := l.engine.PlanApp(l.now, app); err != nil {
		return err
	}
	use(l.engine.Log().Plans(app))
	return nil
}

func (l *testLoop) Offer(o model.Observation) { l.offered = append(l.offered, o) }

func (l *testLoop) apply(f model.Fact) {
	l.cluster.Apply(model.Observation{Source: model.SourceRM, At: l.now, Fact: f})
}

func (l *testLoop) publish() {
	s := l.cluster.Snapshot()
	l.engine.Log().AddTo(s)
	l.view.Update(s)
}

// newView returns a view of two nodes and one application, as of 10 s.
func newView() (*testLoop, *clusterview.View) {
	l := &testLoop{cluster: state.New(state.DefaultConfig()), now: 10_000}
	l.engine = engine.New(engine.DefaultOptions("test"), fixedPlans{}, l.cluster)
	l.view = clusterview.New(l, func() time.Time { return time.UnixMilli(int64(l.now)) }, 30*model.Second)
	big := model.Resource{MemoryMiB: 2048, VCores: 4}
	for _, f := range []model.Fact{
		model.NodesFact{Nodes: []model.Node{
			{ID: "w1:1", Host: "w1", Rack: "/rack1", State: model.NodeRunning, Total: big, Used: model.Resource{MemoryMiB: 512, VCores: 1}},
			{ID: "w2:1", Host: "w2", Rack: "/rack2", State: model.NodeRunning, Total: big},
			{ID: "w3:1", Host: "w3", Rack: "/rack2", State: model.NodeLost, Total: big},
		}},
		model.AppsFact{Apps: []model.App{{ID: viewedApp, User: "ann", Queue: "root.default", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1, Tags: "nightly,heddle-off"}}},
		model.PollFact{Result: model.PollOK},
	} {
		l.apply(f)
	}
	return l, l.view
}

// TestVCores: of what a host has, vcores count where the scheduler counts them.
func TestVCores(t *testing.T) {
	t.Parallel()
	l, v := newView()
	for _, c := range []struct {
		scheduler string
		want      bool
	}{{"capacityScheduler", false}, {"fairScheduler", true}, {"", true}} { // an answer without it changes nothing
		l.apply(model.ClusterFact{Started: 1, Scheduler: c.scheduler})
		l.publish()
		if site, _ := v.Site(); site.VCores != c.want {
			t.Errorf("%s counts vcores: %t", c.scheduler, site.VCores)
		}
	}
}

// TestView: the relay is shown what was published, in its own terms.
func TestView(t *testing.T) {
	t.Parallel()
	l, v := newView()
	if _, fresh := v.Site(); fresh {
		t.Error("a site before anything was published")
	}
	if _, ok := v.App(viewedApp); ok {
		t.Error("an application before anything was published")
	}
	l.publish()
	site, fresh := v.Site()
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
	if app, ok := v.App(viewedApp); !ok || !cmp.Equal(app.Tags, []string{"nightly", "heddle-off"}) || app.Queue != "root.default" {
		t.Errorf("application %+v, %v", app, ok)
	}
	l.publish()
	if again, _ := v.Site(); again != site {
		t.Error("nothing changed, and the site was made anew")
	}
	l.now = 40_001
	if _, fresh := v.Site(); fresh {
		t.Error("state of 30.001 s ago counts as fresh")
	}
}

// TestDecide: an application that has just asked is planned for at once, and what
// it asked is in the state.
func TestDecide(t *testing.T) {
	t.Parallel()
	l, v := newView()
	l.publish()
	if _, ok := v.Target(viewedApp, model.StageReduce); ok {
		t.Error("a target before anything was asked")
	}
	rows := []model.AskRow{{Priority: model.PriorityReduce, ResourceName: "*", Count: 2, Capability: model.Resource{MemoryMiB: 512, VCores: 1}}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	v.Decide(ended, viewedApp, rows)
	if _, ok := v.Target(viewedApp, model.StageReduce); ok {
		t.Error("a target although the deadline had passed")
	}
	v.Decide(t.Context(), viewedApp, rows)
	for _, when := range []string{"at once", "after the next snapshot"} {
		target, ok := v.Target(viewedApp, model.StageReduce)
		if !ok || len(target.Racks) != 1 || target.Racks[0].Rack != "/rack2" || target.Reason != model.ReasonMapOutput {
			t.Errorf("%s: target %+v, %v", when, target, ok)
		}
		l.publish()
	}
	v.Observe(viewedApp, rows)
	if len(l.offered) != 1 || l.offered[0].Source != model.SourceRelay {
		t.Errorf("observed %+v", l.offered)
	}
	if _, _, ok := v.Pending(viewedApp); ok {
		t.Error("pending asks before the ResourceManager's answer has any")
	}
	l.now = 10_500
	l.apply(model.AsksFact{App: viewedApp, Rows: rows})
	l.publish()
	if held, at, ok := v.Pending(viewedApp); !ok || len(held) != 1 || at != 10_500 {
		t.Errorf("held %v at %d, %v", held, at, ok)
	}
}
