package loop

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// onRack is a policy that wants every reduce on one rack, and takes a while to say so.
type onRack struct {
	rack  model.RackID
	takes time.Duration
}

func (onRack) Place(*policy.Input) []model.Placement { return nil }

func (p onRack) Plan(in *policy.Input) []model.Plan {
	time.Sleep(p.takes)
	var plans []model.Plan
	for i, j := range in.Jobs {
		plans = append(plans, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: i + 1, Reason: model.ReasonMapOutput, Racks: []model.RackTarget{{Rack: p.rack, Count: 4, Share: 1}}})
	}
	return plans
}

// shadowed is a loop whose policy wants /r1, with shadows that want other racks.
func shadowed(t *testing.T, shadows map[string]onRack) *bench {
	t.Helper()
	b := &bench{log: &strings.Builder{}, ended: make(chan struct{})}
	cluster := state.New(state.DefaultConfig())
	o := Options{
		Cluster: cluster, QueueLength: 64, Metrics: &b.kept, Now: time.Now, PublishEvery: time.Second, SampleEvery: time.Second, ShadowTime: 0.1,
		Engine: engine.New(engine.DefaultOptions("one-rack"), oneRack{&atomic.Bool{}}, cluster), Log: hclog.NewNullLogger(),
	}
	for _, label := range []string{"a", "b"} {
		if p, ok := shadows[label]; ok {
			o.Shadows = append(o.Shadows, Shadow{label, engine.New(engine.DefaultOptions(label), p, cluster)})
		}
	}
	b.Loop = New(o)
	return b
}

// job sends a job of two maps, with 900 bytes on /r1 and 100 on /r2, whose four reduces run on /r2.
func (b *bench) job(t *testing.T) {
	t.Helper()
	const id = "application_1_0001"
	send := func(facts ...model.Fact) {
		for _, f := range facts {
			b.in <- model.Observation{Source: model.SourceRM, At: model.Time(time.Now().UnixMilli()), Fact: f}
		}
		time.Sleep(2500 * time.Millisecond) // a round or two
	}
	task := func(stage model.Stage, i int, rack model.RackID, out model.Bytes) model.Task {
		return model.Task{Stage: stage, Index: i, State: model.TaskSucceeded, Host: "h" + string(rack), Rack: rack, Progress: 1, Input: out, Output: out, Shuffled: model.Unknown}
	}
	node := func(rack model.RackID) model.Node {
		return model.Node{ID: "h" + model.NodeID(rack) + ":1", Host: "h" + string(rack), Rack: rack, State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8}}
	}
	app := model.App{ID: id, User: "u", Queue: "root.q", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1}
	send(
		model.ClusterFact{Started: 1, HAState: "ACTIVE"}, model.NodesFact{Nodes: []model.Node{node("/r1"), node("/r2")}}, model.AppsFact{Apps: []model.App{app}},
		model.JobFact{App: id, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 4, ReducesPending: 4},
		model.TasksFact{App: id, Tasks: []model.Task{task("map", 0, "/r1", 900), task("map", 1, "/r2", 100)}},
		model.CountersFact{App: id, MapOutput: 1000, MapInput: 1000}, model.PollFact{Result: model.PollOK},
	)
	var reduces []model.Task
	for i := range 4 {
		reduces = append(reduces, task("reduce", i, "/r2", model.Unknown))
	}
	app.State = model.AppFinished
	send(model.TasksFact{App: id, Tasks: reduces}, model.AppsFact{Apps: []model.App{app}}, model.JobFact{App: id, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 4, ReducesCompleted: 4, Done: true}, model.PollFact{Result: model.PollOK})
}

// Each policy's account has what it would have saved or lost, and shadows change no decision.
func TestShadows(t *testing.T) {
	t.Parallel()
	var alone []model.Decision
	synctest.Test(t, func(t *testing.T) {
		b := shadowed(t, nil)
		b.run(t)
		b.job(t)
		b.end(t)
		alone = b.decisions
	})
	synctest.Test(t, func(t *testing.T) {
		b := shadowed(t, map[string]onRack{"a": {rack: "/r1"}, "b": {rack: "/r2"}})
		b.run(t)
		b.job(t)
		s := b.Snapshot()
		b.end(t)
		if diff := cmp.Diff(alone, b.decisions); diff != "" || len(alone) == 0 {
			t.Errorf("decisions (-alone +with shadows):\n%s", diff)
		}
		got := map[string][2]model.Bytes{}
		for _, a := range s.Accounts {
			got[a.Policy] = [2]model.Bytes{a.Saved, a.Lost}
			if a.Jobs != 1 || a.Recorded.Shuffle != 900 || a.Least.Shuffle != 100 || len(a.Recent) != 1 || a.Decides != (a.Policy == "one-rack") {
				t.Errorf("%+v", a)
			}
		}
		// The policy that decides wants one of four reduces on /r1, a all of them, b what happened.
		want := map[string][2]model.Bytes{"one-rack": {200, 0}, "a": {800, 0}, "b": {0, 0}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("saved and lost (-want +got):\n%s", diff)
		}
	})
}

// Shadows that take longer than their share skip rounds, and the policy that decides none.
func TestShadowsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := shadowed(t, map[string]onRack{"a": {rack: "/r1", takes: 400 * time.Millisecond}, "b": {rack: "/r2", takes: 400 * time.Millisecond}})
		b.run(t)
		for range 100 {
			b.send(poll())
			time.Sleep(time.Second)
		}
		s := b.Snapshot()
		b.end(t)
		planned := 0
		for _, a := range s.Accounts {
			if a.Decides {
				continue
			}
			if a.Skipped < 50 || a.Skipped > 95 {
				t.Errorf("%s skipped %d rounds of about 100", a.Policy, a.Skipped)
			}
			planned += b.roundCount - int(a.Skipped)
		}
		// A tenth of 100 s, and the second that is saved up at first, for rounds of 400 ms.
		if most := 11*1000/400 + 2; planned > most || b.roundCount < 95 {
			t.Errorf("%d rounds of shadows, want at most %d; %d rounds in all", planned, most, b.roundCount)
		}
	})
}

// A reload keeps the sums of a policy that goes on under its label, in whatever role.
func TestShadowsOutliveAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := shadowed(t, map[string]onRack{"a": {rack: "/r1"}})
		b.run(t)
		b.job(t)
		reload := func(shadows ...string) *snapshot.Snapshot {
			err := b.Reconfigure(t.Context(), model.PolicyFact{Policy: "one-rack", Saturation: model.Saturation{Threshold: 0.8, Period: 1000}}, func(c *state.Cluster) (Policies, error) {
				p := Policies{ShadowTime: 0.1}
				for _, label := range shadows {
					p.Shadows = append(p.Shadows, Shadow{label, engine.New(engine.DefaultOptions(label), onRack{rack: "/r1"}, c)})
				}
				return p, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(1500 * time.Millisecond)
			return b.Snapshot()
		}
		if s := reload("a", "c"); len(s.Accounts) != 3 || s.Accounts[0].Saved != 200 || s.Accounts[1].Saved != 800 || s.Accounts[2].Jobs != 0 {
			t.Errorf("%+v", s.Accounts)
		}
		if s := reload(); len(s.Accounts) != 1 {
			t.Errorf("%+v", s.Accounts)
		}
		if s := reload("a"); len(s.Accounts) != 2 || s.Accounts[1].Saved != 800 {
			t.Errorf("%+v", s.Accounts)
		}
		b.end(t)
	})
}

// Who waits for the plans of an application does not wait for the shadows, which plan for it, too.
func TestShadowsComeAfterTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := shadowed(t, map[string]onRack{"a": {rack: "/r1", takes: 300 * time.Millisecond}})
		b.run(t)
		b.send(poll())
		time.Sleep(1900 * time.Millisecond) // the first round is over, and the share not spent
		left := func() (d time.Duration) {
			if err := b.do(t.Context(), func() { d = b.accounts.budget.left }); err != nil {
				t.Error(err)
			}
			return d
		}
		before := left()
		began := time.Now()
		var plans int
		asked := model.Observation{Source: model.SourceRelay, At: model.Time(time.Now().UnixMilli()), Fact: model.AsksFact{App: "application_1_0001"}}
		if err := b.PlanApp(t.Context(), asked, "application_1_0001", func(p []*model.Plan) { plans = len(p) }); err != nil || plans != 1 {
			t.Errorf("%d plans, %v", plans, err)
		}
		if took := time.Since(began); took >= 300*time.Millisecond {
			t.Errorf("the answer took %v", took)
		}
		if left() >= before {
			t.Error("the shadow did not plan for the application")
		}
		b.end(t)
	})
}
