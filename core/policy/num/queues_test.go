package num_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/num"
	"heddle/core/policy/num/schedule"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// A policy that followed a cluster ranks all jobs as one that sees it for the first
// time, after every offer, launch and observation. The ranks are the order of all
// queues and the mix, so that they show what the policy goes by.
func TestQueuesEqualThoseFromScratch(t *testing.T) {
	t.Parallel()
	worlds := 2000
	if testing.Short() {
		worlds = 400
	}
	for seed := range worlds {
		draw := policytest.Seeded(uint64(seed))
		params := num.DefaultParams()
		params.P1, params.P2 = schedule.All()[draw(0, 3)], schedule.All()[draw(0, 3)]
		params.MapRate = 1e6 * float64(draw(1, 100))
		params.BufferS = float64(draw(0, 2))
		ranks := func(p policy.Planner, v state.View) []model.Plan {
			return p.Plan(&policy.Input{View: v, Jobs: v.Jobs()})
		}
		build := func() interface {
			policy.Policy
			policy.Planner
		} {
			p, err := num.NewWith(params)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		kept, launching := build(), build() // the mix of containers is only the launching one's
		scene := policytest.Generate(draw, policytest.DefaultShape())
		c := scene.Cluster()
		in := &policy.Input{View: c.View()}
		var assumed []model.Placement
		for range draw(1, 10) {
			if draw(0, 3) == 0 {
				for _, placed := range assumed { // an observation is not made of what was only assumed
					c.Withdraw(placed)
				}
				assumed = nil
				observe(c, &scene, draw)
			}
			in.Offer.Node = in.View.Nodes()[draw(0, len(in.View.Nodes())-1)]
			for _, placed := range launching.Place(in) {
				c.Assume(placed)
				assumed = append(assumed, placed)
			}
			if diff := cmp.Diff(ranks(build(), in.View), ranks(kept, in.View)); diff != "" {
				t.Fatalf("seed %d: ranks (-from scratch +kept):\n%s", seed, diff)
			}
		}
	}
}

// observe lets a node come or go, a job leave or come back, or counters move.
func observe(c *state.Cluster, scene *policytest.Scene, draw func(lo, hi int) int) {
	now := c.View().Now().Add(model.Second)
	apply := func(f model.Fact) { c.Apply(model.Observation{Source: model.SourceRM, At: now, Fact: f}) }
	switch draw(0, 2) {
	case 0:
		nodes := slices.Clone(scene.Nodes)
		nodes[draw(0, len(nodes)-1)].State = []model.NodeState{model.NodeRunning, model.NodeLost}[draw(0, 1)]
		apply(model.NodesFact{Nodes: nodes})
	case 1:
		var f model.AppsFact
		for i := range scene.Apps {
			if draw(0, 3) > 0 {
				f.Apps = append(f.Apps, scene.Apps[i].App)
			}
		}
		apply(f)
	case 2:
		for i := range scene.Apps {
			output := model.Bytes(draw(0, 2000)) * model.MiB
			apply(model.CountersFact{
				App: scene.Apps[i].ID, MapInput: 512 * model.MiB, MapOutput: output,
				ReduceShuffle: output / model.Bytes(draw(1, 4)), HDFSWritten: model.Unknown,
			})
		}
	}
}
