package sim

import (
	"fmt"
	"math"
	"slices"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// transferOwners are the attempts and groups whose bytes the network moves.
type transferOwners struct {
	transfers []int32  // by transfer: the attempt that reads or writes
	groups    []*group // by group of tasks that fetch
}

func (m *transferOwners) ownTransfer(id network.ID, attempt int32) {
	for int(id) >= len(m.transfers) {
		m.transfers = append(m.transfers, -1)
	}
	m.transfers[id] = attempt
}

func (m *transferOwners) ownGroup(id network.ID, g *group) {
	for int(id) >= len(m.groups) {
		m.groups = append(m.groups, nil)
	}
	m.groups[id] = g
}

// submitDue submits the jobs whose submit time has come.
func (s *world) submitDue() {
	t := &s.jobs
	n := 0
	for n < len(t.arrivals) && s.work.Jobs[t.arrivals[n]].Submit <= s.now {
		n++
	}
	due := t.arrivals[:n]
	t.arrivals = t.arrivals[n:]
	for _, i := range due {
		s.submitJob(i)
	}
}

// submitJob submits one job: its files are there, and its ApplicationMaster waits for
// a container if it takes one.
func (s *world) submitJob(index int) {
	of := &s.work.Jobs[index]
	j := &job{
		spec: of, index: index, id: model.AppID(fmt.Sprintf("application_1_%06d", index+1)),
		submit: max(of.Submit, s.jobs.chains.released[index]),
	}
	j.mapsAtFirstReduce = -1
	j.toldFactor = s.params.Misprediction.draw(s.params.Seed, index)
	j.stages = newStages(s, j)
	blocks := s.hdfs.forJob(index)
	for i := range j.stages {
		j.openStages += toInt(len(j.stages[i].readers) == 0)
		j.stages[i].placeBlocks(s, &blocks)
	}
	j.amSince = j.submit
	s.stats.lastProgress = s.now
	s.stats.jobArrived(s, j)
	if s.jobs.asRan != nil {
		s.jobs.asRan.jobs[index] = j
	}
	if j.amNode = noNode; s.params.AMStart > 0 {
		s.jobs.waiting = append(s.jobs.waiting, j)
		return
	}
	s.startAsking(j)
}

// startAsking registers a job's ApplicationMaster, which asks for tasks from now on.
func (s *world) startAsking(j *job) {
	if s.jobs.steering != nil {
		j.relayed = newRelayed(s.jobs.steering.Limits)
	}
	if j.amLost {
		s.faults.recoverAM(s, j)
		return
	}
	s.faults.relistTasks(s, j) // nodes may have left or come since it was submitted
	s.jobs.live = append(s.jobs.live, j)
	s.jobs.byID[j.id] = j
	j.isAsking, j.starvedSince = true, s.now
	for i := range j.stages {
		s.updates.demand[s.layout.pool(j.stages[i].kind)] += j.stages[i].pending()
	}
	s.updates.jobChanged(j)
}

// startAppMasters starts the ApplicationMasters of waiting jobs, at most one on each
// node with room, in the order of a round of heartbeats and up to AMShare of all
// containers.
func (s *world) startAppMasters(round func(k int) int32) {
	t := &s.jobs
	most := max(int(s.params.AMShare*float64(s.faults.containers(&s.layout))), 1)
	for k := 0; k < len(s.layout.nodes) && len(t.waiting) > 0 && t.appMasters < most && t.free.sum() > 0; k++ {
		i := round(k)
		n := &s.layout.nodes[i]
		if n.used.sum() >= n.total.sum() {
			continue
		}
		j := s.nextAM(int(i))
		if j == nil {
			continue
		}
		t.appMasters++
		s.occupy(n, j, 0)
		if j.amNode = i; s.faults != nil {
			j.amSince = s.now
		}
		s.events.push(s.now.Add(s.params.AMStart), s.running.add(attempt{job: j, isAM: true, node: i, launched: s.now}))
	}
}

// occupy gives a job a container of a node, or a slot of a kind, vacate takes one
// back.
func (s *world) occupy(n *node, j *job, pool int) {
	n.used[pool]++
	s.jobs.free[pool]--
	s.updates.nodeChanged(n)
	j.usage.containers++
	j.account.has++
}

func (s *world) vacate(n *node, j *job, pool int, took model.Duration) {
	n.used[pool]--
	s.jobs.free[pool]++
	s.updates.nodeChanged(n)
	s.stats.containerReleased(j, took)
}

// placeBlocks places the blocks a stage reads.
func (t *stage) placeBlocks(s *world, h *hdfs) {
	if t.kind != model.StageMap {
		return
	}
	if len(t.spec.Measured) > 0 {
		s.placeMeasured(t, h)
		return
	}
	draw := make([]func() int, len(t.spec.Reads))
	for i := range t.spec.Reads {
		f := &t.spec.Reads[i]
		draw[i] = h.writers(f)
		if held := s.jobs.chains.outputNodes(f); len(held) > 0 {
			next := h.rand.IntN(len(held))
			draw[i] = func() int { next++; return int(held[next%len(held)]) }
		}
	}
	var replicas []int32
	for task := range t.total {
		split := t.spec.Split(task, s.cluster.Block)
		replicas = replicas[:0]
		if split.File >= 0 {
			replicas = h.replicas(replicas, draw[split.File]())
		}
		t.setBlock(task, split.Bytes, replicas)
	}
	t.listByPlace(&s.layout)
}

// granted reports a container to the relay, and returns its number there; 0 without a relay.
func granted(s *world, j *job, stage model.Stage, node int) int64 {
	if j.relayed == nil {
		return 0
	}
	return j.relayed.grant(stage, s.jobs.steering.nodes[node])
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
	if s.jobs.asRan != nil {
		task = s.ranOn(node, j, i)
		level = t.levelOn(task, node, &s.layout)
	}
	if t.extraAsked > 0 {
		if spare, at := t.pickExtra(node, &s.layout, task, level); spare >= 0 {
			task, level = spare, at
		}
	}
	s.occupy(n, j, pool)
	s.updates.demand[pool]--
	s.stats.placements++
	s.updates.jobChanged(j)
	if t.extraAsked > 0 && t.withdrawExtra(task) {
		t.speculation.doubled[task] = true
		s.stats.totals.extraAttempts++
	} else {
		t.state[task] = running
		t.running++
	}
	j.hasPreempted = j.hasPreempted && !t.inputComplete()
	t.launchedOn[n.rack] += t.units(task)
	a := s.running.add(attempt{job: j, stage: int32(i), task: int32(task), node: int32(node), source: noNode, launched: s.now}) //nolint:gosec // bounded by the workload
	s.running.list[a].container = granted(s, j, p.Stage, node)
	j.updateTask(t, task, model.TaskRunning, n, s)
	if t.kind == model.StageMap {
		t.localityCounts[level]++
		n.runningOutput += t.outputOf(task)
		s.running.list[a].level = level
		if len(t.inputs) == 0 && (t.spec.Start == 0 || level == model.NodeLocal) {
			t.read(s, a, s.now)
			return
		}
	}
	if j.mapsAtFirstReduce < 0 && t.kind != model.StageMap {
		m := j.count(model.StageMap)
		j.mapsAtFirstReduce = ratio(float64(m.completed), float64(m.total))
		if m.total == 0 {
			j.mapsAtFirstReduce = 1
		}
	}
	if t.spec.Start > 0 {
		s.running.list[a].isStarting = true
		s.events.push(s.now.Add(t.spec.Start), a)
		return
	}
	t.fetch(s, a, s.now)
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

// computeTime returns how long an attempt computes that costs so much: longer, if it
// is drawn to straggle.
func (s *world) computeTime(cost model.Duration) model.Duration {
	if s.stragglerRand == nil || s.stragglerRand.Float64() >= s.params.Straggler {
		return cost
	}
	return model.Duration(math.Round(float64(cost) * s.params.StragglerFactor))
}

// units is what a task counts for where the tasks of its stage are counted by
// rack.
func (t *stage) units(task int) int {
	if t.cumulative == nil {
		return 1
	}
	return int(t.cumulative[task+1] - t.cumulative[task])
}

// read has a task read its block while it computes, so that it takes as long as
// the slower of the two.
func (t *stage) read(s *world, a int32, at model.Time) {
	attempt := &s.running.list[a]
	task := int(attempt.task)
	bytes := t.in.size(task)
	attempt.computedAt = at.Add(s.computeTime(t.cost(task)))
	if attempt.level != model.NodeLocal && bytes > 0 && t.in.hasBlock(task) {
		t.readOver(s, a, bytes)
		return
	}
	s.events.push(attempt.computedAt, a)
}

// readOver has a task read what is left of its block over the network. If there
// is no replica of it, its job fails.
func (t *stage) readOver(s *world, a int32, bytes model.Bytes) {
	attempt := &s.running.list[a]
	rack := s.layout.nodes[attempt.node].rack
	if attempt.source = t.replicaToRead(int(attempt.task), rack, &s.layout); attempt.source < 0 {
		s.faults.failJob(attempt.job)
		return
	}
	from := s.layout.nodes[attempt.source].rack
	if from != rack {
		t.remoteBytes += bytes
	}
	s.owners.ownTransfer(s.net.AddTransfer(network.MapRead, from, rack, bytes), a)
}

// replicaToRead returns the node a task on a rack reads its block from over the network:
// one of the rack, if there is one. It is -1 where no replica is left.
func (s *source) replicaToRead(task, rack int, l *layout) int32 {
	source := int32(noNode)
	for _, n := range s.in.replicas(task) {
		switch {
		case n < 0 || l.nodes[n].losses > 0:
		case l.nodes[n].rack == rack:
			return n
		case source < 0:
			source = n
		}
	}
	return source
}

// transferDone goes on with the attempts whose transfer or shuffle the network has
// finished.
func (s *world) transferDone(d network.Done) {
	s.stats.events++
	if d.Kind != network.Shuffle {
		a := s.owners.transfers[d.ID]
		s.owners.transfers[d.ID] = -1
		s.events.push(max(d.At, s.running.list[a].computedAt), a)
		return
	}
	g := s.owners.groups[d.ID]
	tasks := g.tasks
	g.job.fetchedUntil(d.At)
	g.remove(&s.owners)
	if g.shuffle != noID {
		s.net.RemoveJob(g.shuffle)
	}
	for _, a := range tasks {
		attempt := &s.running.list[a]
		if attempt.openGroups--; attempt.openGroups == 0 {
			s.compute(g.stage, a, d.At)
		}
	}
}

// compute has a task that has fetched everything compute, and write while it
// does where that is the job's output. One that reads a block too does that now,
// and writes later, as maps do.
func (s *world) compute(t *stage, a int32, at model.Time) {
	if t.readsBoth {
		t.read(s, a, at)
		return
	}
	attempt := &s.running.list[a]
	task := int(attempt.task)
	attempt.computedAt = at.Add(s.computeTime(t.cost(task)))
	if len(t.readers) > 0 || !s.write(a, t.outputOf(task)) {
		s.events.push(attempt.computedAt, a)
	}
}

// write sends what a task writes to HDFS over the network; false where nothing
// has to go there. The first copy stays on its node, and the others go to another
// rack: what crosses is one copy (algorithms.md 0.6).
func (s *world) write(a int32, bytes model.Bytes) bool {
	racks := len(s.layout.rackNodes)
	if !s.cluster.CrossRackWrites || s.cluster.Replication < 2 || racks < 2 || bytes <= 0 {
		return false
	}
	rack := s.layout.nodes[s.running.list[a].node].rack
	to := s.copyRand.IntN(racks - 1)
	if to >= rack {
		to++
	}
	if to = s.faults.liveRack(to, rack); to == rack {
		return false
	}
	s.owners.ownTransfer(s.net.AddTransfer(network.Write, rack, to, bytes), a)
	return true
}

// endAttempt ends an attempt.
func (s *world) endAttempt(a int32, at model.Time) {
	attempt := s.running.list[a]
	j, n := attempt.job, &s.layout.nodes[attempt.node]
	if attempt.isAM {
		s.running.remove(a)
		s.stats.lastProgress = at
		s.startAsking(j)
		return
	}
	t := &j.stages[attempt.stage]
	if attempt.isStarting {
		s.running.list[a].isStarting = false
		if len(t.inputs) == 0 {
			t.read(s, a, attempt.launched) // it computes from its launch on
			return
		}
		t.fetch(s, a, at)
		return
	}
	if t.kind == model.StageMap && len(t.readers) == 0 && !attempt.isWriting && s.write(a, t.outputOf(int(attempt.task))) {
		s.running.list[a].isWriting = true // it ends when that is done
		return
	}
	s.running.remove(a)
	if j.relayed != nil {
		j.relayed.end(attempt.container, exitSuccess)
	}
	s.stats.lastProgress = at
	s.vacate(n, j, s.layout.pool(t.kind), at.Sub(attempt.launched))
	s.updates.jobChanged(j)
	if t.speculation != nil {
		t.endOther(s, &attempt, at)
	}
	s.finishTask(t, &attempt, n, at)
	if t.complete() && len(t.readers) == 0 {
		if j.openStages--; j.openStages == 0 {
			s.jobs.finish(s, j, at)
		}
	}
}

// finishTask marks a task as done, and delivers its output to the stages that read it.
func (s *world) finishTask(t *stage, attempt *attempt, n *node, at model.Time) {
	task := int(attempt.task)
	t.state[task] = done
	t.running--
	t.completed++
	out := t.outputOf(task)
	t.outputDone += out
	t.outputByRack[n.rack] += out
	if t.kind == model.StageMap {
		n.runningOutput -= out
		t.inputDone += t.in.size(task)
	}
	if t.taskNodes != nil {
		t.taskNodes[task] = attempt.node
	}
	attempt.job.updateTask(t, task, model.TaskSucceeded, n, s)
	if len(t.readers) == 0 {
		attempt.job.outputNodes = append(attempt.job.outputNodes, attempt.node)
		return
	}
	s.net.Advance(at, s.transferDone)
	for _, e := range t.readers {
		e.deliver(s.net, task, n.rack, out, t.redone[task])
	}
}

// preemptReduces kills tasks that fetch in jobs that cannot start a task: a job with
// tasks pending that have all they read, no free container for so long, and
// nothing running but tasks that wait for other tasks, kills as many of these as
// it has to start, but half of them at most, those that were launched last
// (RMContainerAllocator.preemptReducesIfNeeded,
// yarn.app.mapreduce.am.job.reduce.preemption.limit; Tez kills tasks of lower
// priority likewise). Killed tasks are asked for again once one of the pending ones has started.
func (s *world) preemptReduces() {
	pool := s.layout.pool(model.StageReduce)
	free := s.jobs.free[pool]
	for _, j := range s.jobs.live {
		if free > 0 && s.jobs.asRan == nil {
			j.starvedSince = s.now
			continue
		}
		pending, held := j.blocked(&s.layout)
		if pending == 0 || held == 0 && s.jobs.asRan == nil {
			j.starvedSince = s.now
			continue
		}
		if free > 0 || held == 0 { // its tasks wait for nodes
			continue
		}
		if s.now.Sub(j.starvedSince) < s.params.Starved {
			continue
		}
		j.starvedSince, j.hasPreempted = s.now, true
		j.preempt(s, min(pending, max(held/2, 1)))
		s.updates.jobChanged(j)
	}
}

// blocked returns how many tasks of a job are pending that have all they read, and
// how many run that wait for others and have a place that one of these could
// take. Both are 0 where anything else runs: then the job goes on by itself.
func (j *job) blocked(l *layout) (pending, held int) {
	for i := range j.stages {
		t := &j.stages[i]
		switch ready := t.inputComplete(); {
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

// inputComplete reports whether all that a stage reads is there.
func (g *gather) inputComplete() bool {
	return !slices.ContainsFunc(g.inputs, func(e *edge) bool { return !e.from.complete() })
}

// preempt kills at most so many of a job's tasks that wait for others: those of the
// last stage first, and within a stage those that were launched last.
func (j *job) preempt(s *world, most int) {
	for i := len(j.stages) - 1; i >= 0 && most > 0; i-- {
		t := &j.stages[i]
		if t.inputComplete() {
			continue
		}
		for ; most > 0 && len(t.groups) > 0; most-- {
			last := t.groups[len(t.groups)-1]
			s.stats.totals.preemptedReduces++
			s.running.requeue(s, last.tasks[len(last.tasks)-1])
		}
	}
}
