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
// the policy holds them back. None may wait longer than was said.

const (
	// soon is how much later than it was due something may be seen: two heartbeats
	// of the application, which may be late themselves on a busy machine, and a look.
	soon = 4 * model.Second
	// elsewhereTakes bounds the time from maps being asked for anywhere to the start of the first:
	// CapacityScheduler passes up as many nodes as there are maps before it gives one
	// away from its input (RegularContainerAllocator.java), and grantTakes.
	elsewhereTakes = grantTakes + 10*model.Second
)

// The deadlines of TestRelayRackFull.
const (
	fullTrim  = 8 * model.Second
	fullPin   = 12 * model.Second
	fullAfter = 4 * model.Second
)

// TestRelayRackFull: the racks of a job's plan are full before it asks, and stay
// so. Maps wait for trim_deadline, reduces move to the plan's next rack after
// full_after, and where all racks of the plan are full they wait for pin_deadline.
//
// The plan follows the input alone, wherever maps ran in the end
// (map_completion), and takes two racks (waves): three fifths of the input are on
// /rack2, two on /rack3. Reduces are asked for when all maps are done, so that
// each stage waits by itself.
func TestRelayRackFull(t *testing.T) {
	c := cluster(t)
	settings := strings.NewReplacer(
		"pin_deadline: 3m, trim_deadline: 1m", "pin_deadline: 12s, trim_deadline: 8s, full_after: 4s",
		"{assume_unknown: true}", "{assume_unknown: true, map_completion: 1, waves: 1}",
	).Replace(steering(t, c, "enforce"))
	s := startConfigured(t, c, settings)
	rack2, rack3 := c.HostsOf("/rack2"), c.HostsOf("/rack3")
	if err := c.TeraInput(within(t, time.Minute), "/full", slices.Concat(rack2, rack2[:1], rack3), 1, 2_000_000); err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, what string) (*ranFull, time.Duration) {
		t.Helper()
		before := s.relayed(within(t, 10*time.Second)).Counts.Rewritten
		done := background(t, c, throughRelay(c), "terasort", "-Dmapreduce.job.reduces=3",
			"-Dmapreduce.job.reduce.slowstart.completedmaps=1", "-Dmapreduce.terasort.output.replication=1", "/full", fmt.Sprintf("/out-full-%d", time.Now().UnixMilli()))
		seen := s.follow(t, done)
		job, took := well(t, c, done, what)
		after := s.relayed(within(t, 10*time.Second)).Counts.Rewritten
		r := &ranFull{t: t, app: model.AppID(hadoop.AppID(job)), seen: seen, counts: map[model.Action]int64{}}
		for action, n := range after {
			r.counts[action] = n - before[action]
		}
		var err error
		if r.attempts, err = c.Attempts(within(t, time.Minute), job); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: maps on %v, reduces on %v, relay %v", what, hadoop.AttemptsByRack(r.attempts, "MAP"), hadoop.AttemptsByRack(r.attempts, "REDUCE"), r.counts)
		return r, took
	}
	r, plain := run(t, "nothing full")
	if r.counts[model.ActionFallBack] > 0 || r.counts[model.ActionNextRack] > 0 {
		t.Errorf("nothing was full, and the relay did %v", r.counts)
	}

	t.Run("one rack", func(t *testing.T) {
		full := fill(t, c, "/rack2")
		r, took := run(t, "one rack full")
		full.still("/rack2")
		t.Logf("one rack full: %+.1f s", (took - plain).Seconds())
		r.avoids("/rack2")
		r.waits(model.StageMap, model.ActionTrim, fullTrim, "/rack2")
		if r.counts[model.ActionFallBack] == 0 || r.counts[model.ActionNextRack] == 0 {
			t.Errorf("the relay did %v, want maps fallen back and reduces on the next rack", r.counts)
		}
		r.waits(model.StageReduce, model.ActionPin, fullAfter, "/rack2", "/rack3")
		if got := hadoop.AttemptsByRack(r.attempts, "REDUCE"); got["/rack3"] != 3 {
			t.Errorf("reduces ran on %v, want all on /rack3, the next one of the plan", got)
		}
	})
	t.Run("all racks of the plan", func(t *testing.T) {
		full := fill(t, c, "/rack2", "/rack3")
		r, took := run(t, "all racks of the plan full")
		full.still("/rack2", "/rack3")
		t.Logf("all racks of the plan full: %+.1f s", (took - plain).Seconds())
		r.avoids("/rack2", "/rack3")
		r.waits(model.StageMap, model.ActionTrim, fullTrim, "/rack2", "/rack3")
		r.waits(model.StageReduce, model.ActionPin, fullPin, "/rack2", "/rack3")
		if r.counts[model.ActionFallBack] < 2 {
			t.Errorf("the relay did %v, want maps and reduces fallen back", r.counts)
		}
	})
}

// filler is an application that holds every container of some racks.
type filler struct{ *asker }

// fill takes all containers of racks, asked for strictly, and keeps them until the test ends.
func fill(t *testing.T, c *hadoop.Cluster, full ...string) filler {
	t.Helper()
	a := newAsker(t, c, hadoop.Capacity, "OTHER", rmScheduler)
	var rows strings.Builder
	for _, rack := range full {
		for _, h := range c.HostsOf(rack) {
			fmt.Fprintf(&rows, "%s=N ", h)
		}
		fmt.Fprintf(&rows, "%s=N ", rack)
	}
	n := a.slots * len(full)
	got := a.granted(a.ask(fmt.Sprintf("%s*=%d!", rows.String(), n)), n, 30*time.Second)
	for rack, has := range a.byRack(got) {
		if has != a.slots || !slices.Contains(full, rack) {
			t.Fatalf("%d containers are on %s, want %d on each of %v", has, rack, a.slots, full)
		}
	}
	if len(got) != n {
		t.Fatalf("%d containers fill %v, want %d", len(got), full, n)
	}
	return filler{a}
}

// still wants the racks to be full, and gives them back.
func (f filler) still(full ...string) {
	f.t.Helper()
	nodes, err := rmNodes(within(f.t, 10*time.Second), f.c)
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
	f.giveBack()
	f.free()
}

// ranFull is a job that has ended: what the relay showed of it, and where it ran.
type ranFull struct {
	t        *testing.T
	app      model.AppID
	seen     map[askOf]*askSeen
	attempts []hadoop.Attempt
	counts   map[model.Action]int64 // what the relay did meanwhile
}

// askOf is the asks of one stage of an application.
type askOf struct {
	app   model.AppID
	stage model.Stage
}

// askSeen is what the relay showed of them over time.
type askSeen struct {
	first   model.Time // asked for
	actions []model.Action
	racks   map[string]bool // that were asked for with a strict ANY
	ended   model.Time      // last seen steered
}

// follow looks at the relay until a job has ended.
func (s *service) follow(t *testing.T, done <-chan finished) map[askOf]*askSeen {
	t.Helper()
	seen := map[askOf]*askSeen{}
	for ; len(done) == 0; time.Sleep(200 * time.Millisecond) {
		r := s.relayed(within(t, 10*time.Second))
		for i := range r.Attempts {
			for k := range slices.Values(r.Attempts[i].Keys) {
				if len(k.Asked) == 0 {
					continue
				}
				of := askOf{r.Attempts[i].App, k.Stage}
				if seen[of] == nil {
					seen[of] = &askSeen{first: r.At, racks: map[string]bool{}}
				}
				seen[of].add(r.At, &k)
				if k.Deadline != 0 && r.Attempts[i].LastCall >= k.Deadline {
					t.Errorf("%s: %s is in force after a call at %d, and its deadline was %d", k.Stage, k.Action, r.Attempts[i].LastCall, k.Deadline)
				}
			}
		}
	}
	return seen
}

// add takes one look.
func (a *askSeen) add(at model.Time, k *model.RelayKey) {
	if len(a.actions) == 0 || a.actions[len(a.actions)-1] != k.Action {
		a.actions = append(a.actions, k.Action)
	}
	if k.Action == "" {
		return
	}
	a.ended = at
	for i := range k.Sent {
		if name := k.Sent[i].ResourceName; strings.HasPrefix(name, "/") {
			a.racks[name] = true
		}
	}
}

// avoids wants nothing to have run on full racks.
func (r *ranFull) avoids(full ...string) {
	r.t.Helper()
	for _, a := range r.attempts {
		if slices.Contains(full, a.Rack) {
			r.t.Errorf("%s ran on %s: it was not full", a.ID, a.Rack)
		}
	}
}

// waits is a stage whose asks went to racks, waited there for a time, and no longer.
func (r *ranFull) waits(stage model.Stage, action model.Action, limit model.Duration, planned ...string) {
	r.t.Helper()
	a := r.seen[askOf{r.app, stage}]
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
		late := model.Time(at.Started).Sub(a.first)
		if strings.EqualFold(at.Type, string(stage)) && late >= limit && (next == 0 || late < next) {
			next = late
		}
	}
	waited := a.ended.Sub(a.first)
	r.t.Logf("%s asks: %v on %v for %.1f s, and the first that waited started after %.1f s", stage, a.actions, slices.Sorted(maps.Keys(a.racks)), seconds(waited), seconds(next))
	if waited > limit+soon {
		r.t.Errorf("%s asks were steered for %.1f s, with a limit of %.1f", stage, seconds(waited), seconds(limit))
	}
	if next == 0 {
		r.t.Errorf("every %s had started after %.1f s: nothing waited for a full rack", stage, seconds(limit))
	}
	if next > limit+soon+elsewhereTakes {
		r.t.Errorf("the first %s that waited started %.1f s after it was asked for, with a limit of %.1f", stage, seconds(next), seconds(limit))
	}
}

func seconds(d model.Duration) float64 { return float64(d) / float64(model.Second) }

// The settings of TestRelayHolds.
const (
	holdMax   = 6 * model.Second
	holdLinks = 20 // Mbit/s of each uplink
	// undoneIn bounds the time from the death of a heddle to the end of its hold: the
	// ApplicationMaster goes to the second one, which believes the REST API when it
	// has looked for 3 s, and undoes the hold at the next heartbeat.
	undoneIn = 3*model.Second + 2*soon
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
// The second heddle undoes the hold of the first, which it cannot know the start
// of, and may hold anew what is still asked for then, for hold_max at most.
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
	site := switches(t, c)
	start := func(own, peer string) *service {
		return startConfigured(t, c, strings.NewReplacer(
			"uplinks: {capacity: 100Mbps}", fmt.Sprintf("network: {saturation: 0.4, period: 500ms, ewma: 1s}\nuplinks: {capacity: %dMbps, source: prometheus, prometheus: {url: %q, out_query: out, in_query: in, interval: 1s}}", holdLinks, site),
			"{assume_unknown: true}", "{ratio_init: 2}",
			"relay:\n  listen: "+first, fmt.Sprintf("relay:\n  peers: [%q]\n  listen: %s", peer, own),
			"pin_deadline: 3m, trim_deadline: 1m", "pin_deadline: 30s, trim_deadline: 1m, hold_max: 6s",
		).Replace(steering(t, c, "enforce")))
	}
	s, other := start(first, second), start(second, first)
	with := s.clientConfig(t)
	run := func(what string, during func()) *heldJob {
		t.Helper()
		done := background(t, c, with, "sleep", "-Dmapreduce.map.memory.mb=1024", "-m", "15", "-r", "2", "-mt", "9000", "-rt", "1000", "-recordt", "10")
		h := s.held(t)
		during()
		h.watch(t, c, done)
		job, _ := well(t, c, done, what)
		attempts, err := c.Attempts(within(t, time.Minute), job)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attempts {
			if a.Type == "REDUCE" && model.Time(a.Started) < h.free {
				t.Errorf("%s: %s started while reduces were held", what, a.ID)
			}
		}
		t.Logf("%s: held for %.1f s, seen so by %d looks at the ResourceManager", what, seconds(h.last.Sub(h.since)), h.looks)
		return h
	}

	quiet := busy(t, c)
	h := run("until the policy's word", func() { quiet() })
	word := s.word(t, h)
	t.Logf("the policy's word after %.1f s, the hold over %.1f s later", seconds(word.Sub(h.since)), seconds(h.last.Sub(word)))
	if h.last > word.Add(soon) || word > h.since.Add(holdMax) {
		t.Errorf("held from %d to %d, the policy's word was at %d", h.since, h.last, word)
	}

	busy(t, c)
	h = run("until hold_max", func() {})
	if h.last > h.since.Add(holdMax+soon) || h.free < h.since.Add(holdMax) {
		t.Errorf("held from %d to %d and not any more at %d, hold_max is %.1f s; plans:%s", h.since, h.last, h.free, seconds(holdMax), s.plansOf(t, h.app))
	}

	var killed model.Time
	h = run("the first heddle killed", func() {
		s.kill()
		killed = model.Time(time.Now().UnixMilli())
	})
	t.Logf("the hold of the first heddle was undone %.1f s after the kill, and that of the second over after %.1f s", seconds(h.free.Sub(killed)), seconds(h.last.Sub(killed)))
	if h.free > killed.Add(undoneIn) {
		t.Errorf("killed at %d, and the second heddle undid the hold at %d", killed, h.free)
	}
	if h.last > h.free.Add(holdMax+soon) { // it may hold once more
		t.Errorf("killed at %d, and held until %d", killed, h.last)
	}
	if r := other.relayed(within(t, 10*time.Second)); r.Counts.Accepted == 0 {
		t.Error("the job did not come to the second heddle")
	}
}

// heldJob is a job whose reduces are held.
type heldJob struct {
	app   model.AppID
	since model.Time // as the relay says
	free  model.Time // when the ResourceManager first showed something else again
	last  model.Time // when it last showed the ask that nothing satisfies
	looks int        // how often it did
}

// held waits until a job's reduces are held.
func (s *service) held(t *testing.T) *heldJob {
	t.Helper()
	h := &heldJob{}
	eventually(t, 2*time.Minute, "reduces are held", func(ctx context.Context) error {
		r := s.relayed(ctx)
		for i := range r.Attempts {
			for _, k := range r.Attempts[i].Keys {
				if k.Stage == model.StageReduce && k.Action == model.ActionHold {
					h.app, h.since = r.Attempts[i].App, k.Since
					return nil
				}
			}
		}
		return fmt.Errorf("attempts %s", relayText(&r))
	})
	return h
}

// watch looks at the ResourceManager until the job has ended: for reduces it
// shows ANY without relaxation alone while they are held.
func (h *heldJob) watch(t *testing.T, c *hadoop.Cluster, done <-chan finished) {
	t.Helper()
	app := &asker{AM: &unmanaged.AM{ID: string(h.app)}, c: c}
	for ; len(done) == 0; time.Sleep(200 * time.Millisecond) {
		at := model.Time(time.Now().UnixMilli())
		rows, err := app.pending(within(t, 10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		rows = slices.DeleteFunc(rows, func(r model.AskRow) bool { return r.Priority != reducePriority })
		if len(rows) == 1 && rows[0].ResourceName == wire.Any && !rows[0].RelaxLocality {
			h.last, h.looks = at, h.looks+1
		} else if h.looks > 0 && h.free == 0 {
			h.free = at
		}
	}
	if h.looks == 0 {
		t.Errorf("the ResourceManager never showed the ask of %s as held", h.app)
	}
}

// reducePriority is at which MapReduce asks for reduces (RMContainerAllocator.java).
const reducePriority = 10

// word is when the policy first said that a job need not be held any more.
func (s *service) word(t *testing.T, h *heldJob) model.Time {
	t.Helper()
	for _, d := range s.decisions(within(t, 10*time.Second)) {
		if p := d.Plan; p != nil && p.App == h.app && p.Stage == model.StageReduce && !p.Hold && d.At > h.since {
			return d.At
		}
	}
	t.Fatalf("the policy never ended the hold of %s", h.app)
	return 0
}

// plansOf is what the policy said of an application's tasks, over time.
func (s *service) plansOf(t *testing.T, app model.AppID) string {
	t.Helper()
	var b strings.Builder
	for _, d := range s.decisions(within(t, 10*time.Second)) {
		if p := d.Plan; p != nil && p.App == app {
			fmt.Fprintf(&b, "\n  %d %s hold %v, %s %v", d.At, p.Stage, p.Hold, p.Reason, p.Racks)
		}
	}
	return b.String()
}

// busy keeps every rack's uplink full of what is read from a DataNode there,
// until it is stopped or the test ends.
func busy(t *testing.T, c *hadoop.Cluster) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	stop = func() { cancel(); readers.Wait() }
	t.Cleanup(stop)
	for _, rack := range c.Racks() {
		path := "/busy" + rack
		err := c.Write(within(t, time.Minute), hadoop.File{Path: path, Host: c.HostsOf(rack)[0]}, strings.NewReader(strings.Repeat("busy", 1<<20)))
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

// switches is the address of what answers as a site's Prometheus that reads its
// switches: to the queries out and in, what each uplink carries, in bytes/s over the last half second.
func switches(t *testing.T, c *hadoop.Cluster) string {
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
