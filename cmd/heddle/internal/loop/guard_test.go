package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/core/engine"
	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/core/topology"
	"heddle/yarnproxy/relaylink"
)

// allOn is a policy that wants all reduces on one rack, for a reason that the engine does not doubt.
type allOn struct{ rack model.RackID }

func (allOn) Place(*policy.Input) []model.Placement { return nil }

func (p allOn) Plan(in *policy.Input) []model.Plan {
	var plans []model.Plan
	for i, j := range in.Jobs {
		if n := j.Reduce.Tasks(); n > 0 {
			plans = append(plans, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: i + 1, Reason: model.ReasonDependents, Racks: []model.RackTarget{{Rack: p.rack, Count: n, Share: 1}}})
		}
	}
	return plans
}

// steeredCluster is a cluster of three racks, whose applications ask through the relay's end of a link: the loop, both ends of the
// link and the asks are those of the service; ApplicationMasters and the ResourceManager are played.
type steeredCluster struct {
	*Loop
	t     *testing.T
	clock atomic.Int64 // ms
	view  *relaylink.View
	log   lockedText
	apps  int
}

// lockedText is a log that may be read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// counted takes the loop's measurements and records, and keeps none.
type counted struct{}

func (counted) Observation(model.Observation) {}
func (counted) Decision(model.Decision)       {}
func (counted) Round(string, time.Duration)   {}
func (counted) QueueFull(string)              {}

const (
	guardedQueue = model.QueueID("root.q")
	reduces      = 6
)

func newSteeredCluster(t *testing.T, p policy.Policy) *steeredCluster {
	t.Helper()
	c := &steeredCluster{t: t}
	c.clock.Store(1_000_000)
	now := func() time.Time { return time.UnixMilli(c.clock.Load()) }
	cfg := state.DefaultConfig()
	cfg.Uplinks = topology.Uplinks{Default: topology.Link{Out: 1e6, In: 1e6}}
	cluster := state.New(cfg)
	c.Loop = New(Options{
		Cluster: cluster, Engine: engine.New(engine.DefaultOptions("all-on"), p, cluster), QueueLength: 64, Metrics: counted{}, Now: now,
		PublishEvery: 10 * time.Millisecond, SampleEvery: time.Hour, Log: hclog.New(&hclog.LoggerOptions{Output: &c.log}),
		Guard: guard.Params{Enabled: true, Window: 60 * model.Minute, MinApplications: 10, Margin: 0.05, OffFor: 6 * 60 * model.Minute},
	})
	path := filepath.Join(t.TempDir(), "relay.sock")
	c.view = relaylink.NewView(now)
	server := relaylink.NewServer(relaylink.ServerOptions{Path: path, View: c.view, Version: "test", Logger: hclog.NewNullLogger()})
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := relaylink.NewClient(relaylink.ClientOptions{Path: path, Loop: c.Loop, MaxAge: 30 * model.Second, Version: "test", Logger: hclog.NewNullLogger()})
	c.Subscribe(client.Update)
	var parts sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); parts.Wait() })
	for _, run := range []func(context.Context) error{
		server.Run, client.Run, func(ctx context.Context) error { c.Run(ctx, counted{}); return nil },
	} {
		parts.Go(func() { _ = run(ctx) })
	}
	var nodes model.NodesFact
	for _, rack := range []string{"1", "2", "3"} {
		nodes.Nodes = append(nodes.Nodes, model.Node{ID: model.NodeID("h" + rack + ":1"), Host: "h" + rack, Rack: model.RackID("/r" + rack), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 1 << 20, VCores: 1000}})
	}
	c.observe(model.ClusterFact{Started: 1, HAState: "ACTIVE"}, nodes)
	c.eventually("the ends are linked", func() bool { linked, fresh := c.view.Fresh(); return linked && fresh })
	return c
}

func (c *steeredCluster) now() model.Time { return model.Time(c.clock.Load()) }

// observe sends facts, and that the ResourceManager answered.
func (c *steeredCluster) observe(facts ...model.Fact) {
	for _, f := range append(facts, model.PollFact{Result: model.PollOK}) {
		c.in <- model.Observation{Source: model.SourceRM, At: c.now(), Fact: f}
	}
}

func (c *steeredCluster) eventually(what string, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// steeredApp is an application of four maps that are complete on /r1, and its ApplicationMaster's asks for six reduces.
type steeredApp struct {
	c         *steeredCluster
	app       model.App
	attempt   *asks.Attempt
	call      int32
	container int64
}

// begin submits an application, and returns once the relay's end knows it.
func (c *steeredCluster) begin() *steeredApp {
	c.t.Helper()
	c.apps++
	a := &steeredApp{c: c, attempt: asks.NewAttempt(asks.Limits{PinDeadline: 30 * model.Second, TrimDeadline: 10 * model.Second, FullAfter: 5 * model.Second})}
	a.app = model.App{ID: model.AppID(fmt.Sprintf("application_1_%04d", c.apps)), User: "u", Queue: guardedQueue, Type: "MAPREDUCE", State: model.AppRunning, Submitted: c.now()}
	maps := model.TasksFact{App: a.app.ID}
	for i := range 4 {
		maps.Tasks = append(maps.Tasks, model.Task{
			Stage: model.StageMap, Index: i, State: model.TaskSucceeded, Host: "h1", Rack: "/r1", Progress: 1, Input: 2e6, Output: 2e6, Shuffled: model.Unknown,
			Launched: c.now(), Finished: c.now() + 10_000,
		})
	}
	c.observe(model.AppsFact{Apps: []model.App{a.app}, Partial: true}, model.JobFact{App: a.app.ID, MapsTotal: 4, MapsCompleted: 4, ReducesTotal: reduces, ReducesPending: reduces},
		maps, model.CountersFact{App: a.app.ID, MapOutput: 8e6, MapInput: 8e6})
	c.eventually("the relay's end knows the application", func() bool { _, known := c.view.App(a.app.ID); return known })
	a.attempt.Register(nil, nil)
	return a
}

// asks makes one allocate call, with the first ask for all reduces or without rows, and returns the rows that go to the
// ResourceManager in place of the application's; nil if those go on.
func (a *steeredApp) asks(first bool) []asks.Row {
	a.c.t.Helper()
	r := &asks.Request{ResponseID: a.call}
	a.call++
	if first {
		size := model.Resource{MemoryMiB: 1024, VCores: 1}
		r.Rows = []asks.Row{{Key: asks.Key{Priority: model.PriorityReduce, RequestID: -1}, Name: model.AnyName, Count: reduces, Relax: true, Capability: size, Raw: []byte("any")}}
		ctx, cancel := context.WithTimeout(a.c.t.Context(), time.Minute)
		defer cancel()
		a.c.view.Decide(ctx, a.app.ID, []model.AskRow{{Priority: model.PriorityReduce, RequestID: -1, ResourceName: model.AnyName, Count: reduces, RelaxLocality: true, Capability: size, Stage: model.StageReduce}})
	}
	about, _ := a.c.view.App(a.app.ID)
	site, _ := a.c.view.Site()
	edit := a.attempt.Request(a.c.now(), r, &asks.Intent{
		Site: site, Pass: about.Pass, Stage: func(asks.Key, bool) (model.Stage, bool) { return model.StageReduce, true },
		Target: func(s model.Stage) (asks.Target, bool) { return a.c.view.Target(a.app.ID, s) },
	})
	if edit.Same {
		return nil
	}
	return edit.Rows
}

// byRack is how many containers strict rows ask for on each rack; nil for none.
func byRack(rows []asks.Row) (on map[model.RackID]int) {
	for _, r := range rows {
		if strings.HasPrefix(r.Name, "/") && r.Count > 0 {
			if on == nil {
				on = map[model.RackID]int{}
			}
			on[model.RackID(r.Name)] = int(r.Count)
		}
	}
	return on
}

// end grants the reduces, where the rows say or evenly, and ends the application 20 s after its submission.
func (a *steeredApp) end(rows []asks.Row) {
	a.c.t.Helper()
	on := byRack(rows)
	if on == nil {
		on = map[model.RackID]int{"/r1": 2, "/r2": 2, "/r3": 2}
	}
	tasks, granted := model.TasksFact{App: a.app.ID}, &asks.Response{ResponseID: a.call}
	for _, rack := range []model.RackID{"/r1", "/r2", "/r3"} {
		for range on[rack] {
			host := "h" + string(rack[2:])
			a.container++
			granted.Granted = append(granted.Granted, asks.Grant{ID: asks.ContainerID{Attempt: 1, ID: a.container}, Key: asks.Key{Priority: model.PriorityReduce, RequestID: -1}, Host: host})
			tasks.Tasks = append(tasks.Tasks, model.Task{
				Stage: model.StageReduce, Index: len(tasks.Tasks), State: model.TaskSucceeded, Host: host, Rack: rack, Progress: 1,
				Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
			})
		}
	}
	site, _ := a.c.view.Site()
	a.attempt.Response(a.c.now(), granted, site)
	done := a.attempt.Table().Relayed(a.c.now())
	a.c.view.Observe(a.app.ID, a.attempt.Table().Own(), done)
	a.c.eventually("serve hears what the relay did", func() (heard bool) {
		if err := a.c.do(a.c.t.Context(), func() { of, _ := a.c.guarding.outcomes.Of(a.app.ID); heard = of == done }); err != nil {
			a.c.t.Fatal(err)
		}
		return heard
	})
	a.c.clock.Store(int64(max(a.c.now(), a.app.Submitted+20_000)))
	a.app.State, a.app.Finished = model.AppFinished, a.app.Submitted+20_000
	a.c.observe(tasks, model.AppsFact{Apps: []model.App{a.app}, Partial: true},
		model.JobFact{App: a.app.ID, MapsTotal: 4, MapsCompleted: 4, ReducesTotal: reduces, ReducesCompleted: reduces, Done: true})
}

// guarded waits for a snapshot in which a number of applications of the queue are judged, and returns the queue.
func (c *steeredCluster) guarded(applications int) (q snapshot.GuardedQueue) {
	c.t.Helper()
	c.eventually(fmt.Sprint(applications, " applications are judged"), func() bool {
		for _, q = range c.Snapshot().Guard.Queues {
			return q.Steered+q.Unsteered == applications
		}
		return applications == 0
	})
	return q
}

// A policy that is wrong on purpose wants all reduces on a rack without map output. After ten applications steering is off for
// their queue: asks pass, what was steered is restored, the log says why; after off_for it is on again.
func TestGuardEndsAWrongPolicy(t *testing.T) {
	t.Parallel()
	c := newSteeredCluster(t, allOn{"/r3"})
	waiting := c.begin()
	if on := byRack(waiting.asks(true)); on["/r3"] != reduces {
		t.Fatalf("the plan is not steered: %v", on)
	}
	for i := range 10 {
		if q := c.guarded(i); q.Off {
			t.Fatalf("off after %d applications: %+v", i, q)
		}
		a := c.begin()
		rows := a.asks(true)
		if on := byRack(rows); on["/r3"] != reduces {
			t.Fatalf("application %d is not steered: %v", i, on)
		}
		a.end(rows)
	}
	c.eventually("steering is off for the applications that wait", func() bool {
		about, known := c.view.App(waiting.app.ID)
		return known && about.Pass == model.PassGuard
	})
	// All of 8 MB leave /r1 in 8 s; of an even spread two thirds do, in 5.3 s. Applications take 20 s.
	q := c.Snapshot().Guard.Queues[0]
	if !q.Off || q.Why != snapshot.GuardPredicted || q.Steered != 10 || q.Ran != 200 || q.Predicted < 0.132 || q.Predicted > 0.134 || q.CrossRack != 80e6 || q.Waited != 0 {
		t.Errorf("%+v", q)
	}
	if c.log.count("steering is off for a queue") != 1 || c.log.count("queue=root.q") != 1 || c.log.count("predicted_loss_percent=13.3") != 1 {
		t.Errorf("log:\n%s", c.log.text.String())
	}
	if rows := waiting.asks(false); byRack(rows) != nil || len(rows) == 0 || waiting.attempt.Table().Keys()[0].Cause != model.PassGuard {
		t.Errorf("what was steered is not restored: %v, %+v", rows, waiting.attempt.Table().Keys())
	}
	later := c.begin()
	if rows := later.asks(true); rows != nil || later.attempt.Table().Keys()[0].Cause != model.PassGuard {
		t.Errorf("an application that began while steering is off is steered: %v", rows)
	}
	later.end(nil)

	c.clock.Add(int64(6 * 60 * model.Minute))
	c.observe()
	c.eventually("steering is on again", func() bool {
		about, known := c.view.App(waiting.app.ID)
		return known && about.Pass == ""
	})
	again := c.begin()
	if on := byRack(again.asks(true)); on["/r3"] != reduces {
		t.Errorf("on again, and not steered: %v", on)
	}
	if q := c.Snapshot().Guard.Queues[0]; q.Off || q.Trips != 1 || q.Steered != 0 || c.log.count("steering is on again") != 1 {
		t.Errorf("%+v", q)
	}
}

// A policy that is right wants all reduces where the map output is: it is never turned off.
func TestGuardLeavesARightPolicy(t *testing.T) {
	t.Parallel()
	c := newSteeredCluster(t, allOn{"/r1"})
	for i := range 15 {
		c.guarded(i)
		a := c.begin()
		rows := a.asks(true)
		if on := byRack(rows); on["/r1"] != reduces {
			t.Fatalf("application %d is not steered: %v", i, on)
		}
		a.end(rows)
	}
	q := c.guarded(15)
	if q.Off || q.Trips != 0 || q.Steered != 15 || q.Predicted > -0.26 || q.CrossRack != 0 {
		t.Errorf("%+v", q)
	}
}

// TestGuardOutlivesAReload: a reload keeps what is known of queues, and one that switches the guard off has everything
// steered.
func TestGuardOutlivesAReload(t *testing.T) {
	t.Parallel()
	c := newSteeredCluster(t, allOn{"/r3"})
	for range 10 {
		a := c.begin()
		a.end(a.asks(true))
	}
	waiting := c.begin()
	pass := func() model.PassCause { about, _ := c.view.App(waiting.app.ID); return about.Pass }
	c.eventually("steering is off", func() bool { return pass() == model.PassGuard })
	p := guard.Params{Enabled: true, Window: model.Minute, MinApplications: 2, Margin: 0.5, OffFor: model.Minute}
	reload := func() {
		to := model.PolicyFact{Policy: "all-on", Saturation: model.Saturation{Threshold: 0.8, Period: 1000}}
		if err := c.Reconfigure(t.Context(), to, func(*state.Cluster) (Policies, error) { return Policies{Guard: p}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	reload()
	before := c.Snapshot().Seq
	c.eventually("further snapshots", func() bool { return c.Snapshot().Seq > before+2 })
	if q := c.Snapshot().Guard.Queues[0]; !q.Off || pass() != model.PassGuard {
		t.Errorf("%+v, %q", q, pass())
	}
	p.Enabled = false
	reload()
	c.eventually("steering is on", func() bool { return pass() == "" })
}
