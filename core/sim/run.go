package sim

import (
	"fmt"
	"slices"

	"heddle/core/model"
	"heddle/core/sim/network"
)

// movers say whose bytes the network moves.
type movers struct {
	transfers []int32 // by transfer: the attempt that reads or writes
	groups    []*job  // by group of reduces
}

func (m *movers) transfer(id network.ID, attempt int32) {
	for int(id) >= len(m.transfers) {
		m.transfers = append(m.transfers, -1)
	}
	m.transfers[id] = attempt
}

func (m *movers) group(id network.ID, j *job) {
	for int(id) >= len(m.groups) {
		m.groups = append(m.groups, nil)
	}
	m.groups[id] = j
}

// submit submits the jobs whose time has come.
func (s *world) submit() {
	t := &s.jobs
	n := 0
	for n < len(t.arrivals) && s.work.Jobs[t.arrivals[n]].Submit <= s.now {
		n++
	}
	due := t.arrivals[:n]
	t.arrivals = t.arrivals[n:]
	for _, i := range due {
		s.start(i)
	}
}

// start submits one job: its files are there, and its ApplicationMaster waits for
// a container if it takes one.
func (s *world) start(index int) {
	of := &s.work.Jobs[index]
	j := &job{
		of: of, index: index, id: model.AppID(fmt.Sprintf("application_1_%06d", index+1)),
		submit: max(of.Submit, s.jobs.chains.released[index]),
	}
	j.maps = newMaps(&of.Stages[0], s.cluster, &s.layout)
	s.layOut(j)
	if len(of.Stages) > 1 {
		r := &of.Stages[1]
		j.reduce = reduceStage{
			stage: r, total: r.Tasks, state: make([]taskState, r.Tasks), byRack: make([]int, len(s.layout.ofRack)), first: -1,
			shuffle: s.net.AddJob(r.Tasks),
		}
	}
	s.book.stirred = s.now
	s.book.arrive(s, j)
	if j.am = end; s.params.AMStart > 0 {
		s.jobs.waiting = append(s.jobs.waiting, j)
		return
	}
	s.admit(j)
}

// admit has a job's ApplicationMaster ask for tasks from now on.
func (s *world) admit(j *job) {
	s.jobs.live = append(s.jobs.live, j)
	s.jobs.byID[j.id] = j
	s.desk.demand += j.maps.pending
	s.desk.mark(j)
}

// startMasters gives the jobs that wait for it the container of their
// ApplicationMaster, on the nodes that have room in the order of a round of
// heartbeats. A node gives one.
func (s *world) startMasters(round func(k int) int32) {
	t := &s.jobs
	most := max(int(s.params.AMShare*float64(s.cluster.Containers())), 1)
	for k := 0; k < len(s.layout.nodes) && len(t.waiting) > 0 && t.masters < most && t.free > 0; k++ {
		i := round(k)
		n := &s.layout.nodes[i]
		if n.used >= n.total {
			continue
		}
		j := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.masters++
		s.occupy(n, j)
		j.am = i
		s.events.push(s.now.Add(s.params.AMStart), s.running.add(attempt{job: j, am: true, node: i, launched: s.now}))
	}
}

// occupy gives a job a container of a node, vacate takes one back.
func (s *world) occupy(n *node, j *job) {
	n.used++
	s.jobs.free--
	s.desk.nodes = true
	s.book.users[j.of.User].running++
}

func (s *world) vacate(n *node, j *job, took model.Duration) {
	n.used--
	s.jobs.free++
	s.desk.nodes = true
	s.book.ended(j, took)
}

// layOut places the blocks a job's maps read.
func (s *world) layOut(j *job) {
	stage := &j.of.Stages[0]
	draw := make([]func() int, len(stage.Reads))
	for i := range stage.Reads {
		f := &stage.Reads[i]
		draw[i] = s.hdfs.writers(f)
		if held := s.jobs.chains.heldBy(f); len(held) > 0 {
			next := s.hdfs.rand.IntN(len(held))
			draw[i] = func() int { next++; return int(held[next%len(held)]) }
		}
	}
	var replicas []int32
	for task := range stage.Tasks {
		split := stage.Split(task, s.cluster.Block)
		replicas = replicas[:0]
		if split.File >= 0 {
			replicas = s.hdfs.replicas(replicas, draw[split.File]())
		}
		j.maps.place(task, split.Bytes, replicas, &s.layout)
	}
}

// launch starts what was placed.
func (s *world) launch(p *model.Placement, node int) {
	j := s.jobs.byID[p.App]
	n := &s.layout.nodes[node]
	s.occupy(n, j)
	s.desk.demand--
	s.book.placements++
	s.desk.mark(j)
	if p.Stage == model.StageMap {
		s.launchMap(j, node)
	} else {
		s.launchReduce(j, node)
	}
}

// launchMap runs a map: it reads its block while it computes, so that it takes as
// long as the slower of the two.
func (s *world) launchMap(j *job, node int) {
	m, n := &j.maps, &s.layout.nodes[node]
	task, level := m.pick(node, n.rack)
	if task < 0 {
		s.jobs.failed = fmt.Errorf("%s: a map was placed and none is pending", j.id)
		return
	}
	m.state[task] = running
	j.reduce.yielding = false
	m.pending--
	m.running++
	m.level[level]++
	n.outputs += m.outputOf(task)
	bytes := m.in.size(task)
	took := m.stage.Cost.Of(bytes)
	a := s.running.add(attempt{job: j, task: int32(task), node: int32(node), launched: s.now, ready: s.now.Add(took)}) //nolint:gosec // bounded by the workload
	j.tell(model.StageMap, task, model.TaskRunning, n, s)
	if from := source(m, task, n.rack, level, &s.layout); from >= 0 && bytes > 0 {
		s.moving.transfer(s.net.AddTransfer(network.MapRead, from, n.rack, bytes), a)
		return
	}
	s.events.push(s.now.Add(took), a)
}

// source returns the rack a map reads its block from over the network, -1 where
// it needs none.
func source(m *mapStage, task, rack int, level model.Locality, l *layout) int {
	switch level {
	case model.NodeLocal:
		return -1
	case model.RackLocal:
		return rack
	case model.OffSwitch:
	}
	if first := m.in.of(task)[0]; first >= 0 {
		return l.nodes[first].rack
	}
	return -1
}

// launchReduce starts a reduce: it fetches with the others of its rack.
func (s *world) launchReduce(j *job, node int) {
	r, n := &j.reduce, &s.layout.nodes[node]
	for r.next < r.total && r.state[r.next] != waiting {
		r.next++
	}
	task := r.next
	r.state[task] = running
	r.running++
	r.byRack[n.rack]++
	if r.first < 0 {
		r.first = 1
		if j.maps.total > 0 {
			r.first = float64(j.maps.completed) / float64(j.maps.total)
		}
	}
	a := s.running.add(attempt{job: j, reduce: true, task: int32(task), node: int32(node), launched: s.now}) //nolint:gosec // bounded by the workload
	j.tell(model.StageReduce, task, model.TaskRunning, n, s)
	group := s.net.AddReduces(r.shuffle, n.rack, 1)
	s.moving.group(group, j)
	i := slices.IndexFunc(r.groups, func(g reducer) bool { return g.group == group })
	if i < 0 {
		i = len(r.groups)
		r.groups = append(r.groups, reducer{group: group, rack: n.rack})
	}
	r.groups[i].tasks = append(r.groups[i].tasks, a)
}

// arrived takes what the network has moved in full.
func (s *world) arrived(d network.Done) {
	s.book.events++
	if d.Kind != network.Shuffle {
		a := s.moving.transfers[d.ID]
		s.moving.transfers[d.ID] = -1
		s.events.push(max(d.At, s.running.list[a].ready), a)
		return
	}
	j := s.moving.groups[d.ID]
	s.moving.groups[d.ID] = nil
	r := &j.reduce
	i := slices.IndexFunc(r.groups, func(g reducer) bool { return g.group == d.ID })
	tasks := r.groups[i].tasks
	r.groups = slices.Delete(r.groups, i, i+1)
	for _, a := range tasks {
		s.compute(j, a, d.At)
	}
}

// compute has a reduce that has fetched everything compute, and write while it
// does.
func (s *world) compute(j *job, a int32, at model.Time) {
	r := &j.reduce
	t := &s.running.list[a]
	t.ready = at.Add(r.stage.Cost.Of(j.maps.output / model.Bytes(r.total)))
	if !s.write(a, r.stage.Output/model.Bytes(r.total)) {
		s.events.push(t.ready, a)
	}
}

// write sends what a task writes to HDFS over the network; false where nothing
// has to go there. The first copy stays on its node, and the others go to another
// rack: what crosses is one copy (algorithms.md 0.6).
func (s *world) write(a int32, bytes model.Bytes) bool {
	racks := len(s.layout.ofRack)
	if !s.cluster.CrossRackWrites || s.cluster.Replication < 2 || racks < 2 || bytes <= 0 {
		return false
	}
	rack := s.layout.nodes[s.running.list[a].node].rack
	to := s.hdfs.rand.IntN(racks - 1)
	if to >= rack {
		to++
	}
	s.moving.transfer(s.net.AddTransfer(network.Write, rack, to, bytes), a)
	return true
}

// end ends an attempt.
func (s *world) end(a int32, at model.Time) {
	t := s.running.list[a]
	j, n := t.job, &s.layout.nodes[t.node]
	if !t.reduce && !t.am && !t.written && j.reduce.total == 0 && s.write(a, j.maps.outputOf(int(t.task))) {
		s.running.list[a].written = true // it ends when that is done
		return
	}
	s.running.remove(a)
	s.book.stirred = at
	if t.am {
		s.admit(j)
		return
	}
	s.vacate(n, j, at.Sub(t.launched))
	s.desk.mark(j)
	if t.reduce {
		s.endReduce(j, &t, n)
	} else {
		s.endMap(j, &t, n, at)
	}
	if j.maps.completed == j.maps.total && j.reduce.completed == j.reduce.total {
		s.finish(j, at)
	}
}

func (s *world) endMap(j *job, t *attempt, n *node, at model.Time) {
	m := &j.maps
	m.state[t.task] = done
	m.running--
	m.completed++
	out := m.outputOf(int(t.task))
	n.outputs -= out
	m.byRackOutput[n.rack] += out
	m.read += m.in.size(int(t.task))
	m.left += out
	j.tell(model.StageMap, int(t.task), model.TaskSucceeded, n, s)
	if j.reduce.total == 0 {
		j.reduce.nodes = append(j.reduce.nodes, t.node) // a map-only job's output
		return
	}
	s.net.Advance(at, s.arrived)
	s.net.AddOutput(j.reduce.shuffle, n.rack, out)
	if m.completed == m.total {
		s.net.Seal(j.reduce.shuffle)
	}
}

func (s *world) endReduce(j *job, t *attempt, n *node) {
	r := &j.reduce
	r.state[t.task] = done
	r.running--
	r.completed++
	r.nodes = append(r.nodes, t.node)
	j.tell(model.StageReduce, int(t.task), model.TaskSucceeded, n, s)
}

// yield has jobs whose maps cannot start give up reduces: a job with pending maps,
// none running and no container free for so long kills as many of its reduces as
// it has maps to start, but half of them at most, those that were launched last
// (RMContainerAllocator.preemptReducesIfNeeded, yarn.app.mapreduce.am.job.reduce.preemption.limit). They
// begin anew once a map has started.
func (s *world) yield() {
	free := s.jobs.free
	for _, j := range s.jobs.live {
		r := &j.reduce
		if j.maps.pending == 0 || j.maps.running > 0 || free > 0 || len(r.groups) == 0 {
			r.starved = s.now
			continue
		}
		if s.now.Sub(r.starved) < s.params.Starved {
			continue
		}
		r.starved, r.yielding = s.now, true
		for n := min(j.maps.pending, max(r.running/2, 1)); n > 0 && len(r.groups) > 0; {
			n -= s.shrink(j, n)
		}
		s.desk.mark(j)
	}
}

// shrink kills up to so many reduces of a job's last group, and returns how many.
func (s *world) shrink(j *job, most int) int {
	r := &j.reduce
	group := &r.groups[len(r.groups)-1]
	n := min(most, len(group.tasks))
	s.net.RemoveReduces(group.group, n)
	rest := group.tasks[:len(group.tasks)-n]
	for _, a := range group.tasks[len(rest):] {
		s.giveUp(j, a)
	}
	if group.tasks = rest; len(rest) == 0 {
		s.moving.groups[group.group] = nil
		r.groups = r.groups[:len(r.groups)-1]
	}
	return n
}

// giveUp kills a reduce that fetches.
func (s *world) giveUp(j *job, a int32) {
	t, r := s.running.list[a], &j.reduce
	n := &s.layout.nodes[t.node]
	s.running.remove(a)
	s.vacate(n, j, s.now.Sub(t.launched))
	s.book.tally.preempted++
	r.state[t.task] = waiting
	r.next = min(r.next, int(t.task))
	r.running--
	r.byRack[n.rack]--
	r.asked--
	j.tell(model.StageReduce, int(t.task), model.TaskPending, n, s)
}

// finish ends a job, and lets those that read its output begin.
func (s *world) finish(j *job, at model.Time) {
	t := &s.jobs
	t.live = slices.DeleteFunc(t.live, func(o *job) bool { return o == j })
	delete(t.byID, j.id)
	t.finished++
	if j.am != end {
		t.masters--
		s.vacate(&s.layout.nodes[j.am], j, at.Sub(j.submit))
	}
	if j.reduce.total > 0 {
		s.net.RemoveJob(j.reduce.shuffle)
	}
	s.desk.ended = append(s.desk.ended, j)
	s.book.finish(s, j, at)
	t.release(s.work, j.index, at, j.reduce.nodes)
}
