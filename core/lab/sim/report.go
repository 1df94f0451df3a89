package sim

import (
	"slices"

	"heddle/core/model"
	"heddle/core/state"
)

// pendingUpdates lists what has changed since the last report to the scheduler.
type pendingUpdates struct {
	demand      pools   // tasks asked for and not launched
	nodes       []*node // whose containers have changed
	endedJobs   []*job  // that are finished or failed
	changedJobs []*job
}

// reportBuffers are reused for what is reported at every heartbeat and of every task.
type reportBuffers struct {
	nodes []model.Node
	apps  []model.App
	loads []model.UplinkSample

	nodesFact model.NodesFact
	appsFact  model.AppsFact
	jobFact   model.JobFact
	tasksFact model.TasksFact
}

// nodeChanged lists a node for the next report: its containers have changed.
func (d *pendingUpdates) nodeChanged(n *node) {
	if !n.isListed {
		n.isListed = true
		d.nodes = append(d.nodes, n)
	}
}

// jobChanged lists a job for the next report.
func (d *pendingUpdates) jobChanged(j *job) {
	if !j.isListed {
		j.isListed = true
		d.changedJobs = append(d.changedJobs, j)
	}
}

// updateTask adds a task with its new state to the job's next report.
func (j *job) updateTask(t *stage, task int, state model.TaskState, n *node, s *world) {
	update := model.Task{
		Stage: t.kind, Index: t.firstTask + task, State: state, Host: n.host, Rack: s.layout.rackIDs[n.rack],
		Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
	}
	if state == model.TaskSucceeded && t.kind == model.StageMap {
		update.Input = t.in.size(task)
		if !s.params.Misprediction.on() {
			update.Output = t.outputOf(task)
		}
	}
	if state == model.TaskPending && s.faults != nil { // nodes may have left or come back while it ran
		update.Preferred = t.in.hostsOf(task, &s.layout)
	}
	j.taskUpdates = append(j.taskUpdates, update)
}

// reportAllNodes reports every node for the first time.
func (s *Sim) reportAllNodes() {
	for i := range s.layout.nodes {
		s.updates.nodeChanged(&s.layout.nodes[i])
	}
	s.buffers.loads = make([]model.UplinkSample, len(s.layout.rackIDs))
	s.reportNodes()
}

func (s *Sim) apply(from model.Source, f model.Fact) {
	s.state.Apply(model.Observation{Source: from, At: s.now, Fact: f})
}

// reportChanges reports to the scheduler what has changed since the last heartbeat.
func (s *Sim) reportChanges() {
	d, room := &s.updates, &s.buffers
	s.reportNodes()
	if len(d.changedJobs) > 0 || len(d.endedJobs) > 0 {
		for _, over := range d.endedJobs {
			if j := s.state.View().Job(over.id); j != nil && s.jobs.steering != nil {
				s.jobs.steering.forget(j)
			}
			if len(s.jobs.chains.children[over.index]) > 0 {
				s.reportEnd(over)
			}
		}
		s.reportApps()
		d.endedJobs = d.endedJobs[:0]
	}
	for _, j := range d.changedJobs {
		j.isListed = false
		if j.relayed != nil {
			j.relayed.changed = true
		}
		if j.isAsking { // else it has ended
			s.reportJob(j)
		}
	}
	d.changedJobs = d.changedJobs[:0]
	if links := &s.stats.links; links.readAt == s.now { // sampleLinks has just read them
		for r, load := range links.loads {
			room.loads[r] = model.UplinkSample{Rack: s.layout.rackIDs[r], Out: load.Out, In: load.In}
		}
		s.apply(model.SourceUplink, model.UplinkFact{Method: state.MethodPrometheus, Samples: room.loads})
	}
	s.state.Advance(s.now)
}

// reportLaunch reports the task that was just launched, so that the next offers of
// this heartbeat are answered with the launch known.
func (s *Sim) reportLaunch(j *job) {
	s.reportNodes()
	s.buffers.apps = append(s.buffers.apps[:0], s.appFact(j, model.AppRunning))
	s.apply(model.SourceRM, s.buffers.partialApps())
	s.reportTasks(j)
}

// reportNodes reports the nodes whose containers have changed.
func (s *Sim) reportNodes() {
	d, room := &s.updates, &s.buffers
	if len(d.nodes) == 0 {
		return
	}
	room.nodes = room.nodes[:0]
	for _, n := range d.nodes {
		n.isListed = false
		state := model.NodeRunning
		if n.losses > 0 {
			state = model.NodeLost
		}
		room.nodes = append(room.nodes, model.Node{
			ID: n.id, Host: n.host, Rack: s.layout.rackIDs[n.rack], State: state, Total: s.cluster.Container.Times(int64(n.total.sum())),
			Used: s.cluster.Container.Times(int64(n.used.sum())), Containers: n.used.sum(),
		})
	}
	d.nodes = d.nodes[:0]
	room.nodesFact = model.NodesFact{Nodes: room.nodes, Partial: true}
	s.apply(model.SourceRM, &room.nodesFact)
}

// reportApps reports the applications that have changed or ended.
func (s *Sim) reportApps() {
	apps := s.buffers.apps[:0]
	for _, j := range s.updates.endedJobs {
		apps = append(apps, s.appFact(j, model.AppFinished))
	}
	for _, j := range s.updates.changedJobs {
		if j.isAsking { // else it has ended
			apps = append(apps, s.appFact(j, model.AppRunning))
		}
	}
	s.buffers.apps = apps
	s.apply(model.SourceRM, s.buffers.partialApps())
}

// partialApps is what the ResourceManager lists of some applications.
func (t *reportBuffers) partialApps() *model.AppsFact {
	t.appsFact = model.AppsFact{Apps: t.apps, Partial: true}
	return &t.appsFact
}

func (s *world) appFact(j *job, state model.AppState) model.App {
	a := model.App{ID: j.id, Name: j.spec.Name, User: j.spec.User, Queue: j.spec.Queue, Type: "MAPREDUCE", State: state, Submitted: j.submit}
	if j.isGraph() {
		a.Type = "TEZ"
	}
	if state == model.AppRunning {
		a.Containers = toInt(j.amNode != noNode)
		for i := range j.stages {
			a.Containers += j.stages[i].running + j.stages[i].doubledTasks()
		}
		a.Allocated = s.cluster.Container.Times(int64(a.Containers))
	}
	return a
}

// reportJob reports what the job's ApplicationMaster and the NameNode would say.
func (s *Sim) reportJob(j *job) {
	fresh := !j.isReported
	if fresh {
		j.isReported = true
		s.reportNewJob(j)
	}
	for i := range j.stages {
		if t := &j.stages[i]; (t.kind != model.StageMap || t.readsBoth) && !j.amLost {
			asked := j.tasksWanted(t, &s.world)
			if t.readsBoth && asked > t.asked {
				j.updateAskedTasks(t, &s.layout)
			}
			s.updates.demand[s.layout.pool(t.kind)] += asked - t.asked
			t.asked = asked
		}
	}
	if j.blocksMoved {
		j.blocksMoved = false
		s.apply(model.SourceHDFS, j.located(j.blockFacts(&s.world)))
	}
	m, r := s.reportTasks(j)
	if fresh {
		j.taskUpdates = nil // the first report is long; its memory is not kept
	}
	if done := m.complete(); fresh || s.now.Sub(j.countersAt) >= countersEvery || done != j.countersComplete {
		j.countersAt, j.countersComplete = s.now, done
		s.reportCounters(j, &m, &r)
		if j.isGraph() {
			s.reportGraph(j)
		}
	}
}

// updateAskedTasks adds the tasks of a stage that reads files and stages to the next
// report, with the hosts of their blocks: they are pending once they are asked for.
func (j *job) updateAskedTasks(t *stage, l *layout) {
	if t.asked == 0 {
		t.firstTask = j.count(t.kind).total
	}
	for task := range t.total {
		if t.state[task] != waiting {
			continue
		}
		update := pendingTask(t, task)
		for _, n := range t.in.replicas(task) {
			if n >= 0 {
				update.Preferred = append(update.Preferred, l.nodes[n].host)
			}
		}
		j.taskUpdates = append(j.taskUpdates, update)
	}
}

// reportTasks reports a job's task counts, and the tasks whose state has changed.
func (s *Sim) reportTasks(j *job) (m, r tasks) {
	m, r = j.count(model.StageMap), j.count(model.StageReduce)
	s.buffers.jobFact = model.JobFact{
		App: j.id, MapsTotal: m.total, MapsPending: m.pending(), MapsRunning: m.running, MapsCompleted: m.completed,
		ReducesTotal: r.total, ReducesPending: r.pending(), ReducesRunning: r.running, ReducesCompleted: r.completed,
	}
	s.apply(model.SourceMapReduce, &s.buffers.jobFact)
	if len(j.taskUpdates) > 0 {
		s.buffers.tasksFact = model.TasksFact{App: j.id, Tasks: j.taskUpdates}
		s.apply(model.SourceMapReduce, &s.buffers.tasksFact)
		j.taskUpdates = j.taskUpdates[:0]
	}
	return m, r
}

// reportNewJob reports a job for the first time: its configuration, its blocks and
// the tasks that read them.
func (s *Sim) reportNewJob(j *job) {
	slowstart := s.params.Slowstart
	if j.isGraph() {
		slowstart = 0 // it asks by rules of its own
	}
	s.apply(model.SourceMapReduce, model.JobConfFact{
		App: j.id, Inputs: []string{"/in/" + string(j.id)}, Output: "/out/" + string(j.id), Slowstart: slowstart,
		Replication: s.cluster.Replication, MapTask: s.cluster.Container, ReduceTask: s.cluster.Container,
		Workflow: s.jobs.workflow(s.work, j.index),
	})
	if blocks := j.blockFacts(&s.world); len(blocks) > 0 {
		s.apply(model.SourceHDFS, j.located(blocks))
		j.taskUpdates = append(j.pendingTasks(blocks), j.taskUpdates...)
	}
	if j.amLost {
		j.updateWaitingMaps(&s.world, nil)
	}
}

// located is where the blocks of a job's input are.
func (j *job) located(blocks []model.Block) model.BlocksFact {
	return model.BlocksFact{Path: "/in/" + string(j.id), Files: 1, Blocks: blocks}
}

// countersEvery is how often a job's counters are read: like a poller that asks
// each ApplicationMaster for them now and then, once a map is complete.
const countersEvery = 5 * model.Second

func (s *Sim) reportCounters(j *job, m, r *tasks) {
	f := model.CountersFact{App: j.id, LaunchedReduces: r.running + r.completed, CompletedMapsNow: m.completed}
	for i := range j.stages {
		t := &j.stages[i]
		if t.kind == model.StageMap {
			f.MapInput += t.inputDone
			f.MapOutput += t.outputDone
			f.NodeLocalMaps += t.localityCounts[model.NodeLocal]
			f.RackLocalMaps += t.localityCounts[model.RackLocal]
			f.OtherLocalMaps += t.localityCounts[model.OffSwitch]
		}
		if len(t.readers) == 0 {
			f.HDFSWritten += t.outputDone
		}
		f.ReduceShuffle += t.fetched()
	}
	if f.MapOutput = toldOutput(&s.world, j, m, f.MapOutput); f.MapOutput < 0 {
		f.CompletedMapsNow = 0 // of a reading without output
	}
	s.apply(model.SourceMapReduce, f)
}

// reportEnd makes the last report of a job whose output others read: what its history
// says of its tasks, and what it has written.
func (s *Sim) reportEnd(j *job) {
	m, r := j.count(model.StageMap), j.count(model.StageReduce)
	s.apply(model.SourceMapReduce, model.JobFact{
		App: j.id, MapsTotal: m.total, MapsCompleted: m.completed, ReducesTotal: r.total, ReducesCompleted: r.completed,
	})
	s.apply(model.SourceMapReduce, model.TasksFact{App: j.id, Tasks: j.taskUpdates})
	j.taskUpdates = nil
	s.reportCounters(j, &m, &r)
	if j.isGraph() {
		s.reportGraph(j)
	}
}

// fetched is what the tasks of a stage that no longer fetch have gathered.
func (t *stage) fetched() model.Bytes {
	if len(t.inputs) == 0 {
		return 0
	}
	over := t.running + t.completed + t.doubledTasks()
	for _, g := range t.groups {
		if g.edge == t.inputs[0] {
			over -= len(g.tasks)
		}
	}
	return t.scatteredBytes / model.Bytes(t.total) * model.Bytes(over)
}

// reportGraph reports a job's graph of stages. Like the timeline server it gives the
// size of an output once its stage is complete, and where the output lies so far.
func (s *Sim) reportGraph(j *job) {
	f := model.GraphFact{App: j.id}
	for i := range j.stages {
		t := &j.stages[i]
		g := model.GraphStage{
			Name: string(t.spec.Name), Tasks: t.total, Completed: t.completed, Input: t.in.total(), Output: model.Unknown, Placed: toldPlaces(&s.world, j, t),
		}
		if t.complete() {
			g.Output = t.output
		}
		if t.kind == model.StageMap {
			g.InputAt = s.layout.byRack(t.inputOn(&s.layout))
		}
		f.Stages = append(f.Stages, g)
		for _, e := range t.spec.Edges {
			f.Edges = append(f.Edges, model.GraphEdge{From: string(j.spec.Stages[e.From].Name), To: g.Name, Kind: e.Kind})
		}
	}
	s.apply(model.SourceTez, f)
}

func (l *layout) byRack(bytes []model.Bytes) []model.RackBytes {
	var out []model.RackBytes
	for r, b := range bytes {
		if b > 0 {
			out = append(out, model.RackBytes{Rack: l.rackIDs[r], Bytes: b})
		}
	}
	return out
}

// inputOn returns what of the blocks of a stage has a replica on each rack.
func (t *stage) inputOn(l *layout) []model.Bytes {
	on := make([]model.Bytes, len(l.rackIDs))
	var racks []int
	for task := range t.total {
		racks = racks[:0]
		for _, n := range l.knownReplicas(t.in.replicas(task)) {
			if r := l.nodes[n].rack; !slices.Contains(racks, r) {
				racks = append(racks, r)
				on[r] += t.in.size(task)
			}
		}
	}
	return on
}

// blockFacts returns the blocks of a job's input, none if it reads nothing.
func (j *job) blockFacts(s *world) []model.Block {
	total := j.count(model.StageMap).total
	out := make([]model.Block, 0, total)
	hosts, racks := make([]string, 0, total*s.cluster.Replication), make([]model.RackID, 0, total*s.cluster.Replication)
	for i := range j.stages {
		t := &j.stages[i]
		for task := range t.total {
			if !t.in.hasBlock(task) {
				continue
			}
			from := len(hosts)
			for _, n := range s.layout.knownReplicas(t.in.replicas(task)) {
				hosts, racks = append(hosts, s.layout.nodes[n].host), append(racks, s.layout.rackIDs[s.layout.nodes[n].rack])
			}
			out = append(out, model.Block{Length: t.in.size(task), Hosts: hosts[from:], Racks: racks[from:]})
		}
	}
	return out
}

// pendingTask returns a task that waits and names no host.
func pendingTask(t *stage, task int) model.Task {
	return model.Task{
		Stage: t.kind, Index: t.firstTask + task, State: model.TaskPending,
		Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
	}
}

// pendingTasks returns the maps of a job that wait, with the hosts of their blocks.
func (j *job) pendingTasks(blocks []model.Block) []model.Task {
	var out []model.Task
	for i := range j.stages {
		t := &j.stages[i]
		if t.kind != model.StageMap {
			continue
		}
		out = slices.Grow(out, t.total)
		for task := range t.total {
			update := pendingTask(t, task)
			if t.in.hasBlock(task) {
				update.Preferred = blocks[0].Hosts
				blocks = blocks[1:]
			}
			if !t.readsBoth { // else updateAskedTasks adds it
				out = append(out, update)
			}
		}
	}
	return out
}

// updateWaitingMaps adds the pending maps of a job to its next report, with the hosts
// of their blocks: those with a replica on the given nodes, or all without nodes. A
// job whose ApplicationMaster was lost asks for none.
func (j *job) updateWaitingMaps(s *world, nodes []int) {
	state := model.TaskPending
	if j.amLost {
		state = model.TaskFailed
	}
	for i := range j.stages {
		t := &j.stages[i]
		for task, is := range t.state {
			if t.kind != model.StageMap || is != waiting && !t.extraWaiting(task) || !j.isReported {
				continue
			}
			replicas := t.in.replicas(task)
			if len(nodes) > 0 && !slices.ContainsFunc(replicas, func(n int32) bool { return slices.Contains(nodes, int(n)) }) {
				continue
			}
			update := model.Task{Stage: t.kind, Index: t.firstTask + task, State: state, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
			update.Preferred = t.in.hostsOf(task, &s.layout)
			j.taskUpdates = append(j.taskUpdates, update)
		}
	}
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
