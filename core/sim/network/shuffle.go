package network

import "heddle/core/model"

// JobID names a job in Fast from AddJob to RemoveJob. JobIDs are small, and are
// used again.
type JobID int32

// growth is by how much a job's map output grows before the weights of all its
// flows are set anew: one part in growth.
const growth = 2

// shuffles are the jobs whose map output is on its way to reduces. A group is
// the reduces of a job that started on a rack before its maps were done, or with
// one call after that; it has a flow from every rack: flow r of group g is
// fetches[g*racks+r].
type shuffles struct {
	net        *fabric
	racks      int
	jobs       []job
	groups     []group
	freeJobs   []JobID
	freeGroups []ID
	urgent     []JobID // have something to hand on that does not wait for a step
	dirty      []JobID // have something to hand on with the next solve
	rows       []row   // scratch: fresh output of one job
}

// row is fresh map output on a rack: bytes for each of the job's reduces, and
// what is left over.
type row struct {
	rack       int
	each, rest model.Bytes
}

// job is a shuffle. Slices are by rack.
type job struct {
	reduces  int           // in all
	output   []model.Bytes // handed on to the groups
	fresh    []model.Bytes // not handed on
	carry    []uint64      // by source: parts in reduces of a byte that no group has been given
	here     []ID          // by rack: the group that reduces join while maps run, or none
	groups   []ID
	total    model.Bytes // sum of output
	lost     model.Bytes // taken away, and not made again
	weighed  model.Bytes // total when the weights were set
	handed   model.Time  // when it was last handed on
	sealed   bool
	awaiting bool // in urgent or dirty
	urgent   bool
}

// group is reduces of one job on one rack.
type group struct {
	job      JobID
	rack     int32
	reduces  int32       // fetching
	joining  int32       // started, and nothing handed on to them
	place    int32       // in job.groups
	followed bool        // one of its flows is watched, or has ended
	owed     model.Bytes // of what was taken away
}

// AddJob adds a job of so many reduces.
func (f *Fast) AddJob(reduces int) JobID {
	s := &f.shuffles
	var id JobID
	if n := len(s.freeJobs); n > 0 {
		id = s.freeJobs[n-1]
		s.freeJobs = s.freeJobs[:n-1]
	} else {
		id = JobID(small(len(s.jobs)))
		s.jobs = append(s.jobs, job{
			output: make([]model.Bytes, s.racks), fresh: make([]model.Bytes, s.racks),
			carry: make([]uint64, s.racks), here: make([]ID, s.racks),
		})
	}
	j := &s.jobs[id]
	clear(j.output)
	clear(j.fresh)
	clear(j.carry)
	for r := range j.here {
		j.here[r] = none
	}
	*j = job{
		reduces: max(reduces, 1), output: j.output, fresh: j.fresh, carry: j.carry, here: j.here,
		groups: j.groups[:0], handed: f.net.now.Add(-f.net.config.MaxStep),
	}
	return id
}

// AddOutput adds what a map on a rack has left for the reduces.
func (f *Fast) AddOutput(id JobID, rack int, bytes model.Bytes) {
	j := &f.shuffles.jobs[id]
	j.fresh[rack] += bytes
	if len(j.groups) > 0 {
		f.shuffles.await(id, false)
	}
}

// AddReduces starts reduces on a rack. Each fetches its part, one in all the
// job's reduces, of what all maps leave, those before and those still to come.
// The group it returns is done when the job is sealed and all of its reduces
// have fetched all; reduces on a rack are one group until the job is sealed,
// and a group of their own after that.
func (f *Fast) AddReduces(id JobID, rack, reduces int) ID {
	j := &f.shuffles.jobs[id]
	g := j.here[rack]
	if g == none {
		g = f.shuffles.newGroup(id, rack)
		if !j.sealed {
			j.here[rack] = g
		}
	}
	f.shuffles.groups[g].joining += small(reduces)
	f.shuffles.await(id, j.sealed)
	return g
}

// Seal says that no more map output comes.
func (f *Fast) Seal(id JobID) {
	j := &f.shuffles.jobs[id]
	j.sealed = true
	for r := range j.here {
		j.here[r] = none
	}
	f.shuffles.await(id, true)
}

// RemoveJob ends a job now, with the groups that are not done. It returns the
// bytes that they had not fetched and that were known.
func (f *Fast) RemoveJob(id JobID) model.Bytes {
	s := &f.shuffles
	j := &s.jobs[id]
	var left model.Bytes
	for len(j.groups) > 0 {
		left += f.RemoveGroup(j.groups[len(j.groups)-1])
	}
	s.freeJobs = append(s.freeJobs, id) // a list that still has it finds nothing to hand on
	return left
}

// RemoveGroup ends the fetching of a group now, as when a rack is lost, and
// returns the bytes it had not fetched and that were known.
func (f *Fast) RemoveGroup(id ID) model.Bytes {
	s := &f.shuffles
	var left model.Bytes
	for r := range s.racks {
		left += f.net.takeBack(f.net.fetches, small(int(id)*s.racks+r))
	}
	f.net.forget(Shuffle, id)
	s.detach(id)
	s.freeGroups = append(s.freeGroups, id)
	return left
}

// RemoveReduces ends so many reduces of a group now, as when they are killed, and
// returns the bytes they had not fetched and that were known. They are alike:
// each leaves its part of what the group has still to fetch. All of them are the
// group.
func (f *Fast) RemoveReduces(id ID, reduces int) model.Bytes {
	s := &f.shuffles
	g := &s.groups[id]
	if reduces >= int(g.reduces+g.joining) {
		return f.RemoveGroup(id)
	}
	waiting := min(g.joining, small(reduces))
	g.joining -= waiting
	gone := small(reduces) - waiting
	if gone == 0 {
		return 0
	}
	part := float64(gone) / float64(g.reduces)
	g.reduces -= gone
	g.owed -= model.Bytes(float64(g.owed) * part)
	var left model.Bytes
	for r := range s.racks {
		left += s.shrink(small(int(id)*s.racks+r), part)
	}
	f.net.mode.changed = true
	return left
}

// newGroup adds a group without reduces.
func (s *shuffles) newGroup(id JobID, rack int) ID {
	var g ID
	if n := len(s.freeGroups); n > 0 {
		g = s.freeGroups[n-1]
		s.freeGroups = s.freeGroups[:n-1]
	} else {
		g = ID(small(len(s.groups)))
		s.groups = append(s.groups, group{})
		for range s.racks {
			s.net.fetches = append(s.net.fetches, flow{})
		}
	}
	j := &s.jobs[id]
	s.groups[g] = group{job: id, rack: small(rack), place: small(len(j.groups))}
	j.groups = append(j.groups, g)
	for r := range s.racks {
		s.net.fetches[int(g)*s.racks+r] = flow{route: s.net.routeOf(Shuffle, r, rack), slot: idle}
	}
	return g
}

// await puts a job on the list of those with something to hand on: at once when
// it cannot wait or was last handed on a step ago, else with the next solve.
func (s *shuffles) await(id JobID, now bool) {
	j := &s.jobs[id]
	s.net.mode.changed = true
	if now = now || s.net.now.Sub(j.handed) >= s.net.next.Sub(s.net.solved); now && !j.urgent {
		j.urgent = true
		s.urgent = append(s.urgent, id)
	}
	if !now && !j.awaiting {
		j.awaiting = true
		s.dirty = append(s.dirty, id)
	}
}
