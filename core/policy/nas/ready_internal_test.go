package nas

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
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
		v := c.View()
		var running []model.Placement
		for range draw(1, 25) {
			in := &policy.Input{View: v, Offer: policy.Offer{Node: v.Nodes()[draw(0, len(v.Nodes())-1)]}}
			for _, placed := range p.Place(in) {
				c.Assume(placed)
				running = append(running, placed)
			}
			if len(running) > 0 && draw(0, 3) == 0 {
				last := len(running) - 1
				c.Withdraw(running[last])
				running = running[:last]
			}
			c.Advance(v.Now().Add(model.Duration(draw(0, 3000))))
			p.reduces.follow(v)
			for _, n := range v.Nodes() {
				in.Offer.Node = n
				for _, u := range v.Users() {
					if task := p.reduces.bestReduce(in, u); task.job != nil && !p.reduces.ready(u) {
						t.Fatalf("%s has a reduce of %s for %s, and is not ready", u.ID, task.job.ID, n.ID)
					}
				}
			}
		}
	})
}
