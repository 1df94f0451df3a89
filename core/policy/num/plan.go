package num

import (
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Plan implements policy.Planner: the ranks of every job's maps and reduces, on
// any rack. Maps rank in the order in which containers would be granted if every
// job wanted one, the mix of P1 and P2 as it is now; reduces in P1's order, those
// with something to fetch first and those before slowstart last.
func (p *Policy) Plan(in *policy.Input) []model.Plan {
	p.queues.look(in.View)
	p.rankMaps()
	p.rankReduces(in.View)
	plans := make([]model.Plan, 0, 2*len(in.Jobs))
	for _, j := range in.Jobs {
		e := p.queues.jobs.Find(j)
		if e == nil || j.State.Final() {
			continue
		}
		if j.Map.Pending > 0 {
			plans = append(plans, model.Plan{App: j.ID, Stage: model.StageMap, Rank: e.rank[0], Reason: model.ReasonRankOnly})
		}
		if j.Reduce.Pending > 0 {
			plans = append(plans, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: e.rank[1], Reason: model.ReasonRankOnly})
		}
	}
	return plans
}

// rankMaps deals ranks to the map queue as containers are dealt.
func (p *Policy) rankMaps() {
	for _, o := range p.queues.orders {
		for _, e := range o.heap {
			e.rank[0] = 0
		}
	}
	first, second := p.first.listed(), p.second.listed()
	mix, weight := p.mix, 1-p.alpha()
	for rank := 1; ; rank++ {
		s := first
		if secondsTurn(&mix, weight) {
			s = second
		}
		e := s.next()
		if e == nil {
			return
		}
		charge(&mix, weight)
		e.rank[0] = rank
	}
}

// listing is a schedule of the map queue as sorted lanes, of which jobs are
// taken from the front.
type listing struct {
	lanes  [][]*entry
	halves policy.Wait
}

func (s *side) listed() *listing {
	l := &listing{halves: s.halves}
	for _, o := range s.lanes {
		lane := slices.Clone(o.heap)
		slices.SortFunc(lane, o.compare)
		l.lanes = append(l.lanes, lane)
	}
	return l
}

// next returns the job whose turn it is of those that have no rank, nil for none.
func (l *listing) next() *entry {
	for i, lane := range l.lanes {
		for len(lane) > 0 && lane[0].rank[0] > 0 {
			lane = lane[1:]
		}
		l.lanes[i] = lane
	}
	if len(l.lanes) == 0 {
		return nil
	}
	a := l.lanes[0]
	if len(l.lanes) > 1 {
		b := l.lanes[1]
		switch {
		case len(a) == 0:
			a = b
		case len(b) > 0:
			if secondsTurn(&l.halves, 0.5) {
				a = b
			}
			charge(&l.halves, 0.5)
		}
	}
	if len(a) == 0 {
		return nil
	}
	return a[0]
}

// rankReduces ranks the shuffle queue, and after it the jobs that will be in it.
func (p *Policy) rankReduces(v state.View) {
	o := p.queues.shuffle
	list := slices.Clone(o.heap)
	slices.SortFunc(list, o.compare)
	queued := len(list)
	for _, j := range v.Jobs() {
		if e := p.queues.jobs.Find(j); j.Reduce.Pending > 0 && !e.due {
			e.key[o.n], _ = o.of(e, j)
			list = append(list, e)
		}
	}
	slices.SortFunc(list[queued:], o.compare)
	for i, e := range list {
		e.rank[1] = i + 1
	}
}
