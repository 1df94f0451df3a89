package policytest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// script runs one file of scenario commands against one cluster and one engine, as
// the service does: a command becomes observations, which are applied to the state
// that is there, and the policy is asked in between. A new cluster gets a new policy.
// Times are seconds since the first submission possible, sizes are MiB, hosts are
// w<rack><node>, racks /r<rack>.
//
//	params                        the policy's section of the configuration, as JSON
//	cluster racks=2 nodes=2 containers=4 [vcores=4]
//	job id=a user=ann at=0 blocks=(w11,w12+w21) reduces=4 [size=100] [slowstart=0.05]
//	    [queue=root.q] [priority=1] [task=(1024,1)] [workflow=q node=1 edges=(1>3,2>3)]
//	                              one map per block, which lists the hosts of its replicas; a task
//	                              is so many MiB and vcores; of the workflow q it is the node 1, and
//	                              3 reads what 1 and 2 write
//	done job=a maps=(w11,w21)|running output=100
//	                              the next maps complete there, each with that output: running
//	                              ones on that host first, whose container is free again; with
//	                              running in place of a list all that run complete where they are
//	end job=a [reduces=(w11,w21)] written=100
//	                              the job has ended: its running reduces are done where they are, the
//	                              next ones where the list says, and wrote so much in all
//	graph job=a [unasked=1]       what the timeline server says of its stages, a line each; some reduces are not asked for:
//	  map tasks=4 done=2 input=400 output=100 placed=(r1=50,r2=50)
//	  join tasks=2 reads=(map)    in the order of the lines; without output it is not known
//	fetched job=a mib=200         what its reduces have fetched of the map output in all
//	load r1=0.9 r2=0.1            utilisation of the uplinks
//	down node=w11                 the node is lost, and the tasks that run there are asked for again
//	at s=700                      the clock
//	offer node=w11 [count=2] [kinds=map] [busy]
//	                              offers the node, carries out what is placed; busy: the task
//	                              occupies nothing, so that the next offer finds the same cluster
//	plan                          every plan
//	running                       the maps that run on each node, with their predicted output
//	traffic                       where reduces were started, and what their shuffles send across racks
type script struct {
	build   policy.Factory
	params  string
	scene   Scene // what is true, and is reported
	cluster *state.Cluster
	engine  *engine.Engine
	now     model.Time

	*testing.T                      // of the present command
	command    *datadriven.TestData // likewise
	out        strings.Builder      // likewise
}

// RunScripts runs every scenario script of the package under test, testdata/*.txt,
// with policies that build makes.
func RunScripts(t *testing.T, build policy.Factory) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt") // the folder is also where rapid keeps what failed
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			s := script{build: build}
			datadriven.RunTest(t, path, s.run)
		})
	}
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	s.T, s.command = t, d
	s.out.Reset()
	switch d.Cmd {
	case "params":
		s.params = d.Input
		s.newEngine()
	case "cluster":
		s.newCluster()
	case "job":
		s.submit()
	case "done":
		s.finishMaps(s.app(s.text("job")))
	case "graph":
		a := s.app(s.text("job"))
		a.Unasked = int(s.number("unasked", 0))
		s.report(a)
		s.graph(a.ID)
	case "fetched":
		a := s.app(s.text("job"))
		a.Fetched = model.Bytes(s.number("mib", 0)) * model.MiB
		s.report(a)
	case "end":
		s.end(s.app(s.text("job")))
	case "load":
		s.load()
	case "down":
		s.lose(s.node(s.text("node")))
	case "at":
		s.now = Epoch.Add(model.Duration(s.number("s", 0)) * model.Second)
		s.cluster.Advance(s.now)
	case "offer":
		for range int(s.number("count", 1)) {
			s.offer(s.node(s.text("node")), model.Stage(s.text("kinds")))
		}
	case "plan":
		plans, err := s.engine.PlanJobs(s.cluster.View().Jobs())
		if err != nil {
			t.Fatal(err)
		}
		showPlans(&s.out, plans)
	case "running":
		showRunning(&s.out, s.cluster.View())
	case "traffic":
		showTraffic(&s.out, s.cluster.View())
	default:
		t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	if s.engine != nil && len(s.engine.Log().Rejected()) > 0 {
		t.Errorf("%s: the engine rejected %v", d.Pos, s.engine.Log().Rejected())
	}
	return s.out.String()
}

// list returns the values of an argument.
func (s *script) list(key string) []string {
	for _, a := range s.command.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

// text returns the value of an argument, "" without.
func (s *script) text(key string) string { return strings.Join(s.list(key), ",") }

// number returns the value of an argument or, without, another.
func (s *script) number(key string, without float64) float64 {
	if len(s.list(key)) == 0 {
		return without
	}
	return s.parse(s.text(key))
}

func (s *script) parse(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.Fatalf("%s: %v", s.command.Pos, err)
	}
	return f
}

// newEngine asks a policy of its own, which remembers nothing, from now on.
func (s *script) newEngine() {
	p, err := s.build([]byte(s.params))
	switch {
	case err != nil:
		s.out.WriteString(err.Error())
	case s.cluster != nil:
		opts := engine.DefaultOptions("scripted")
		opts.Recover = false
		s.engine = engine.New(opts, p, s.cluster)
	}
}

func (s *script) newCluster() {
	containers := s.number("containers", 4)
	total := model.Resource{MemoryMiB: int64(containers) * 1024, VCores: int64(s.number("vcores", containers))}
	s.scene = Scene{Capacity: 100e6, Config: state.DefaultConfig()}
	s.scene.Config.UplinkMaxAge, s.scene.Config.Saturation.EWMA = 1<<40, 0 // loads hold as they are given
	for r := range int(s.number("racks", 2)) {
		for n := range int(s.number("nodes", 2)) {
			host := fmt.Sprintf("w%d%d", r+1, n+1)
			s.scene.Nodes = append(s.scene.Nodes, model.Node{
				ID: model.NodeID(host + ":1"), Host: host, Rack: rackOf(host), State: model.NodeRunning, Total: total,
			})
		}
	}
	s.cluster, s.now = s.scene.Cluster(), Epoch
	s.newEngine()
}

// graph reports the stages of a job, which may have any type.
func (s *script) graph(id model.AppID) {
	f := model.GraphFact{App: id}
	command := s.command
	defer func() { s.command = command }()
	for line := range strings.SplitSeq(command.Input, "\n") {
		name, args, err := datadriven.ParseLine(line)
		if err != nil {
			s.Fatalf("%s: %v", command.Pos, err)
		}
		s.command = &datadriven.TestData{Pos: command.Pos, CmdArgs: args}
		g := model.GraphStage{
			Name: name, Tasks: int(s.number("tasks", 1)), Completed: int(s.number("done", 0)),
			Input: model.Bytes(s.number("input", 0)) * model.MiB, Output: model.Unknown,
		}
		if s.command.HasArg("output") {
			g.Output = model.Bytes(s.number("output", 0)) * model.MiB
		}
		for _, on := range s.list("placed") {
			rack, bytes, _ := strings.Cut(on, "=")
			g.Placed = append(g.Placed, model.RackBytes{Rack: model.RackID("/" + rack), Bytes: model.Bytes(s.parse(bytes)) * model.MiB})
		}
		for _, from := range s.list("reads") {
			f.Edges = append(f.Edges, model.GraphEdge{From: from, To: name, Kind: model.ScatterGather})
		}
		f.Stages = append(f.Stages, g)
	}
	s.observe(observed(model.SourceTez, f))
}

// report has the ResourceManager report nodes and applications, and then an
// application report itself.
func (s *script) report(a *App) {
	s.observe(s.scene.fromRM()...)
	s.observe(a.observations()...)
}

// observe applies what is observed now.
func (s *script) observe(observations ...model.Observation) {
	for _, o := range observations {
		o.At = s.now
		s.cluster.Apply(o)
	}
}

func rackOf(host string) model.RackID { return model.RackID("/r" + host[1:2]) }

func (s *script) node(host string) *model.Node {
	i := slices.IndexFunc(s.scene.Nodes, func(n model.Node) bool { return n.Host == host })
	if i < 0 {
		s.Fatalf("%s: no node %q", s.command.Pos, host)
	}
	return &s.scene.Nodes[i]
}

func (s *script) app(id string) *App {
	i := slices.IndexFunc(s.scene.Apps, func(a App) bool { return a.ID == model.AppID(id) })
	if i < 0 {
		s.Fatalf("%s: no job %q", s.command.Pos, id)
	}
	return &s.scene.Apps[i]
}

func (s *script) submit() {
	task := model.Resource{MemoryMiB: 1024, VCores: 1}
	if v := s.list("task"); len(v) == 2 {
		task = model.Resource{MemoryMiB: int64(s.parse(v[0])), VCores: int64(s.parse(v[1]))}
	}
	a := App{
		App: model.App{
			ID: model.AppID(s.text("id")), User: model.UserID(s.text("user")), Queue: model.QueueID(s.text("queue")),
			Priority: int(s.number("priority", 0)), Type: "MAPREDUCE", State: model.AppRunning,
			Submitted: Epoch.Add(model.Duration(s.number("at", 0)) * model.Second),
		},
		MapTask: task, ReduceTask: task, Slowstart: s.number("slowstart", 0.05), MapInput: model.Unknown, MapOutput: model.Unknown,
	}
	if id := s.text("workflow"); id != "" {
		a.Workflow = &model.Workflow{ID: id, Node: s.text("node")}
		for _, e := range s.list("edges") {
			from, to, _ := strings.Cut(e, ">")
			a.Workflow.Edges = append(a.Workflow.Edges, model.WorkflowEdges{Node: from, Next: []string{to}})
		}
	}
	for i, b := range s.list("blocks") {
		hosts := strings.Split(b, "+")
		block := model.Block{Length: model.Bytes(s.number("size", 100)) * model.MiB, Hosts: hosts}
		for _, h := range hosts {
			block.Racks = append(block.Racks, rackOf(h))
		}
		a.Input = append(a.Input, block)
		a.Maps = append(a.Maps, newTask(model.StageMap, i, hosts))
	}
	for i := range int(s.number("reduces", 0)) {
		a.Reduces = append(a.Reduces, newTask(model.StageReduce, i, nil))
	}
	s.scene.Apps = append(s.scene.Apps, a)
	s.report(&a)
}

func newTask(stage model.Stage, i int, hosts []string) model.Task {
	return model.Task{
		Stage: stage, Index: i, State: model.TaskPending, Preferred: hosts,
		Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
	}
}

func (s *script) finishMaps(a *App) {
	hosts := s.list("maps")
	for i := range a.Maps {
		if m := &a.Maps[i]; s.command.HasArg("running") && m.State == model.TaskRunning {
			hosts = append(hosts, m.Host)
		}
	}
	a.MapInput, a.MapOutput = max(a.MapInput, 0), max(a.MapOutput, 0)
	for _, host := range hosts {
		i := slices.IndexFunc(a.Maps, func(t model.Task) bool { return t.State == model.TaskRunning && t.Host == host })
		if i < 0 {
			i = slices.IndexFunc(a.Maps, func(t model.Task) bool { return t.State != model.TaskSucceeded })
		}
		if i < 0 {
			s.Fatalf("%s: no map of %s is left", s.command.Pos, a.ID)
		}
		m := &a.Maps[i]
		s.stop(a, m)
		m.State, m.Host, m.Rack = model.TaskSucceeded, host, rackOf(host)
		m.Input, m.Output = a.Input[m.Index].Length, model.Bytes(s.number("output", 100))*model.MiB
		a.MapInput += m.Input
		a.MapOutput += m.Output
	}
	s.report(a)
}

func (s *script) end(a *App) {
	hosts := s.list("reduces")
	for i := range a.Reduces {
		r := &a.Reduces[i]
		switch {
		case r.State == model.TaskRunning:
			s.stop(a, r)
		case r.State == model.TaskPending && len(hosts) > 0:
			r.Host, r.Rack, hosts = hosts[0], rackOf(hosts[0]), hosts[1:]
		default:
			continue
		}
		r.State = model.TaskSucceeded
	}
	a.Written, a.MapInput, a.MapOutput = model.Bytes(s.number("written", 0))*model.MiB, max(a.MapInput, 0), max(a.MapOutput, 0)
	s.report(a)
	a.State = model.AppFinished // only now, as nobody asks an application that has ended
	s.report(a)
}

func (s *script) load() {
	var loads []model.UplinkSample
	for _, rack := range s.cluster.View().Racks() {
		load := s.number(strings.TrimPrefix(string(rack.ID), "/"), 0)
		loads = append(loads, model.UplinkSample{Rack: rack.ID, Out: s.scene.Capacity * model.BytesPerSecond(load)})
	}
	s.observe(observed(model.SourceUplink, model.UplinkFact{Method: state.MethodPrometheus, Samples: loads}))
	s.cluster.Advance(s.now)
}

func (s *script) lose(n *model.Node) {
	n.State = model.NodeLost
	for i := range s.scene.Apps {
		a := &s.scene.Apps[i]
		for _, tasks := range [][]model.Task{a.Maps, a.Reduces} {
			for k := range tasks {
				if r := &tasks[k]; r.State == model.TaskRunning && r.Host == n.Host {
					s.stop(a, r)
					r.State, r.Host, r.Rack = model.TaskPending, "", ""
				}
			}
		}
		s.report(a)
	}
}

func (s *script) offer(n *model.Node, kinds model.Stage) {
	placements, err := s.engine.Offer(policy.Offer{Node: s.cluster.View().Node(n.ID), Kinds: kinds})
	if err != nil {
		s.Fatal(err)
	}
	if len(placements) == 0 {
		fmt.Fprintf(&s.out, "%s: nothing\n", n.Host)
	}
	for _, p := range placements {
		fmt.Fprintf(&s.out, "%s: %s of %s, %s, %s\n", n.Host, p.Stage, p.App, p.Locality, p.Reason)
		if !s.command.HasArg("busy") {
			s.start(n, s.app(string(p.App)), p.Stage)
		}
	}
}

// start carries a placement out: the application gives the node its most local
// pending task.
func (s *script) start(n *model.Node, a *App, stage model.Stage) {
	tasks := a.Maps
	if stage == model.StageReduce {
		tasks = a.Reduces
	}
	var best *model.Task
	level := func(t *model.Task) model.Locality {
		if slices.Contains(t.Preferred, n.Host) {
			return model.NodeLocal
		}
		if slices.ContainsFunc(t.Preferred, func(h string) bool { return rackOf(h) == n.Rack }) {
			return model.RackLocal
		}
		return model.OffSwitch
	}
	for i := range tasks {
		if t := &tasks[i]; t.State == model.TaskPending && (best == nil || level(t) < level(best)) {
			best = t
		}
	}
	best.State, best.Host, best.Rack = model.TaskRunning, n.Host, n.Rack
	n.Used, a.Allocated = n.Used.Add(a.MapTask), a.Allocated.Add(a.MapTask) // reduces are of the same size here
	s.report(a)
}

// stop gives back the container of a task that runs.
func (s *script) stop(a *App, t *model.Task) {
	if t.State == model.TaskRunning {
		n := s.node(t.Host)
		n.Used, a.Allocated = n.Used.Sub(a.MapTask), a.Allocated.Sub(a.MapTask)
	}
}
