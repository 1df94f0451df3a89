package nas

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/policy"
	"heddle/core/policy/policytest"
)

// Whoever has a reduce to start for an offer counts as ready, whatever was
// launched and withdrawn before: jobs of others are not looked at.
func TestReadyMissesNobody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
		p, err := NewWith(DefaultParams())
		if err != nil {
			t.Fatal(err)
		}
		c := policytest.Generate(draw, policytest.DefaultShape()).Cluster()
		policytest.Churn(draw, c, p, func(in *policy.Input) {
			p.reduces.follow(in.View)
			for _, n := range in.View.Nodes() {
				in.Offer.Node = n
				for _, u := range in.View.Users() {
					if task := p.reduces.bestReduce(in, u); task.job != nil && !p.reduces.ready(u) {
						t.Fatalf("%s has a reduce of %s for %s, and is not ready", u.ID, task.job.ID, n.ID)
					}
				}
			}
		})
	})
}
