package nas

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// crRTS is Algorithm 4.
//
// What it leaves open (algorithms.md 2.3.6): a user without any reduce for the
// node is not skipped; a reduce that waited its turn out sets the counter back
// (reduce_reset), or the user's medium and heavy reduces would all follow it at
// once. The third of the "three strategies" is taken to be that delayed reduces
// go first once the network is uncongested.
func (rs *reduceScheduler) crRTS(in *policy.Input) []model.Placement {
	for _, u := range in.View.Users() {
		s := rs.users.Find(u)
		if s == nil || s.ready == 0 {
			continue
		}
		if rs.skip.over(&s.reduces, in.View.Now()) {
			if j := rs.anyReduce(in, u); j != nil {
				if rs.params.ReduceReset {
					s.reduces.reset()
				}
				return rs.launchReduce(in, j, model.ReasonReduceWaited)
			}
			continue
		}
		j, others := rs.lightReduce(in, u)
		if j != nil {
			s.reduces.reset()
			return rs.launchReduce(in, j, model.ReasonLightReduce)
		}
		if others {
			s.reduces.skip(in.View.Now())
		}
	}
	return nil
}

// lightReduce returns the user's earliest light job with a reduce for the offer.
// Its medium and heavy jobs with one are delayed; others reports whether there
// are any.
func (rs *reduceScheduler) lightReduce(in *policy.Input, u *state.User) (found *state.Job, others bool) {
	for _, j := range u.Jobs() {
		s := rs.startable(in, j)
		switch {
		case s == nil:
		case s.class != light:
			others = true
			s.delayed = j.Reduce.Pending
		case found == nil:
			found = j
		}
	}
	return found, others
}

// anyReduce returns the job a user who was passed over for long enough launches
// a reduce of: "any" of them, so one that wants the rack if there is one, else
// the earliest.
func (rs *reduceScheduler) anyReduce(in *policy.Input, u *state.User) *state.Job {
	var first *state.Job
	for _, j := range u.Jobs() {
		if rs.startable(in, j) == nil {
			continue
		}
		predicted := predict(j)
		if rs.wanted(in.View, j, &predicted, in.Offer.Node.Rack.Index) {
			return j
		}
		if first == nil {
			first = j
		}
	}
	return first
}

// startable returns what is kept of a job that has a reduce for the offer, else
// nil.
func (rs *reduceScheduler) startable(in *policy.Input, j *state.Job) *jobState {
	s := rs.jobs.Find(j)
	if s == nil || s.reducesOf == nil || !in.Admits(j.Reduce) || j.Blacklisted(in.Offer.Node.Host) {
		return nil
	}
	return s
}
