package engine

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// offerCount counts where virtual offers put the tasks of each stage.
type offerCount struct {
	counts map[stageKey]*offered
	order  int
}

type stageKey struct {
	app   model.AppID
	stage model.Stage
}

type offered struct {
	byRack []int
	first  int // position of the job's first placement among all
	reason model.Reason
}

// planFromOffers derives targets for a policy without a Plan of its own: every
// free container is offered once, node after node as heartbeats would come, and
// the targets are the tasks already launched plus those the policy placed.
func (e *Engine) planFromOffers(jobs []*state.Job) ([]model.Plan, error) {
	e.offers = offerCount{counts: map[stageKey]*offered{}}
	before := e.journal.Begin(true)
	assumed, err := e.offerAll()
	for _, p := range assumed {
		e.cluster.Withdraw(p)
	}
	e.journal.Discard(before)
	if err != nil {
		return nil, err
	}
	return e.offers.plans(e.in.View, jobs), nil
}

// offerAll returns what was placed; it is still assumed.
func (e *Engine) offerAll() (assumed []model.Placement, err error) {
	left := e.opts.MaxOffers
	for placed := true; placed && left > 0; {
		placed = false
		for _, n := range e.in.View.Nodes() {
			if left == 0 || !n.State.Usable() || n.Free.MemoryMiB <= 0 {
				continue
			}
			left--
			placements, err := e.Offer(policy.Offer{Node: n})
			if err != nil {
				return assumed, err
			}
			for _, p := range placements {
				e.cluster.Assume(p)
				assumed = append(assumed, p)
				e.offers.add(p, n.Rack.Index)
				placed = true
			}
		}
	}
	return assumed, nil
}

func (o *offerCount) add(p model.Placement, rack int) {
	k := stageKey{p.App, p.Stage}
	c := o.counts[k]
	if c == nil {
		o.order++
		c = &offered{first: o.order, reason: p.Reason}
		o.counts[k] = c
	}
	for len(c.byRack) <= rack {
		c.byRack = append(c.byRack, 0)
	}
	c.byRack[rack]++
}

// plans turns counts into one plan per stage that was offered anything, ranked
// by which job the policy served first.
func (o *offerCount) plans(v state.View, jobs []*state.Job) []model.Plan {
	var out []model.Plan
	for _, j := range jobs {
		for _, stage := range []model.Stage{model.StageMap, model.StageReduce} {
			c := o.counts[stageKey{j.ID, stage}]
			if c == nil {
				continue
			}
			out = append(out, model.Plan{App: j.ID, Stage: stage, Rank: c.first, Reason: model.ReasonOffers, Racks: targets(v, j.Stage(stage), c.byRack)})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Plan) int { return cmp.Compare(a.Rank, b.Rank) })
	rank, seen := 0, map[model.AppID]int{}
	for i := range out {
		r, ok := seen[out[i].App]
		if !ok {
			rank++
			r = rank
			seen[out[i].App] = r
		}
		out[i].Rank = r
	}
	return out
}

func targets(v state.View, s *state.Stage, virtual []int) []model.RackTarget {
	var out []model.RackTarget
	sum := 0
	for r, rack := range v.Racks() {
		n := s.Launched(r)
		if r < len(virtual) {
			n += virtual[r]
		}
		if n > 0 {
			out = append(out, model.RackTarget{Rack: rack.ID, Count: n})
			sum += n
		}
	}
	for i := range out {
		out[i].Share = float64(out[i].Count) / float64(sum)
	}
	return out
}
