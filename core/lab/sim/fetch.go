package sim

import (
	"slices"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// fetch starts the fetching of a task: over every edge with the others of its
// rack, or on its own where tasks draw unequal parts.
func (t *stage) fetch(s *world, a int32, at model.Time) {
	attempt := &s.running.list[a]
	if attempt.openGroups = int32(len(t.inputs)); attempt.openGroups == 0 { //nolint:gosec // bounded by the stages
		s.compute(t, a, at)
		return
	}
	attempt.job.beginFetching(at)
	rack := s.layout.nodes[attempt.node].rack
	for _, e := range t.inputs {
		shuffle, own := e.shuffle, network.JobID(noID)
		if e.fetchesAlone() {
			shuffle = e.openTaskShuffle(s, int(attempt.task))
			own = shuffle
		}
		id := s.net.AddReduces(shuffle, rack, 1)
		i := slices.IndexFunc(t.groups, func(g *group) bool { return g.id == id })
		if i < 0 {
			i = len(t.groups)
			t.groups = append(t.groups, &group{id: id, job: attempt.job, stage: t, edge: e, rack: rack, task: int(attempt.task), shuffle: own})
			s.owners.ownGroup(id, t.groups[i])
			s.stats.totals.fetchGroups++
			if own != noID {
				e.ownGroups = append(e.ownGroups, t.groups[i])
			}
		}
		t.groups[i].tasks = append(t.groups[i].tasks, a)
	}
}

// openTaskShuffle opens what one task fetches over an edge on its own, with what is there
// of it already.
func (e *edge) openTaskShuffle(s *world, task int) network.JobID {
	id := s.net.AddJob(1)
	sum := make([]model.Bytes, len(s.layout.rackNodes))
	for from, state := range e.from.state {
		if state == done {
			sum[s.layout.nodes[e.from.taskNodes[from]].rack] += e.bytesFor(task, from, e.from.outputOf(from))
		}
	}
	for rack, bytes := range sum {
		if bytes > 0 {
			s.net.AddOutput(id, rack, bytes)
		}
	}
	if e.from.complete() {
		s.net.Seal(id)
	}
	return id
}

// bytesFor returns what a task draws of the output of a task of the source.
func (e *edge) bytesFor(task, from int, output model.Bytes) model.Bytes {
	switch {
	case e.kind != model.OneToOne:
		return e.to.draws(task, output)
	case task == from:
		return output
	}
	return 0
}

// deliver adds the output of a finished task to what the readers of an edge fetch;
// again says that the output was delivered before, and lost.
func (e *edge) deliver(net *network.Fast, task, rack int, output model.Bytes, again bool) {
	over := e.from.complete()
	if !e.fetchesAlone() {
		if again {
			net.RemakeOutput(e.shuffle, rack, output)
		} else {
			net.AddOutput(e.shuffle, rack, output)
		}
		if over {
			net.Seal(e.shuffle)
		}
		return
	}
	for _, g := range e.ownGroups {
		switch bytes := e.bytesFor(g.task, task, output); {
		case slices.Contains(g.lostTasks, task):
			net.RemakeOutput(g.shuffle, rack, bytes)
		case bytes > 0:
			net.AddOutput(g.shuffle, rack, bytes)
		}
		if over {
			net.Seal(g.shuffle)
		}
	}
}

// retract takes the lost output of a task away from the readers of an edge.
func (e *edge) retract(net *network.Fast, task, rack int, output model.Bytes) {
	if !e.fetchesAlone() {
		net.RemoveOutput(e.shuffle, rack, output)
		return
	}
	for _, g := range e.ownGroups {
		if bytes := e.bytesFor(g.task, task, output); bytes > 0 {
			g.lostTasks = append(g.lostTasks, task)
			net.RemoveOutput(g.shuffle, rack, bytes)
		}
	}
}

// remove takes a group that fetches no more off its stage.
func (g *group) remove(m *transferOwners) {
	m.groups[g.id] = nil
	same := func(o *group) bool { return o == g }
	g.stage.groups = slices.DeleteFunc(g.stage.groups, same)
	if g.shuffle != noID {
		g.edge.ownGroups = slices.DeleteFunc(g.edge.ownGroups, same)
	}
}

// stopFetching ends the fetching of a task that is killed.
func (t *stage) stopFetching(s *world, a int32) {
	for _, g := range slices.Backward(t.groups) { // backward: a group that is dropped is taken out
		at := slices.Index(g.tasks, a)
		if at < 0 {
			continue
		}
		g.tasks = slices.Delete(g.tasks, at, at+1)
		if len(g.tasks) > 0 {
			s.net.RemoveReduces(g.id, 1)
			continue
		}
		g.remove(&s.owners)
		if g.shuffle == noID {
			s.net.RemoveGroup(g.id)
		} else {
			s.net.RemoveJob(g.shuffle)
		}
	}
}
