package nas

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/policy"
	"heddle/core/policy/policytest"
)

// Whoever has a map or a reduce to start for an offer is counted, and every job
// with such a reduce, whatever was launched and withdrawn before: others are not
// looked at.
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
				for _, j := range in.View.Jobs() {
					u, predicted := j.Owner, predict(j)
					if in.Admits(j.Map) && (p.users.Find(u) == nil || p.users.Find(u).waiting == 0) {
						t.Fatalf("%s has a map of %s for %s, and does not count", u.ID, j.ID, n.ID)
					}
					due := in.Admits(j.Reduce) && p.reduces.due(in.View, j, &predicted)
					if due && !p.reduces.ready(u) {
						t.Fatalf("%s has a reduce of %s for %s, and is not ready", u.ID, j.ID, n.ID)
					}
					s := p.reduces.startable(in, j)
					if (s != nil) != (due && !j.Blacklisted(n.Host)) || p.jobs.Of(j).class != p.classes.of(&predicted) {
						t.Fatalf("%s has a reduce for %s: %v, kept %+v", j.ID, n.ID, due, s)
					}
				}
			}
		})
	})
}
