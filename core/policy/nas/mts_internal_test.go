package nas

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// Step 1 of Algorithm 2 by the jobs a node is local to finds what it finds by all
// jobs of the user, and so does the question whether there is any map at all.
func TestLocalOfMissesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
		params := DefaultParams()
		params.MapGate = []Gate{GateSoft, GateStrict, GateOff}[draw(0, 2)]
		p, err := NewWith(params)
		if err != nil {
			t.Fatal(err)
		}
		c := policytest.Generate(draw, policytest.DefaultShape()).Cluster()
		policytest.Churn(draw, c, p, func(in *policy.Input) {
			available := model.Bytes(draw(0, 4)) * 64 * model.MiB
			for _, n := range in.View.Nodes() {
				in.Offer.Node = n
				for _, u := range in.View.Users() {
					for _, gated := range []bool{false, true} {
						if got, want := p.maps.localOf(in, u, available, gated), everyLocal(p, in, u, available, gated); got != want {
							t.Fatalf("%s on %s, gated %t: %v, want %v", u.ID, n.ID, gated, got, want)
						}
						want := p.maps.mapsOf(in, u, available, gated).least.job != nil
						if got := p.maps.has(in, u, gated); got != want {
							t.Fatalf("%s on %s, gated %t: has a map: %t, want %t", u.ID, n.ID, gated, got, want)
						}
					}
				}
			}
		})
	})
}

// everyLocal is localOf by going through all the user's jobs.
func everyLocal(p *Policy, in *policy.Input, u *state.User, available model.Bytes, gated bool) *state.Job {
	var best mapTask
	for _, j := range u.Jobs() { // by arrival
		predicted := predict(j)
		level, ok := in.View.Locality(j.Map, in.Offer.Node)
		if !ok || level != model.NodeLocal || !in.Admits(j.Map) || j.Blacklisted(in.Offer.Node.Host) ||
			predicted.MapOutput() > available || (gated && p.classes.of(&predicted) != light) {
			continue
		}
		t := mapTask{job: j, output: predicted.MapOutput(), predicted: predicted.Predicted}
		if best.job == nil || (best.predicted && !t.predicted) || (best.predicted == t.predicted && t.output > best.output) {
			best = t
		}
	}
	return best.job
}
