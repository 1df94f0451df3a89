package shufflewatcher

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/policy"
	"heddle/core/policy/policytest"
)

// Whoever has a good task for an offer has prospects on its rack, whatever was
// launched and withdrawn before: users without are not searched.
func TestProspectsMissNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
		params := DefaultParams()
		params.AssumeUnknown = draw(0, 1) == 1
		p, err := NewWith(params)
		if err != nil {
			t.Fatal(err)
		}
		c := policytest.Generate(draw, policytest.DefaultShape()).Cluster()
		policytest.Churn(draw, c, p, func(in *policy.Input) { promised(t, p, in) })
	})
}

func promised(t *rapid.T, p *Policy, in *policy.Input) {
	follow(p, in.View)
	for _, n := range in.View.Nodes() {
		in.Offer.Node = n
		for _, u := range in.View.Users() {
			for _, saturated := range []bool{false, true} {
				h := p.search(in, u, saturated)
				if h.job != nil && h.line.good(false) && !p.users.Of(u).prospects.may(n.Rack.Index, saturated) {
					t.Fatalf("%s has line %d of %s for %s, saturated %t, and no prospects there", u.ID, h.line, h.job.ID, n.ID, saturated)
				}
			}
		}
	}
}
