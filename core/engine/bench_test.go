package engine_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// size is a cluster under load: what BenchmarkPlacements varies.
type size struct{ nodes, jobs, pending int }

func sizes() []size {
	return []size{
		{500, 200, 10_000},
		{5_000, 200, 50_000},
		{5_000, 200, 1_000_000},
		{5_000, 5_000, 1_000_000},
		{50_000, 200, 1_000_000},
		{50_000, 5_000, 1_000_000},
	}
}

// What the clusters of BenchmarkPlacements are made of.
const (
	perRack    = 40
	containers = 4 // of a node
	users      = 50
)

// loaded returns a cluster of a size: racks of 40 nodes, jobs of 50 users, each
// with a tenth of its tasks reduces that are due, its maps' blocks on three
// nodes of two racks, and one map in twenty complete.
func loaded(s size) *state.Cluster {
	cfg := state.DefaultConfig()
	cfg.Uplinks.Default.Out, cfg.Uplinks.Default.In = 1.25e9, 1.25e9
	cfg.UplinkMethod = state.MethodPrometheus
	c := state.New(cfg)
	apply := func(src model.Source, f model.Fact) {
		c.Apply(model.Observation{Source: src, At: policytest.Epoch, Fact: f})
	}
	nodes := make([]model.Node, s.nodes)
	loads := make([]model.UplinkSample, (s.nodes+perRack-1)/perRack)
	for i := range nodes {
		host := fmt.Sprintf("node%05d", i)
		nodes[i] = model.Node{
			ID: model.NodeID(host + ":8041"), Host: host, Rack: model.RackID(fmt.Sprintf("/rack%04d", i/perRack)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: containers * 1024, VCores: containers},
		}
		loads[i/perRack] = model.UplinkSample{Rack: nodes[i].Rack, Out: 5e8, In: 5e8}
	}
	apply(model.SourceRM, model.NodesFact{Nodes: nodes})
	apps := make([]model.App, s.jobs)
	for k := range apps {
		apps[k] = model.App{
			ID: model.AppID(fmt.Sprintf("application_1_%05d", k)), User: model.UserID(fmt.Sprintf("user%02d", k%users)), Queue: "root.default", Type: "MAPREDUCE",
			State: model.AppRunning, Submitted: policytest.Epoch.Add(-model.Duration(s.jobs-k) * model.Second),
		}
	}
	apply(model.SourceRM, model.AppsFact{Apps: apps})
	apply(model.SourceUplink, model.UplinkFact{Method: state.MethodPrometheus, Samples: loads})
	for k := range apps {
		load(apply, nodes, apps[k].ID, k, s.pending/s.jobs)
	}
	c.Advance(policytest.Epoch)
	return c
}

// load gives one job its tasks.
func load(apply func(model.Source, model.Fact), nodes []model.Node, id model.AppID, k, pending int) {
	reduces := pending / 10
	maps := pending - reduces
	done := maps/20 + 1
	tasks := make([]model.Task, 0, maps+done+reduces)
	blocks := make([]model.Block, 0, maps+done)
	for m := range maps + done {
		at := (k*7919 + m*613) % len(nodes)
		far := (at + perRack*(1+m%7)) % len(nodes)
		near := far/perRack*perRack + (far+1)%perRack
		b := model.Block{Length: 128 * model.MiB}
		for _, n := range []int{at, far, near % len(nodes)} {
			b.Hosts, b.Racks = append(b.Hosts, nodes[n].Host), append(b.Racks, nodes[n].Rack)
		}
		blocks = append(blocks, b)
		t := model.Task{Stage: model.StageMap, Index: m, State: model.TaskPending, Preferred: b.Hosts, Input: -1, Output: -1, Shuffled: -1}
		if m < done {
			t.State, t.Host, t.Rack, t.Preferred = model.TaskSucceeded, nodes[at].Host, nodes[at].Rack, nil
			t.Input, t.Output = 128*model.MiB, model.Bytes(8*(1+k%64))*model.MiB
		}
		tasks = append(tasks, t)
	}
	for r := range reduces {
		tasks = append(tasks, model.Task{Stage: model.StageReduce, Index: r, State: model.TaskPending, Input: -1, Output: -1, Shuffled: -1})
	}
	path := "/in/" + string(id)
	apply(model.SourceMapReduce, model.JobConfFact{App: id, Inputs: []string{path}, Output: "/out/" + string(id), Slowstart: 0.05})
	apply(model.SourceHDFS, model.BlocksFact{Path: path, Files: 1, Blocks: blocks})
	apply(model.SourceMapReduce, model.JobFact{
		App: id, MapsTotal: maps + done, MapsPending: maps, MapsCompleted: done, ReducesTotal: reduces, ReducesPending: reduces,
	})
	apply(model.SourceMapReduce, model.TasksFact{App: id, Tasks: tasks})
	apply(model.SourceMapReduce, model.CountersFact{
		App: id, MapInput: model.Bytes(done) * 128 * model.MiB, MapOutput: model.Bytes(done*8*(1+k%64)) * model.MiB, ReduceShuffle: -1, HDFSWritten: -1,
	})
}

// offering is a policy that is offered containers of a loaded cluster as they
// become free.
type offering struct {
	cluster *state.Cluster
	engine  *engine.Engine
	nodes   []*state.Node
	running []model.Placement // by container, oldest first in turn; App "" is a free one
	next    int
	offers  int
}

func newOffering(tb testing.TB, c *state.Cluster, e policy.Entry) *offering {
	tb.Helper()
	p, err := e.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	o := &offering{cluster: c, engine: engine.New(engine.Options{Name: e.Name}, p, c), nodes: c.View().Nodes()}
	o.running = make([]model.Placement, 0, containers*len(o.nodes))
	for range containers {
		for _, n := range o.nodes {
			o.running = append(o.running, model.Placement{Node: n.ID})
		}
	}
	for range o.running { // fill the cluster
		if _, err := o.turn(); err != nil {
			tb.Fatal(err)
		}
	}
	return o
}

// turn ends the task that has run longest and offers its container. It reports
// whether the policy took it.
func (o *offering) turn() (placed bool, err error) {
	slot := &o.running[o.next]
	o.next = (o.next + 1) % len(o.running)
	if slot.App != "" {
		o.cluster.Withdraw(*slot)
		slot.App = ""
	}
	if o.offers++; o.offers%1024 == 0 { // a second
		o.cluster.Advance(o.cluster.View().Now().Add(model.Second))
	}
	placements, err := o.engine.Offer(policy.Offer{Node: o.cluster.View().Node(slot.Node)})
	if err != nil || len(placements) == 0 {
		return false, err
	}
	*slot = placements[0]
	o.cluster.Assume(*slot)
	return true, nil
}

// BenchmarkPlacements measures placements a second on one core in the steady
// state: whenever a task ends its container is offered, the policy answers, the
// engine verifies, the state follows.
//
//	go test -run '^$' -bench Placements -cpu 1 ./core/engine
func BenchmarkPlacements(b *testing.B) {
	for _, s := range sizes() {
		for _, e := range byName() {
			b.Run(fmt.Sprintf("policy=%s/nodes=%d/jobs=%d/pending=%d", e.Name, s.nodes, s.jobs, s.pending), func(b *testing.B) {
				o := newOffering(b, loaded(s), e) // a cluster of its own: orders that one policy asked for would be kept for the next
				placed := 0
				b.ReportAllocs()
				for b.Loop() {
					took, err := o.turn()
					if err != nil {
						b.Fatal(err)
					}
					if took {
						placed++
					}
				}
				b.ReportMetric(float64(placed)/b.Elapsed().Seconds(), "placements/s")
				b.ReportMetric(float64(placed)/float64(b.N), "placed/offer")
			})
		}
	}
}

func byName() []policy.Entry {
	r := builtin.Registry()
	slices.SortFunc(r, func(a, b policy.Entry) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return r
}

// TestMemoryPerTask bounds what the state and a policy keep of a pending task.
func TestMemoryPerTask(t *testing.T) {
	s := size{1_000, 100, 200_000}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	c := loaded(s)
	after := heap()
	if per := float64(after-before) / float64(s.pending); per > 200 {
		t.Errorf("state: %.0f bytes a pending task", per)
	}
	for _, e := range byName() {
		start := heap()
		o := newOffering(t, c, e)
		o.running = nil
		if per := float64(heap()-start) / float64(s.pending); per > 200 {
			t.Errorf("%s: %.0f bytes a pending task", e.Name, per)
		}
		runtime.KeepAlive(o)
	}
	runtime.KeepAlive(c)
}
