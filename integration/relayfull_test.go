//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
	"heddle/integration/unmanaged"
	"heddle/yarnproxy/amrm/wire"
)

// The tests of this file have asks wait: for racks that are full, and because
// the policy holds them back. None may wait longer than its deadline.

const (
	// observationDelay is how much later than it was due something may be seen: two heartbeats
	// of the application, which may be late themselves on a busy machine, and a look.
	observationDelay = 4 * model.Second
	// relaxedStartDelay bounds the time from maps being asked for anywhere to the start of the first:
	// CapacityScheduler passes up as many nodes as there are maps before it gives one
	// away from its input (RegularContainerAllocator.java), and grantTakes.
	relaxedStartDelay = grantDelay + 10*model.Second
)

// The deadlines of TestRelayRackFull. Where all racks of a plan are full, asks wait for a third of theirs.
const (
	fullTrim  = 15 * model.Second
	fullPin   = 18 * model.Second
	fullAfter = 4 * model.Second
)

// TestRelayRackFull: racks of a job's plan are full before a stage asks, and stay so. Reduces move to the plan's next
// rack after full_after. Where all racks are full that a stage still waits for it waits for a third of its deadline:
// maps do with one full rack, as they move between racks of their own only.
//
// Three fifths of the input are on /rack2, two on /rack3, and the plan takes both racks (waves). Reduces follow where
// maps ran. They are asked for when all maps are done, so that each stage waits by itself: racks are filled before
// the job is submitted for the maps, and as the maps end for the reduces.
func TestRelayRackFull(t *testing.T) {
	c := cluster(t)
	settings := strings.NewReplacer(
		"pin_deadline: 3m, trim_deadline: 1m", "pin_deadline: 18s, trim_deadline: 15s",
		"advanced: {", "advanced: {relay: {limits: {full_after: 4s}}, ",
		"{assume_unknown: true}", "{assume_unknown: true, waves: 1}",
	).Replace(relaySettings(t, c, "enforce"))
	s := startConfigured(t, c, settings)
	rack2, rack3 := c.HostsOf("/rack2"), c.HostsOf("/rack3")
	if err := c.TeraInput(withTimeout(t, time.Minute), "/full", slices.Concat(rack2, rack2[:1], rack3), 1, 2_000_000); err != nil {
		t.Fatal(err)
	}
	// run runs the job, and fills racks as soon as all maps have their containers. The run is nil if a reduce took a
	// container of the last map before that had left.
	runOnce := func(t *testing.T, what string, then ...string) (*fullRackRun, time.Duration) {
		t.Helper()
		before := s.relayStatus(withTimeout(t, 10*time.Second)).Counts.Rewritten
		done := startJob(t, c, throughRelay(c), "terasort", "-Dmapreduce.job.reduces=3",
			"-Dmapreduce.job.reduce.slowstart.completedmaps=1", "-Dmapreduce.terasort.output.replication=1", "/full", fmt.Sprintf("/out-full-%d", time.Now().UnixMilli()))
		following := make(chan map[askKey]*askHistory, 1)
		granted := make(chan struct{})
		go func() {
			defer close(following) // also if it ends the test
			following <- s.followAsks(t, done, sync.OnceFunc(func() { close(granted) }))
		}()
		var full rackFiller
		var late error
		if len(then) > 0 {
			select {
			case <-granted:
			case <-time.After(2 * time.Minute):
				t.Fatal("the maps have no containers after two minutes")
			}
			full, late = fillRacks(t, c, then...)
		}
		seen := <-following
		job, took := waitSucceeded(t, c, done, what)
		if late != nil {
			t.Logf("%s: %v", what, late)
			full.ask("*=0")
			full.release()
			return nil, took
		}
		if len(then) > 0 {
			full.checkStillFull(then...)
		}
		after := s.relayStatus(withTimeout(t, 10*time.Second)).Counts.Rewritten
		r := &fullRackRun{t: t, app: model.AppID(hadoop.AppID(job)), history: seen, counts: map[model.Action]int64{}}
		for action, n := range after {
			r.counts[action] = n - before[action]
		}
		var err error
		if r.attempts, err = c.Attempts(withTimeout(t, time.Minute), job); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: maps on %v, reduces on %v, relay %v", what, hadoop.AttemptsByRack(r.attempts, "MAP"), hadoop.AttemptsByRack(r.attempts, "REDUCE"), r.counts)
		return r, took
	}
	run := func(t *testing.T, what string, then ...string) (*fullRackRun, time.Duration) {
		t.Helper()
		for range 3 {
			if r, took := runOnce(t, what, then...); r != nil {
				return r, took
			}
		}
		t.Fatalf("%s: reduces were there first three times", what)
		return nil, 0
	}
	r, plain := run(t, "nothing full")
	if r.counts[model.ActionFallBack] > 0 || r.counts[model.ActionNextRack] > 0 {
		t.Errorf("nothing was full, and the relay did %v", r.counts)
	}

	t.Run("maps, one rack", func(t *testing.T) {
		full := mustFill(t, c, "/rack2")
		r, took := run(t, "one rack full")
		full.checkStillFull("/rack2")
		t.Logf("one rack full: %+.1f s", (took - plain).Seconds())
		r.checkAvoids("MAP", "/rack2")
		r.checkWait(model.StageMap, model.ActionTrim, fullTrim/3, "/rack2") // once those of /rack3 have theirs
		if r.counts[model.ActionFallBack] == 0 {
			t.Errorf("the relay did %v, want maps fallen back", r.counts)
		}
	})
	t.Run("maps, all racks of the plan", func(t *testing.T) {
		full := mustFill(t, c, "/rack2", "/rack3")
		r, took := run(t, "all racks of the plan full")
		full.checkStillFull("/rack2", "/rack3")
		t.Logf("all racks of the plan full: %+.1f s", (took - plain).Seconds())
		r.checkAvoids("MAP", "/rack2", "/rack3")
		r.checkWait(model.StageMap, model.ActionTrim, fullTrim/3, "/rack2", "/rack3")
		if r.counts[model.ActionFallBack] == 0 {
			t.Errorf("the relay did %v, want maps fallen back", r.counts)
		}
	})
	t.Run("reduces, one rack", func(t *testing.T) {
		r, took := run(t, "one rack full after the maps", "/rack2")
		t.Logf("one rack full after the maps: %+.1f s", (took - plain).Seconds())
		r.checkAvoids("REDUCE", "/rack2")
		r.checkWait(model.StageReduce, model.ActionPin, fullAfter, "/rack2", "/rack3")
		if got := hadoop.AttemptsByRack(r.attempts, "REDUCE"); got["/rack3"] != 3 || r.counts[model.ActionNextRack] == 0 {
			t.Errorf("reduces ran on %v, want all on /rack3, the next one of the plan; the relay did %v", got, r.counts)
		}
	})
	t.Run("reduces, all racks of the plan", func(t *testing.T) {
		r, took := run(t, "all racks of the plan full after the maps", "/rack2", "/rack3")
		t.Logf("all racks of the plan full after the maps: %+.1f s", (took - plain).Seconds())
		r.checkAvoids("REDUCE", "/rack2", "/rack3")
		r.checkWait(model.StageReduce, model.ActionPin, fullPin/3, "/rack2", "/rack3")
		if r.counts[model.ActionFallBack] == 0 {
			t.Errorf("the relay did %v, want reduces fallen back", r.counts)
		}
	})
}

// rackFiller is an application that holds every container of some racks.
type rackFiller struct{ *testApp }

// mustFill is fillRacks where nobody else asks.
func mustFill(t *testing.T, c *hadoop.Cluster, full ...string) rackFiller {
	t.Helper()
	f, err := fillRacks(t, c, full...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fillRacks takes all containers of racks, asked for strictly, and keeps them until the test ends. It is an error if
// others have one.
func fillRacks(t *testing.T, c *hadoop.Cluster, full ...string) (rackFiller, error) {
	t.Helper()
	a := newTestApp(t, c, hadoop.Capacity, "OTHER", rmScheduler)
	var rows strings.Builder
	for _, rack := range full {
		for _, h := range c.HostsOf(rack) {
			fmt.Fprintf(&rows, "%s=N ", h)
		}
		fmt.Fprintf(&rows, "%s=N ", rack)
	}
	n := a.slots * len(full)
	got := a.callUntilGranted(a.ask(fmt.Sprintf("%s*=%d!", rows.String(), n)), n, 30*time.Second)
	for rack, has := range a.byRack(got) {
		if has != a.slots || !slices.Contains(full, rack) {
			return rackFiller{a}, fmt.Errorf("%d containers are on %s, want %d on each of %v", has, rack, a.slots, full)
		}
	}
	if len(got) != n {
		return rackFiller{a}, fmt.Errorf("%d containers fill %v, want %d", len(got), full, n)
	}
	return rackFiller{a}, nil
}

// release gives the containers back.
func (f rackFiller) release() {
	f.t.Helper()
	f.releaseAll()
	f.waitReleased()
}

// checkStillFull checks that the racks are still full, and releases them.
func (f rackFiller) checkStillFull(full ...string) {
	f.t.Helper()
	nodes, err := rmNodes(withTimeout(f.t, 10*time.Second), f.c)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, rack := range full {
		for _, h := range f.c.HostsOf(rack) {
			if nodes[h].AvailMemoryMB != 0 {
				f.t.Errorf("%s of %s was to be full: %+v", h, rack, nodes[h])
			}
		}
	}
	f.release()
}

// fullRackRun is a job that has ended, with what the relay reported and where its tasks ran.
type fullRackRun struct {
	t        *testing.T
	app      model.AppID
	history  map[askKey]*askHistory
	attempts []hadoop.Attempt
	counts   map[model.Action]int64 // what the relay did meanwhile
}

// askKey identifies the asks of one stage of an application.
type askKey struct {
	app   model.AppID
	stage model.Stage
}

// askHistory is what the relay reported about them over time.
type askHistory struct {
	askedAt       model.Time // asked for
	actions       []model.Action
	racks         map[string]bool // that were asked for with a strict ANY
	lastSteeredAt model.Time      // last seen steered
}

// followAsks polls the relay until a job has ended. It calls mapsGranted when a job that asked for maps waits for none.
func (s *service) followAsks(t *testing.T, done <-chan jobResult, mapsGranted func()) map[askKey]*askHistory {
	t.Helper()
	seen := map[askKey]*askHistory{}
	for ; len(done) == 0; time.Sleep(200 * time.Millisecond) {
		r := s.relayStatus(withTimeout(t, 10*time.Second))
		for i := range r.Attempts {
			for k := range slices.Values(r.Attempts[i].Keys) {
				of := askKey{r.Attempts[i].App, k.Stage}
				if len(k.Asked) == 0 {
					if seen[of] != nil && k.Stage == model.StageMap {
						mapsGranted()
					}
					continue
				}
				if seen[of] == nil {
					seen[of] = &askHistory{askedAt: r.At, racks: map[string]bool{}}
				}
				seen[of].record(r.At, &k)
				if k.Deadline != 0 && r.Attempts[i].LastCall >= k.Deadline {
					t.Errorf("%s: %s is in force after a call at %d, and its deadline was %d", k.Stage, k.Action, r.Attempts[i].LastCall, k.Deadline)
				}
			}
		}
	}
	return seen
}

// record adds the result of one poll.
func (a *askHistory) record(at model.Time, k *model.RelayKey) {
	if len(a.actions) == 0 || a.actions[len(a.actions)-1] != k.Action {
		a.actions = append(a.actions, k.Action)
	}
	if k.Action == "" {
		return
	}
	a.lastSteeredAt = at
	for i := range k.Sent {
		if name := k.Sent[i].ResourceName; strings.HasPrefix(name, "/") {
			a.racks[name] = true
		}
	}
}

// checkAvoids checks that no task of a type ran on full racks.
func (r *fullRackRun) checkAvoids(taskType string, full ...string) {
	r.t.Helper()
	for _, a := range r.attempts {
		if a.Type == taskType && slices.Contains(full, a.Rack) {
			r.t.Errorf("%s ran on %s: it was not full", a.ID, a.Rack)
		}
	}
}

// checkWait checks that a stage's asks went to the planned racks, and waited there
// for the limit and no longer.
func (r *fullRackRun) checkWait(stage model.Stage, action model.Action, limit model.Duration, planned ...string) {
	r.t.Helper()
	a := r.history[askKey{r.app, stage}]
	if a == nil || !slices.Contains(a.actions, action) {
		r.t.Fatalf("%s: %+v, want %s", stage, a, action)
	}
	for _, rack := range planned {
		if !a.racks[rack] {
			r.t.Errorf("%s asks went to %v, want %v: the plan did not name the full rack", stage, a.racks, planned)
		}
	}
	// Of those that had to wait, the first to start: the others may have to wait for it.
	var next model.Duration
	for _, at := range r.attempts {
		late := model.Time(at.Started).Sub(a.askedAt)
		if strings.EqualFold(at.Type, string(stage)) && late >= limit && (next == 0 || late < next) {
			next = late
		}
	}
	waited := a.lastSteeredAt.Sub(a.askedAt)
	r.t.Logf("%s asks: %v on %v for %.1f s, and the first that waited started after %.1f s", stage, a.actions, slices.Sorted(maps.Keys(a.racks)), seconds(waited), seconds(next))
	if waited > limit+observationDelay {
		r.t.Errorf("%s asks were steered for %.1f s, with a limit of %.1f", stage, seconds(waited), seconds(limit))
	}
	if next == 0 {
		r.t.Errorf("every %s had started after %.1f s: nothing waited for a full rack", stage, seconds(limit))
	}
	if next > limit+observationDelay+relaxedStartDelay {
		r.t.Errorf("the first %s that waited started %.1f s after it was asked for, with a limit of %.1f", stage, seconds(next), seconds(limit))
	}
}

func seconds(d model.Duration) float64 { return float64(d) / float64(model.Second) }

// The settings of TestRelayHolds.
const (
	holdMax   = 6 * model.Second
	holdLinks = 20 // Mbit/s of each uplink
	// takeoverLimit bounds the time from the death of a heddle to the take-over of its hold: the
	// ApplicationMaster goes to the second one, which believes the REST API when it
	// was read after its first call, and undoes the hold at the next heartbeat.
	takeoverLimit = 3*model.Second + 2*observationDelay
)

// TestRelayHolds: reduces of a job with many maps to come are held back while
// the uplinks are busy. The hold ends at the policy's word, at hold_max, and when
// the heddle that made it is killed for good.
//
// What ShuffleWatcher holds for (core/policy/shufflewatcher/plan.go): the job is
// shuffle-heavy, as a sleep job is, which has next to no input (ratio_init says
// so before its maps do); the uplinks of all racks its reduces want are
// saturated, by reads from every rack, as the site's own counters say; and its
// user has maps to run meanwhile: fifteen, of which five fit at once, for 9 s each,
// so that some wait for that long after the first reduce is asked for.
//
// The second heddle takes over the hold of the first, which it cannot know the start of: it undoes it, or holds what is
// still asked for then by its own plan, for hold_max at most.
func TestRelayHolds(t *testing.T) {
	c := cluster(t)
	if err := c.Shape(holdLinks); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shape(0); err != nil {
			t.Error(err)
		}
	})
	first, second := net.JoinHostPort(c.GatewayAddr(), relayPort), net.JoinHostPort(c.GatewayAddr(), "7940")
	site := serveUplinkRates(t, c)
	start := func(own, peer string) *service {
		return startConfigured(t, c, strings.NewReplacer(
			"uplinks: {capacity: 100Mbps}", fmt.Sprintf("network: {saturation: 0.4}\nuplinks: {capacity: %dMbps, source: prometheus, prometheus: {url: %q, out_query: out, in_query: in, interval: 1s}}", holdLinks, site),
			"{assume_unknown: true}", "{ratio_init: 2}",
			"relay:\n  listen: "+first, fmt.Sprintf("relay:\n  peers: [%q]\n  listen: %s", peer, own),
			"pin_deadline: 3m, trim_deadline: 1m", "pin_deadline: 30s, trim_deadline: 1m, hold_max: 6s",
			"advanced: {", "advanced: {network: {period: 500ms, ewma: 1s}, ",
		).Replace(relaySettings(t, c, "enforce")))
	}
	s, other := start(first, second), start(second, first)
	with := s.clientConfig(t)
	run := func(what string, during func()) *heldJob {
		t.Helper()
		done := startJob(t, c, with, "sleep", "-Dmapreduce.map.memory.mb=1024", "-m", "15", "-r", "2", "-mt", "9000", "-rt", "1000", "-recordt", "10")
		h := s.waitHeld(t)
		during()
		h.watch(t, c, done)
		job, _ := waitSucceeded(t, c, done, what)
		attempts, err := c.Attempts(withTimeout(t, time.Minute), job)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attempts {
			if a.Type == "REDUCE" && model.Time(a.Started) < h.releasedAt {
				t.Errorf("%s: %s started while reduces were held", what, a.ID)
			}
		}
		t.Logf("%s: held for %.1f s, seen so by %d looks at the ResourceManager", what, seconds(h.lastHeldAt.Sub(h.heldSince)), h.observations)
		return h
	}

	quiet := saturateUplinks(t, c)
	h := run("until the policy's word", func() { quiet() })
	word := s.holdEndedAt(t, h)
	t.Logf("the policy's word after %.1f s, the hold over %.1f s later", seconds(word.Sub(h.heldSince)), seconds(h.lastHeldAt.Sub(word)))
	if h.lastHeldAt > word.Add(observationDelay) || word > h.heldSince.Add(holdMax) {
		t.Errorf("held from %d to %d, the policy's word was at %d", h.heldSince, h.lastHeldAt, word)
	}

	saturateUplinks(t, c)
	h = run("until hold_max", func() {})
	if h.lastHeldAt > h.heldSince.Add(holdMax+observationDelay) || h.releasedAt < h.heldSince.Add(holdMax) {
		t.Errorf("held from %d to %d and not any more at %d, hold_max is %.1f s; plans:%s", h.heldSince, h.lastHeldAt, h.releasedAt, seconds(holdMax), s.plansOf(t, h.app))
	}

	var killed model.Time
	h = run("the first heddle killed", func() {
		s.kill()
		killed = model.Time(time.Now().UnixMilli())
	})
	t.Logf("the hold of the first heddle was undone %.1f s after the kill, and that of the second over after %.1f s", seconds(h.releasedAt.Sub(killed)), seconds(h.lastHeldAt.Sub(killed)))
	if h.releasedAt > killed.Add(takeoverLimit+holdMax) {
		t.Errorf("killed at %d, and the hold was over at %d", killed, h.releasedAt)
	}
	if h.lastHeldAt > h.releasedAt.Add(holdMax+observationDelay) { // undone first, it may hold once more
		t.Errorf("killed at %d, and held until %d", killed, h.lastHeldAt)
	}
	if r := other.relayStatus(withTimeout(t, 10*time.Second)); r.Counts.Accepted == 0 {
		t.Error("the job did not come to the second heddle")
	}
}

// heldJob is a job whose reduces are held.
type heldJob struct {
	app          model.AppID
	heldSince    model.Time // by the relay's clock
	releasedAt   model.Time // when the ResourceManager first showed something else again
	lastHeldAt   model.Time // when it last showed the ask that nothing satisfies
	observations int        // how often it did
}

// waitHeld waits until a job's reduces are held.
func (s *service) waitHeld(t *testing.T) *heldJob {
	t.Helper()
	h := &heldJob{}
	eventually(t, 2*time.Minute, "reduces are held", func(ctx context.Context) error {
		r := s.relayStatus(ctx)
		for i := range r.Attempts {
			for _, k := range r.Attempts[i].Keys {
				if k.Stage == model.StageReduce && k.Action == model.ActionHold {
					h.app, h.heldSince = r.Attempts[i].App, k.Since
					return nil
				}
			}
		}
		return fmt.Errorf("attempts %s", relayText(&r))
	})
	return h
}

// watch polls the ResourceManager until the job has ended. While reduces are held,
// it shows nothing of them but an ANY row without relaxed locality.
func (h *heldJob) watch(t *testing.T, c *hadoop.Cluster, done <-chan jobResult) {
	t.Helper()
	app := &testApp{AM: &unmanaged.AM{ID: string(h.app)}, c: c}
	for ; len(done) == 0; time.Sleep(200 * time.Millisecond) {
		at := model.Time(time.Now().UnixMilli())
		rows, err := app.pending(withTimeout(t, 10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		rows = slices.DeleteFunc(rows, func(r model.AskRow) bool { return r.Priority != reducePriority })
		if len(rows) == 1 && rows[0].ResourceName == wire.Any && !rows[0].RelaxLocality {
			h.lastHeldAt, h.observations = at, h.observations+1
		} else if h.observations > 0 && h.releasedAt == 0 {
			h.releasedAt = at
		}
	}
	if h.observations == 0 {
		t.Errorf("the ResourceManager never showed the ask of %s as held", h.app)
	}
}

// reducePriority is at which MapReduce asks for reduces (RMContainerAllocator.java).
const reducePriority = 10

// holdEndedAt returns the time of the policy's first plan that no longer holds the job.
func (s *service) holdEndedAt(t *testing.T, h *heldJob) model.Time {
	t.Helper()
	for _, d := range s.decisions(withTimeout(t, 10*time.Second)) {
		if p := d.Plan; p != nil && p.App == h.app && p.Stage == model.StageReduce && !p.Hold && d.At > h.heldSince {
			return d.At
		}
	}
	t.Fatalf("the policy never ended the hold of %s", h.app)
	return 0
}

// plansOf prints the policy's plans of an application, in order.
func (s *service) plansOf(t *testing.T, app model.AppID) string {
	t.Helper()
	var b strings.Builder
	for _, d := range s.decisions(withTimeout(t, 10*time.Second)) {
		if p := d.Plan; p != nil && p.App == app {
			fmt.Fprintf(&b, "\n  %d %s hold %v, %s %v", d.At, p.Stage, p.Hold, p.Reason, p.Racks)
		}
	}
	return b.String()
}

// saturateUplinks reads from a DataNode of every rack as fast as the uplinks allow,
// until it is stopped or the test ends.
func saturateUplinks(t *testing.T, c *hadoop.Cluster) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	stop = func() { cancel(); readers.Wait() }
	t.Cleanup(stop)
	for _, rack := range c.Racks() {
		path := "/busy" + rack
		err := c.Write(withTimeout(t, time.Minute), hadoop.File{Path: path, Host: c.HostsOf(rack)[0]}, strings.NewReader(strings.Repeat("busy", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		read := func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.NNURL()+"/webhdfs/v1"+path+"?op=OPEN", http.NoBody)
				if err != nil {
					return
				}
				if resp, err := http.DefaultClient.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body) // until it is stopped
					_ = resp.Body.Close()
				}
			}
		}
		for range 3 { // there is no gap between two files
			readers.Go(read)
		}
	}
	return stop
}

// serveUplinkRates serves what a site's Prometheus would have from its switches, and
// returns the address: to the queries out and in, the bytes/s of each uplink over
// the last half second.
func serveUplinkRates(t *testing.T, c *hadoop.Cluster) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	rates := map[string]hadoop.Traffic{}
	var reader sync.WaitGroup
	before, err := c.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	reader.Go(func() {
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
			now, err := c.UplinkBytes()
			if err != nil {
				t.Error(err)
				return
			}
			span := time.Since(last).Seconds()
			last = time.Now()
			mu.Lock()
			for rack, n := range now {
				rates[rack] = hadoop.Traffic{Out: int64(float64(n.Out-before[rack].Out) / span), In: int64(float64(n.In-before[rack].In) / span)}
			}
			mu.Unlock()
			before = now
		}
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		type series struct {
			Metric map[string]string `json:"metric"`
			Value  []any             `json:"value"`
		}
		all := []series{}
		mu.Lock()
		for _, rack := range c.Racks() {
			rate := rates[rack].Out
			if r.FormValue("query") == "in" {
				rate = rates[rack].In
			}
			all = append(all, series{map[string]string{"rack": rack}, []any{float64(time.Now().UnixMilli()) / 1000, strconv.FormatInt(rate, 10)}})
		}
		mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": all}})
	}))
	t.Cleanup(func() { cancel(); reader.Wait(); server.Close() })
	return server.URL
}
