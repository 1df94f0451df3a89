package nas

import (
	"heddle/core/policy"
	"heddle/core/state"
)

// follow brings each user's count of jobs with reduces that may start up to date
// with the jobs that changed, and with all of them when the racks did: an offer
// then looks at no job of a user who has none. It forgets what left.
func (rs *reduceScheduler) follow(v state.View) {
	if racks := v.Capacity().Racks; racks != rs.racks {
		rs.racks, rs.mark = racks, state.Mark{}
	}
	rs.changed, rs.mark = v.Changed(rs.mark, rs.changed[:0])
	for i, j := range rs.changed {
		rs.changed[i] = nil
		if j.State.Final() {
			if s := rs.jobs.Find(j); s != nil {
				s.count(nil)
			}
			continue
		}
		var of *userState
		s := rs.jobs.Of(j)
		if j.Reduce.Pending > 0 {
			if predicted := predict(j); rs.due(v, j, &predicted) {
				of, s.class = rs.user(j.Owner), rs.classes.of(&predicted)
			}
		}
		s.count(of)
	}
	rs.jobs.Prune(v)
	policy.PruneUsers(rs.users, v)
}

// count has a job counted by a user, or by nobody.
func (s *jobState) count(of *userState) {
	if s.countedBy == of {
		return
	}
	if s.countedBy != nil {
		s.countedBy.ready--
	}
	if s.countedBy = of; of != nil {
		of.ready++
	}
}

// ready reports whether a user may have a reduce to start: its tasks may still
// not fit, or the job refuse the host.
func (rs *reduceScheduler) ready(u *state.User) bool {
	s := rs.users[u.ID]
	return s != nil && s.ready > 0
}
