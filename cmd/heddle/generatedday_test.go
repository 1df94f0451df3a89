package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"heddle/core/model"
)

// The cluster of a generated day.
const (
	dayRacks   = 25
	dayNodes   = 1000
	dayApps    = 200 // that run at any time
	dayMemory  = 98304
	dayTaskMiB = 4096
	dayStart   = model.Time(1_795_000_000_000)
	dayDetails = 7  // applications whose asks and containers a poll reads, within 20 requests a second
	dayJobs    = 10 // whose tasks a poll of ApplicationMasters reads, every two seconds, beside details of 20 tasks
	dayLooks   = 20
)

// generatedDay is a cluster that runs dayApps MapReduce applications at any time, and what a service
// with the default intervals and budgets observes of it. It is drawn, not simulated: tasks start
// on any node with room.
type generatedDay struct {
	rand   *rand.Rand
	now    model.Time
	nodes  []model.Node
	moved  map[int]bool // nodes that changed since the last list
	apps   []*dayApp    // that run
	ended  []*dayApp    // to be read from the JobHistory server
	number int
	turn   [2]int // whose turn it is to be read: details of the ResourceManager, ApplicationMasters
	emit   func(model.Source, model.Fact)
}

// dayApp is one application.
type dayApp struct {
	app     model.App
	shown   model.App // as last listed
	stages  [2]dayStage
	changed map[*dayTask]bool // since its tasks were last read
	known   bool              // its configuration and blocks have been read
	look    []*dayTask        // whose details are to be read
	am      int
}

// dayStage is a stage of an application.
type dayStage struct {
	kind    model.Stage
	tasks   []*dayTask
	next    int
	running []*dayTask
	done    int
}

// dayTask is one task.
type dayTask struct {
	model.Task
	node       int
	id         string
	from, to   model.Time
	in, out    model.Bytes // once its counters are read
	stageIndex int
}

func newGeneratedDay(seed uint64, emit func(model.Source, model.Fact)) *generatedDay {
	d := &generatedDay{rand: rand.New(rand.NewPCG(seed, 1)), now: dayStart, moved: map[int]bool{}, emit: emit}
	for i := range dayNodes {
		host := fmt.Sprintf("worker-%04d.example.com", i)
		d.nodes = append(d.nodes, model.Node{
			ID: model.NodeID(host + ":8041"), Host: host, Rack: model.RackID(fmt.Sprintf("/dc1/rack%02d", i%dayRacks)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: dayMemory, VCores: 24}, HTTPAddress: host + ":8042",
		})
	}
	return d
}

// second lets a second pass, and emits what is observed in it.
func (d *generatedDay) second(n int) {
	d.now = d.now.Add(model.Second)
	for len(d.apps) < dayApps {
		d.submit()
	}
	for _, a := range slices.Clone(d.apps) {
		d.run(a)
	}
	d.readResourceManager(n)
	if n%2 == 0 {
		d.readApplicationMasters()
		d.readHistory()
	}
	if n%30 == 0 {
		d.readDataNodes()
	}
	d.emit(model.SourceService, model.SampleFact{})
	d.emit(model.SourceService, model.RoundFact{})
}

// submit submits a job of lognormal size.
func (d *generatedDay) submit() {
	d.number++
	size := math.Exp(d.rand.NormFloat64()) // median 1
	maps := max(int(24*size), 1)
	a := &dayApp{changed: map[*dayTask]bool{}, am: d.rand.IntN(dayNodes)}
	a.app = model.App{
		ID: model.AppID(fmt.Sprintf("application_1794999000000_%05d", d.number)), Name: fmt.Sprintf("etl-%d-daily", d.number%180), User: model.UserID(fmt.Sprintf("user%02d", d.number%37)),
		Queue: model.QueueID(fmt.Sprintf("root.team%d", d.number%8)), Type: "MAPREDUCE", State: model.AppRunning, Submitted: d.now, AMNode: d.nodes[a.am].ID, Containers: 1, Allocated: model.Resource{MemoryMiB: 2048, VCores: 1},
	}
	for s, n := range [...]int{maps, max(maps/4, 1)} {
		st := &a.stages[s]
		st.kind = [...]model.Stage{model.StageMap, model.StageReduce}[s]
		for i := range n {
			t := &dayTask{stageIndex: s, Task: model.Task{Stage: st.kind, Index: i, State: model.TaskPending, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}}
			st.tasks = append(st.tasks, t)
			a.changed[t] = true
		}
	}
	d.use(a.am, 2048, 1)
	d.apps = append(d.apps, a)
}

// use adds containers to a node, or takes them off.
func (d *generatedDay) use(node int, memory int64, containers int) {
	n := &d.nodes[node]
	n.Used.MemoryMiB += memory
	n.Used.VCores += int64(containers)
	n.Containers += containers
	d.moved[node] = true
}

// run lets an application's tasks end and start.
func (d *generatedDay) run(a *dayApp) {
	for s := range a.stages {
		st := &a.stages[s]
		st.running = slices.DeleteFunc(st.running, func(t *dayTask) bool {
			if t.to > d.now {
				return false
			}
			t.State, t.Progress, t.Finished = model.TaskSucceeded, 1, t.to
			if s == 1 {
				t.Fetched = t.to.Add(-2 * model.Second)
			}
			d.change(a, t, -1)
			st.done++
			a.look = append(a.look, t)
			return true
		})
		if s == 1 && a.stages[0].done*20 < len(a.stages[0].tasks) {
			continue
		}
		for k := 0; k < 4 && st.next < len(st.tasks); k++ { // a heartbeat or two
			d.start(a, st)
		}
	}
	if st := &a.stages[1]; st.done == len(st.tasks) && a.stages[0].done == len(a.stages[0].tasks) {
		a.app.State, a.app.Finished, a.app.Containers, a.app.Allocated, a.app.AMNode = model.AppFinished, d.now, 0, model.Resource{}, ""
		d.use(a.am, -2048, -1)
		d.apps = slices.DeleteFunc(d.apps, func(o *dayApp) bool { return o == a })
		d.ended = append(d.ended, a)
	}
}

// start starts the next task of a stage on a node with room.
func (d *generatedDay) start(a *dayApp, st *dayStage) {
	t := st.tasks[st.next]
	st.next++
	for t.node = d.rand.IntN(dayNodes); d.nodes[t.node].Free().MemoryMiB < dayTaskMiB; {
		t.node = (t.node + 1) % dayNodes
	}
	n := &d.nodes[t.node]
	took := 20_000 + d.rand.ExpFloat64()*60_000
	if t.stageIndex == 1 {
		took = 60_000 + d.rand.ExpFloat64()*90_000
	}
	t.State, t.Host, t.Rack, t.from, t.Launched = model.TaskRunning, n.Host, n.Rack, d.now, d.now
	t.to = d.now.Add(model.Duration(took))
	t.in, t.out = model.Bytes(100e6+d.rand.Float64()*34e6), model.Bytes(40e6+d.rand.Float64()*60e6)
	t.id = fmt.Sprintf("container_e17_%s_01_%06d", a.app.ID[len("application_"):], d.rand.IntN(1_000_000))
	st.running = append(st.running, t)
	d.change(a, t, +1)
}

func (d *generatedDay) change(a *dayApp, t *dayTask, containers int) {
	d.use(t.node, int64(containers)*dayTaskMiB, containers)
	a.app.Containers += containers
	a.app.Allocated = a.app.Allocated.Add(model.Resource{MemoryMiB: dayTaskMiB, VCores: 1}.Times(int64(containers)))
	a.changed[t] = true
}

// readResourceManager emits what a poll of the ResourceManager reads.
func (d *generatedDay) readResourceManager(n int) {
	cluster := model.ClusterFact{Started: dayStart - 1_000_000, Version: "3.4.3", HAState: "ACTIVE", Address: "rm1.example.com:8088"}
	d.emit(model.SourceRM, cluster)
	nodes := model.NodesFact{Partial: n%60 != 1}
	for i := range d.nodes {
		if !nodes.Partial || d.moved[i] {
			nodes.Nodes = append(nodes.Nodes, d.nodes[i])
		}
	}
	clear(d.moved)
	d.emit(model.SourceRM, nodes)
	if n%30 == 1 {
		for q := range 8 {
			cluster.Queues = append(cluster.Queues, model.Queue{ID: model.QueueID(fmt.Sprintf("root.team%d", q)), Share: 0.125})
		}
		cluster.Scheduler = "capacityScheduler"
		d.emit(model.SourceRM, cluster)
	}
	apps := model.AppsFact{Partial: n%60 != 1}
	for _, a := range d.apps {
		if !apps.Partial || a.app != a.shown {
			apps.Apps = append(apps.Apps, a.app)
		}
		a.shown = a.app
	}
	for _, a := range d.ended {
		if a.shown != a.app {
			apps.Apps = append(apps.Apps, a.app)
		}
		a.shown = a.app
	}
	d.emit(model.SourceRM, apps)
	for range dayDetails {
		a := d.apps[d.turn[0]%len(d.apps)]
		d.turn[0]++
		d.emit(model.SourceRM, a.asks(d))
		d.emit(model.SourceRM, a.containers(d))
	}
	d.emit(model.SourceRM, model.PollFact{Result: model.PollOK, DurationMS: 400 + d.rand.Int64N(300), Requests: 4 + 2*dayDetails, Bytes: 900_000 + model.Bytes(d.rand.IntN(100_000))})
}

// asks are the rows of what waits: a host row and a rack row for each map, and one for all.
func (a *dayApp) asks(d *generatedDay) model.AsksFact {
	f := model.AsksFact{App: a.app.ID}
	capability := model.Resource{MemoryMiB: dayTaskMiB, VCores: 1}
	for s := range a.stages {
		st := &a.stages[s]
		waiting := len(st.tasks) - st.next
		if waiting == 0 {
			continue
		}
		priority := [...]int{model.PriorityMap, model.PriorityReduce}[s]
		row := func(name string, n int) {
			f.Rows = append(f.Rows, model.AskRow{Priority: priority, ResourceName: name, Capability: capability, Count: n, RelaxLocality: true})
		}
		if s == 0 {
			for i := range min(waiting, 60) {
				row(d.nodes[(a.am+37*i)%dayNodes].Host, 1)
			}
			for r := range min(waiting, dayRacks) {
				row(fmt.Sprintf("/dc1/rack%02d", r), max(waiting/dayRacks, 1))
			}
		}
		row(model.AnyName, waiting)
	}
	return f
}

func (a *dayApp) containers(d *generatedDay) model.ContainersFact {
	f := model.ContainersFact{App: a.app.ID}
	for s := range a.stages {
		for _, t := range a.stages[s].running {
			f.Containers = append(f.Containers, model.Container{
				ID: t.id, Node: d.nodes[t.node].ID, Priority: [...]int{model.PriorityMap, model.PriorityReduce}[s], Resource: model.Resource{MemoryMiB: dayTaskMiB, VCores: 1}, Started: t.from,
			})
		}
	}
	return f
}

// readApplicationMasters emits what a poll of ApplicationMasters reads.
func (d *generatedDay) readApplicationMasters() {
	for range dayJobs {
		a := d.apps[d.turn[1]%len(d.apps)]
		d.turn[1]++
		d.readJob(a, model.SourceMapReduce)
	}
	d.emit(model.SourceMapReduce, model.PollFact{Result: model.PollBudget, DurationMS: 1900 + d.rand.Int64N(90), Requests: 40, Bytes: 300_000 + model.Bytes(d.rand.IntN(50_000))})
}

// readJob emits a job's object, its tasks that changed, and now and then its counters.
func (d *generatedDay) readJob(a *dayApp, from model.Source) {
	m, r := &a.stages[0], &a.stages[1]
	d.emit(from, model.JobFact{
		App: a.app.ID, MapsTotal: len(m.tasks), MapsPending: len(m.tasks) - m.next, MapsRunning: len(m.running), MapsCompleted: m.done,
		ReducesTotal: len(r.tasks), ReducesPending: len(r.tasks) - r.next, ReducesRunning: len(r.running), ReducesCompleted: r.done, Done: from == model.SourceHistory,
	})
	if !a.known {
		a.known = true
		path := fmt.Sprintf("hdfs://prod/warehouse/table_%03d/day=2026-11-23", d.rand.IntN(400))
		task := model.Resource{MemoryMiB: dayTaskMiB, VCores: 1}
		d.emit(from, model.JobConfFact{App: a.app.ID, Inputs: []string{path}, Output: fmt.Sprintf("hdfs://prod/out/%05d", d.number), Slowstart: 0.05, Replication: 3, MapTask: task, ReduceTask: task})
		d.emit(model.SourceHDFS, d.blocks(path, len(m.tasks)))
	}
	looks := 2
	if from == model.SourceHistory {
		looks = len(a.look)
	}
	for _, t := range a.look[:min(looks, len(a.look))] {
		if t.Stage == model.StageMap {
			t.Input, t.Output = t.in, t.out
		} else {
			t.Shuffled = t.in
		}
		a.changed[t] = true
	}
	a.look = a.look[min(looks, len(a.look)):]
	f := model.TasksFact{App: a.app.ID}
	for s := range a.stages {
		for _, t := range a.stages[s].running {
			t.Progress = math.Round(100*float64(d.now-t.from)/float64(t.to-t.from)) / 100 // as the poller rounds it
			a.changed[t] = true
		}
	}
	for t := range a.changed { // order-free: sorted below
		f.Tasks = append(f.Tasks, t.Task)
	}
	clear(a.changed)
	slices.SortFunc(f.Tasks, func(x, y model.Task) int { return cmp.Or(cmp.Compare(x.Stage, y.Stage), cmp.Compare(x.Index, y.Index)) })
	if len(f.Tasks) > 0 {
		d.emit(from, f)
	}
	if d.rand.IntN(5) == 0 || from == model.SourceHistory {
		d.emit(from, model.CountersFact{
			App: a.app.ID, MapOutput: model.Bytes(m.done) * 70e6, MapInput: model.Bytes(m.done) * 117e6, ReduceShuffle: model.Bytes(r.done) * 280e6, HDFSWritten: model.Bytes(r.done) * 100e6,
			NodeLocalMaps: m.done / 2, RackLocalMaps: m.done / 3, OtherLocalMaps: m.done - m.done/2 - m.done/3, LaunchedReduces: r.next,
		})
	}
}

// blocks are the blocks of a job's input, with three replicas each.
func (d *generatedDay) blocks(path string, n int) model.BlocksFact {
	f := model.BlocksFact{Path: path, Files: max(n/8, 1)}
	for i := range n {
		first, rack := d.rand.IntN(dayNodes), d.rand.IntN(dayRacks)
		on := []int{first, rack + dayRacks*d.rand.IntN(dayNodes/dayRacks), rack + dayRacks*d.rand.IntN(dayNodes/dayRacks)}
		b := model.Block{Offset: model.Bytes(i%8) * (128 << 20), Length: 128 << 20}
		for _, k := range on {
			b.Hosts, b.Racks = append(b.Hosts, d.nodes[k].Host), append(b.Racks, d.nodes[k].Rack)
		}
		f.Blocks = append(f.Blocks, b)
	}
	return f
}

// readHistory emits the last facts of the applications that ended.
func (d *generatedDay) readHistory() {
	for _, a := range d.ended {
		d.readJob(a, model.SourceHistory)
	}
	d.ended = d.ended[:0]
	d.emit(model.SourceHistory, model.PollFact{Result: model.PollOK, DurationMS: 200, Requests: 4, Bytes: 50_000})
}

func (d *generatedDay) readDataNodes() {
	f := model.DataNodesFact{}
	for i := range d.nodes {
		f.DataNodes = append(f.DataNodes, model.DataNode{
			Host: d.nodes[i].Host, Rack: d.nodes[i].Rack, Blocks: int64(40_000 + i + d.rand.IntN(3)), Capacity: 48e12, Used: model.Bytes(21e12 + 1e6*d.rand.IntN(1000)), Live: true,
		})
	}
	d.emit(model.SourceHDFS, f)
	d.emit(model.SourceHDFS, model.PollFact{Result: model.PollOK, DurationMS: 120, Requests: 1, Bytes: 400_000})
}
