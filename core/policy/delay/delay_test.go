package delay_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/delay"
	"heddle/core/policy/fair"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// A.2: D >= .23 M for 95 % locality, 20 tasks and 3 replicas.
func TestSkipsFor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		nodes, replicas int
		locality        float64
		tasks           int
		want            float64
	}{
		{100, 3, 0.95, 20, 23.10},
		{1, 3, 0.95, 20, 0.2310},
		{100, 1, 0.95, 20, 69.31},
		{100, 3, 0.80, 20, 7.438},
		{0, 3, 0.95, 20, 0},
		{100, 3, 1, 20, math.Inf(1)},
	} {
		got := delay.SkipsFor(tc.nodes, tc.replicas, tc.locality, tc.tasks)
		if math.Abs(got-tc.want) > 0.01 && got != tc.want {
			t.Errorf("SkipsFor(%d, %d, %g, %d) = %g, want %g", tc.nodes, tc.replicas, tc.locality, tc.tasks, got, tc.want)
		}
	}
}

// byArrival is fair scheduling with a user's jobs in the order delay scheduling
// has them in, and both locality thresholds as given.
func byArrival(t interface{ Fatal(args ...any) }, threshold float64) *fair.Policy {
	p, err := fair.NewWith(fair.Params{SchedulingPolicy: fair.JobsFIFO, LocalityNode: threshold, LocalityRack: threshold})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A.3: delay scheduling that does not wait is fair with locality preference.
func TestNoDelayIsFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") }
		scene := policytest.Generate(draw, policytest.DefaultShape())
		for _, p := range []delay.Params{
			{Mode: delay.Simple, D: 0},
			{Mode: delay.TwoLevel, D: delay.Auto},
			{Mode: delay.YARN, LocalityNode: policy.NoDelay, LocalityRack: policy.NoDelay},
		} {
			d, err := delay.NewWith(p)
			if err != nil {
				rt.Fatal(err)
			}
			waits, goes := policytest.NewSession(d, scene), policytest.NewSession(byArrival(rt, policy.NoDelay), scene)
			for range 10 {
				node := scene.Nodes[draw(0, len(scene.Nodes)-1)].ID
				got, want := waits.Offer(node, "", model.Second), goes.Offer(node, "", model.Second)
				if len(got) != len(want) {
					rt.Fatalf("%+v places %v, fair %v", p, got, want)
				}
				for i := range got {
					if got[i].App != want[i].App || got[i].Stage != want[i].Stage || got[i].Locality != want[i].Locality {
						rt.Fatalf("%+v places %+v, fair %+v", p, got[i], want[i])
					}
					waits.Assume(got[i])
					goes.Assume(want[i])
				}
			}
		}
	})
}

// Mode yarn is the Fair Scheduler's own delay: with the same thresholds fair
// gives the same answers.
func TestYARNIsFairWithThresholds(t *testing.T) {
	t.Parallel()
	waited := 0
	try := func(t rapid.TB, draw func(lo, hi int) int) {
		scene := policytest.Generate(draw, policytest.DefaultShape())
		threshold := float64(draw(0, 10)) / 10
		p, err := delay.NewWith(delay.Params{Mode: delay.YARN, LocalityNode: threshold, LocalityRack: threshold})
		if err != nil {
			t.Fatal(err)
		}
		one, other := policytest.NewSession(p, scene), policytest.NewSession(byArrival(t, threshold), scene)
		for range 20 {
			node := scene.Nodes[draw(0, len(scene.Nodes)-1)].ID
			got, want := slices.Clone(one.Ask(node, "")), other.Ask(node, "")
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("fair (-) and delay (+) differ:\n%s", diff)
			}
			for _, p := range got {
				if p.Reason == model.ReasonDelayExpired || p.Reason == model.ReasonDelayRackLocal {
					waited++
				}
				one.Assume(p)
				other.Assume(p)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		try(rt, func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") })
	})
	// The same scenes in every run, so that the test never passes because no map had to wait.
	for seed := range uint64(50) {
		try(t, policytest.Seeded(seed))
	}
	if waited == 0 {
		t.Error("no map had to wait in any scene")
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, delay.New)
}

// scene has one job with pending maps on w11 (rack 1), offered from rack 1 and
// rack 2, and a node far away.
func scene(maps int, hosts ...string) policytest.Scene {
	s := policytest.Scene{Config: state.DefaultConfig()}
	for _, h := range []string{"w11", "w12", "w21"} {
		s.Nodes = append(s.Nodes, model.Node{
			ID: model.NodeID(h), Host: h, Rack: model.RackID("/r" + h[1:2]), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: 102400, VCores: 100},
		})
	}
	a := policytest.App{
		App:     model.App{ID: "a", User: "ann", State: model.AppRunning, Submitted: policytest.Epoch},
		MapTask: model.Resource{MemoryMiB: 1024, VCores: 1}, Slowstart: 0.05, MapOutput: model.Unknown, Rows: len(hosts) == 0,
	}
	for i := range maps {
		a.Maps = append(a.Maps, model.Task{Stage: model.StageMap, Index: i, State: model.TaskPending, Preferred: hosts, Input: -1, Output: -1, Shuffled: -1})
	}
	s.Apps = []policytest.App{a}
	return s
}

// offers gives "node@seconds" offers in turn and names what is placed.
func offers(t *testing.T, p delay.Params, s policytest.Scene, plan string) []string {
	t.Helper()
	d, err := delay.NewWith(p)
	if err != nil {
		t.Fatal(err)
	}
	session := policytest.NewSession(d, s)
	var out []string
	last := 0
	for f := range strings.FieldsSeq(plan) {
		var host string
		var at int
		if _, err := fmt.Sscanf(strings.ReplaceAll(f, "@", " "), "%s %d", &host, &at); err != nil {
			t.Fatalf("%q: %v", f, err)
		}
		placed := session.Offer(model.NodeID(host), "", model.Duration(at-last)*model.Second)
		last = at
		if len(placed) == 0 {
			out = append(out, "-")
		}
		for _, p := range placed {
			out = append(out, string(p.Reason))
			session.Assume(p)
		}
	}
	return out
}

const (
	local   = string(model.ReasonDelayNodeLocal)
	inRack  = string(model.ReasonDelayRackLocal)
	expired = string(model.ReasonDelayExpired)
)

func TestWaits(t *testing.T) {
	t.Parallel()
	simple := delay.Params{Mode: delay.Simple, D: 2}
	yarn := delay.Params{Mode: delay.YARN, LocalityNode: 0.67, LocalityRack: 0.34} // of 3 nodes: more than 2.01, more than 1.02
	at0 := delay.Params{Mode: delay.YARN}
	two := delay.Params{Mode: delay.TwoLevel, D: delay.Auto, W1S: 5, W2S: 3}
	for _, tc := range []struct {
		name   string
		params delay.Params
		scene  policytest.Scene
		plan   string
		want   []string
	}{
		{"simple: D skips for the rack", simple, scene(5, "w11"), "w12@0 w12@0 w12@0 w12@0", []string{"-", "-", inRack, inRack}},
		{"simple: D more for any node", simple, scene(5, "w11"), "w21@0 w21@0 w21@0 w21@0 w21@0 w21@0", []string{"-", "-", "-", "-", expired, expired}},
		{"simple: a local launch starts over", simple, scene(5, "w11"), "w12@0 w12@0 w11@0 w12@0 w12@0 w12@0", []string{"-", "-", local, "-", "-", inRack}},
		{"simple: a late launch does not", simple, scene(5, "w11"), "w12@0 w12@0 w12@0 w21@0 w21@0 w21@0", []string{"-", "-", inRack, "-", "-", expired}},
		{"simple: automatic D of three nodes is one", delay.Params{Mode: delay.Simple, D: delay.Auto}, scene(5, "w11"), "w12@0 w12@0", []string{"-", inRack}},
		{"simple: without places there is nothing to wait for", simple, scene(2), "w21@0 w11@0", []string{string(model.ReasonFairShare), string(model.ReasonFairShare)}},
		{"two-level: W1 for the rack", two, scene(5, "w11"), "w12@0 w12@4 w12@5", []string{"-", "-", inRack}},
		{"two-level: at rack level it stays", two, scene(5, "w11"), "w12@0 w12@5 w12@5 w12@6", []string{"-", inRack, inRack, inRack}},
		{"two-level: W1+W2 for any node", two, scene(5, "w11"), "w21@0 w21@5 w21@7 w21@8 w21@8", []string{"-", "-", "-", expired, expired}},
		{"two-level: from the rack level W2 for any node", two, scene(5, "w11"), "w12@0 w12@5 w21@5 w21@7 w21@8", []string{"-", inRack, "-", "-", expired}},
		{"two-level: from any node back to the rack", two, scene(5, "w11"), "w21@0 w21@8 w12@8 w21@9", []string{"-", expired, inRack, "-"}},
		{"two-level: a local launch starts over", two, scene(5, "w11"), "w12@0 w11@5 w12@5 w12@9 w12@10", []string{"-", local, "-", "-", inRack}},
		{"two-level: without places there is nothing to wait for", two, scene(2), "w21@0 w11@0", []string{string(model.ReasonFairShare), string(model.ReasonFairShare)}},
		{"yarn: more than the share of nodes for the rack", yarn, scene(5, "w11"), "w12@0 w12@0 w12@0", []string{"-", "-", inRack}},
		{"yarn: more than the other share after that for any node", yarn, scene(5, "w11"), "w21@0 w21@0 w21@0 w21@0 w21@0", []string{"-", "-", "-", "-", expired}},
		{"yarn: at a level it stays", yarn, scene(5, "w11"), "w12@0 w12@0 w12@0 w12@0", []string{"-", "-", inRack, inRack}},
		// The offer of w11 is past the second threshold, where the count starts over; the launch raises the level to the node's.
		{"yarn: a better launch raises the level", yarn, scene(9, "w11"), "w12@0 w12@0 w12@0 w12@0 w11@0 w12@0", []string{"-", "-", inRack, inRack, local, "-"}},
		{"yarn: a launch does not start the count over", yarn, scene(9, "w11"), "w11@0 w11@0 w12@0", []string{local, local, inRack}},
		{"yarn: a share of 0 is one offer each", at0, scene(5, "w11"), "w21@0 w21@0 w21@0", []string{"-", "-", expired}},
		{"yarn: without places there is nothing to wait for", yarn, scene(2), "w21@0 w11@0", []string{string(model.ReasonFairShare), string(model.ReasonFairShare)}},
		{"yarn: one threshold below 0 and there is no delay", delay.Params{Mode: delay.YARN, LocalityNode: 0.5, LocalityRack: policy.NoDelay}, scene(2, "w11"), "w21@0", []string{string(model.ReasonFairShare)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, offers(t, tc.params, tc.scene, tc.plan)); diff != "" {
				t.Errorf("placed (-want +got):\n%s", diff)
			}
		})
	}
}

// An offer no map was weighed for does not stop the clock.
func TestFullNodesDoNotStopTheClock(t *testing.T) {
	t.Parallel()
	s := scene(5, "w11")
	s.Nodes[2].Used = s.Nodes[2].Total
	p := delay.Params{Mode: delay.TwoLevel, D: delay.Auto, W1S: 4, W2S: 4}
	want := []string{"-", "-", "-", "-", inRack}
	if diff := cmp.Diff(want, offers(t, p, s, "w12@0 w21@1 w12@2 w21@3 w12@4")); diff != "" {
		t.Errorf("placed (-want +got):\n%s", diff)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{`{}`, nil},
		{`{"mode":"simple","d":135}`, nil},
		{`{"w1_s":0,"w2_s":0}`, nil},
		{`{"w3_s":1}`, []string{"w3_s"}},
		{`{"mode":"three","d":-2,"w1_s":-1,"w2_s":1e9}`, []string{"mode:", "d:", "w1_s:", "w2_s:"}},
		{`{"mode":"yarn","locality.threshold.node":0.5,"locality.threshold.rack":-1}`, nil},
		{`{"locality.threshold.node":1.5,"locality.threshold.rack":-2}`, []string{"locality.threshold.node:", "locality.threshold.rack:"}},
	} {
		p, err := delay.New([]byte(tc.raw))
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

var _ policy.Policy = (*delay.Policy)(nil)
