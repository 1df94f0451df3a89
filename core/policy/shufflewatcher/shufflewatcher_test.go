package shufflewatcher_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/policy/fair"
	"heddle/core/policy/policytest"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/shuffle"
	"heddle/core/state"
)

func build(t *testing.T, change func(*shufflewatcher.Params)) *dispatch.Dispatcher {
	t.Helper()
	params := shufflewatcher.DefaultParams()
	change(&params)
	p, err := shufflewatcher.NewWith(params)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Appendix C.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := shufflewatcher.Params{
		RatioInit: 1, WindowS: 600, WindowMode: "strict", RelaxS: 5, RelaxFor: "local", Scope: "rack", Fairness: "fair", WaitForTargetsS: 60, HoldMaxS: 120,
		TargetParams: shufflewatcher.TargetParams{MapCompletion: 0.15, Scan: "full", SAMP: true, SARP: true, RecomputeAt: 0.05, FromLaunches: true, SARPRefresh: true},
	}
	if diff := cmp.Diff(want, shufflewatcher.DefaultParams()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{``, nil},
		{`{"scan":"greedy","scope":"mean","window_mode":"timeout","waves":3,"assume_unknown":true,"relax_s":0}`, nil},
		{`{"map_completion":"much"}`, []string{"map_completion"}},
		{`{"mapcompletion_":0.1}`, []string{"mapcompletion_"}},
		{
			`{"map_completion":1.5,"ratio_init":-1,"window_s":-1,"window_mode":"x","relax_s":-1,"relax_for":"x","scope":"x","scan":"x","recompute_at":2,"waves":-1,"hold_max_s":601}`,
			[]string{"map_completion:", "ratio_init:", "window_s:", "window_mode:", "relax_s:", "relax_for:", "scope:", "scan:", "recompute_at:", "waves:", "hold_max_s:"},
		},
	} {
		p, err := shufflewatcher.New([]byte(tc.raw))
		if (err == nil) != (len(tc.want) == 0) || (err == nil) != (p != nil) {
			t.Errorf("%s: policy %v, error %v", tc.raw, p, err)
		}
		for _, w := range tc.want {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v does not name %s", tc.raw, err, w)
			}
		}
	}
}

// Whose load decides: the offered node's rack, any rack, or the mean.
func TestScope(t *testing.T) {
	t.Parallel()
	s := policytest.Scene{Capacity: 100, Config: state.DefaultConfig()}
	for _, h := range []string{"n1", "n2"} {
		s.Nodes = append(s.Nodes, model.Node{
			ID: model.NodeID(h), Host: h, Rack: model.RackID("/r" + h[1:]), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8},
		})
	}
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	task := func(stage model.Stage, i int, st model.TaskState, host string) model.Task {
		t := model.Task{Stage: stage, Index: i, State: st, Host: host, Input: -1, Output: -1, Shuffled: -1}
		if st == model.TaskPending {
			t.Preferred = []string{"n1"}
		}
		return t
	}
	s.Apps = []policytest.App{{
		App:     model.App{ID: "a", User: "u", State: model.AppRunning, Submitted: policytest.Epoch},
		MapTask: one, ReduceTask: one, MapOutput: model.Unknown,
		Maps:    []model.Task{task(model.StageMap, 0, model.TaskSucceeded, "n1"), task(model.StageMap, 1, model.TaskPending, "")},
		Reduces: []model.Task{task(model.StageReduce, 0, model.TaskPending, "")},
	}}
	s.Apps[0].Reduces[0].Preferred = nil
	for _, tc := range []struct {
		scope    policy.Scope
		r1, r2   float64
		mapFirst []bool // for an offer of n1 and of n2
	}{
		{policy.ScopeRack, 90, 0, []bool{true, false}},
		{policy.ScopeRack, 0, 90, []bool{false, true}},
		{policy.ScopeAny, 90, 0, []bool{true, true}},
		{policy.ScopeAny, 70, 70, []bool{false, false}},
		{policy.ScopeMean, 90, 0, []bool{false, false}},
		{policy.ScopeMean, 100, 60, []bool{true, true}},
	} {
		scene := s
		scene.Loads = []model.UplinkSample{{Rack: "/r1", Out: model.BytesPerSecond(tc.r1)}, {Rack: "/r2", In: model.BytesPerSecond(tc.r2)}}
		for i, node := range []model.NodeID{"n1", "n2"} {
			p := build(t, func(p *shufflewatcher.Params) { p.Scope, p.RelaxS = tc.scope, 0 })
			got := policytest.NewSession(p, scene).Ask(node, "")
			if len(got) != 1 || (got[0].Stage == model.StageMap) != tc.mapFirst[i] {
				t.Errorf("scope %s, loads %g and %g, offer of %s: %+v, want a map first: %v", tc.scope, tc.r1, tc.r2, node, got, tc.mapFirst[i])
			}
		}
	}
}

// A.2, Fig. 7: 90/10 of 100 GB and ten reduces: 9 and 1, 18 GB across racks;
// 5 and 5 send 50 GB.
func TestFigure7(t *testing.T) {
	t.Parallel()
	const gb = model.Bytes(1e9)
	output := []model.Bytes{90 * gb, 10 * gb}
	sarp := shuffle.Proportional(output, 10)
	if diff := cmp.Diff([]int{9, 1}, sarp); diff != "" {
		t.Errorf("reduces (-want +got):\n%s", diff)
	}
	if got := shuffle.CrossRack(output, sarp); got != 18*gb {
		t.Errorf("SARP sends %d, want 18 GB", got)
	}
	if got := shuffle.CrossRack(output, []int{5, 5}); got != 50*gb {
		t.Errorf("evenly placed they send %d, want 50 GB", got)
	}
}

// A.3: with no slack, the node goes to the first user in fair order who has a
// task for it, and stays idle only if no user has.
func TestWorkConservingPerUser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") }
		conserve(rt, draw)
	})
	for seed := range uint64(300) {
		conserve(t, policytest.Seeded(seed))
	}
}

type fataler interface {
	Fatalf(format string, args ...any)
	Helper()
}

func conserve(t fataler, draw policytest.Draw) {
	t.Helper()
	scene := policytest.Generate(draw, policytest.DefaultShape())
	params := shufflewatcher.DefaultParams()
	params.RelaxS, params.WaitForTargetsS = 0, 0
	params.WindowMode = []policy.WindowMode{policy.WindowStrict, policy.WindowTimeout}[draw(0, 1)]
	p, err := shufflewatcher.NewWith(params)
	if err != nil {
		t.Fatalf("%v", err)
	}
	s := policytest.NewSession(p, scene)
	for range 10 {
		node := scene.Nodes[draw(0, len(scene.Nodes)-1)].ID
		want := first(s.View(), s.View().Node(node))
		got := s.Ask(node, "")
		switch {
		case want == "" && len(got) > 0:
			t.Fatalf("placed %+v, no user has a task", got)
		case want != "" && len(got) == 0:
			t.Fatalf("nothing placed on %s, %s has a task", node, want)
		case want != "" && s.View().Job(got[0].App).User != want:
			t.Fatalf("placed %+v, want a task of %s", got, want)
		}
		for _, p := range got {
			s.Assume(p)
		}
	}
}

// first is the first user in fair order with a task for the node, by Fig. 3 and
// the gate alone.
func first(v state.View, n *state.Node) model.UserID {
	for _, u := range v.Users() {
		for _, j := range u.Jobs() {
			if !n.State.Usable() || j.Blacklisted(n.Host) {
				continue
			}
			open := n.Rack.Load.Saturated || j.Map.Total == 0 ||
				(j.Map.Completed >= 1 && float64(j.Map.Completed) >= j.Conf.Slowstart*float64(j.Map.Total))
			if (j.Map.Pending > 0 && v.Fits(j.Map, n.Free)) || (open && j.Reduce.Pending > 0 && v.Fits(j.Reduce, n.Free)) {
				return u.ID
			}
		}
	}
	return ""
}

// A.3: NASS alone, which orders tasks and prefers no rack, leaves the bytes
// across racks unchanged in expectation. SAMP and SARP are kept out by telling
// no blocks and following no map output; nodes are offered in random order.
func TestNASSAloneMovesNoBytes(t *testing.T) {
	t.Parallel()
	const racks, runs = 4, 600
	sum := map[string]float64{}
	for run := range uint64(runs) {
		r := rand.New(rand.NewPCG(7, run))
		scene := shuffling(racks, r)
		nass := build(t, func(p *shufflewatcher.Params) {
			p.MapCompletion, p.RelaxS, p.FromLaunches, p.SARPRefresh = 1, 0, false, false
		})
		fairly, err := fair.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		sum["fair"] += crossing(policytest.NewSession(fairly, scene), scene, rand.New(rand.NewPCG(8, run)))
		sum["nass"] += crossing(policytest.NewSession(nass, scene), scene, rand.New(rand.NewPCG(8, run)))
	}
	// With reduces on random racks the share is 1 - 1/R.
	for name, s := range sum {
		if got := s / runs; math.Abs(got-0.75) > 0.01 {
			t.Errorf("%s sends %.4f of the map output across racks, want 0.75", name, got)
		}
	}
}

// shuffling is a cluster with jobs whose maps are done and whose reduces wait.
// Half of its uplinks are saturated.
func shuffling(racks int, r *rand.Rand) policytest.Scene {
	s := policytest.Scene{Capacity: 100, Config: state.DefaultConfig()}
	for i := range racks {
		h := "n" + string(rune('a'+i))
		rack := model.RackID("/r" + h[1:])
		s.Nodes = append(s.Nodes, model.Node{ID: model.NodeID(h), Host: h, Rack: rack, State: model.NodeRunning, Total: model.Resource{MemoryMiB: 1 << 20, VCores: 1000}})
		s.Loads = append(s.Loads, model.UplinkSample{Rack: rack, Out: model.BytesPerSecond(100 * r.IntN(2))})
	}
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	for k := range 4 {
		a := policytest.App{
			App:     model.App{ID: model.AppID("j" + string(rune('0'+k))), User: "u", State: model.AppRunning, Submitted: policytest.Epoch.Add(model.Duration(k))},
			MapTask: one, ReduceTask: one, MapInput: 100, MapOutput: 0,
		}
		for i := range 6 {
			n := &s.Nodes[r.IntN(racks)]
			out := model.Bytes(1000 * (1 + r.IntN(9)))
			a.Maps = append(a.Maps, model.Task{Stage: model.StageMap, Index: i, State: model.TaskSucceeded, Host: n.Host, Rack: n.Rack, Input: -1, Output: out, Shuffled: -1})
			a.MapOutput += out
		}
		if k%2 == 0 {
			a.MapInput = 10 * a.MapOutput // light
		}
		for i := range 8 {
			a.Reduces = append(a.Reduces, model.Task{Stage: model.StageReduce, Index: i, State: model.TaskPending, Input: -1, Output: -1, Shuffled: -1})
		}
		s.Apps = append(s.Apps, a)
	}
	return s
}

// crossing offers random nodes until every reduce is placed and returns the
// share of the map output that crosses racks.
func crossing(s *policytest.Session, scene policytest.Scene, r *rand.Rand) float64 {
	placed := map[model.AppID][]int{}
	for range 10_000 {
		if len(placed) == len(scene.Apps) && total(placed) == 8*len(scene.Apps) {
			break
		}
		n := s.View().Nodes()[r.IntN(len(scene.Nodes))]
		for _, p := range s.Ask(n.ID, "") {
			if placed[p.App] == nil {
				placed[p.App] = make([]int, len(scene.Nodes))
			}
			placed[p.App][n.Rack.Index]++
			s.Assume(p)
		}
	}
	moved, all := 0.0, 0.0
	for _, j := range s.View().Jobs() {
		moved += float64(shuffle.CrossRack(j.Output.ByRack, placed[j.ID]))
		all += float64(shuffle.Total(j.Output.ByRack))
	}
	return moved / all
}

func total(placed map[model.AppID][]int) int {
	n := 0
	for _, racks := range placed {
		for _, c := range racks {
			n += c
		}
	}
	return n
}

// Place allocates nothing when it places nothing, and its result otherwise.
func TestPlaceAllocations(t *testing.T) {
	s := policytest.Generate(policytest.Seeded(3), policytest.Shape{Racks: 4, Nodes: 8, Users: 3, Apps: 6, Maps: 8, Reduces: 5, Uniform: true})
	p := build(t, func(p *shufflewatcher.Params) { p.RelaxS = 0 })
	session := policytest.NewSession(p, s)
	v := session.View()
	var served, full *state.Node
	for _, n := range v.Nodes() {
		if len(session.Ask(n.ID, "")) > 0 {
			served = n
		}
	}
	if served == nil {
		t.Fatal("the scene has nothing to place")
	}
	in := &policy.Input{View: v, Offer: policy.Offer{Node: served}}
	if got := testing.AllocsPerRun(100, func() { p.Place(in) }); got != 0 {
		t.Errorf("a placement allocates %g times, want never", got)
	}
	copied := *served
	copied.Free = model.Resource{}
	full = &copied
	in.Offer.Node = full
	if got := testing.AllocsPerRun(100, func() { p.Place(in) }); got != 0 {
		t.Errorf("placing nothing allocates %g times, want never", got)
	}
}
