package engine

import (
	"fmt"
	"strings"
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// byArrival ranks jobs as they came.
type byArrival struct{}

func (byArrival) Place(*policy.Input) []model.Placement { return nil }

func (byArrival) Plan(in *policy.Input) []model.Plan {
	var plans []model.Plan
	for i, j := range in.Jobs {
		for _, s := range [...]*state.Stage{j.Map, j.Reduce} {
			if s.Pending > 0 {
				plans = append(plans, model.Plan{App: j.ID, Stage: s.Kind, Rank: i + 1, Reason: model.ReasonRankOnly})
			}
		}
	}
	return plans
}

// orderRig is a node of ten containers, and jobs a, b and c.
type orderRig struct {
	t       *testing.T
	cluster *state.Cluster
	engine  *Engine
	now     model.Time
}

func newOrderRig(t *testing.T) *orderRig {
	t.Helper()
	r := &orderRig{t: t, cluster: state.New(state.Config{}), now: 1000}
	r.engine = New(Options{HoldByRank: true, MaxHold: model.Minute}, byArrival{}, r.cluster)
	size := model.Resource{MemoryMiB: 1024, VCores: 1}
	r.apply(model.NodesFact{Nodes: []model.Node{{ID: "w1:1", Host: "w1", Rack: "/r1", State: model.NodeRunning, Total: size.Times(10)}}})
	var apps []model.App
	for i, id := range []model.AppID{"a", "b", "c"} {
		apps = append(apps, model.App{ID: id, Type: "MAPREDUCE", User: "u", Queue: "q", State: model.AppRunning, Submitted: model.Time(i + 1)})
	}
	r.apply(model.AppsFact{Apps: apps})
	return r
}

func (r *orderRig) apply(f model.Fact) {
	r.cluster.Apply(model.Observation{At: r.now, Source: model.SourceRM, Fact: f})
}

// asks has a job ask for maps and reduces.
func (r *orderRig) asks(id model.AppID, maps, reduces int) {
	size := model.Resource{MemoryMiB: 1024, VCores: 1}
	var rows []model.AskRow
	for priority, n := range map[int]int{int(model.PriorityMap): maps, int(model.PriorityReduce): reduces} {
		rows = append(rows, model.AskRow{Priority: priority, RequestID: -1, ResourceName: model.AnyName, Count: n, Capability: size, RelaxLocality: true})
	}
	r.apply(model.AsksFact{App: id, Rows: rows})
}

// held plans for all jobs two seconds later, and returns what is held.
func (r *orderRig) held() string {
	r.t.Helper()
	r.now = r.now.Add(2 * model.Second)
	r.apply(model.RoundFact{})
	plans, err := r.engine.PlanRound(r.cluster.View().Jobs())
	if err != nil {
		r.t.Fatal(err)
	}
	return heldOf(plans)
}

func heldOf(plans []model.Plan) string {
	var out strings.Builder
	for _, p := range plans {
		if p.Hold {
			fmt.Fprintf(&out, "%s %s;", p.App, p.Stage)
		}
	}
	return out.String()
}

// TestOrder: those whose turn has not come are held, and reduces before their job's maps have been started.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		a, b, c [2]int
		want    string
	}{
		{"room for all", [2]int{4, 0}, [2]int{4, 0}, [2]int{1, 0}, ""},
		{"up to a tenth more than is free", [2]int{10, 0}, [2]int{4, 0}, [2]int{1, 0}, "c map;"},
		{"the first asks for all", [2]int{50, 0}, [2]int{4, 0}, [2]int{1, 0}, "b map;c map;"},
		{"reduces of started maps count", [2]int{0, 11}, [2]int{4, 0}, [2]int{0, 0}, "b map;"},
		{"reduces before maps are held, and keep nobody waiting", [2]int{2, 50}, [2]int{4, 0}, [2]int{0, 4}, "a reduce;"},
	} {
		r := newOrderRig(t)
		r.asks("a", c.a[0], c.a[1])
		r.asks("b", c.b[0], c.b[1])
		r.asks("c", c.c[0], c.c[1])
		if got := r.held(); got != c.want {
			t.Errorf("%s: held are %q, want %q", c.name, got, c.want)
		}
	}
}

// TestClaimEnds: a job that is given nothing while there is room keeps the others waiting for ten seconds.
func TestClaimEnds(t *testing.T) {
	t.Parallel()
	r := newOrderRig(t)
	r.asks("a", 50, 0)
	r.asks("b", 4, 0)
	for range 5 { // the first round counts nothing
		if got := r.held(); got != "b map;" {
			t.Fatalf("at %d held are %q, want b's maps", r.now, got)
		}
	}
	if got := r.held(); got != "" {
		t.Fatalf("at %d held are %q, want none", r.now, got)
	}
}

// TestOrderOfOne: a job that is planned alone has its place in the order of the last round.
func TestOrderOfOne(t *testing.T) {
	t.Parallel()
	r := newOrderRig(t)
	r.asks("a", 50, 0)
	r.asks("b", 4, 0)
	r.held()
	for _, c := range []struct{ id, want string }{{"a", ""}, {"b", "b map;"}} {
		v := r.cluster.View()
		o := &r.engine.order
		plans := []model.Plan{{App: model.AppID(c.id), Stage: model.StageMap, Rank: map[string]int{"a": 1, "b": 2}[c.id]}}
		if o.some(v, plans, model.Minute); heldOf(plans) != c.want {
			t.Errorf("of %s held is %q, want %q", c.id, heldOf(plans), c.want)
		}
	}
}
