package network

import "heddle/core/model"

// JobID names a job in Fast from AddJob to RemoveJob. JobIDs are small, and are
// used again.
type JobID int32

// reweighGrowth is by how much a job's map output grows before the weights of all its
// flows are recomputed: one part in growth.
const reweighGrowth = 2

// shuffles are the jobs whose map output is on its way to reduces. A group is
// the reduces of a job that started on a rack before its maps were done, or with
// one call after that; it has a flow from every rack: flow r of group g is
// fetches[g*racks+r].
type shuffles struct {
	queues      *flowQueues
	racks       int
	jobs        []shuffleJob
	groups      []group
	freeJobs    []JobID
	freeGroups  []ID
	urgentJobs  []JobID     // their output does not wait for the next solve
	pendingJobs []JobID     // their output is given to the groups with the next solve
	rows        []outputRow // scratch: fresh output of one job
}

// outputRow is fresh map output on a rack: bytes for each of the job's reduces, and
// what is left over.
type outputRow struct {
	rack       int
	each, rest model.Bytes
}

// shuffleJob is a shuffle. Slices are by rack.
type shuffleJob struct {
	reduces      int           // in all
	output       []model.Bytes // given to the groups
	newOutput    []model.Bytes // not given to the groups yet
	remainders   []uint64      // by source: parts in reduces of a byte that no group has been given
	openGroups   []ID          // by rack: the group that reduces join while maps run, or none
	groups       []ID
	total        model.Bytes // sum of output
	lostBytes    model.Bytes // taken away, and not made again
	weighedTotal model.Bytes // total when the weights were set
	flushedAt    model.Time  // when output was last given to the groups
	isSealed     bool
	isListed     bool // in urgent or dirty
	isUrgent     bool
}

// group is reduces of one job on one rack.
type group struct {
	job          JobID
	rack         int32
	reduces      int32       // fetching
	joining      int32       // started, and no output given to them yet
	place        int32       // in job.groups
	watched      bool        // one of its flows is watched, or has ended
	missingBytes model.Bytes // of what was taken away
}

// AddJob adds a job of so many reduces.
func (f *Fast) AddJob(reduces int) JobID {
	s := &f.shuffles
	var id JobID
	if n := len(s.freeJobs); n > 0 {
		id = s.freeJobs[n-1]
		s.freeJobs = s.freeJobs[:n-1]
	} else {
		id = JobID(toInt32(len(s.jobs)))
		s.jobs = append(s.jobs, shuffleJob{
			output: make([]model.Bytes, s.racks), newOutput: make([]model.Bytes, s.racks),
			remainders: make([]uint64, s.racks), openGroups: make([]ID, s.racks),
		})
	}
	j := &s.jobs[id]
	clear(j.output)
	clear(j.newOutput)
	clear(j.remainders)
	for r := range j.openGroups {
		j.openGroups[r] = none
	}
	*j = shuffleJob{
		reduces: max(reduces, 1), output: j.output, newOutput: j.newOutput, remainders: j.remainders, openGroups: j.openGroups,
		groups: j.groups[:0], flushedAt: f.queues.now.Add(-f.queues.config.MaxStep),
	}
	return id
}

// AddOutput adds the output of a map on a rack, which the reduces then fetch.
func (f *Fast) AddOutput(id JobID, rack int, bytes model.Bytes) {
	j := &f.shuffles.jobs[id]
	j.newOutput[rack] += bytes
	if len(j.groups) > 0 {
		f.shuffles.schedule(id, false)
	}
}

// AddReduces starts reduces on a rack. Each fetches its part, one in all the
// job's reduces, of what all maps leave, those before and those still to come.
// The group it returns is done when the job is sealed and all of its reduces
// have fetched all; reduces on a rack are one group until the job is sealed,
// and a group of their own after that.
func (f *Fast) AddReduces(id JobID, rack, reduces int) ID {
	j := &f.shuffles.jobs[id]
	g := j.openGroups[rack]
	if g == none {
		g = f.shuffles.newGroup(id, rack)
		if !j.isSealed {
			j.openGroups[rack] = g
		}
	}
	f.shuffles.groups[g].joining += toInt32(reduces)
	f.shuffles.schedule(id, j.isSealed)
	return g
}

// Seal says that no more map output comes.
func (f *Fast) Seal(id JobID) {
	j := &f.shuffles.jobs[id]
	j.isSealed = true
	for r := range j.openGroups {
		j.openGroups[r] = none
	}
	f.shuffles.schedule(id, true)
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
	s.freeJobs = append(s.freeJobs, id) // a list that still has it finds no output
	return left
}

// RemoveGroup ends the fetching of a group now, as when a rack is lost, and
// returns the bytes it had not fetched and that were known.
func (f *Fast) RemoveGroup(id ID) model.Bytes {
	s := &f.shuffles
	var left model.Bytes
	for r := range s.racks {
		left += f.queues.removeFlow(f.queues.fetches, toInt32(int(id)*s.racks+r))
	}
	f.queues.dropEnded(Shuffle, id)
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
	waiting := min(g.joining, toInt32(reduces))
	g.joining -= waiting
	gone := toInt32(reduces) - waiting
	if gone == 0 {
		return 0
	}
	part := float64(gone) / float64(g.reduces)
	g.reduces -= gone
	g.missingBytes -= model.Bytes(float64(g.missingBytes) * part)
	var left model.Bytes
	for r := range s.racks {
		left += s.shrinkFlow(toInt32(int(id)*s.racks+r), part)
	}
	f.queues.state.needed = true
	return left
}

// newGroup adds a group without reduces.
func (s *shuffles) newGroup(id JobID, rack int) ID {
	var g ID
	if n := len(s.freeGroups); n > 0 {
		g = s.freeGroups[n-1]
		s.freeGroups = s.freeGroups[:n-1]
	} else {
		g = ID(toInt32(len(s.groups)))
		s.groups = append(s.groups, group{})
		for range s.racks {
			s.queues.fetches = append(s.queues.fetches, flow{})
		}
	}
	j := &s.jobs[id]
	s.groups[g] = group{job: id, rack: toInt32(rack), place: toInt32(len(j.groups))}
	j.groups = append(j.groups, g)
	for r := range s.racks {
		s.queues.fetches[int(g)*s.racks+r] = flow{route: s.queues.routeOf(Shuffle, r, rack), slot: idle}
	}
	return g
}

// schedule puts a job on the list of those whose new output is to be given to the
// groups: at once when it cannot wait or the last time is a step ago, else with
// the next solve.
func (s *shuffles) schedule(id JobID, now bool) {
	j := &s.jobs[id]
	s.queues.state.needed = true
	if now = now || s.queues.now.Sub(j.flushedAt) >= s.queues.solveBy.Sub(s.queues.solvedAt); now && !j.isUrgent {
		j.isUrgent = true
		s.urgentJobs = append(s.urgentJobs, id)
	}
	if !now && !j.isListed {
		j.isListed = true
		s.pendingJobs = append(s.pendingJobs, id)
	}
}
