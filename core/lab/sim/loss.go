package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// Loss is nodes that leave the cluster: a node or the whole of a rack. At is when
// the ResourceManager takes them for lost.
type Loss struct {
	Rack int            // from 1
	Node int            // of the rack, from 1; 0 is all of them
	At   model.Time     // when they leave
	For  model.Duration // until they are back; 0 is never
}

// faults are the losses of a run.
type faults struct {
	changes        []change
	liveNodes      []int  // nodes that are there, by rack
	lostContainers int    // containers of the others
	failing        []*job // a task of theirs finds no replica of its block
}

// change is nodes that leave, or come back.
type change struct {
	at    model.Time
	nodes []int
	leave bool
}

// newFaults returns what is to be lost; nil where nothing is.
func newFaults(losses []Loss, l *layout) *faults {
	if len(losses) == 0 {
		return nil
	}
	f := &faults{}
	for _, of := range l.rackNodes {
		f.liveNodes = append(f.liveNodes, len(of))
	}
	for _, loss := range losses {
		nodes := l.rackNodes[loss.Rack-1]
		if loss.Node > 0 {
			nodes = nodes[loss.Node-1:][:1]
		}
		f.changes = append(f.changes, change{loss.At, nodes, true})
		if loss.For > 0 {
			f.changes = append(f.changes, change{loss.At.Add(loss.For), nodes, false})
		}
	}
	slices.SortStableFunc(f.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return f
}

// checkLosses reports losses of what the cluster does not have, and those that
// leave nothing of it.
func checkLosses(losses []Loss, c *Cluster) error {
	var errs []error
	gone := map[[2]int]bool{}
	for _, l := range losses {
		switch {
		case l.Rack < 1 || l.Rack > len(c.Racks):
			errs = append(errs, fmt.Errorf("loss: the cluster has no rack %d", l.Rack))
		case l.Node < 0 || l.Node > c.Racks[l.Rack-1].Nodes:
			errs = append(errs, fmt.Errorf("loss: rack %d has no node %d", l.Rack, l.Node))
		case l.At < 0 || l.For < 0:
			errs = append(errs, fmt.Errorf("loss: of rack %d at %d ms for %d ms: neither may be negative", l.Rack, l.At, l.For))
		case l.For == 0 && l.Node > 0:
			gone[[2]int{l.Rack, l.Node}] = true
		case l.For == 0:
			for n := range c.Racks[l.Rack-1].Nodes {
				gone[[2]int{l.Rack, n + 1}] = true
			}
		}
	}
	nodes := 0
	for i := range c.Racks {
		nodes += c.Racks[i].Nodes
	}
	if len(gone) == nodes && nodes > 0 {
		errs = append(errs, errors.New("loss: every node is lost and none comes back: no job could end"))
	}
	return errors.Join(errs...)
}

// next returns when nodes leave or come back next; false without.
func (f *faults) next() (model.Time, bool) {
	if f == nil || len(f.changes) == 0 {
		return 0, false
	}
	return f.changes[0].at, true
}

// applyUntil runs the simulation up to every change until a time, and applies the
// change. What ends at the same time ends before it.
func (f *faults) applyUntil(s *Sim, until model.Time) {
	for at, some := f.next(); some && at <= until; at, some = f.next() {
		s.runUntil(at)
		s.now = at
		c := f.changes[0]
		f.changes = f.changes[1:]
		if c.leave {
			f.leave(s, c.nodes)
		} else {
			f.rejoin(s, c.nodes)
		}
		f.removeFailed(&s.world)
	}
}

// leave takes nodes away with all that is on them.
func (f *faults) leave(s *Sim, nodes []int) {
	var lost []int
	for _, i := range nodes {
		n := &s.layout.nodes[i]
		if n.losses++; n.losses == 1 {
			lost = append(lost, i)
			s.layout.lostNodes++
			s.updates.nodeChanged(n)
		}
	}
	f.endAttempts(&s.world, lost)
	for _, i := range lost {
		n := &s.layout.nodes[i]
		s.jobs.free = s.jobs.free.plus(n.total, -1)
		f.lostContainers += n.total.sum()
		n.total = pools{} // no heartbeat, no offer
		f.connect(&s.world, n.rack, -1)
	}
	for _, j := range s.jobs.live {
		f.loseOutputs(&s.world, j)
	}
	f.rereadBlocks(&s.world)
	f.redirectWrites(&s.world)
	f.relocateBlocks(&s.world, lost)
}

// rejoin brings nodes back: free, with their blocks, without the output of maps.
func (f *faults) rejoin(s *Sim, nodes []int) {
	var back []int
	for _, i := range nodes {
		n := &s.layout.nodes[i]
		if n.losses--; n.losses > 0 {
			continue
		}
		back = append(back, i)
		s.layout.lostNodes--
		s.updates.nodeChanged(n)
		n.total = s.cluster.Racks[n.rack].places()
		s.jobs.free = s.jobs.free.plus(n.total, 1)
		f.lostContainers -= n.total.sum()
		f.connect(&s.world, n.rack, +1)
	}
	f.relocateBlocks(&s.world, back)
}

// connect adds a node's interface to a rack, or takes it off.
func (f *faults) connect(s *world, rack, nodes int) {
	f.liveNodes[rack] += nodes
	s.net.SetNodes(rack, f.liveNodes[rack], s.layout.background.loads[rack])
}

// endAttempts ends what runs on nodes that are lost: tasks begin again elsewhere. A
// job whose ApplicationMaster was there loses all its attempts and waits for
// another one, which knows what is done (yarn.app.mapreduce.am.job.recovery.enable).
func (f *faults) endAttempts(s *world, lost []int) {
	for a := range s.running.list {
		attempt := &s.running.list[a]
		if attempt.job == nil || !slices.Contains(lost, int(attempt.node)) {
			continue
		}
		if !attempt.isAM {
			f.loseAttempt(s, int32(a))
			continue
		}
		j := attempt.job
		j.amNode = noNode
		s.jobs.appMasters--
		s.running.stop(s, int32(a), s.now)
		s.jobs.waiting = append(s.jobs.waiting, j)
	}
	for _, j := range s.jobs.live {
		if j.amNode != noNode && slices.Contains(lost, int(j.amNode)) {
			f.loseAM(s, j)
		}
	}
}

// loseAttempt ends an attempt of a task.
func (f *faults) loseAttempt(s *world, a int32) {
	s.stats.totals.lostAttempts++
	s.running.requeue(s, a)
}

// loseAM ends the ApplicationMaster of a job and all its attempts. The job waits for
// a container for the next one.
func (f *faults) loseAM(s *world, j *job) {
	s.vacate(&s.layout.nodes[j.amNode], j, 0, s.now.Sub(j.amSince))
	j.amNode = noNode
	s.jobs.appMasters--
	for a := range s.running.list {
		if attempt := &s.running.list[a]; attempt.job == j && !attempt.isAM {
			f.loseAttempt(s, int32(a))
		}
	}
	j.amLost = true
	for i := range j.stages {
		t := &j.stages[i]
		s.updates.demand[s.layout.pool(t.kind)] -= t.pending()
		t.asked = t.completed
	}
	j.updateWaitingMaps(s, nil)
	s.jobs.waiting = append(s.jobs.waiting, j)
}

// recoverAM has the new ApplicationMaster of a job ask for its maps again.
func (f *faults) recoverAM(s *world, j *job) {
	j.amLost = false
	for i := range j.stages {
		if t := &j.stages[i]; t.kind == model.StageMap {
			t.asked = t.total
			s.updates.demand[0] += t.pending()
		}
	}
	j.updateWaitingMaps(s, nil)
	s.updates.jobChanged(j)
}

// loseOutputs has the tasks of a job run again that are done and whose output was
// on a lost node, if tasks that read it are not done (JobImpl.actOnUnusableNode).
// Later stages are looked at first: those that run again read again.
func (f *faults) loseOutputs(s *world, j *job) {
	for i := len(j.stages) - 1; i >= 0; i-- {
		t := &j.stages[i]
		needed := slices.ContainsFunc(t.readers, func(e *edge) bool { return !e.to.complete() })
		for task, state := range t.state {
			if len(t.readers) == 0 || state != done {
				continue
			}
			if at := t.taskNodes[task]; at >= 0 && s.layout.nodes[at].losses > 0 {
				t.taskNodes[task] = ^at // it is gone, whether anybody needs it or not
			}
			if needed && t.taskNodes[task] < 0 {
				f.redoTask(s, j, t, task)
			}
		}
	}
}

// redoTask has a task run again that is done.
func (f *faults) redoTask(s *world, j *job, t *stage, task int) {
	n, out := &s.layout.nodes[^t.taskNodes[task]], t.outputOf(task)
	if t.redone == nil {
		t.redone = map[int]bool{}
	}
	t.redone[task] = true
	t.completed--
	t.outputDone -= out
	t.outputByRack[n.rack] -= out
	if t.kind == model.StageMap {
		t.inputDone -= t.in.size(task)
	}
	for _, e := range t.readers {
		e.retract(s.net, task, n.rack, out)
	}
	s.stats.totals.redoneTasks++
	s.stats.totals.fetchGroups += len(t.readers) * len(s.layout.rackNodes) // what is taken back is rounded
	t.launchedOn[n.rack] -= t.units(task)
	t.requeue(s, j, task, n)
}

// rereadBlocks has maps that read from a lost node read the rest from another replica.
func (f *faults) rereadBlocks(s *world) {
	for id, a := range s.owners.transfers {
		if a < 0 {
			continue
		}
		attempt := &s.running.list[a]
		if kind, _, _ := s.net.Route(network.ID(id)); kind != network.MapRead || s.layout.nodes[attempt.source].losses == 0 {
			continue
		}
		s.owners.transfers[id] = noNode
		rest := s.net.RemoveTransfer(network.ID(id))
		attempt.job.stages[attempt.stage].readOver(s, a, rest)
	}
}

// redirectWrites sends the rest of copies that were on their way to a rack without nodes
// to another.
func (f *faults) redirectWrites(s *world) {
	for id, a := range s.owners.transfers {
		if a < 0 {
			continue
		}
		kind, _, to := s.net.Route(network.ID(id))
		if kind != network.Write || f.liveNodes[to] > 0 {
			continue
		}
		s.owners.transfers[id] = noNode
		if !s.write(a, s.net.RemoveTransfer(network.ID(id))) {
			s.events.push(max(s.now, s.running.list[a].computedAt), a)
		}
	}
}

// liveRack returns the rack that a copy goes to: the wanted one if it has live nodes,
// else the next that has and is not the writer's own; the own one if there is none.
func (f *faults) liveRack(to, own int) int {
	if f == nil {
		return to
	}
	for range f.liveNodes {
		if f.liveNodes[to] > 0 && to != own {
			return to
		}
		to = (to + 1) % len(f.liveNodes)
	}
	return own
}

// relocateBlocks updates the replicas on nodes that left or came back, in the lists
// of waiting tasks and in the jobs' next reports.
func (f *faults) relocateBlocks(s *world, nodes []int) {
	for _, j := range s.jobs.live {
		f.relistTasks(s, j)
		if j.isReported {
			j.updateWaitingMaps(s, nodes)
			s.updates.jobChanged(j)
		}
	}
}

// relistTasks lists the tasks of a job that wait by where their blocks are now.
func (f *faults) relistTasks(s *world, j *job) {
	for i := range j.stages {
		if t := &j.stages[i]; f != nil && t.kind == model.StageMap {
			t.listByPlace(&s.layout)
			j.blocksMoved = j.isReported && (j.blocksMoved || slices.Max(t.in.nodes) >= 0)
		}
	}
}

// failJob marks a job for removal: one of its tasks finds no replica of its block.
func (f *faults) failJob(j *job) {
	if !slices.Contains(f.failing, j) {
		f.failing = append(f.failing, j)
	}
}

// removeFailed ends the jobs that failJob has marked.
func (f *faults) removeFailed(s *world) {
	if f == nil {
		return
	}
	for _, j := range f.failing {
		s.jobs.leave(s, j, s.now)
		s.stats.jobLeft(j, s.now)
	}
	f.failing = f.failing[:0]
}

// containers returns how many containers the cluster has now.
func (f *faults) containers(l *layout) int {
	if f == nil {
		return l.containers
	}
	return l.containers - f.lostContainers
}
