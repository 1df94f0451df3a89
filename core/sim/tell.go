package sim

import (
	"heddle/core/model"
	"heddle/core/state"
)

// desk is what there is to tell the scheduler at the next heartbeat.
type desk struct {
	demand  int    // tasks asked for and not launched
	nodes   bool   // a node is fuller or emptier than it was told
	ended   []*job // that are over
	dirty   []*job
	assumed []model.Placement
}

// told is room for what is told at every heartbeat.
type told struct {
	nodes []model.Node
	apps  []model.App
	loads []model.UplinkSample
}

// mark remembers that there is news of a job.
func (d *desk) mark(j *job) {
	if !j.dirty {
		j.dirty = true
		d.dirty = append(d.dirty, j)
	}
}

// tell remembers what became of a task.
func (j *job) tell(stage model.Stage, task int, state model.TaskState, n *node, s *world) {
	t := model.Task{
		Stage: stage, Index: task, State: state, Host: n.host, Rack: s.layout.ids[n.rack],
		Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
	}
	if state == model.TaskSucceeded && stage == model.StageMap {
		t.Input, t.Output = j.maps.in.size(task), j.maps.outputOf(task)
	}
	j.changed = append(j.changed, t)
}

// introduce tells of the nodes.
func (s *Sim) introduce() {
	for i := range s.layout.nodes {
		n := &s.layout.nodes[i]
		s.told.nodes = append(s.told.nodes, model.Node{
			ID: n.id, Host: n.host, Rack: s.layout.ids[n.rack], State: model.NodeRunning, Total: s.cluster.Container.Times(int64(n.total)),
		})
	}
	s.told.loads = make([]model.UplinkSample, len(s.layout.ids))
	s.apply(model.SourceRM, model.NodesFact{Nodes: s.told.nodes})
}

func (s *Sim) apply(from model.Source, f model.Fact) {
	s.state.Apply(model.Observation{Source: from, At: s.now, Fact: f})
}

// tell tells the scheduler what has happened since the last heartbeat.
func (s *Sim) tell() {
	d, room := &s.desk, &s.told
	if d.nodes {
		d.nodes = false
		for i := range room.nodes {
			n := &s.layout.nodes[i]
			room.nodes[i].Used, room.nodes[i].Containers = s.cluster.Container.Times(int64(n.used)), n.used
		}
		s.apply(model.SourceRM, model.NodesFact{Nodes: room.nodes})
	}
	if len(d.dirty) > 0 || len(d.ended) > 0 {
		for _, over := range d.ended {
			if j := s.state.View().Job(over.id); j != nil && s.steering != nil {
				s.steering.forget(j)
			}
			if len(s.jobs.chains.children[over.index]) > 0 {
				s.tellEnd(over)
			}
		}
		d.ended = d.ended[:0]
		s.tellApps()
	}
	for _, j := range d.dirty {
		j.dirty = false
		if s.jobs.byID[j.id] == j { // else it is over
			s.tellJob(j)
		}
	}
	d.dirty = d.dirty[:0]
	for r, load := range s.book.links.loads {
		room.loads[r] = model.UplinkSample{Rack: s.layout.ids[r], Out: load.Out, In: load.In}
	}
	s.apply(model.SourceUplink, model.UplinkFact{Method: state.MethodPrometheus, Samples: room.loads})
	s.state.Advance(s.now)
}

func (s *Sim) tellApps() {
	apps := s.told.apps[:0]
	for _, j := range s.jobs.live {
		used := j.maps.running + j.reduce.running
		if j.am != end {
			used++
		}
		apps = append(apps, model.App{
			ID: j.id, Name: j.of.Name, User: j.of.User, Queue: j.of.Queue, Type: "MAPREDUCE", State: model.AppRunning,
			Submitted: j.submit, Allocated: s.cluster.Container.Times(int64(used)), Containers: used,
		})
	}
	s.told.apps = apps
	s.apply(model.SourceRM, model.AppsFact{Apps: apps})
}

// tellJob tells what the job's ApplicationMaster and the NameNode say of it.
func (s *Sim) tellJob(j *job) {
	m, r := &j.maps, &j.reduce
	fresh := !j.told
	if fresh {
		j.told = true
		s.apply(model.SourceMapReduce, model.JobConfFact{
			App: j.id, Inputs: []string{"/in/" + string(j.id)}, Output: "/out/" + string(j.id), Slowstart: s.params.Slowstart,
			Replication: s.cluster.Replication, MapTask: s.cluster.Container, ReduceTask: s.cluster.Container,
			Workflow: s.jobs.workflow(s.work, j.index),
		})
		if blocks := s.blocks(j); len(blocks) > 0 {
			s.apply(model.SourceHDFS, model.BlocksFact{Path: "/in/" + string(j.id), Files: 1, Blocks: blocks})
			j.changed = append(s.pendingTasks(j, blocks), j.changed...)
		}
	}
	asked := j.wanted(&s.params, s.book.headroom(j, s.jobs.free, s.cluster.Containers()))
	s.desk.demand += asked - r.asked
	r.asked = asked
	s.apply(model.SourceMapReduce, model.JobFact{
		App: j.id, MapsTotal: m.total, MapsPending: m.pending, MapsRunning: m.running, MapsCompleted: m.completed,
		ReducesTotal: r.total, ReducesPending: r.asked - r.running - r.completed, ReducesRunning: r.running, ReducesCompleted: r.completed,
	})
	if len(j.changed) > 0 {
		s.apply(model.SourceMapReduce, model.TasksFact{App: j.id, Tasks: j.changed})
		if fresh {
			j.changed = nil // it was as long as the job is wide
		}
		j.changed = j.changed[:0]
	}
	if s.now.Sub(j.counted) >= countersEvery || m.completed == m.total {
		j.counted = s.now
		s.tellCounters(j)
	}
}

// countersEvery is how often a job's counters are read: like a poller that asks
// each ApplicationMaster for them now and then, once a map is complete.
const countersEvery = 5 * model.Second

func (s *Sim) tellCounters(j *job) {
	m, r := &j.maps, &j.reduce
	s.apply(model.SourceMapReduce, model.CountersFact{
		App: j.id, MapInput: m.read, MapOutput: m.left, ReduceShuffle: j.fetched(), HDFSWritten: j.written(),
		NodeLocalMaps: m.level[model.NodeLocal], RackLocalMaps: m.level[model.RackLocal], OtherLocalMaps: m.level[model.OffSwitch],
		LaunchedReduces: r.running + r.completed, CompletedMapsNow: m.completed,
	})
}

// tellEnd tells the last of a job that others read: what its history says of its
// tasks, and what it has written.
func (s *Sim) tellEnd(j *job) {
	m, r := &j.maps, &j.reduce
	s.apply(model.SourceMapReduce, model.JobFact{
		App: j.id, MapsTotal: m.total, MapsCompleted: m.completed, ReducesTotal: r.total, ReducesCompleted: r.completed,
	})
	s.apply(model.SourceMapReduce, model.TasksFact{App: j.id, Tasks: j.changed})
	j.changed = nil
	s.tellCounters(j)
}

// written is what the tasks that are done have written to HDFS.
func (j *job) written() model.Bytes {
	if r := &j.reduce; r.total > 0 {
		return model.Bytes(float64(r.stage.Output) * float64(r.completed) / float64(r.total))
	}
	return j.maps.left
}

// fetched is what reduces that no longer fetch have fetched.
func (j *job) fetched() model.Bytes {
	r := &j.reduce
	if r.total == 0 {
		return 0
	}
	over := r.running + r.completed
	for i := range r.groups {
		over -= len(r.groups[i].tasks)
	}
	return j.maps.output / model.Bytes(r.total) * model.Bytes(over)
}

// blocks returns the blocks of a job's input, none if it reads nothing.
func (s *Sim) blocks(j *job) []model.Block {
	m := &j.maps
	out := make([]model.Block, 0, m.total)
	hosts, racks := make([]string, 0, m.total*m.in.stride), make([]model.RackID, 0, m.total*m.in.stride)
	for task := range m.total {
		if !m.in.held(task) {
			continue
		}
		from := len(hosts)
		for _, n := range m.in.of(task) {
			if n >= 0 {
				hosts, racks = append(hosts, s.layout.nodes[n].host), append(racks, s.layout.ids[s.layout.nodes[n].rack])
			}
		}
		out = append(out, model.Block{Length: m.in.size(task), Hosts: hosts[from:], Racks: racks[from:]})
	}
	return out
}

// pendingTasks returns the maps of a job that wait, with the hosts of their blocks.
func (s *Sim) pendingTasks(j *job, blocks []model.Block) []model.Task {
	m := &j.maps
	out := make([]model.Task, 0, m.total)
	for task := range m.total {
		t := model.Task{
			Stage: model.StageMap, Index: task, State: model.TaskPending, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
		}
		if m.in.held(task) {
			t.Preferred = blocks[0].Hosts
			blocks = blocks[1:]
		}
		out = append(out, t)
	}
	return out
}
