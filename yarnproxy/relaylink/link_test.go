package relaylink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"heddle/core/asks"
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// otherUserPath makes the test binary the other process of TestOtherUser.
const otherUserPath = "RELAYLINK_TEST_OTHER_USER_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(otherUserPath); path != "" {
		connectAsOtherUser(path)
	}
	goleak.VerifyTestMain(m)
}

const viewedApp model.AppID = "application_1_0001"

// fixedPlans is a policy that plans two reduces on /rack2 for whatever asks.
type fixedPlans struct{}

func (fixedPlans) Place(*policy.Input) []model.Placement { return nil }

func (fixedPlans) Plan(in *policy.Input) []model.Plan {
	var out []model.Plan
	for _, j := range in.Jobs {
		if j.Reduce.Pending > 0 {
			out = append(out, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonDependents, Racks: []model.RackTarget{{Rack: "/rack2", Count: 2}}})
		}
	}
	return out
}

// site is a cluster with both ends of a link.
type site struct {
	t      *testing.T
	clock  atomic.Int64 // ms
	path   string
	view   *View
	server *Server
	client *Client

	mu      sync.Mutex // guards what follows, as the loop's goroutine does
	cluster *state.Cluster
	engine  *engine.Engine
	offered []model.Observation
	hang    chan struct{} // until it is closed, PlanApp waits
}

func (s *site) now() model.Time { return model.Time(s.clock.Load()) }

// PlanApp implements Loop.
func (s *site) PlanApp(ctx context.Context, asked model.Observation, app model.AppID, use func([]*model.Plan)) error {
	if s.hang != nil {
		select {
		case <-s.hang:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.Apply(asked)
	if _, err := s.engine.PlanApp(s.now(), app); err != nil {
		return err
	}
	use(s.engine.Log().Plans(app))
	return nil
}

// Offer implements Loop.
func (s *site) Offer(o model.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = append(s.offered, o)
}

func (s *site) observed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.offered)
}

func (s *site) apply(f model.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.Apply(model.Observation{Source: model.SourceRM, At: s.now(), Fact: f})
}

func (s *site) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.cluster.Snapshot()
	s.engine.Log().AddTo(of)
	s.client.Update(of)
}

// newSite returns a relay's end that listens, and a cluster of three nodes and one application as of 10 s.
func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, path: filepath.Join(dir, "below", "relay.sock"), cluster: state.New(state.DefaultConfig())}
	s.clock.Store(10_000)
	s.engine = engine.New(engine.DefaultOptions("test"), fixedPlans{}, s.cluster)
	s.view = NewView(func() time.Time { return time.UnixMilli(s.clock.Load()) })
	s.listen()
	s.client = s.newClient(nil)
	big := model.Resource{MemoryMiB: 2048, VCores: 4}
	for _, f := range []model.Fact{
		model.NodesFact{Nodes: []model.Node{
			{ID: "w1:1", Host: "w1", Rack: "/rack1", State: model.NodeRunning, Total: big, Used: model.Resource{MemoryMiB: 512, VCores: 1}},
			{ID: "w2:1", Host: "w2", Rack: "/rack2", State: model.NodeRunning, Total: big},
			{ID: "w3:1", Host: "w3", Rack: "/rack2", State: model.NodeLost, Total: big},
		}},
		model.AppsFact{Apps: []model.App{{ID: viewedApp, User: "ann", Queue: "root.default", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1, Tags: "nightly,heddle-off"}}},
		model.PollFact{Result: model.PollOK},
	} {
		s.apply(f)
	}
	return s
}

// listen begins the relay's end.
func (s *site) listen() {
	s.t.Helper()
	s.server = NewServer(ServerOptions{Path: s.path, View: s.view, Version: "test", Logger: hclog.NewNullLogger(), Status: func(app model.AppID, offset, limit int) *model.Relay {
		return &model.Relay{Connections: 3, Attempts: []model.RelayAttempt{{App: app}}, Total: 100*offset + limit}
	}})
	if err := s.server.Listen(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(background(s.server.Run))
}

func (s *site) newClient(ready func(*snapshot.Snapshot) bool) *Client {
	return NewClient(ClientOptions{Path: s.path, Loop: s, MaxAge: 30 * model.Second, Ready: ready, Version: "test", Logger: hclog.NewNullLogger()})
}

// background runs a part until stop, which waits for it.
func background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx)
	}()
	return func() { cancel(); <-done }
}

// link runs serve's end until the test ends, and waits until it is linked.
func (s *site) link() {
	s.t.Helper()
	s.t.Cleanup(background(s.client.Run))
	eventually(s.t, "both ends are linked", func() bool {
		linked, _ := s.view.Fresh()
		return linked && s.client.Linked()
	})
}

// published publishes, and waits until the relay's end has it.
func (s *site) published() {
	s.t.Helper()
	s.publish()
	s.mu.Lock()
	want := s.client.newest.Seq
	s.mu.Unlock()
	eventually(s.t, "the view arrives", func() bool {
		s.view.mu.RLock()
		defer s.view.mu.RUnlock()
		return s.view.version == want
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// TestView: the relay is shown what was published, in its own terms.
func TestView(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.link()
	if _, fresh := s.view.Site(); fresh {
		t.Error("a site before anything was published")
	}
	if _, ok := s.view.App(viewedApp); ok {
		t.Error("an application before anything was published")
	}
	s.published()
	at, fresh := s.view.Site()
	want := &asks.Site{
		Racks: []asks.Rack{
			{ID: "/rack1", Hosts: []asks.Host{{Name: "w1", Total: model.Resource{MemoryMiB: 2048, VCores: 4}, Free: model.Resource{MemoryMiB: 1536, VCores: 3}}}},
			{ID: "/rack2", Hosts: []asks.Host{{Name: "w2", Total: model.Resource{MemoryMiB: 2048, VCores: 4}, Free: model.Resource{MemoryMiB: 2048, VCores: 4}}}},
		},
		RackOf: map[string]model.RackID{"w1": "/rack1", "w2": "/rack2", "w3": "/rack2"},
	}
	if diff := cmp.Diff(want, at); diff != "" || !fresh {
		t.Errorf("fresh %v, site (-want +got):\n%s", fresh, diff)
	}
	if app, ok := s.view.App(viewedApp); !ok || !cmp.Equal(app.Tags, []string{"nightly", "heddle-off"}) || app.Queue != "root.default" {
		t.Errorf("application %+v, %v", app, ok)
	}
	s.published()
	idle, _ := s.view.Site()
	for i := range want.Racks {
		for k := range want.Racks[i].Hosts {
			want.Racks[i].Hosts[k].Idle = want.Racks[i].Hosts[k].Free
		}
	}
	if diff := cmp.Diff(want, idle); diff != "" {
		t.Errorf("a second time with the same room (-want +got):\n%s", diff)
	}
	s.published()
	if again, _ := s.view.Site(); again != idle {
		t.Error("nothing changed, and the site was made anew")
	}
	for scheduler, vcores := range map[string]bool{"capacityScheduler": false, "fairScheduler": true} {
		s.apply(model.ClusterFact{Started: 1, Scheduler: scheduler})
		s.published()
		if at, _ := s.view.Site(); at.VCores != vcores {
			t.Errorf("%s counts vcores: %t", scheduler, at.VCores)
		}
	}
	s.clock.Store(40_001)
	if _, fresh := s.view.Site(); fresh {
		t.Error("state of 30.001 s ago counts as fresh")
	}
}

func asking() []model.AskRow {
	return []model.AskRow{{Priority: model.PriorityReduce, ResourceName: "*", Count: 2, Capability: model.Resource{MemoryMiB: 512, VCores: 1}}}
}

// within is a context that ends like an allocate call's.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestDecide: an application that has just asked is planned for at once, and what it asked is in the state.
func TestDecide(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.view.Decide(within(t, time.Minute), viewedApp, asking()) // returns at once: nobody answers
	s.link()
	s.published()
	if _, ok := s.view.Target(viewedApp, model.StageReduce); ok {
		t.Error("a target before anything was asked")
	}
	s.view.Decide(within(t, 10*time.Second), viewedApp, asking())
	for _, when := range []string{"at once", "after the next snapshot", "and the one after"} {
		target, ok := s.view.Target(viewedApp, model.StageReduce)
		if !ok || len(target.Racks) != 1 || target.Racks[0].Rack != "/rack2" || target.Reason != model.ReasonDependents {
			t.Errorf("%s: target %+v, %v", when, target, ok)
		}
		s.published()
	}
	done := model.Relayed{Granted: 3, Steered: 2, Waited: 1500}
	s.view.Observe(viewedApp, asking(), done)
	eventually(t, "serve hears what is asked", func() bool { return s.observed() == 1 })
	if f, is := s.offered[0].Fact.(model.AsksFact); s.offered[0].Source != model.SourceRelay || s.offered[0].At != s.now() || !is || f.Relayed != done {
		t.Errorf("observed %+v", s.offered)
	}
}

// TestLateDecision: a call waits no longer than it may.
func TestLateDecision(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.link()
	s.published()
	s.hang = make(chan struct{})
	begun := time.Now()
	s.view.Decide(within(t, 50*time.Millisecond), viewedApp, asking())
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("a call waited %s", took)
	}
	if _, ok := s.view.Target(viewedApp, model.StageReduce); ok {
		t.Error("a target although nothing was decided")
	}
	close(s.hang)
	eventually(t, "nobody waits", func() bool {
		s.view.mu.RLock()
		defer s.view.mu.RUnlock()
		return len(s.view.planning) == 0
	})
}

// TestPending: what the ResourceManager shows comes on demand.
func TestPending(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.link()
	s.published()
	pending := func() (rows []model.AskRow, at model.Time, ok bool) {
		s.clock.Add(int64(showAgainAfter))
		s.view.Pending(viewedApp)
		time.Sleep(20 * time.Millisecond)
		return s.view.Pending(viewedApp)
	}
	if _, _, ok := pending(); ok {
		t.Error("pending asks before the ResourceManager's answer has any")
	}
	at := s.now()
	s.apply(model.AsksFact{App: viewedApp, Rows: asking()})
	s.published()
	eventually(t, "the rows arrive", func() bool {
		rows, when, ok := pending()
		return ok && len(rows) == 1 && when == at
	})
	s.clock.Add(1)
	later := s.now()
	s.apply(model.AsksFact{App: viewedApp})
	s.published()
	eventually(t, "rows that are read after the answer are sent unasked", func() bool {
		rows, when, _ := s.view.Pending(viewedApp) // it asks once a second
		return len(rows) == 0 && when == later
	})
}

// TestServeGone: without serve what is planned stays in force until the view is too old, and a call does not wait; a
// serve that comes back sends no view before it is ready.
func TestServeGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stop := background(s.client.Run)
	eventually(t, "linked", s.client.Linked)
	s.published()
	s.view.Decide(within(t, 10*time.Second), viewedApp, asking())
	stop()
	eventually(t, "the relay notices", func() bool { linked, _ := s.view.Fresh(); return !linked })
	has := func() bool { _, ok := s.view.Target(viewedApp, model.StageReduce); return ok }
	if _, fresh := s.view.Site(); !fresh || !has() {
		t.Errorf("the end of serve made the view old (%v), or took plans (%v)", !fresh, !has())
	}
	s.view.Observe(viewedApp, asking(), model.Relayed{})
	s.view.Decide(within(t, time.Minute), viewedApp, asking()) // returns at once

	var ready atomic.Bool
	s.cluster, s.engine = state.New(state.DefaultConfig()), nil // the next serve knows nothing yet
	s.engine = engine.New(engine.DefaultOptions("test"), fixedPlans{}, s.cluster)
	s.client = s.newClient(func(*snapshot.Snapshot) bool { return ready.Load() })
	s.link()
	s.publish()
	s.view.Decide(within(t, 10*time.Second), viewedApp, asking())
	if !has() {
		t.Error("a serve that is not ready took a plan away")
	}
	ready.Store(true)
	s.published()
	if _, known := s.view.App(viewedApp); known || has() {
		t.Error("what the serve before knew is still there")
	}
	if at, _ := s.view.Site(); len(at.RackOf) > 0 {
		t.Errorf("nodes of the serve before are still there: %v", at.RackOf)
	}
}

// TestSecondServe: the relay accepts one serve, and refuses another with a reason until the first one is gone or hangs.
func TestSecondServe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stop := background(s.client.Run)
	eventually(t, "linked", s.client.Linked)
	s.published()
	second := s.newClient(nil)
	_, err := second.linkOnce(t.Context())
	if err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("a second serve: %v", err)
	}
	s.clock.Store(50_000) // the view is old
	s.server.mu.Lock()
	s.server.lastMessage = s.server.lastMessage.Add(-hangsAfter)
	s.server.mu.Unlock()
	defer background(second.Run)()
	eventually(t, "the second is linked", second.Linked)
	stop()
	if linked, _ := s.view.Fresh(); !linked {
		t.Error("the end of the first unlinked the second")
	}
}

// TestStatus: serve asks the relay what it does.
func TestStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, err := s.client.Status(t.Context(), "", 0, 1); !errors.Is(err, ErrNotLinked) {
		t.Errorf("without a relay: %v", err)
	}
	s.link()
	r, err := s.client.Status(within(t, 10*time.Second), viewedApp, 2, 7)
	if err != nil || r.Connections != 3 || r.Total != 207 || r.Attempts[0].App != viewedApp {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestListen: a socket of a relay that was killed is replaced, one of a relay that runs is not; nobody else may
// connect.
func TestListen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	again := NewServer(s.server.opts)
	if err := again.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "another 'heddle relay' listens") {
		t.Errorf("beside a relay that runs: %v", err)
	}
	for path, want := range map[string]os.FileMode{s.path: 0o600, filepath.Dir(s.path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	dead := filepath.Join(filepath.Dir(s.path), "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	opts := s.server.opts
	opts.Path = dead
	after := NewServer(opts)
	if err := after.Listen(t.Context()); err != nil {
		t.Fatalf("after a relay that was killed: %v", err)
	}
	background(after.Run)()
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// connectAsOtherUser connects and exits with 0 if it is refused.
func connectAsOtherUser(path string) {
	c, err := net.Dial("unix", path)
	if err != nil {
		os.Exit(2)
	}
	c.SetDeadline(time.Now().Add(10 * time.Second))
	s := newSession(c)
	if s.sendHello("other") != nil || s.readHello() != nil {
		os.Exit(0)
	}
	os.Exit(1)
}

// TestOtherUser: a process of another user is refused, even if the socket's mode lets it connect.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	s := newSite(t)
	below := filepath.Dir(filepath.Dir(s.path))
	for path, mode := range map[string]os.FileMode{s.path: 0o666, filepath.Dir(s.path): 0o755, below: 0o755, filepath.Dir(below): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile("/proc/self/exe") // where this binary lies, another user may not look
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(below, "other")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user uint32
		want int
	}{{65534, 0}, {0, 1}} {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Dir, cmd.Env = "/", []string{otherUserPath + "=" + s.path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.user, Gid: c.user}}
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.want {
			t.Errorf("user %d: exit code %d, want %d", c.user, got, c.want)
		}
	}
}

// TestQueue: of an application's asks the newest wait, a newer snapshot replaces the last, and a message that is too long
// costs itself and not the session.
func TestQueue(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	s := newSession(near)
	asks := func(app model.AppID, count int) *message {
		rows := asking()
		rows[0].Count = count
		return &message{Asks: &appAsks{app, 1, rows, model.Relayed{}}}
	}
	s.send(asks("a", 1))
	s.publish(&snapshot.Snapshot{Seq: 1})
	s.publish(&snapshot.Snapshot{Seq: 2})
	s.send(asks("b", 2))
	s.send(asks("a", 3))
	s.send(&message{Refused: strings.Repeat("x", maxMessage)})
	s.publish(&snapshot.Snapshot{Seq: 3})
	defer background(s.writing)()
	defer far.Close() // first, as the writer may wait for a reader
	if err := far.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := newReader(far)
	var got []string
	for range 4 {
		m, err := in.next()
		if err != nil {
			t.Fatal(err)
		}
		if m.View != nil {
			got = append(got, fmt.Sprint("view ", m.View.Version))
		} else {
			got = append(got, fmt.Sprint(m.Asks.App, " ", m.Asks.Rows[0].Count))
		}
	}
	if diff := cmp.Diff([]string{"a 3", "view 2", "b 2", "view 3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.send(asks("a", 4))
	if m, err := in.next(); err != nil || m.Asks.Rows[0].Count != 4 {
		t.Errorf("after the queue was written: %+v, %v", m, err)
	}
	for i := range 2*queueLength + 1 { // what one pass of the writer takes, and as many behind it
		if ok := s.send(&message{RowsQuery: &rowsQuery{model.AppID(strconv.Itoa(i))}}); !ok {
			return
		}
	}
	t.Error("the queue has no bound")
}
