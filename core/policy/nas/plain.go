package nas

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// plain is what maps do without MTS: delay scheduling with the same skip
// counters by user. A user's earliest job with a node-local map launches it;
// once the user has been passed over for long enough, the earliest job with any.
func (ms *mapScheduler) plain(in *policy.Input) []model.Placement {
	for _, u := range in.View.Users() {
		local, first := plainMaps(in, u)
		if local != nil {
			if s := ms.users.Find(u); s != nil {
				s.maps.reset()
			}
			return in.Launch(local, local.Map, model.ReasonDelayNodeLocal)
		}
		if first == nil {
			continue
		}
		s := ms.users.Of(u)
		if ms.skip.over(&s.maps, in.View.Now()) {
			return ms.launchLate(in, s, first, model.ReasonDelayExpired)
		}
		s.maps.skip(in.View.Now())
	}
	return nil
}

// plainMaps returns the user's earliest jobs with a node-local map for the offer
// and with any.
func plainMaps(in *policy.Input, u *state.User) (local, first *state.Job) {
	for _, j := range u.Jobs() {
		if !in.Admits(j.Map) || j.Blacklisted(in.Offer.Node.Host) {
			continue
		}
		if level, _ := in.View.Locality(j.Map, in.Offer.Node); level == model.NodeLocal {
			return j, j
		}
		if first == nil {
			first = j
		}
	}
	return nil, first
}

// plain is what reduces do without CA-RTS: the first user's earliest job with a
// reduce.
func (rs *reduceScheduler) plain(in *policy.Input) []model.Placement {
	for _, u := range in.View.Users() {
		for _, j := range u.Jobs() {
			if in.Admits(j.Reduce) && j.ReducesDue() && !j.Blacklisted(in.Offer.Node.Host) {
				return rs.launchReduce(in, j, model.ReasonFairShare)
			}
		}
	}
	return nil
}
