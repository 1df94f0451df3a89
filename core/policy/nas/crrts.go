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
		s := rs.users[u.ID]
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
		predicted, ok := rs.startable(in, j)
		switch {
		case !ok:
		case rs.classes.of(&predicted) != light:
			others = true
			rs.jobs.Of(j).delayed = j.Reduce.Pending
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
		predicted, ok := rs.startable(in, j)
		if !ok {
			continue
		}
		if rs.wanted(in.View, j, &predicted, in.Offer.Node.Rack.Index) {
			return j
		}
		if first == nil {
			first = j
		}
	}
	return first
}

// startable reports whether a job has a reduce for the offer, and what is
// predicted of the job.
func (rs *reduceScheduler) startable(in *policy.Input, j *state.Job) (predicted state.Prediction, ok bool) {
	if !in.Admits(j.Reduce) || j.Blacklisted(in.Offer.Node.Host) {
		return predicted, false
	}
	predicted = predict(j)
	return predicted, rs.due(in.View, j, &predicted)
}
