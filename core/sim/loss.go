package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"heddle/core/model"
	"heddle/core/sim/network"
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
	changes []change
	live    []int  // nodes that are there, by rack
	gone    int    // containers of the others
	doomed  []*job // with an attempt that finds no replica of its block
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
	for _, of := range l.ofRack {
		f.live = append(f.live, len(of))
	}
	for _, loss := range losses {
		nodes := l.ofRack[loss.Rack-1]
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

// happen lets everything happen up to the last change until then, and the
// changes: at one time what ends comes first.
func (f *faults) happen(s *Sim, until model.Time) {
	for at, some := f.next(); some && at <= until; at, some = f.next() {
		s.happen(at)
		s.now = at
		c := f.changes[0]
		f.changes = f.changes[1:]
		if c.leave {
			f.leave(s, c.nodes)
		} else {
			f.comeBack(s, c.nodes)
		}
		f.bury(&s.world)
	}
}

// leave takes nodes away with all that is on them.
func (f *faults) leave(s *Sim, nodes []int) {
	var lost []int
	for _, i := range nodes {
		n := &s.layout.nodes[i]
		if n.lost++; n.lost == 1 {
			lost = append(lost, i)
			s.layout.lost++
			s.desk.move(n)
		}
	}
	f.endAttempts(&s.world, lost)
	for _, i := range lost {
		n := &s.layout.nodes[i]
		s.jobs.free = s.jobs.free.plus(n.total, -1)
		f.gone += n.total.sum()
		n.total = pools{} // no heartbeat, no offer
		f.connect(&s.world, n.rack, -1)
	}
	for _, j := range s.jobs.live {
		f.loseOutputs(&s.world, j)
	}
	f.reread(&s.world)
	f.rewrite(&s.world)
	f.relocate(&s.world, lost)
}

// comeBack brings nodes back: free, with their blocks, without the output of maps.
func (f *faults) comeBack(s *Sim, nodes []int) {
	var back []int
	for _, i := range nodes {
		n := &s.layout.nodes[i]
		if n.lost--; n.lost > 0 {
			continue
		}
		back = append(back, i)
		s.layout.lost--
		s.desk.move(n)
		n.total = s.cluster.Racks[n.rack].places()
		s.jobs.free = s.jobs.free.plus(n.total, 1)
		f.gone -= n.total.sum()
		f.connect(&s.world, n.rack, +1)
	}
	f.relocate(&s.world, back)
}

// connect adds a node's interface to a rack, or takes it off.
func (f *faults) connect(s *world, rack, nodes int) {
	f.live[rack] += nodes
	s.net.SetNodes(rack, f.live[rack], s.cluster.Racks[rack].Background)
}

// endAttempts ends what runs on nodes that are lost: tasks begin anew elsewhere. A
// job whose ApplicationMaster was there loses all its attempts and waits for
// another one, which knows what is done (yarn.app.mapreduce.am.job.recovery.enable).
func (f *faults) endAttempts(s *world, lost []int) {
	for a := range s.running.list {
		by := &s.running.list[a]
		if by.job == nil || !slices.Contains(lost, int(by.node)) {
			continue
		}
		if !by.am {
			f.lose(s, int32(a))
			continue
		}
		j := by.job
		j.am = end
		s.jobs.masters--
		s.running.stop(s, int32(a), s.now)
		s.jobs.waiting = append(s.jobs.waiting, j)
	}
	for _, j := range s.jobs.live {
		if j.am != end && slices.Contains(lost, int(j.am)) {
			f.orphan(s, j)
		}
	}
}

// lose ends an attempt of a task.
func (f *faults) lose(s *world, a int32) {
	s.book.tally.lost++
	s.running.beginAnew(s, a)
}

// orphan takes its ApplicationMaster from a job.
func (f *faults) orphan(s *world, j *job) {
	s.vacate(&s.layout.nodes[j.am], j, 0, s.now.Sub(j.mastered))
	j.am = end
	s.jobs.masters--
	for a := range s.running.list {
		if by := &s.running.list[a]; by.job == j && !by.am {
			f.lose(s, int32(a))
		}
	}
	j.orphan = true
	for i := range j.stages {
		t := &j.stages[i]
		s.desk.demand[s.layout.pool(t.kind)] -= t.pending()
		t.asked = t.completed
	}
	j.tellWaiting(s, nil)
	s.jobs.waiting = append(s.jobs.waiting, j)
}

// adopt gives a job its new ApplicationMaster.
func (f *faults) adopt(s *world, j *job) {
	j.orphan = false
	for i := range j.stages {
		if t := &j.stages[i]; t.kind == model.StageMap {
			t.asked = t.total
			s.desk.demand[0] += t.pending()
		}
	}
	j.tellWaiting(s, nil)
	s.desk.mark(j)
}

// loseOutputs has the tasks of a job run again that are done and whose output was
// on a lost node, if tasks that read it are not done (JobImpl.actOnUnusableNode).
// Later stages are looked at first: those that run again read anew.
func (f *faults) loseOutputs(s *world, j *job) {
	for i := len(j.stages) - 1; i >= 0; i-- {
		t := &j.stages[i]
		needed := slices.ContainsFunc(t.readers, func(e *inflow) bool { return !e.to.complete() })
		for task, state := range t.state {
			if len(t.readers) == 0 || state != done {
				continue
			}
			if at := t.at[task]; at >= 0 && s.layout.nodes[at].lost > 0 {
				t.at[task] = ^at // it is gone, whether anybody needs it or not
			}
			if needed && t.at[task] < 0 {
				f.redo(s, j, t, task)
			}
		}
	}
}

// redo has a task run again that is done.
func (f *faults) redo(s *world, j *job, t *stage, task int) {
	n, out := &s.layout.nodes[^t.at[task]], t.outputOf(task)
	if t.again == nil {
		t.again = map[int]bool{}
	}
	t.again[task] = true
	t.completed--
	t.left -= out
	t.leftOn[n.rack] -= out
	if t.kind == model.StageMap {
		t.taken -= t.in.size(task)
	}
	for _, e := range t.readers {
		e.takeBack(s.net, task, n.rack, out)
	}
	s.book.tally.redone++
	s.book.tally.groups += len(t.readers) * len(s.layout.ofRack) // what is taken back is rounded
	t.on[n.rack] -= t.units(task)
	t.requeue(s, j, task, n)
}

// reread has maps that read from a lost node read the rest from another replica.
func (f *faults) reread(s *world) {
	for id, a := range s.moving.transfers {
		if a < 0 {
			continue
		}
		by := &s.running.list[a]
		if kind, _, _ := s.net.Route(network.ID(id)); kind != network.MapRead || s.layout.nodes[by.source].lost == 0 {
			continue
		}
		s.moving.transfers[id] = end
		rest := s.net.RemoveTransfer(network.ID(id))
		by.job.stages[by.stage].readOver(s, a, rest)
	}
}

// rewrite sends the rest of copies that were on their way to a rack without nodes
// to another.
func (f *faults) rewrite(s *world) {
	for id, a := range s.moving.transfers {
		if a < 0 {
			continue
		}
		kind, _, to := s.net.Route(network.ID(id))
		if kind != network.Write || f.live[to] > 0 {
			continue
		}
		s.moving.transfers[id] = end
		if !s.write(a, s.net.RemoveTransfer(network.ID(id))) {
			s.events.push(max(s.now, s.running.list[a].ready), a)
		}
	}
}

// elsewhere returns the rack a copy goes to instead of one: the next with nodes
// that is not its own; its own if there is no other.
func (f *faults) elsewhere(to, own int) int {
	if f == nil {
		return to
	}
	for range f.live {
		if f.live[to] > 0 && to != own {
			return to
		}
		to = (to + 1) % len(f.live)
	}
	return own
}

// relocate tells of the blocks with a replica on nodes that left or came back, and
// lists the tasks that wait for them by where they are now.
func (f *faults) relocate(s *world, nodes []int) {
	for _, j := range s.jobs.live {
		f.relist(s, j)
		if j.told {
			j.tellWaiting(s, nodes)
			s.desk.mark(j)
		}
	}
}

// relist lists the tasks of a job that wait by where their blocks are now.
func (f *faults) relist(s *world, j *job) {
	for i := range j.stages {
		if t := &j.stages[i]; f != nil && t.kind == model.StageMap {
			t.list(&s.layout)
			j.moved = j.told && (j.moved || slices.Max(t.in.at) >= 0)
		}
	}
}

// doom notes that a job's task finds no replica of its block: it fails.
func (f *faults) doom(j *job) {
	if !slices.Contains(f.doomed, j) {
		f.doomed = append(f.doomed, j)
	}
}

// bury ends the jobs that fail.
func (f *faults) bury(s *world) {
	if f == nil {
		return
	}
	for _, j := range f.doomed {
		s.jobs.leave(s, j, s.now)
		s.book.forsake(j, s.now)
	}
	f.doomed = f.doomed[:0]
}

// containers returns how many containers the cluster has now.
func (f *faults) containers(l *layout) int {
	if f == nil {
		return l.containers
	}
	return l.containers - f.gone
}
