// Package fair implements fair scheduling as Hadoop's Fair Scheduler does it
// (FairScheduler, FairSharePolicy; algorithms.md 2.5.2). Every user has a queue,
// and a queue below its minimum share is served first, the others by least
// memory over weight. Inside a queue the job with the least memory goes first,
// or the one submitted first. Inside a job reduces that are due go before maps,
// and a map is taken at whatever locality the node gives it, unless the locality
// thresholds make it wait for a better node (policy.NewLevels).
//
// What is changed, and why:
//   - The papers say both "per user" and "among jobs"; here it is users, and jobs
//     inside (algorithms.md 2.5.2), which is YARN's user-as-default-queue.
//   - Preemption is not there: heddle starts tasks and stops none.
//   - assignmultiple is not a parameter. Place answers one offer with one
//     container, and who offers decides how many follow in one heartbeat.
//   - A queue without demand comes last in FairSharePolicy. It gets nothing
//     wherever it comes, so the order is not changed for it.
//
// Place costs O(U + J) for the users and jobs it has to look at, which stand in
// their order already; minimum shares cost one more look at every user, and at
// the jobs of those who have one. It trusts the usage of users and jobs in the
// cluster state.
package fair

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "fair"

// Policy is the fair scheduler.
type Policy struct {
	params Params
	levels *policy.LocalityWaits

	needy []needy       // scratch of users
	order []*state.User // likewise
}

var _ policy.Policy = (*Policy)(nil)

// needy is a user below the minimum share.
type needy struct {
	user  *state.User
	ratio float64 // of usage over minimum share
}

// Place implements policy.Policy.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	p.levels.Begin(in.View)
	clear(p.order)
	if !in.Offer.Usable() {
		return nil
	}
	for _, u := range p.users(in.View) {
		for _, j := range p.jobs(u) {
			s := in.Next(j)
			if s == nil {
				continue
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

// jobs returns a user's jobs in the order of the queue's own policy.
func (p *Policy) jobs(u *state.User) []*state.Job {
	if p.params.SchedulingPolicy == JobsFIFO {
		return u.Jobs()
	}
	return u.JobsByUsage()
}

// users returns the users in FairSharePolicy's order. Only users with a minimum
// share can come before where usage over weight puts them.
func (p *Policy) users(v state.View) []*state.User {
	byShare := v.Users()
	if len(p.params.MinResources) == 0 {
		return byShare
	}
	p.needy = p.needy[:0]
	for _, u := range byShare {
		if ratio := p.ratio(u); ratio < 1 {
			p.needy = append(p.needy, needy{u, ratio})
		}
	}
	slices.SortFunc(p.needy, func(a, b needy) int {
		return cmp.Or(cmp.Compare(a.ratio, b.ratio), cmp.Compare(a.user.Jobs()[0].Submitted, b.user.Jobs()[0].Submitted), cmp.Compare(a.user.ID, b.user.ID))
	})
	p.order = p.order[:0]
	for i := range p.needy {
		p.order = append(p.order, p.needy[i].user)
		p.needy[i].user = nil
	}
	for _, u := range byShare {
		if !slices.Contains(p.order[:len(p.needy)], u) {
			p.order = append(p.order, u)
		}
	}
	return p.order
}

// ratio returns what a user has of the minimum share, which is never more than
// the user can use; 1 or more for a user who is not below it.
func (p *Policy) ratio(u *state.User) float64 {
	least := p.params.MinResources[u.ID]
	if least <= 0 {
		return 1
	}
	demand := u.Usage.MemoryMiB
	for _, j := range u.Jobs() {
		for _, s := range [...]*state.Stage{j.Map, j.Reduce, j.Other} {
			demand += int64(s.Pending) * s.Capability.MemoryMiB
		}
	}
	if least = min(least, demand); least <= 0 {
		return 1
	}
	return float64(u.Usage.MemoryMiB) / float64(least)
}
