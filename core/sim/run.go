package sim

import (
	"fmt"
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/sim/network"
)

// movers say whose bytes the network moves.
type movers struct {
	transfers []int32  // by transfer: the attempt that reads or writes
	groups    []*group // by group of tasks that fetch
}

func (m *movers) transfer(id network.ID, attempt int32) {
	for int(id) >= len(m.transfers) {
		m.transfers = append(m.transfers, -1)
	}
	m.transfers[id] = attempt
}

func (m *movers) group(id network.ID, g *group) {
	for int(id) >= len(m.groups) {
		m.groups = append(m.groups, nil)
	}
	m.groups[id] = g
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
	j.first = -1
	j.stages = newStages(s, j)
	blocks := s.hdfs.of(index)
	for i := range j.stages {
		j.open += boolean(len(j.stages[i].readers) == 0)
		j.stages[i].layOut(s, &blocks)
	}
	j.mastered = j.submit
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
	if j.orphan {
		s.faults.adopt(s, j)
		return
	}
	s.faults.relist(s, j) // nodes may have left or come since it was submitted
	s.jobs.live = append(s.jobs.live, j)
	s.jobs.byID[j.id] = j
	j.live = true
	for i := range j.stages {
		s.desk.demand[s.layout.pool(j.stages[i].kind)] += j.stages[i].pending()
	}
	s.desk.mark(j)
}

// startMasters gives the jobs that wait for it the container of their
// ApplicationMaster, on the nodes that have room in the order of a round of
// heartbeats. A node gives one.
func (s *world) startMasters(round func(k int) int32) {
	t := &s.jobs
	most := max(int(s.params.AMShare*float64(s.faults.containers(&s.layout))), 1)
	for k := 0; k < len(s.layout.nodes) && len(t.waiting) > 0 && t.masters < most && t.free.sum() > 0; k++ {
		i := round(k)
		n := &s.layout.nodes[i]
		if n.used.sum() >= n.total.sum() {
			continue
		}
		j := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.masters++
		s.occupy(n, j, 0)
		if j.am = i; s.faults != nil {
			j.mastered = s.now
		}
		s.events.push(s.now.Add(s.params.AMStart), s.running.add(attempt{job: j, am: true, node: i, launched: s.now}))
	}
}

// occupy gives a job a container of a node, or a slot of a kind, vacate takes one
// back.
func (s *world) occupy(n *node, j *job, pool int) {
	n.used[pool]++
	s.jobs.free[pool]--
	s.desk.move(n)
	j.account.running++
}

func (s *world) vacate(n *node, j *job, pool int, took model.Duration) {
	n.used[pool]--
	s.jobs.free[pool]++
	s.desk.move(n)
	s.book.ended(j, took)
}

// layOut places the blocks a stage reads.
func (t *stage) layOut(s *world, h *hdfs) {
	if t.kind != model.StageMap {
		return
	}
	draw := make([]func() int, len(t.of.Reads))
	for i := range t.of.Reads {
		f := &t.of.Reads[i]
		draw[i] = h.writers(f)
		if held := s.jobs.chains.heldBy(f); len(held) > 0 {
			next := h.rand.IntN(len(held))
			draw[i] = func() int { next++; return int(held[next%len(held)]) }
		}
	}
	var replicas []int32
	for task := range t.total {
		split := t.of.Split(task, s.cluster.Block)
		replicas = replicas[:0]
		if split.File >= 0 {
			replicas = h.replicas(replicas, draw[split.File]())
		}
		t.place(task, split.Bytes, replicas)
	}
	t.list(&s.layout)
}

// launch starts what was placed for a job: the task of the first stage of its kind
// that has one to start, the nearest there.
func (s *world) launch(j *job, p *model.Placement, node int) {
	i := j.startable(p.Stage)
	n, pool := &s.layout.nodes[node], s.layout.pool(p.Stage)
	if i < 0 || n.used[pool] >= n.total[pool] {
		s.jobs.failed = fmt.Errorf("%s: a %s was placed, and none is pending or %s has no place for it", j.id, p.Stage, n.host)
		return
	}
	t := &j.stages[i]
	task, level := t.pick(node, n.rack)
	if t.extra > 0 {
		if spare, at := t.pickSpare(node, &s.layout, task, level); spare >= 0 {
			task, level = spare, at
		}
	}
	s.occupy(n, j, pool)
	s.desk.demand[pool]--
	s.book.placements++
	s.desk.mark(j)
	if t.extra > 0 && t.withdraw(task) {
		t.spare.twins[task] = true
		s.book.tally.spares++
	} else {
		t.state[task] = running
		t.running++
	}
	j.yielding = j.yielding && !t.ready()
	t.on[n.rack] += t.units(task)
	a := s.running.add(attempt{job: j, stage: int32(i), task: int32(task), node: int32(node), source: end, launched: s.now}) //nolint:gosec // bounded by the workload
	j.tell(t, task, model.TaskRunning, n, s)
	if t.kind == model.StageMap {
		t.level[level]++
		n.outputs += t.outputOf(task)
		s.running.list[a].level = level
		if len(t.inputs) == 0 {
			t.read(s, a, s.now)
			return
		}
	}
	if j.first < 0 && t.kind != model.StageMap {
		m := j.count(model.StageMap)
		j.first = ratio(float64(m.completed), float64(m.total))
		if m.total == 0 {
			j.first = 1
		}
	}
	t.fetch(s, a)
}

// startable returns the first stage of a kind that has a task to start, -1 without.
func (j *job) startable(kind model.Stage) int {
	for i := range j.stages {
		if t := &j.stages[i]; t.kind == kind && t.pending() > 0 {
			return i
		}
	}
	return -1
}

// lasts returns how long an attempt computes that costs so much: longer, if it
// is drawn to straggle.
func (s *world) lasts(cost model.Duration) model.Duration {
	if s.slow == nil || s.slow.Float64() >= s.params.Straggler {
		return cost
	}
	return model.Duration(math.Round(float64(cost) * s.params.StragglerFactor))
}

// units is what a task counts for where the tasks of its stage are counted by
// rack.
func (t *stage) units(task int) int {
	if t.upTo == nil {
		return 1
	}
	return int(t.upTo[task+1] - t.upTo[task])
}

// read has a task read its block while it computes, so that it takes as long as
// the slower of the two.
func (t *stage) read(s *world, a int32, at model.Time) {
	by := &s.running.list[a]
	task := int(by.task)
	bytes := t.in.size(task)
	by.ready = at.Add(s.lasts(t.cost(task)))
	if by.level != model.NodeLocal && bytes > 0 && t.in.held(task) {
		t.readOver(s, a, bytes)
		return
	}
	s.events.push(by.ready, a)
}

// readOver has a task read what is left of its block over the network. If there
// is no replica of it, its job fails.
func (t *stage) readOver(s *world, a int32, bytes model.Bytes) {
	by := &s.running.list[a]
	rack := s.layout.nodes[by.node].rack
	if by.source = t.from(int(by.task), rack, &s.layout); by.source < 0 {
		s.faults.doom(by.job)
		return
	}
	from := s.layout.nodes[by.source].rack
	if from != rack {
		t.remote += bytes
	}
	s.moving.transfer(s.net.AddTransfer(network.MapRead, from, rack, bytes), a)
}

// from returns the node a task on a rack reads its block from over the network:
// one of the rack, if there is one. It is -1 where no replica is left.
func (s *source) from(task, rack int, l *layout) int32 {
	source := int32(end)
	for _, n := range s.in.of(task) {
		switch {
		case n < 0 || l.nodes[n].lost > 0:
		case l.nodes[n].rack == rack:
			return n
		case source < 0:
			source = n
		}
	}
	return source
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
	g := s.moving.groups[d.ID]
	tasks := g.tasks
	g.job.fetchedBy(d.At)
	g.drop(&s.moving)
	if g.shuffle != none {
		s.net.RemoveJob(g.shuffle)
	}
	for _, a := range tasks {
		by := &s.running.list[a]
		if by.waits--; by.waits == 0 {
			s.compute(g.stage, a, d.At)
		}
	}
}

// compute has a task that has fetched everything compute, and write while it
// does where that is the job's output. One that reads a block too does that now,
// and writes later, as maps do.
func (s *world) compute(t *stage, a int32, at model.Time) {
	if t.both {
		t.read(s, a, at)
		return
	}
	by := &s.running.list[a]
	task := int(by.task)
	by.ready = at.Add(s.lasts(t.cost(task)))
	if len(t.readers) > 0 || !s.write(a, t.outputOf(task)) {
		s.events.push(by.ready, a)
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
	to := s.copies.IntN(racks - 1)
	if to >= rack {
		to++
	}
	if to = s.faults.elsewhere(to, rack); to == rack {
		return false
	}
	s.moving.transfer(s.net.AddTransfer(network.Write, rack, to, bytes), a)
	return true
}

// end ends an attempt.
func (s *world) end(a int32, at model.Time) {
	by := s.running.list[a]
	j, n := by.job, &s.layout.nodes[by.node]
	if by.am {
		s.running.remove(a)
		s.book.stirred = at
		s.admit(j)
		return
	}
	t := &j.stages[by.stage]
	if t.kind == model.StageMap && len(t.readers) == 0 && !by.written && s.write(a, t.outputOf(int(by.task))) {
		s.running.list[a].written = true // it ends when that is done
		return
	}
	s.running.remove(a)
	s.book.stirred = at
	s.vacate(n, j, s.layout.pool(t.kind), at.Sub(by.launched))
	s.desk.mark(j)
	if t.spare != nil {
		t.settle(s, &by, at)
	}
	s.done(t, &by, n, at)
	if t.complete() && len(t.readers) == 0 {
		if j.open--; j.open == 0 {
			s.jobs.finish(s, j, at)
		}
	}
}

// done takes note of a task that is done, and hands what it leaves to the stages
// that read it.
func (s *world) done(t *stage, by *attempt, n *node, at model.Time) {
	task := int(by.task)
	t.state[task] = done
	t.running--
	t.completed++
	out := t.outputOf(task)
	t.left += out
	t.leftOn[n.rack] += out
	if t.kind == model.StageMap {
		n.outputs -= out
		t.taken += t.in.size(task)
	}
	if t.at != nil {
		t.at[task] = by.node
	}
	by.job.tell(t, task, model.TaskSucceeded, n, s)
	if len(t.readers) == 0 {
		by.job.nodes = append(by.job.nodes, by.node)
		return
	}
	s.net.Advance(at, s.arrived)
	for _, e := range t.readers {
		e.hand(s.net, task, n.rack, out, t.again[task])
	}
}

// yield has jobs that cannot start a task give up others that fetch: a job with
// tasks pending that have all they read, no free container for so long, and
// nothing running but tasks that wait for other tasks, kills as many of these as
// it has to start, but half of them at most, those that were launched last
// (RMContainerAllocator.preemptReducesIfNeeded,
// yarn.app.mapreduce.am.job.reduce.preemption.limit; Tez kills tasks of lower
// priority likewise). They begin anew once one of the others has started.
func (s *world) yield() {
	pool := s.layout.pool(model.StageReduce)
	free := s.jobs.free[pool]
	for _, j := range s.jobs.live {
		if free > 0 {
			j.starved = s.now
			continue
		}
		pending, held := j.blocked(&s.layout)
		if pending == 0 || held == 0 {
			j.starved = s.now
			continue
		}
		if s.now.Sub(j.starved) < s.params.Starved {
			continue
		}
		j.starved, j.yielding = s.now, true
		j.giveUp(s, min(pending, max(held/2, 1)))
		s.desk.mark(j)
	}
}

// blocked returns how many tasks of a job are pending that have all they read, and
// how many run that wait for others and have a place that one of these could
// take. Both are 0 where anything else runs: then the job goes on by itself.
func (j *job) blocked(l *layout) (pending, held int) {
	for i := range j.stages {
		t := &j.stages[i]
		switch ready := t.ready(); {
		case ready && t.running > 0:
			return 0, 0
		case ready && l.pool(t.kind) != l.pool(model.StageReduce): // what waits for others has no map slot
		case ready:
			pending += t.pending()
		default:
			held += t.running
		}
	}
	return pending, held
}

// ready reports whether all that a stage reads is there.
func (g *gather) ready() bool {
	return !slices.ContainsFunc(g.inputs, func(e *inflow) bool { return !e.from.complete() })
}

// giveUp kills so many of a job's tasks that wait for others, of its last stage
// first, of a stage those that were launched last.
func (j *job) giveUp(s *world, most int) {
	for i := len(j.stages) - 1; i >= 0 && most > 0; i-- {
		t := &j.stages[i]
		if t.ready() {
			continue
		}
		for ; most > 0 && len(t.groups) > 0; most-- {
			last := t.groups[len(t.groups)-1]
			s.book.tally.preempted++
			s.running.beginAnew(s, last.tasks[len(last.tasks)-1])
		}
	}
}
