package nas

import (
	"heddle/core/state"
)

// follow brings each user's counts of jobs with maps to start and of jobs with
// reduces that may start up to date with the jobs that changed, and with all of
// them when the racks did: an offer then looks at no job of a user who has none.
// It keeps each job's class, and forgets what left.
func (rs *reduceScheduler) follow(v state.View) {
	if racks := v.Capacity().Racks; racks != rs.racks {
		rs.racks, rs.mark = racks, state.Mark{}
	}
	rs.changed, rs.mark = v.Changed(rs.mark, rs.changed[:0])
	for i, j := range rs.changed {
		rs.changed[i] = nil
		if j.State.Final() {
			if s := rs.jobs.Find(j); s != nil {
				s.count(nil, nil)
			}
			continue
		}
		var maps, reduces *userState
		s := rs.jobs.Of(j)
		if j.Map.Pending > 0 {
			maps = rs.users.Of(j.Owner)
		}
		predicted := predict(j)
		s.class = rs.classes.of(&predicted)
		if j.Reduce.Pending > 0 && rs.due(v, j, &predicted) {
			reduces = rs.users.Of(j.Owner)
		}
		s.count(maps, reduces)
	}
	rs.jobs.Prune(v)
	rs.users.Prune(v)
}

// count has a job's maps and its reduces counted by a user each, or by nobody.
func (s *jobState) count(maps, reduces *userState) {
	if s.mapsOf != maps {
		if s.mapsOf != nil {
			s.mapsOf.waiting--
		}
		if s.mapsOf = maps; maps != nil {
			maps.waiting++
		}
	}
	if s.reducesOf != reduces {
		if s.reducesOf != nil {
			s.reducesOf.ready--
		}
		if s.reducesOf = reduces; reduces != nil {
			reduces.ready++
		}
	}
}

// ready reports whether a user may have a reduce to start: its tasks may still
// not fit, or the job refuse the host.
func (rs *reduceScheduler) ready(u *state.User) bool {
	s := rs.users.Find(u)
	return s != nil && s.ready > 0
}
