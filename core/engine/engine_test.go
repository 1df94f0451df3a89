package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

const id = "application_1_0001"

// placer is a policy that proposes what it is told.
type placer func(in *policy.Input) []model.Placement

func (p placer) Place(in *policy.Input) []model.Placement { return p(in) }

// planner is a policy with plans of its own.
type planner struct {
	placer
	plans []model.Plan
}

func (p planner) Plan(*policy.Input) []model.Plan { return p.plans }

// cluster has two racks of two nodes with room for two 512 MiB tasks each, and
// one job with pending maps on w11, one of rack1 and one anywhere, two reduces
// and map output 90/10.
func cluster() *state.Cluster {
	c := state.New(state.DefaultConfig())
	var n model.NodesFact
	for _, h := range []string{"w11", "w12", "w21", "w22"} {
		n.Nodes = append(n.Nodes, model.Node{
			ID: model.NodeID(h + ":1"), Host: h, Rack: model.RackID("/rack" + h[1:2]), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: 1024, VCores: 4},
		})
	}
	n.Nodes = append(n.Nodes, model.Node{ID: "sick:1", Host: "sick", Rack: "/rack1", State: model.NodeUnhealthy, Total: model.Resource{MemoryMiB: 1024, VCores: 4}})
	for _, f := range []model.Fact{
		n,
		model.AppsFact{Apps: []model.App{{ID: id, User: "ann", State: model.AppRunning, Submitted: 1000}}},
		model.JobFact{App: id, MapsTotal: 100, MapsPending: 3, MapsCompleted: 2, ReducesTotal: 10, ReducesPending: 10},
		model.AsksFact{App: id, Rows: []model.AskRow{
			{Priority: 20, ResourceName: "*", Count: 3, Capability: model.Resource{MemoryMiB: 512, VCores: 1}},
			{Priority: 20, ResourceName: "/rack1", Count: 2},
			{Priority: 20, ResourceName: "w11", Count: 1},
		}},
		model.ContainersFact{App: id, Blacklist: []string{"w22"}},
		model.TasksFact{App: id, Tasks: []model.Task{
			{Stage: model.StageMap, Index: 0, State: model.TaskSucceeded, Host: "w11", Output: 900, Input: -1, Shuffled: -1},
			{Stage: model.StageMap, Index: 1, State: model.TaskSucceeded, Host: "w21", Output: 100, Input: -1, Shuffled: -1},
		}},
		model.CountersFact{App: id, MapOutput: 1000, MapInput: 500},
		model.PollFact{Result: model.PollOK},
	} {
		c.Apply(model.Observation{Source: model.SourceRM, At: 10_000, Fact: f})
	}
	return c
}

func run(t *testing.T, c *state.Cluster, node model.NodeID, kinds model.Stage, p placer) (*engine.Engine, []model.Placement, error) {
	t.Helper()
	e := engine.New(engine.DefaultOptions("test"), p, c)
	got, err := e.Offer(policy.Offer{Node: c.View().Node(node), Kinds: kinds})
	return e, got, err
}

// published is the cluster's snapshot with what the engine decided.
func published(e *engine.Engine, c *state.Cluster) *snapshot.Snapshot {
	s := c.Snapshot()
	e.Log().AddTo(s)
	return s
}

func TestRules(t *testing.T) {
	t.Parallel()
	good := model.Placement{App: id, Stage: model.StageMap, Task: model.AnyTask, Node: "w11:1", Locality: model.NodeLocal, Reason: model.ReasonLocalMap}
	with := func(change func(*model.Placement)) model.Placement {
		p := good
		change(&p)
		return p
	}
	for _, tc := range []struct {
		name  string
		offer model.NodeID
		kinds model.Stage
		give  []model.Placement
		kept  int
		rule  model.Rule
	}{
		{"stands", "w11:1", "", []model.Placement{good}, 1, ""},
		{"unknown job", "w11:1", "", []model.Placement{with(func(p *model.Placement) { p.App = "application_1_0009" })}, 0, model.RuleUnknownJob},
		{"not the offered node", "w12:1", "", []model.Placement{good}, 0, model.RuleUnusableNode},
		{"no such node", "w11:1", "", []model.Placement{with(func(p *model.Placement) { p.Node = "w99:1" })}, 0, model.RuleUnusableNode},
		{"unhealthy node", "sick:1", "", []model.Placement{with(func(p *model.Placement) { p.Node = "sick:1" })}, 0, model.RuleUnusableNode},
		{"no such stage", "w11:1", "", []model.Placement{with(func(p *model.Placement) { p.Stage = model.StageOther })}, 0, model.RuleNoAsk},
		{"wrong kind of slot", "w11:1", model.StageReduce, []model.Placement{good}, 0, model.RuleNoAsk},
		{"no such task", "w11:1", "", []model.Placement{with(func(p *model.Placement) { p.Task = 7 })}, 0, model.RuleNoAsk},
		{"locality too good", "w12:1", "", []model.Placement{with(func(p *model.Placement) { p.Node = "w12:1" })}, 0, model.RuleLocality},
		{"locality too bad", "w11:1", "", []model.Placement{with(func(p *model.Placement) { p.Locality = model.RackLocal })}, 0, model.RuleLocality},
		{"blacklisted", "w22:1", "", []model.Placement{with(func(p *model.Placement) { p.Node, p.Locality = "w22:1", model.OffSwitch })}, 0, model.RuleBlacklisted},
		{
			"a third does not fit", "w21:1", "",
			[]model.Placement{
				with(func(p *model.Placement) { p.Node, p.Locality = "w21:1", model.OffSwitch }),
				with(func(p *model.Placement) { p.Node, p.Locality = "w21:1", model.OffSwitch }),
				with(func(p *model.Placement) { p.Node, p.Locality = "w21:1", model.OffSwitch }),
			},
			2, model.RuleCapacity,
		},
		{"more than are asked for", "w11:1", "", []model.Placement{good, good}, 1, model.RuleLocality},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := cluster()
			e, got, err := run(t, c, tc.offer, tc.kinds, func(*policy.Input) []model.Placement { return tc.give })
			if err != nil || len(got) != tc.kept {
				t.Fatalf("kept %d, %v; want %d", len(got), err, tc.kept)
			}
			counts := published(e, c).Counts
			if tc.rule != "" && counts.RejectedByRule[tc.rule] != 1 {
				t.Errorf("rejected %v, want one for %s", counts.RejectedByRule, tc.rule)
			}
			if free := c.View().Node("w21:1").Free.MemoryMiB; free != 1024 {
				t.Errorf("the round left %d MiB free on w21, want 1024", free)
			}
		})
	}
}

func TestPanicIsALostRound(t *testing.T) {
	t.Parallel()
	c := cluster()
	e, _, err := run(t, c, "w11:1", "", func(*policy.Input) []model.Placement { panic("boom") })
	if err == nil || !strings.Contains(err.Error(), "boom") || e.Log().Rejected()[model.RulePanic] != 1 {
		t.Errorf("err %v, rejected %v", err, e.Log().Rejected())
	}
}

// A plan may be for an extra attempt of a task that runs, and for no more.
func TestPlanForAnExtraAttempt(t *testing.T) {
	t.Parallel()
	c := cluster()
	c.Apply(model.Observation{Source: model.SourceRM, At: 10_000, Fact: model.JobFact{
		App: id, MapsTotal: 100, MapsCompleted: 100, ReducesTotal: 10, ReducesPending: 1, ReducesRunning: 8, ReducesCompleted: 2,
	}})
	for count, plans := range map[int]int{11: 1, 12: 0} {
		p := planner{plans: []model.Plan{{App: id, Stage: model.StageReduce, Rank: 1, Racks: []model.RackTarget{{Rack: "/rack1", Count: count}}}}}
		got, err := engine.New(engine.DefaultOptions("test"), p, c).Plan(10_000)
		if err != nil || len(got) != plans {
			t.Errorf("%d attempts planned: %d decisions, %v", count, len(got), err)
		}
	}
}

func TestStaleStateIsNotDecidedOn(t *testing.T) {
	t.Parallel()
	c := cluster()
	e := engine.New(engine.DefaultOptions("test"), planner{plans: []model.Plan{{App: id, Stage: model.StageMap, Rank: 1}}}, c)
	if _, err := e.Plan(10_000 + 30_001); !errors.Is(err, engine.ErrStale) {
		t.Errorf("30.001 s after the last poll: %v, want ErrStale", err)
	}
	if got, err := e.Plan(10_000 + 30_000); err != nil || len(got) != 1 {
		t.Errorf("30 s after: %v %v", got, err)
	}
}

// TestPlans: plans are verified, priced, and logged only when they ask for
// something else than before.
func TestPlans(t *testing.T) {
	t.Parallel()
	c := cluster()
	c.Apply(model.Observation{Source: model.SourceRM, At: 10_000, Fact: model.JobFact{App: id, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 10, ReducesPending: 10}})
	good := model.Plan{App: id, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonMapOutput, Racks: []model.RackTarget{{Rack: "/rack2", Count: 1}, {Rack: "/rack1", Count: 9}}}
	bad := []model.Plan{
		{App: id, Stage: model.StageReduce, Rank: 0},
		{App: id, Stage: model.StageReduce, Rank: 1, Racks: []model.RackTarget{{Rack: "/rack1", Count: 11}}},
		{App: id, Stage: model.StageReduce, Rank: 1, Racks: []model.RackTarget{{Rack: "/rack1", Count: -1}}},
		{App: id, Stage: model.StageReduce, Rank: 1, Racks: []model.RackTarget{{Rack: "/rack9", Count: 1}}},
		{App: id, Stage: model.StageReduce, Rank: 1, Hold: true},
		{App: id, Stage: model.StageReduce, Rank: 1, Hold: true, Until: 10_000 + model.Time(model.Minute)*60},
		{App: id, Stage: model.StageAM, Rank: 1},
	}
	p := &planner{plans: append(bad, good)}
	e := engine.New(engine.DefaultOptions("test"), p, c)
	got, err := e.Plan(10_000)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d decisions, %v", len(got), err)
	}
	if n := e.Log().Rejected()[model.RulePlan]; n != int64(len(bad)) {
		t.Errorf("%d plans rejected, want %d", n, len(bad))
	}
	want := []model.Cost{
		{Name: "plan", CrossRack: 180, Busiest: 90},
		{Name: "fewest_bytes", CrossRack: 100, Busiest: 100},
		{Name: "proportional", CrossRack: 180, Busiest: 90},
		{Name: "uniform", CrossRack: 500, Busiest: 450},
	}
	if diff := cmp.Diff(want, got[0].Plan.Costs); diff != "" {
		t.Errorf("costs of 900/100 bytes, 10 reduces (-want +got):\n%s", diff)
	}
	if got[0].Plan.Racks[0].Rack != "/rack1" {
		t.Errorf("racks are not by falling count: %+v", got[0].Plan.Racks)
	}
	p.plans = []model.Plan{good}
	p.plans[0].Rank = 2
	if again, err := e.Plan(10_000); err != nil || len(again) != 0 {
		t.Errorf("the same targets gave %d decisions, %v", len(again), err)
	}
	if rank := e.Log().Plans(id)[0].Rank; rank != 2 {
		t.Errorf("attached rank %d, want the newer 2", rank)
	}
}

// TestPlanApp: one job is planned without a round of all.
func TestPlanApp(t *testing.T) {
	t.Parallel()
	c := cluster()
	p := &planner{plans: []model.Plan{{App: id, Stage: model.StageMap, Rank: 1, Reason: model.ReasonInputRacks, Racks: []model.RackTarget{{Rack: "/rack1", Count: 3}}}}}
	e := engine.New(engine.DefaultOptions("test"), p, c)
	if got, err := e.PlanApp(10_000, "application_1_0099"); err != nil || len(got) != 0 {
		t.Errorf("an unknown application: %v, %v", got, err)
	}
	if got, err := e.PlanApp(10_000, id); err != nil || len(got) != 1 || len(e.Log().Plans(id)) != 1 {
		t.Errorf("decisions %v, %v, plan %v; want one, attached", got, err, e.Log().Plans(id))
	}
	if _, err := e.PlanApp(10_000+30_001, id); !errors.Is(err, engine.ErrStale) {
		t.Errorf("on stale state: %v", err)
	}
}

// TestPlanFromOffers: a policy without a Plan is offered every free container,
// and what it placed is its plan.
func TestPlanFromOffers(t *testing.T) {
	t.Parallel()
	c := cluster()
	before := c.Snapshot()
	p := placer(func(in *policy.Input) []model.Placement {
		j := in.View.Job(id)
		if !in.Admits(j.Map) {
			return nil
		}
		level, _ := j.Map.Locality(in.Offer.Node)
		return []model.Placement{{App: id, Stage: model.StageMap, Task: model.AnyTask, Node: in.Offer.Node.ID, Locality: level}}
	})
	plans, err := engine.New(engine.DefaultOptions("test"), p, c).PlanJobs(c.View().Jobs())
	want := []model.Plan{{App: id, Stage: model.StageMap, Rank: 1, Reason: model.ReasonOffers, Racks: []model.RackTarget{
		{Rack: "/rack1", Count: 3, Share: 0.6}, {Rack: "/rack2", Count: 2, Share: 0.4},
	}}}
	if diff := cmp.Diff(want, plans); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	opts := cmpopts.IgnoreFields(snapshot.Snapshot{}, "Seq")
	if diff := cmp.Diff(before, c.Snapshot(), opts, cmpopts.IgnoreUnexported(snapshot.Snapshot{})); diff != "" {
		t.Errorf("virtual offers left a trace:\n%s", diff)
	}
}
