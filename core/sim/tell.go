package sim

import (
	"slices"

	"heddle/core/model"
	"heddle/core/state"
)

// desk is what there is to tell the scheduler at the next heartbeat.
type desk struct {
	demand pools   // tasks asked for and not launched
	moved  []*node // that are fuller or emptier than they were told
	ended  []*job  // that are over
	dirty  []*job
}

// told is room for what is told at every heartbeat and of every task.
type told struct {
	nodes []model.Node
	apps  []model.App
	loads []model.UplinkSample

	ofNodes model.NodesFact
	ofApps  model.AppsFact
	ofJob   model.JobFact
	ofTasks model.TasksFact
}

// move remembers that a node is fuller or emptier.
func (d *desk) move(n *node) {
	if !n.moved {
		n.moved = true
		d.moved = append(d.moved, n)
	}
}

// mark remembers that there is news of a job.
func (d *desk) mark(j *job) {
	if !j.dirty {
		j.dirty = true
		d.dirty = append(d.dirty, j)
	}
}

// tell remembers what became of a task.
func (j *job) tell(t *stage, task int, state model.TaskState, n *node, s *world) {
	news := model.Task{
		Stage: t.kind, Index: t.base + task, State: state, Host: n.host, Rack: s.layout.ids[n.rack],
		Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
	}
	if state == model.TaskSucceeded && t.kind == model.StageMap {
		news.Input, news.Output = t.in.size(task), t.outputOf(task)
	}
	if state == model.TaskPending && s.faults != nil { // nodes may have left or come back while it ran
		news.Preferred = t.in.hosts(task, &s.layout)
	}
	j.changed = append(j.changed, news)
}

// introduce tells of the nodes.
func (s *Sim) introduce() {
	for i := range s.layout.nodes {
		s.desk.move(&s.layout.nodes[i])
	}
	s.told.loads = make([]model.UplinkSample, len(s.layout.ids))
	s.tellNodes()
}

func (s *Sim) apply(from model.Source, f model.Fact) {
	s.state.Apply(model.Observation{Source: from, At: s.now, Fact: f})
}

// tell tells the scheduler what has happened since the last heartbeat.
func (s *Sim) tell() {
	d, room := &s.desk, &s.told
	s.tellNodes()
	if len(d.dirty) > 0 || len(d.ended) > 0 {
		for _, over := range d.ended {
			if j := s.state.View().Job(over.id); j != nil && s.steering != nil {
				s.steering.forget(j)
			}
			if len(s.jobs.chains.children[over.index]) > 0 {
				s.tellEnd(over)
			}
		}
		s.tellApps()
		d.ended = d.ended[:0]
	}
	for _, j := range d.dirty {
		j.dirty = false
		if j.live { // else it is over
			s.tellJob(j)
		}
	}
	d.dirty = d.dirty[:0]
	if links := &s.book.links; links.at == s.now { // they have been read
		for r, load := range links.loads {
			room.loads[r] = model.UplinkSample{Rack: s.layout.ids[r], Out: load.Out, In: load.In}
		}
		s.apply(model.SourceUplink, model.UplinkFact{Method: state.MethodPrometheus, Samples: room.loads})
	}
	s.state.Advance(s.now)
}

// tellLaunch tells of a task of a job that was just launched: the node's next
// container, and the other nodes, are offered knowing that.
func (s *Sim) tellLaunch(j *job) {
	s.tellNodes()
	s.told.apps = append(s.told.apps[:0], s.app(j, model.AppRunning))
	s.apply(model.SourceRM, s.told.listing())
	s.tellTasks(j)
}

// tellNodes tells of the nodes that are fuller or emptier.
func (s *Sim) tellNodes() {
	d, room := &s.desk, &s.told
	if len(d.moved) == 0 {
		return
	}
	room.nodes = room.nodes[:0]
	for _, n := range d.moved {
		n.moved = false
		state := model.NodeRunning
		if n.lost > 0 {
			state = model.NodeLost
		}
		room.nodes = append(room.nodes, model.Node{
			ID: n.id, Host: n.host, Rack: s.layout.ids[n.rack], State: state, Total: s.cluster.Container.Times(int64(n.total.sum())),
			Used: s.cluster.Container.Times(int64(n.used.sum())), Containers: n.used.sum(),
		})
	}
	d.moved = d.moved[:0]
	room.ofNodes = model.NodesFact{Nodes: room.nodes, Partial: true}
	s.apply(model.SourceRM, &room.ofNodes)
}

// tellApps tells of the applications there is news of.
func (s *Sim) tellApps() {
	apps := s.told.apps[:0]
	for _, j := range s.desk.ended {
		apps = append(apps, s.app(j, model.AppFinished))
	}
	for _, j := range s.desk.dirty {
		if j.live { // else it is over
			apps = append(apps, s.app(j, model.AppRunning))
		}
	}
	s.told.apps = apps
	s.apply(model.SourceRM, s.told.listing())
}

// listing is what the ResourceManager lists of some applications.
func (t *told) listing() *model.AppsFact {
	t.ofApps = model.AppsFact{Apps: t.apps, Partial: true}
	return &t.ofApps
}

func (s *world) app(j *job, state model.AppState) model.App {
	a := model.App{ID: j.id, Name: j.of.Name, User: j.of.User, Queue: j.of.Queue, Type: "MAPREDUCE", State: state, Submitted: j.submit}
	if j.graph() {
		a.Type = "TEZ"
	}
	if state == model.AppRunning {
		a.Containers = boolean(j.am != end)
		for i := range j.stages {
			a.Containers += j.stages[i].running + j.stages[i].doubled()
		}
		a.Allocated = s.cluster.Container.Times(int64(a.Containers))
	}
	return a
}

// tellJob tells what the job's ApplicationMaster and the NameNode say of it.
func (s *Sim) tellJob(j *job) {
	fresh := !j.told
	if fresh {
		j.told = true
		s.introduceJob(j)
	}
	for i := range j.stages {
		if t := &j.stages[i]; (t.kind != model.StageMap || t.both) && !j.orphan {
			asked := j.wanted(t, &s.world)
			if t.both && asked > t.asked {
				j.ask(t, &s.layout)
			}
			s.desk.demand[s.layout.pool(t.kind)] += asked - t.asked
			t.asked = asked
		}
	}
	if j.moved {
		j.moved = false
		s.apply(model.SourceHDFS, j.located(j.blocks(&s.world)))
	}
	m, r := s.tellTasks(j)
	if fresh {
		j.changed = nil // it was as long as the job is wide
	}
	if done := m.complete(); fresh || s.now.Sub(j.counted) >= countersEvery || done != j.countedAll {
		j.counted, j.countedAll = s.now, done
		s.tellCounters(j, &m, &r)
		if j.graph() {
			s.tellGraph(j)
		}
	}
}

// ask remembers to tell of the tasks of a stage that reads files and stages, with the
// hosts of their blocks: they are asked for all at once, and only then do they wait.
func (j *job) ask(t *stage, l *layout) {
	if t.asked == 0 {
		t.base = j.count(t.kind).total
	}
	for task := range t.total {
		if t.state[task] != waiting {
			continue
		}
		news := pendingTask(t, task)
		for _, n := range t.in.of(task) {
			if n >= 0 {
				news.Preferred = append(news.Preferred, l.nodes[n].host)
			}
		}
		j.changed = append(j.changed, news)
	}
}

// tellTasks tells how far a job is, and what became of its tasks.
func (s *Sim) tellTasks(j *job) (m, r tasks) {
	m, r = j.count(model.StageMap), j.count(model.StageReduce)
	s.told.ofJob = model.JobFact{
		App: j.id, MapsTotal: m.total, MapsPending: m.pending(), MapsRunning: m.running, MapsCompleted: m.completed,
		ReducesTotal: r.total, ReducesPending: r.pending(), ReducesRunning: r.running, ReducesCompleted: r.completed,
	}
	s.apply(model.SourceMapReduce, &s.told.ofJob)
	if len(j.changed) > 0 {
		s.told.ofTasks = model.TasksFact{App: j.id, Tasks: j.changed}
		s.apply(model.SourceMapReduce, &s.told.ofTasks)
		j.changed = j.changed[:0]
	}
	return m, r
}

// introduceJob tells of a job for the first time: its configuration, its blocks
// and the tasks that read them.
func (s *Sim) introduceJob(j *job) {
	slowstart := s.params.Slowstart
	if j.graph() {
		slowstart = 0 // it asks by rules of its own
	}
	s.apply(model.SourceMapReduce, model.JobConfFact{
		App: j.id, Inputs: []string{"/in/" + string(j.id)}, Output: "/out/" + string(j.id), Slowstart: slowstart,
		Replication: s.cluster.Replication, MapTask: s.cluster.Container, ReduceTask: s.cluster.Container,
		Workflow: s.jobs.workflow(s.work, j.index),
	})
	if blocks := j.blocks(&s.world); len(blocks) > 0 {
		s.apply(model.SourceHDFS, j.located(blocks))
		j.changed = append(j.pendingTasks(blocks), j.changed...)
	}
	if j.orphan {
		j.tellWaiting(&s.world, nil)
	}
}

// located is where the blocks of a job's input are.
func (j *job) located(blocks []model.Block) model.BlocksFact {
	return model.BlocksFact{Path: "/in/" + string(j.id), Files: 1, Blocks: blocks}
}

// countersEvery is how often a job's counters are read: like a poller that asks
// each ApplicationMaster for them now and then, once a map is complete.
const countersEvery = 5 * model.Second

func (s *Sim) tellCounters(j *job, m, r *tasks) {
	f := model.CountersFact{App: j.id, LaunchedReduces: r.running + r.completed, CompletedMapsNow: m.completed}
	for i := range j.stages {
		t := &j.stages[i]
		if t.kind == model.StageMap {
			f.MapInput += t.taken
			f.MapOutput += t.left
			f.NodeLocalMaps += t.level[model.NodeLocal]
			f.RackLocalMaps += t.level[model.RackLocal]
			f.OtherLocalMaps += t.level[model.OffSwitch]
		}
		if len(t.readers) == 0 {
			f.HDFSWritten += t.left
		}
		f.ReduceShuffle += t.fetched()
	}
	s.apply(model.SourceMapReduce, f)
}

// tellEnd tells the last of a job that others read: what its history says of its
// tasks, and what it has written.
func (s *Sim) tellEnd(j *job) {
	m, r := j.count(model.StageMap), j.count(model.StageReduce)
	s.apply(model.SourceMapReduce, model.JobFact{
		App: j.id, MapsTotal: m.total, MapsCompleted: m.completed, ReducesTotal: r.total, ReducesCompleted: r.completed,
	})
	s.apply(model.SourceMapReduce, model.TasksFact{App: j.id, Tasks: j.changed})
	j.changed = nil
	s.tellCounters(j, &m, &r)
	if j.graph() {
		s.tellGraph(j)
	}
}

// fetched is what the tasks of a stage that no longer fetch have gathered.
func (t *stage) fetched() model.Bytes {
	if len(t.inputs) == 0 {
		return 0
	}
	over := t.running + t.completed + t.doubled()
	for _, g := range t.groups {
		if g.edge == t.inputs[0] {
			over -= len(g.tasks)
		}
	}
	return t.drawn / model.Bytes(t.total) * model.Bytes(over)
}

// tellGraph tells a job's graph of stages as it is now: like the timeline server
// the size of an output once its stage is complete, and where it lies so far.
func (s *Sim) tellGraph(j *job) {
	f := model.GraphFact{App: j.id}
	for i := range j.stages {
		t := &j.stages[i]
		g := model.GraphStage{
			Name: string(t.of.Name), Tasks: t.total, Completed: t.completed, Input: t.in.all(), Output: model.Unknown, Placed: s.layout.byRack(t.leftOn),
		}
		if t.complete() {
			g.Output = t.output
		}
		if t.kind == model.StageMap {
			g.InputAt = s.layout.byRack(t.inputOn(&s.layout))
		}
		f.Stages = append(f.Stages, g)
		for _, e := range t.of.Edges {
			f.Edges = append(f.Edges, model.GraphEdge{From: string(j.of.Stages[e.From].Name), To: g.Name, Kind: e.Kind})
		}
	}
	s.apply(model.SourceTez, f)
}

func (l *layout) byRack(bytes []model.Bytes) []model.RackBytes {
	var out []model.RackBytes
	for r, b := range bytes {
		if b > 0 {
			out = append(out, model.RackBytes{Rack: l.ids[r], Bytes: b})
		}
	}
	return out
}

// inputOn returns what of the blocks of a stage has a replica on each rack.
func (t *stage) inputOn(l *layout) []model.Bytes {
	on := make([]model.Bytes, len(l.ids))
	var racks []int
	for task := range t.total {
		racks = racks[:0]
		for _, n := range l.known(t.in.of(task)) {
			if r := l.nodes[n].rack; !slices.Contains(racks, r) {
				racks = append(racks, r)
				on[r] += t.in.size(task)
			}
		}
	}
	return on
}

// blocks returns the blocks of a job's input, none if it reads nothing.
func (j *job) blocks(s *world) []model.Block {
	total := j.count(model.StageMap).total
	out := make([]model.Block, 0, total)
	hosts, racks := make([]string, 0, total*s.cluster.Replication), make([]model.RackID, 0, total*s.cluster.Replication)
	for i := range j.stages {
		t := &j.stages[i]
		for task := range t.total {
			if !t.in.held(task) {
				continue
			}
			from := len(hosts)
			for _, n := range s.layout.known(t.in.of(task)) {
				hosts, racks = append(hosts, s.layout.nodes[n].host), append(racks, s.layout.ids[s.layout.nodes[n].rack])
			}
			out = append(out, model.Block{Length: t.in.size(task), Hosts: hosts[from:], Racks: racks[from:]})
		}
	}
	return out
}

// pendingTask returns a task that waits and names no host.
func pendingTask(t *stage, task int) model.Task {
	return model.Task{
		Stage: t.kind, Index: t.base + task, State: model.TaskPending,
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
			news := pendingTask(t, task)
			if t.in.held(task) {
				news.Preferred = blocks[0].Hosts
				blocks = blocks[1:]
			}
			if !t.both { // else it is told once it is asked for
				out = append(out, news)
			}
		}
	}
	return out
}

// tellWaiting tells of the maps of a job that wait, with the hosts of their
// blocks: of those with a replica on given nodes, of all without any given. A job
// without ApplicationMaster asks for none.
func (j *job) tellWaiting(s *world, nodes []int) {
	state := model.TaskPending
	if j.orphan {
		state = model.TaskFailed
	}
	for i := range j.stages {
		t := &j.stages[i]
		for task, is := range t.state {
			if t.kind != model.StageMap || is != waiting && !t.late(task) || !j.told {
				continue
			}
			replicas := t.in.of(task)
			if len(nodes) > 0 && !slices.ContainsFunc(replicas, func(n int32) bool { return slices.Contains(nodes, int(n)) }) {
				continue
			}
			news := model.Task{Stage: t.kind, Index: t.base + task, State: state, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
			news.Preferred = t.in.hosts(task, &s.layout)
			j.changed = append(j.changed, news)
		}
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
