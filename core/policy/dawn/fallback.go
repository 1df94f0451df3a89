package dawn

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// fallback serves a rack nobody prefers: nobody for so many heartbeats, and
// then users in the queue's order, a user's jobs by arrival, with delay
// scheduling for maps. The paper has none (algorithms.md 2.4.5). The wait is the
// rack's, starts over when a job that prefers the rack is served, and only
// counts heartbeats that somebody could use.
func (p *Policy) fallback(in *policy.Input) []model.Placement {
	for _, u := range p.params.Fairness.Users(in.View) {
		q := p.orders.users[u.ID]
		if q == nil {
			continue
		}
		for _, k := range q.work {
			j := in.View.Job(k.id)
			s := next(in, j)
			if s == nil {
				continue
			}
			if !p.over(in) {
				return nil
			}
			if s.Kind != model.StageMap {
				return in.Launch(j, s, model.ReasonFairShare)
			}
			if reason, ok := p.levels.Take(in, j); ok {
				return in.Launch(j, s, reason)
			}
		}
	}
	return nil
}

// next returns the stage of the job the offer goes to: the one it is in, else
// any that is asked for and fits.
func next(in *policy.Input, j *state.Job) *state.Stage {
	switch {
	case j.Blacklisted(in.Offer.Node.Host):
		return nil
	case in.Admits(j.Map):
		return j.Map
	case j.ReducesDue() && in.Admits(j.Reduce):
		return j.Reduce
	case j.Graph != nil && in.Admits(j.Other):
		return j.Other
	}
	return nil
}

// over reports whether a rack has passed all the heartbeats it waits, and counts
// one that it passes.
func (p *Policy) over(in *policy.Input) bool {
	rack := in.Offer.Node.Rack.Index
	for len(p.waited) <= rack {
		p.waited = append(p.waited, &policy.Wait{})
	}
	if p.waited[rack].Skips >= p.params.Wait {
		return true
	}
	in.Journal.Edit(p.waited[rack]).Skips++
	return false
}
