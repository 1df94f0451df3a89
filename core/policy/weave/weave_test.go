package weave_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy/policytest"
	"heddle/core/policy/weave"
	"heddle/core/state"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, weave.New)
}

// TestNobodyWaitsForEver: whatever the cluster, a node that has room for a task which may start there and that is offered
// again and again is taken, after patience and admission have had their time.
func TestNobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	waited := 0
	try := func(t interface{ Fatalf(string, ...any) }, draw policytest.Draw) {
		scene := policytest.Generate(draw, policytest.DefaultShape())
		p, err := weave.New(nil)
		if err != nil {
			t.Fatalf("%v", err)
		}
		s := policytest.NewSession(p, scene)
		n := scene.Nodes[draw(0, len(scene.Nodes)-1)].ID
		if !startable(s.View(), n) {
			return
		}
		d := weave.DefaultParams()
		for step := range 2 * int(d.PatienceS+d.AdmitMaxS+d.BehindS) / 5 {
			if len(s.Offer(n, "", 5*model.Second)) > 0 {
				return
			}
			waited += min(step, 1)
		}
		t.Fatalf("nothing is started on %s, which has room for a task", n)
	}
	rapid.Check(t, func(rt *rapid.T) {
		try(rt, func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") })
	})
	for seed := range uint64(300) {
		try(t, policytest.Seeded(seed))
	}
	if waited == 0 {
		t.Error("nobody waited")
	}
}

// startable reports whether a node has room for a map, or for a reduce of a job without maps to start.
func startable(v state.View, id model.NodeID) bool {
	n := v.Node(id)
	return n.State.Usable() && slices.ContainsFunc(v.Jobs(), func(j *state.Job) bool {
		reduces := j.ReducesDue() && j.Map.Pending == 0 && j.Reduce.Pending > 0 && v.Fits(j.Reduce, n.Free)
		return !j.State.Final() && !j.Blacklisted(n.Host) && (reduces || (j.Map.Pending > 0 && v.Fits(j.Map, n.Free)))
	})
}
