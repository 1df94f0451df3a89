package policytest

import (
	"cmp"
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
	raw     string // parameters
	scene   Scene  // what is true, and is reported
	cluster *state.Cluster
	engine  *engine.Engine
	now     model.Time
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
			datadriven.RunTest(t, path, (&script{build: build}).run)
		})
	}
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "params":
		return s.params(t, d.Input)
	case "cluster":
		return s.newCluster(t, d)
	case "job":
		return s.job(t, d)
	case "done":
		return s.done(t, d)
	case "fetched":
		return s.fetched(t, d)
	case "end":
		return s.end(t, d)
	case "load":
		return s.load(t, d)
	case "down":
		var node string
		d.ScanArgs(t, "node", &node)
		return s.lose(t, node)
	case "at":
		var sec int
		d.ScanArgs(t, "s", &sec)
		s.now = Epoch.Add(model.Duration(sec) * model.Second)
		s.cluster.Advance(s.now)
		return ""
	case "offer":
		return s.offer(t, d)
	case "plan":
		return s.plan(t)
	case "running":
		return s.running()
	case "traffic":
		return s.traffic(t)
	}
	t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	return ""
}

// params gives the engine a policy of its own, which remembers nothing.
func (s *script) params(t *testing.T, raw string) string {
	t.Helper()
	p, err := s.build([]byte(raw))
	if err != nil {
		return err.Error()
	}
	s.raw = raw
	if s.cluster != nil {
		opts := engine.DefaultOptions("scripted")
		opts.Recover = false
		s.engine = engine.New(opts, p, s.cluster)
	}
	return ""
}

func (s *script) newCluster(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	racks, nodes, containers := 2, 2, 4
	d.MaybeScanArgs(t, "racks", &racks)
	d.MaybeScanArgs(t, "nodes", &nodes)
	d.MaybeScanArgs(t, "containers", &containers)
	vcores := containers
	d.MaybeScanArgs(t, "vcores", &vcores)
	s.scene = Scene{Capacity: 100e6, Config: state.DefaultConfig()}
	s.scene.Config.UplinkMaxAge, s.scene.Config.Saturation.EWMA = 1<<40, 0 // loads hold as they are given
	for r := 1; r <= racks; r++ {
		for n := 1; n <= nodes; n++ {
			host := fmt.Sprintf("w%d%d", r, n)
			s.scene.Nodes = append(s.scene.Nodes, model.Node{
				ID: model.NodeID(host + ":1"), Host: host, Rack: rackOf(host), State: model.NodeRunning,
				Total: model.Resource{MemoryMiB: int64(containers) * 1024, VCores: int64(vcores)},
			})
		}
	}
	s.cluster, s.now = s.scene.Cluster(), Epoch
	return s.params(t, s.raw)
}

// report applies facts to the cluster as observed now.
func (s *script) report(observations ...model.Observation) {
	for _, o := range observations {
		o.At = s.now
		s.cluster.Apply(o)
	}
}

// reportRM reports what the ResourceManager says of nodes and applications.
func (s *script) reportRM() {
	apps := make([]model.App, len(s.scene.Apps))
	for i := range apps {
		apps[i] = s.scene.Apps[i].App
	}
	s.report(observed(model.SourceRM, model.NodesFact{Nodes: s.scene.Nodes}), observed(model.SourceRM, model.AppsFact{Apps: apps}))
}

// reportApp reports what changed of an application: first what it says itself, as
// nobody asks it once the ResourceManager says that it has ended.
func (s *script) reportApp(a *App) string {
	s.report(a.observations()...)
	s.reportRM()
	return ""
}

func rackOf(host string) model.RackID { return model.RackID("/r" + host[1:2]) }

func (s *script) node(t *testing.T, host string) int {
	t.Helper()
	i := slices.IndexFunc(s.scene.Nodes, func(n model.Node) bool { return n.Host == host })
	if i < 0 {
		t.Fatalf("no node %s", host)
	}
	return i
}

func list(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func (s *script) job(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var id, user, queue string
	var at, reduces, priority int
	d.MaybeScanArgs(t, "queue", &queue)
	d.MaybeScanArgs(t, "priority", &priority)
	d.ScanArgs(t, "id", &id)
	d.ScanArgs(t, "user", &user)
	d.ScanArgs(t, "at", &at)
	d.MaybeScanArgs(t, "reduces", &reduces)
	task := model.Resource{MemoryMiB: 1024, VCores: 1}
	if v := list(d, "task"); len(v) == 2 {
		task = model.Resource{MemoryMiB: int64(parsed(t, v[0])), VCores: int64(parsed(t, v[1]))}
	}
	size := 100
	d.MaybeScanArgs(t, "size", &size)
	a := App{
		App: model.App{
			ID: model.AppID(id), User: model.UserID(user), Queue: model.QueueID(queue), Priority: priority, Type: "MAPREDUCE", State: model.AppRunning,
			Submitted: Epoch.Add(model.Duration(at) * model.Second),
		},
		MapTask: task, ReduceTask: task, Slowstart: 0.05, MapInput: model.Unknown, MapOutput: model.Unknown,
	}
	if v := list(d, "workflow"); len(v) > 0 {
		a.Workflow = &model.Workflow{ID: v[0]}
		d.ScanArgs(t, "node", &a.Workflow.Node)
		for _, e := range list(d, "edges") {
			from, to, _ := strings.Cut(e, ">")
			a.Workflow.Edges = append(a.Workflow.Edges, model.WorkflowEdges{Node: from, Next: []string{to}})
		}
	}
	if v := list(d, "slowstart"); len(v) > 0 {
		a.Slowstart = parsed(t, v[0])
	}
	for i, b := range list(d, "blocks") {
		hosts := strings.Split(b, "+")
		block := model.Block{Length: model.Bytes(size) * model.MiB, Hosts: hosts}
		for _, h := range hosts {
			block.Racks = append(block.Racks, rackOf(h))
		}
		a.Input = append(a.Input, block)
		a.Maps = append(a.Maps, newTask(model.StageMap, i, hosts))
	}
	for i := range reduces {
		a.Reduces = append(a.Reduces, newTask(model.StageReduce, i, nil))
	}
	s.scene.Apps = append(s.scene.Apps, a)
	s.reportRM()
	return s.reportApp(&a)
}

func newTask(stage model.Stage, i int, hosts []string) model.Task {
	return model.Task{
		Stage: stage, Index: i, State: model.TaskPending, Preferred: hosts,
		Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
	}
}

func parsed(t *testing.T, v string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(v, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (s *script) app(t *testing.T, id string) *App {
	t.Helper()
	i := slices.IndexFunc(s.scene.Apps, func(a App) bool { return a.ID == model.AppID(id) })
	if i < 0 {
		t.Fatalf("no job %s", id)
	}
	return &s.scene.Apps[i]
}

func (s *script) done(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var id string
	output := 100
	d.ScanArgs(t, "job", &id)
	d.MaybeScanArgs(t, "output", &output)
	a := s.app(t, id)
	a.MapInput, a.MapOutput = max(a.MapInput, 0), max(a.MapOutput, 0)
	hosts := list(d, "maps")
	for i := range a.Maps {
		if m := &a.Maps[i]; d.HasArg("running") && m.State == model.TaskRunning {
			hosts = append(hosts, m.Host)
		}
	}
	for _, host := range hosts {
		i := slices.IndexFunc(a.Maps, func(t model.Task) bool { return t.State == model.TaskRunning && t.Host == host })
		if i < 0 {
			i = slices.IndexFunc(a.Maps, func(t model.Task) bool { return t.State != model.TaskSucceeded })
		}
		if i < 0 {
			t.Fatalf("%s: no map of %s is left", d.Pos, id)
		}
		m := &a.Maps[i]
		if m.State == model.TaskRunning {
			s.occupy(t, a, m.Host, -1)
		}
		m.State, m.Host, m.Rack, m.Output = model.TaskSucceeded, host, rackOf(host), model.Bytes(output)*model.MiB
		m.Input = a.Input[m.Index].Length
		a.MapInput += m.Input
		a.MapOutput += m.Output
	}
	return s.reportApp(a)
}

func (s *script) fetched(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var id string
	var mib int
	d.ScanArgs(t, "job", &id)
	d.ScanArgs(t, "mib", &mib)
	a := s.app(t, id)
	a.Fetched = model.Bytes(mib) * model.MiB
	return s.reportApp(a)
}

func (s *script) end(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var id string
	var written int
	d.ScanArgs(t, "job", &id)
	d.ScanArgs(t, "written", &written)
	a := s.app(t, id)
	hosts := list(d, "reduces")
	for i := range a.Reduces {
		r := &a.Reduces[i]
		switch {
		case r.State == model.TaskRunning:
			s.occupy(t, a, r.Host, -1)
		case r.State == model.TaskPending && len(hosts) > 0:
			r.Host, r.Rack, hosts = hosts[0], rackOf(hosts[0]), hosts[1:]
		default:
			continue
		}
		r.State = model.TaskSucceeded
	}
	a.State, a.Written = model.AppFinished, model.Bytes(written)*model.MiB
	a.MapInput, a.MapOutput = max(a.MapInput, 0), max(a.MapOutput, 0)
	return s.reportApp(a)
}

func (s *script) load(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var loads []model.UplinkSample
	for _, rack := range s.cluster.View().Racks() {
		load := model.UplinkSample{Rack: rack.ID}
		if v := list(d, strings.TrimPrefix(string(rack.ID), "/")); len(v) > 0 {
			load.Out = s.scene.Capacity * model.BytesPerSecond(parsed(t, v[0]))
		}
		loads = append(loads, load)
	}
	s.report(observed(model.SourceUplink, model.UplinkFact{Method: state.MethodPrometheus, Samples: loads}))
	s.cluster.Advance(s.now)
	return ""
}

func (s *script) lose(t *testing.T, host string) string {
	t.Helper()
	s.scene.Nodes[s.node(t, host)].State = model.NodeLost
	for i := range s.scene.Apps {
		a := &s.scene.Apps[i]
		for _, tasks := range [][]model.Task{a.Maps, a.Reduces} {
			for k := range tasks {
				if r := &tasks[k]; r.State == model.TaskRunning && r.Host == host {
					r.State, r.Host, r.Rack = model.TaskPending, "", ""
					s.occupy(t, a, host, -1)
				}
			}
		}
		s.reportApp(a)
	}
	return ""
}

func (s *script) offer(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var host, kinds string
	count := 1
	d.ScanArgs(t, "node", &host)
	d.MaybeScanArgs(t, "count", &count)
	d.MaybeScanArgs(t, "kinds", &kinds)
	var out strings.Builder
	for range count {
		n := s.cluster.View().Node(s.scene.Nodes[s.node(t, host)].ID)
		placements, err := s.engine.Offer(policy.Offer{Node: n, Kinds: model.Stage(kinds)})
		if err != nil {
			t.Fatal(err)
		}
		if len(placements) == 0 {
			fmt.Fprintf(&out, "%s: nothing\n", host)
		}
		for _, p := range placements {
			fmt.Fprintf(&out, "%s: %s of %s, %s, %s\n", host, p.Stage, p.App, p.Locality, p.Reason)
			s.start(t, host, p, d.HasArg("busy"))
		}
	}
	return out.String() + s.rejected()
}

func (s *script) rejected() string {
	if n := s.engine.Log().Rejected(); len(n) > 0 {
		return fmt.Sprintf("rejected: %v\n", n)
	}
	return ""
}

// start carries a placement out: the application gives the node its most local
// pending task.
func (s *script) start(t *testing.T, host string, p model.Placement, busy bool) {
	t.Helper()
	if busy {
		return
	}
	a := s.app(t, string(p.App))
	tasks := a.Maps
	if p.Stage == model.StageReduce {
		tasks = a.Reduces
	}
	best := -1
	level := func(i int) model.Locality {
		if slices.Contains(tasks[i].Preferred, host) {
			return model.NodeLocal
		}
		if slices.ContainsFunc(tasks[i].Preferred, func(h string) bool { return rackOf(h) == rackOf(host) }) {
			return model.RackLocal
		}
		return model.OffSwitch
	}
	for i := range tasks {
		if tasks[i].State == model.TaskPending && (best < 0 || level(i) < level(best)) {
			best = i
		}
	}
	if best < 0 {
		t.Fatalf("%s has no pending %s", p.App, p.Stage)
	}
	tasks[best].State, tasks[best].Host, tasks[best].Rack = model.TaskRunning, host, rackOf(host)
	s.occupy(t, a, host, +1)
	s.reportApp(a)
}

// occupy takes so many containers of a node for an application, or gives them back.
func (s *script) occupy(t *testing.T, a *App, host string, containers int64) {
	t.Helper()
	more := a.MapTask.Times(containers) // reduces are of the same size here
	n := &s.scene.Nodes[s.node(t, host)]
	n.Used, a.Allocated = n.Used.Add(more), a.Allocated.Add(more)
}

// plan prints every plan as it stands after the engine's verification.
func (s *script) plan(t *testing.T) string {
	t.Helper()
	plans, err := s.engine.PlanJobs(s.cluster.View().Jobs())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(plans, func(a, b model.Plan) int { return cmp.Compare(a.Rank, b.Rank) })
	var out strings.Builder
	for _, p := range plans {
		fmt.Fprintf(&out, "%d. %s %s, %s", p.Rank, p.App, p.Stage, p.Reason)
		if p.Hold {
			fmt.Fprintf(&out, " until %gs", p.Until.Sub(Epoch).Seconds())
		}
		if len(p.Racks) == 0 {
			out.WriteString(": any rack")
		}
		for i, r := range p.Racks {
			out.WriteString([]string{": ", ", "}[min(i, 1)])
			fmt.Fprintf(&out, "%d on %s (%.2f, %d MiB)", r.Count, r.Rack, r.Share, r.Bytes/model.MiB)
		}
		for _, k := range p.Costs {
			if k.Name == "plan" || k.Name == "uniform" {
				fmt.Fprintf(&out, "; %s crosses %d MiB", k.Name, k.CrossRack/model.MiB)
			}
		}
		out.WriteString("\n")
	}
	return out.String() + s.rejected()
}
