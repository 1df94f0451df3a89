package sim

import (
	"slices"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// requeue ends an attempt and has its task wait for another container.
func (r *attempts) requeue(s *world, a int32) {
	attempt := r.list[a]
	t := &attempt.job.stages[attempt.stage]
	r.stop(s, a, s.now)
	if t.speculation != nil && t.keepOther(s, &attempt) {
		return
	}
	t.running--
	t.requeue(s, attempt.job, int(attempt.task), &s.layout.nodes[attempt.node])
}

// stop ends an attempt without a result, whatever it is at.
func (r *attempts) stop(s *world, a int32, at model.Time) {
	attempt := r.list[a]
	n, pool := &s.layout.nodes[attempt.node], 0
	if !attempt.isAM {
		t, task := &attempt.job.stages[attempt.stage], int(attempt.task)
		pool = s.layout.pool(t.kind)
		t.stopFetching(s, a)
		t.launchedOn[n.rack] -= t.units(task)
		if t.kind == model.StageMap {
			n.runningOutput -= t.outputOf(task)
		}
	}
	if id := slices.Index(s.owners.transfers, a); id >= 0 {
		s.owners.transfers[id] = noNode
		s.net.RemoveTransfer(network.ID(id)) //nolint:gosec // small
	}
	s.events.drop(a)
	r.remove(a)
	if attempt.job.relayed != nil && !attempt.isAM {
		attempt.job.relayed.end(attempt.container, exitAborted)
	}
	s.vacate(n, attempt.job, pool, at.Sub(attempt.launched))
}

// stopAll stops all attempts of a job's tasks.
func (r *attempts) stopAll(s *world, j *job, at model.Time) {
	for a := range r.list {
		if attempt := &r.list[a]; attempt.job == j && !attempt.isAM {
			r.stop(s, int32(a), at)
		}
	}
}

// requeue has a task wait that ran on a node. The ApplicationMaster asks for a map
// at once, for others by its rules.
func (t *stage) requeue(s *world, j *job, task int, n *node) {
	t.state[task] = waiting
	t.firstWaiting, t.ranOnNode = min(t.firstWaiting, task), nil
	s.jobs.asRan.rewind()
	state := model.TaskPending
	switch {
	case j.amLost:
		t.asked--
		state = model.TaskFailed // asked for by nobody
	case t.kind == model.StageMap:
		s.updates.demand[0]++
	default:
		t.asked--
	}
	j.updateTask(t, task, state, n, s)
	s.updates.jobChanged(j)
}
