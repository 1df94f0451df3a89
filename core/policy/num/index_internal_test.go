package num

import (
	"math"
	"slices"
	"testing"

	"heddle/core/policy/num/schedule"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/lab/fluid/tandem"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// After every offer, launch and observation, what the policy goes by is what
// a ranking of all jobs from scratch says: the orders, P1's and P2's picks, and
// alpha, as package tandem has them for the jobs with maps to start.
func TestIndexIsTheRankingFromScratch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
		params := DefaultParams()
		params.P1 = rapid.SampledFrom(schedule.All()).Draw(t, "p1")
		params.P2 = rapid.SampledFrom(schedule.All()).Draw(t, "p2")
		params.MapRate = 1e6 * float64(draw(1, 100))
		params.BufferS = float64(draw(0, 2))
		p, err := NewWith(params)
		if err != nil {
			t.Fatal(err)
		}
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
			for _, placed := range p.Place(in) {
				c.Assume(placed)
				assumed = append(assumed, placed)
			}
			p.queues.look(in.View)
			compare(t, p, in.View)
		}
	})
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

func compare(t *rapid.T, p *Policy, v state.View) {
	t.Helper()
	scratch, err := NewWith(p.params)
	if err != nil {
		t.Fatal(err)
	}
	scratch.queues.look(v)
	for i, o := range p.queues.orders {
		if diff := cmp.Diff(ids(scratch.queues.orders[i]), ids(o)); diff != "" {
			t.Fatalf("order %d (-scratch +index):\n%s", i, diff)
		}
		if want := scratch.queues.orders[i]; want.ratios != o.ratios {
			t.Fatalf("order %d: ratios sum to %d, want %d", i, o.ratios, want.ratios)
		}
	}
	if p.queues.buffered != scratch.queues.buffered {
		t.Fatalf("%d us buffered, want %d", p.queues.buffered, scratch.queues.buffered)
	}
	var jobs []schedule.Job // in the map queue, by arrival
	for _, j := range v.Jobs() {
		if j.Map.Pending > 0 {
			jobs = append(jobs, scratch.queues.jobs.Find(j).fluid)
		}
	}
	r1, r2 := output(p.params.P1, jobs), output(p.params.P2, jobs)
	if got := p.first.output(); math.Abs(got-r1) > 1e-9*max(1, r1) {
		t.Fatalf("P1 puts out %g, want %g", got, r1)
	}
	if got := p.second.output(); math.Abs(got-r2) > 1e-9*max(1, r2) {
		t.Fatalf("P2 puts out %g, want %g", got, r2)
	}
}

// output is tandem's, with the ratios in whole parts.
func output(p schedule.Schedule, jobs []schedule.Job) float64 {
	shares := tandem.Single{Schedule: p}.MapShares(nil, jobs)
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Ratio = float64(parts(&entry{fluid: jobs[i]})) * ratioUnit
	}
	return tandem.Output(jobs, shares)
}

// ids lists the jobs of an order, which must be a heap of jobs that know where
// they are.
func ids(o *order) []model.AppID {
	list := slices.Clone(o.heap)
	slices.SortFunc(list, o.compare)
	if len(list) > 0 && list[0] != o.heap[0] {
		return []model.AppID{"not a heap"}
	}
	out := make([]model.AppID, 0, len(list))
	for i, e := range list {
		if o.heap[i].at[o.n] != i+1 {
			return []model.AppID{"lost " + o.heap[i].id}
		}
		out = append(out, e.id)
	}
	return out
}

// Whatever the weights, the second has had their sum to less than one container.
func TestDeficit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var d policy.Wait
		sum, got := 0.0, 0
		for range rapid.IntRange(1, 200).Draw(t, "containers") {
			w := float64(rapid.IntRange(0, 20).Draw(t, "weight")) / 20
			if secondsTurn(&d, w) {
				got++
			}
			charge(&d, w)
			sum += w
			if off := sum - float64(got); off < -1e-6 || off >= 1 {
				t.Fatalf("%d containers for weights of %g", got, sum)
			}
		}
	})
}
