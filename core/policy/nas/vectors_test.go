package nas

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// workers are nodes of so many containers, two in a rack.
func workers(nodes, containers int) []model.Node {
	var out []model.Node
	for i := range nodes {
		h := fmt.Sprintf("n%02d", i)
		out = append(out, model.Node{
			ID: model.NodeID(h), Host: h, Rack: model.RackID(fmt.Sprintf("/r%d", i/2)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: int64(containers) * 1024, VCores: int64(containers)},
		})
	}
	return out
}

// bytes is what each map of a job reads and puts out.
type bytes struct{ input, output model.Bytes }

// app is a job of so many maps and reduces. Its first maps are complete, one on
// each host listed.
func app(id string, maps, reduces int, each bytes, done ...string) policytest.App {
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	a := policytest.App{
		App:     model.App{ID: model.AppID(id), User: "ann", Type: "MAPREDUCE", State: model.AppRunning, Submitted: policytest.Epoch},
		MapTask: one, ReduceTask: one, Slowstart: 0.05, MapInput: model.Unknown, MapOutput: model.Unknown,
	}
	task := func(stage model.Stage, i int) model.Task {
		return model.Task{Stage: stage, Index: i, State: model.TaskPending, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
	}
	for i := range maps {
		a.Input = append(a.Input, model.Block{Length: each.input, Hosts: []string{"n00"}, Racks: []model.RackID{"/r0"}})
		m := task(model.StageMap, i)
		m.Preferred = []string{"n00"}
		if i < len(done) {
			m.State, m.Host, m.Input, m.Output = model.TaskSucceeded, done[i], each.input, each.output
			a.MapInput, a.MapOutput = max(a.MapInput, 0)+each.input, max(a.MapOutput, 0)+each.output
		}
		a.Maps = append(a.Maps, m)
	}
	for i := range reduces {
		a.Reduces = append(a.Reduces, task(model.StageReduce, i))
	}
	return a
}

func built(tb testing.TB, change func(*Params)) *policyAndRule {
	tb.Helper()
	params := DefaultParams()
	if change != nil {
		change(&params)
	}
	if err := params.Validate(); err != nil {
		tb.Fatal(err)
	}
	r := newRule(params)
	return &policyAndRule{rule: r, Dispatcher: dispatch.New(r, dispatch.Settings{Fairness: policy.Fair})}
}

// policyAndRule is the policy with what it is made of.
type policyAndRule struct {
	*rule
	*dispatch.Dispatcher
}

// A.2 and 2.3.4: the slides' jobs have 648 units in 24 maps, so TrafficThreshold
// is 27 m.
func TestTrafficThreshold(t *testing.T) {
	t.Parallel()
	slides := []policytest.App{
		app("1", 6, 6, bytes{48 * model.MiB, 0}), app("2", 6, 6, bytes{48 * model.MiB, 0}), app("3", 6, 6, bytes{6 * model.MiB, 0}), app("4", 6, 6, bytes{6 * model.MiB, 0}),
	}
	for _, tc := range []struct {
		name       string
		containers int // of a node
		apps       []policytest.App
		change     func(*Params)
		want       model.Bytes
	}{
		{"m = 1", 1, slides, nil, 27 * model.MiB},
		{"m = 2: one large map and one small one", 2, slides, nil, 54 * model.MiB},
		{"m = 6", 6, slides, nil, 162 * model.MiB},
		{"by hand", 6, slides, func(p *Params) { p.TrafficThreshold, p.TrafficThresholdMiB = ThresholdFixed, 10 }, 10 * model.MiB},
		{"off", 6, slides, func(p *Params) { p.TrafficThreshold = ThresholdOff }, unlimited},
		{"no maps", 6, nil, nil, unlimited},
		{"map-only jobs count in K", 2, append(slices.Clone(slides), app("5", 24, 0, bytes{model.GiB, 0})), nil, 27 * model.MiB},
		{"a ratio that is known", 2, []policytest.App{app("1", 4, 1, bytes{10 * model.MiB, 30 * model.MiB}, "n00")}, nil, 60 * model.MiB},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := built(t, tc.change)
			s := policytest.NewSession(p, policytest.Scene{Nodes: workers(4, tc.containers), Apps: tc.apps, Config: state.DefaultConfig()})
			p.cluster.refresh(&policy.Input{View: s.View()})
			if got := p.maps.trafficThreshold(s.View().Nodes()[0]); got != tc.want {
				t.Errorf("threshold %d, want %d", got, tc.want)
			}
		})
	}
}

// 2.3.4: the threshold is summed up at most once a second.
func TestThresholdIsRefreshed(t *testing.T) {
	t.Parallel()
	p := built(t, nil)
	empty := policytest.NewSession(p, policytest.Scene{Nodes: workers(2, 2), Config: state.DefaultConfig()})
	busy := policytest.NewSession(p, policytest.Scene{
		Nodes: workers(2, 2), Apps: []policytest.App{app("1", 6, 6, bytes{10 * model.MiB, 0})}, Config: state.DefaultConfig(),
	})
	threshold := func(s *policytest.Session) model.Bytes {
		p.cluster.refresh(&policy.Input{View: s.View()})
		return p.maps.trafficThreshold(s.View().Nodes()[0])
	}
	if got := threshold(empty); got != unlimited {
		t.Errorf("without maps %d", got)
	}
	busy.Pass(model.Second - 1)
	if got := threshold(busy); got != unlimited {
		t.Errorf("refreshed within a second: %d", got)
	}
	busy.Pass(1)
	if got := threshold(busy); got != 20*model.MiB {
		t.Errorf("after a second %d, want %d", got, 20*model.MiB)
	}
}

// A.2 and 2.3.5: ten reduces of 70/30 are 7 and 3. Fractions go by largest
// remainder; racks without running nodes get none; a job without map output is
// wanted everywhere.
func TestReduceNum(t *testing.T) {
	t.Parallel()
	on := func(host string, n int) []string { return slices.Repeat([]string{host}, n) }
	for _, tc := range []struct {
		name    string
		reduces int
		done    []string
		want    []int
	}{
		{"70/30 of ten", 10, append(on("n00", 7), on("n02", 3)...), []int{7, 3, 0}},
		{"fractions", 4, append(on("n00", 2), "n02"), []int{3, 1, 0}},
		{"a rack without nodes", 4, append(on("n00", 3), "n04"), []int{4, 0, 0}},
		{"nothing known", 4, nil, []int{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			scene := policytest.Scene{
				Nodes: workers(6, 2), Apps: []policytest.App{app("1", 20, tc.reduces, bytes{model.MiB, model.MiB}, tc.done...)}, Config: state.DefaultConfig(),
			}
			scene.Nodes[4].State, scene.Nodes[5].State = model.NodeLost, model.NodeLost
			p := built(t, nil)
			v := policytest.NewSession(p, scene).View()
			p.cluster.refresh(&policy.Input{View: v})
			j := v.Job("1")
			predicted := j.Predict()
			counts := p.reduces.counted(p.reduces.spreadOf(v, j, &predicted))
			if diff := cmp.Diff(tc.want, counts); diff != "" && len(tc.want)+len(counts) > 0 {
				t.Errorf("ReduceNum (-want +got):\n%s", diff)
			}
			if got := p.reduces.wanted(v, j, &predicted, 2); got != (tc.done == nil) {
				t.Errorf("a rack without output wanted: %t", got)
			}
		})
	}
}

// The order of Algorithm 3.
func TestCategories(t *testing.T) {
	t.Parallel()
	got := []int{
		category(heavy, false), category(medium, false), category(light, false), category(light, true), category(medium, true), category(heavy, true),
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6}, got); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

// §III-A and §IV-A: both bounds are medium; a small input is below its bound.
func TestClasses(t *testing.T) {
	t.Parallel()
	c := built(t, nil).classes
	for _, tc := range []struct {
		size model.Bytes
		want class
	}{
		{0, light},
		{model.MiB - 1, light},
		{model.MiB, medium},
		{100 * model.MiB, medium},
		{100*model.MiB + 1, heavy},
	} {
		if got := c.of(&state.Prediction{Shuffle: tc.size}); got != tc.want {
			t.Errorf("%d bytes: class %d, want %d", tc.size, got, tc.want)
		}
	}
	var order []int
	for _, p := range []state.Prediction{
		{Input: 10*model.MiB - 1},
		{Input: 10*model.MiB - 1, Predicted: true},
		{Input: 10 * model.MiB},
		{Input: 10 * model.MiB, Predicted: true},
	} {
		order = append(order, c.mapCategory(&p))
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3}, order); diff != "" {
		t.Errorf("categories of maps (-want +got):\n%s", diff)
	}
}

// 2.3.7: the table is 1 for light jobs, 0.05 for heavy ones and log-linear in
// between.
func TestTheta(t *testing.T) {
	t.Parallel()
	c := built(t, nil).classes
	for _, tc := range []struct {
		size model.Bytes
		want float64
	}{
		{0, 1},
		{model.MiB, 1},
		{10 * model.MiB, 0.525},
		{100 * model.MiB, 0.05},
		{model.GiB, 0.05},
	} {
		if got := c.theta(tc.size); math.Abs(got-tc.want) > 1e-6 {
			t.Errorf("%d bytes: %g, want %g", tc.size, got, tc.want)
		}
	}
}

// A.3: MTS never exceeds TrafficThreshold except by rule 2(b).
func TestMapsStayBelowTheThreshold(t *testing.T) {
	t.Parallel()
	launched := 0
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") }
		scene := policytest.Generate(draw, policytest.DefaultShape())
		p := built(t, func(p *Params) { p.Skips, p.MapSkips = ByCount, draw(0, 3) })
		s := policytest.NewSession(p, scene)
		for range 30 {
			node := scene.Nodes[draw(0, len(scene.Nodes)-1)].ID
			for _, placed := range s.Offer(node, model.StageMap, 0) {
				s.Assume(placed)
				if placed.Reason == model.ReasonOverThreshold {
					continue
				}
				launched++
				if left := p.maps.availableOn(s.View(), s.View().Node(node)); left < 0 {
					rt.Fatalf("%+v leaves %d", placed, left)
				}
			}
		}
	})
	if launched == 0 {
		t.Error("nothing was launched")
	}
}

// A.3: CR-RTS launches a medium or heavy reduce only after D^r skips of its user.
func TestHeavyReducesWait(t *testing.T) {
	t.Parallel()
	waited := 0
	try := func(draw func(lo, hi int) int, fatalf func(string, ...any)) {
		scene := policytest.Generate(draw, policytest.DefaultShape())
		for i := range scene.Loads {
			scene.Loads[i].Out = scene.Capacity
		}
		skips := draw(0, 5)
		p := built(t, func(p *Params) { p.Skips, p.ReduceSkips = ByCount, skips })
		s := policytest.NewSession(p, scene)
		offers := map[model.UserID]int{} // since the user's last reduce
		for range 40 {
			for _, placed := range s.Offer(scene.Nodes[draw(0, len(scene.Nodes)-1)].ID, model.StageReduce, 0) {
				j := s.View().Job(placed.App)
				predicted := j.Predict()
				if p.classes.of(&predicted) != light {
					waited++
					if offers[j.User] < skips {
						fatalf("%+v after %d offers, want %d skips", placed, offers[j.User], skips)
					}
				}
				offers[j.User] = -1
				s.Assume(placed)
			}
			for _, u := range s.View().Users() {
				offers[u.ID]++
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		try(func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") }, rt.Fatalf)
	})
	// The same scenes in every run, so that the test never passes because no such reduce was drawn.
	for seed := range uint64(100) {
		try(policytest.Seeded(seed), t.Fatalf)
	}
	if waited == 0 {
		t.Error("no medium or heavy reduce was launched")
	}
}

// Every ablation and reading holds what the suite holds the defaults to.
func TestReadingsConform(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"traffic_threshold":"off"}`,
		`{"traffic_threshold":"off","cr_rts":false}`,
		`{"ca_rts":false,"cr_rts":false}`,
		`{"mts":false,"cr_rts":false}`,
		`{"mts":false,"ca_rts":false}`,
		`{"mts":false,"ca_rts":false,"cr_rts":false}`,
		`{"skips":"count","map_skips":3,"reduce_skips":3}`,
		`{"map_reset":"launch","wait_for_targets_s":0}`,
		`{"map_gate":"off","completion":"slowstart"}`,
		`{"traffic_threshold":"fixed","traffic_threshold_mib":64}`,
	} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			if err := policytest.Check(policy.Entry{Name: Name, New: func(json.RawMessage) (policy.Policy, error) { return New([]byte(raw)) }}, 1, 40); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{`{}`, nil},
		{`{"skips":"count","map_skips":0,"mts":false,"hold_max_s":600}`, nil},
		{`{"light_mib":100}`, []string{"light_mib: must be below heavy_mib"}},
		{`{"traffic_threshold":"fixed"}`, []string{"traffic_threshold_mib:"}},
		{`{"gamma":1}`, []string{"gamma"}},
		{
			`{"congestion_threshold":0,"skips":"x","map_skips":-1,"map_wait_s":1e9,"traffic_threshold":"x","hold_max_s":601}`,
			[]string{"congestion_threshold:", "skips:", "map_skips:", "map_wait_s:", "traffic_threshold:", "hold_max_s:"},
		},
		{
			`{"map_reset":"x","completion":"x","map_gate":"x","gamma_rack":-1}`,
			[]string{"map_reset:", "completion:", "map_gate:", "gamma_rack:"},
		},
	} {
		p, err := New([]byte(tc.raw))
		for _, w := range tc.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v, want it to name %s", tc.raw, err, w)
			}
		}
		if len(tc.want) == 0 && (err != nil || p == nil) {
			t.Errorf("%s: %v", tc.raw, err)
		}
		if len(tc.want) > 0 && p != nil {
			t.Errorf("%s: a policy in spite of the error", tc.raw)
		}
	}
}

// A delayed reduce that is launched is delayed no more: what the job asks for
// later has not been passed over.
func TestDelayedReducesAreUsedUp(t *testing.T) {
	t.Parallel()
	p := built(t, nil)
	session := func(reduces int, load model.BytesPerSecond) *policytest.Session {
		return policytest.NewSession(p, policytest.Scene{
			Nodes: workers(2, 4), Apps: []policytest.App{app("1", 1, reduces, bytes{model.GiB, model.GiB}, "n00")}, Config: state.DefaultConfig(),
			Capacity: 100, Loads: []model.UplinkSample{{Rack: "/r0", Out: load}},
		})
	}
	if placed := session(1, 100).Offer("n00", "", 0); len(placed) > 0 || delayed(p) != 1 {
		t.Fatalf("congested: placed %v, %d delayed", placed, delayed(p))
	}
	if placed := session(1, 0).Offer("n00", "", 0); len(placed) != 1 || delayed(p) != 0 {
		t.Fatalf("uncongested: placed %v, %d delayed", placed, delayed(p))
	}
	if j := session(5, 0).View().Job("1"); p.reduces.priority(j) != 2 { // complete, not delayed
		t.Errorf("turn %d of reduces asked for later", p.reduces.priority(j))
	}
}

// delayed is how many reduces were passed over and not launched since.
func delayed(p *policyAndRule) (n int) {
	for _, s := range p.jobs.All() {
		n += s.delayed.Skips
	}
	return n
}
