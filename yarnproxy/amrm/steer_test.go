package amrm

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
)

// reducesOn is a plan of 4 reduces on a rack.
func reducesOn(rack model.RackID) asks.Target {
	return asks.Target{Racks: []model.RackTarget{{Rack: rack, Count: 4, Share: 1}}}
}

func pinned(n int) []string {
	return []string{
		fmt.Sprintf("10 * %d strict", n), fmt.Sprintf("10 /rack1 %d", n), fmt.Sprintf("10 w11 %d", n), fmt.Sprintf("10 w12 %d", n),
	}
}

// plan plans the reduces of every application.
func (g *rig) plan(t asks.Target) {
	g.guide.set(func(f *fakeGuide) { f.targets[model.StageReduce] = t })
}

// rows returns the asks of the n-th allocate call that the ResourceManager carried out.
func (g *rig) rows(id wire.Attempt, n int) []string {
	g.t.Helper()
	calls := g.rm.calls(id)
	if n >= len(calls) {
		g.t.Fatalf("only %d calls, want one more than %d", len(calls), n)
	}
	return calls[n].rows()
}

func (g *rig) wantRows(id wire.Attempt, n int, want ...string) {
	g.t.Helper()
	slices.Sort(want)
	if got := g.rows(id, n); !slices.Equal(got, want) {
		g.t.Errorf("call %d asks for %q, want %q", n, got, want)
	}
}

// TestPin rewrites the rows of a planned stage, and nothing else of the calls.
func TestPin(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4), ask(5, "*", 1))
	am.allocate()
	g.wantRows(id, 0, append(pinned(4), "5 * 1")...)
	g.wantRows(id, 1)
	calls := g.rm.calls(id)
	if got, want := calls[0].body[len(calls[0].body)-len(allocateBody(0)):], allocateBody(0); !bytes.Equal(got, want) {
		t.Errorf("the rest of the call is %x, want %x", got, want)
	}
	s := g.relay.Describe("", 0, 1000)
	if s.Counts.Rewritten[model.ActionPin] != 1 {
		t.Errorf("rewritten %v", s.Counts.Rewritten)
	}
	keys := s.Attempts[0].Keys
	if i := slices.IndexFunc(keys, func(k model.RelayKey) bool { return k.Priority == 10 }); i < 0 || keys[i].Action != model.ActionPin || len(keys[i].Sent) != 4 {
		t.Errorf("keys %+v", keys)
	}
}

// TestGrants takes granted containers off what is asked for.
func TestGrants(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	g.rm.set(func(rm *fakeRM) {
		rm.grant = func(_ *rmAttempt, req *wire.Request) ([]byte, string) {
			if len(req.Asks) == 0 {
				return nil, ""
			}
			return appendContainer(nil, 3, &wire.Container{ID: wire.ContainerID{Attempt: 1, ID: 2}, Host: []byte("w11"), Priority: 10, Memory: 512, VCores: 1}), ""
		}
	})
	if r := am.allocate(ask(10, "*", 4)); len(r.Allocated) != 1 {
		t.Fatalf("answer %+v", r)
	}
	app := model.AppID(id.AppID())
	eventually(t, "the guide is told of 3", func() bool {
		g.guide.mu.Lock()
		defer g.guide.mu.Unlock()
		told := g.guide.observed[app]
		return len(told) > 0 && len(told[len(told)-1]) == 1 && told[len(told)-1][0].Count == 3 && g.guide.done[app].Granted == 1 && g.guide.done[app].Steered == 1
	})
	keys := g.relay.Describe("", 0, 1000).Attempts[0].Keys
	if len(keys) != 1 || keys[0].Granted["/rack1"] != 1 {
		t.Errorf("keys %+v", keys)
	}
}

// TestRepeat loses the answer to an edited call: what is repeated on a new
// connection is edited the same way, whatever is planned by then.
func TestRepeat(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	g.rm.set(func(rm *fakeRM) {
		rm.grant = func(*rmAttempt, *wire.Request) ([]byte, string) {
			for c := range rm.conns {
				c.Close() // carried out, and the answer is lost
			}
			clear(rm.conns)
			return nil, ""
		}
	})
	if _, err := am.tryAllocate(ask(10, "*", 4)); err == nil {
		t.Fatal("an answer that was lost")
	}
	g.rm.set(func(rm *fakeRM) { rm.grant = nil })
	g.plan(reducesOn("/rack2"))
	again := connect(t, g.addr, id)
	again.call = 200
	again.allocate(ask(10, "*", 4))
	g.rm.mu.Lock()
	came := g.rm.attempts[id].came
	g.rm.mu.Unlock()
	if len(came) != 2 || !bytes.Equal(came[0], came[1]) {
		t.Errorf("came %x", came)
	}
	if n := g.relay.Status().Counts.Rewritten[model.ActionRepeat]; n != 1 {
		t.Errorf("%d repeated, want 1", n)
	}
}

// TestDecide asks for a plan when a key appears that none is there for, once.
func TestDecide(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.DecideIn = 5 * time.Second })
	var asked []model.AskRow
	g.guide.set(func(f *fakeGuide) {
		f.decide = func(_ context.Context, rows []model.AskRow) {
			g.guide.set(func(f *fakeGuide) {
				asked = rows
				f.targets[model.StageReduce] = reducesOn("/rack1")
			})
		}
	})
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	g.wantRows(id, 0, pinned(4)...)
	want := model.AskRow{Priority: 10, RequestID: -1, ResourceName: "*", Count: 4, RelaxLocality: true, Capability: model.Resource{MemoryMiB: 512, VCores: 1}, Stage: model.StageReduce}
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("asked to plan %+v", asked)
	}
	g.guide.set(func(f *fakeGuide) { clear(f.targets); f.decide = nil })
	am.allocate()
	am.allocate(ask(10, "*", 3))
	if g.guide.decided != 1 {
		t.Errorf("decided %d times for one key, want once", g.guide.decided)
	}
	am.allocate(ask(10, "*", 0))
	am.allocate(ask(10, "*", 2))
	if g.guide.decided != 2 {
		t.Errorf("decided %d times, want once more for what is asked anew", g.guide.decided)
	}
	am.allocate(ask(5, "*", 2)) // of no stage
	if g.guide.decided != 2 {
		t.Errorf("decided %d times, and nobody plans that", g.guide.decided)
	}
}

// TestDecideNeverReturns has the call go on as it came, in time.
func TestDecideNeverReturns(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.DecideIn = 50 * time.Millisecond })
	release := make(chan struct{})
	defer close(release)
	g.guide.set(func(f *fakeGuide) { f.decide = func(context.Context, []model.AskRow) { <-release } })
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	start := time.Now()
	am.allocate(ask(10, "*", 4))
	if d := time.Since(start); d < 50*time.Millisecond || d > 5*time.Second {
		t.Errorf("the call took %v", d)
	}
	am.allocate(ask(20, "*", 4)) // does not wait for another one
	g.wantRows(id, 0, "10 * 4")
	g.wantRows(id, 1, "20 * 4")
	if g.guide.decided != 1 {
		t.Errorf("%d decisions begun, want one at a time", g.guide.decided)
	}
	g.relay.Status() // is not held up either
}

// TestGuidePanics breaks each of the guide's methods for one application: its
// calls and answers pass, and another one is served as ever.
func TestGuidePanics(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"App", "Site", "Target", "Decide", "Observe", "Pending"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			clock := &testClock{now: time.UnixMilli(1_700_000_000_000)}
			g := newRig(t, func(o *Options) { o.DecideIn, o.Now = time.Second, clock.Now })
			id := attemptID(1)
			am := connect(t, g.addr, id)
			if method == "Pending" { // is asked about an attempt in the middle of its life
				am2 := connect(t, g.rm.addr(), id)
				am2.register()
				am2.allocate()
				am.responseID = am2.responseID
				am2.conn.Close()
			} else {
				am.register()
			}
			g.guide.set(func(f *fakeGuide) { f.panics = method })
			before := len(g.rm.calls(id))
			am.allocate(ask(10, "*", 4))
			am.allocate()
			am.allocate(ask(10, "*", 3))
			g.guide.set(func(f *fakeGuide) { f.panics = "" })
			g.plan(reducesOn("/rack1"))
			clock.add(31 * time.Second)
			g.pends(id, clock.Now())
			am.allocate(ask(10, "*", 2))
			g.wantRows(id, before, "10 * 4")
			g.wantRows(id, before+2, "10 * 3")
			g.wantRows(id, before+3, "10 * 2")
			if g.relay.Status().Counts.Faults == 0 || !strings.Contains(g.log.String(), "the guide panics in "+method) {
				t.Errorf("%d faults, log:\n%s", g.relay.counts.faults.Load(), g.log)
			}
			other := connect(t, g.addr, attemptID(2))
			other.register()
			other.allocate(ask(10, "*", 4))
			g.wantRows(attemptID(2), 0, pinned(4)...)
		})
	}
}

// TestObserve tells the guide what is asked for, and again while it is.
func TestObserve(t *testing.T) {
	t.Parallel()
	clock := &testClock{now: time.UnixMilli(1_700_000_000_000)}
	g := newRig(t, func(o *Options) { o.Now = clock.Now })
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	told := func() [][]model.AskRow {
		am.allocate() // what comes before it is settled
		g.guide.mu.Lock()
		defer g.guide.mu.Unlock()
		return slices.Clone(g.guide.observed[model.AppID(id.AppID())])
	}
	am.allocate(ask(10, "*", 4))
	first := told()
	if n := len(first); n == 0 || len(first[n-1]) != 1 || first[n-1][0].Count != 4 {
		t.Fatalf("told %+v", first)
	}
	if again := told(); len(again) != len(first) {
		t.Errorf("told again within no time: %+v", again)
	}
	clock.add(6 * time.Second)
	am.allocate()
	if again := told(); len(again) != len(first)+1 {
		t.Errorf("after 6 s told %d times, want %d", len(again), len(first)+1)
	}
	am.allocate(ask(10, "*", 0))
	last := told()
	if len(last[len(last)-1]) != 0 {
		t.Errorf("told %+v, and nothing is asked for", last[len(last)-1])
	}
	clock.add(time.Minute)
	if again := told(); len(again) != len(last) {
		t.Error("told again of nothing")
	}
}

// TestForgotten has the ResourceManager restart: the application registers and
// says everything again, and it is pinned again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	g.rm.set(func(rm *fakeRM) { rm.attempts[id].registered = false })
	if _, err := am.tryAllocate(ask(10, "*", 4)); err == nil || !strings.Contains(err.Error(), "NotRegistered") {
		t.Fatalf("%v", err)
	}
	if _, err := am.tryAllocate(ask(10, "*", 5)); err == nil {
		t.Error("no error")
	}
	g.rm.mu.Lock()
	came := g.rm.attempts[id].came
	g.rm.mu.Unlock()
	if want := allocateBody(am.responseID, ask(10, "*", 5)); !bytes.Equal(came[len(came)-1], want) {
		t.Errorf("a call of an application that has to register came as %x, want %x", came[len(came)-1], want)
	}
	am.register()
	for _, k := range g.relay.Describe("", 0, 1000).Attempts[0].Keys {
		if len(k.Asked) > 0 {
			t.Errorf("it has just registered and asks for %+v", k.Asked)
		}
	}
	am.allocate(ask(10, "*", 4))
	g.wantRows(id, 1, pinned(4)...)
}

// TestResync has the ResourceManager tell an application to register again: its
// calls go on as they come until it has.
func TestResync(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	resync := appendNumber(nil, 1, int64(wire.CommandResync))
	g.rm.set(func(rm *fakeRM) { rm.grant = func(*rmAttempt, *wire.Request) ([]byte, string) { return resync, "" } })
	am.allocate()
	am.allocate(ask(10, "*", 4))
	g.wantRows(id, 1, "10 * 4")
	g.rm.set(func(rm *fakeRM) { rm.grant = nil; rm.attempts[id].registered = false })
	am.register()
	am.allocate(ask(10, "*", 4))
	g.wantRows(id, 2, pinned(4)...)
}

// TestAnotherWay has calls go to the ResourceManager directly in between: what
// was asked there is not known, and nothing is steered until it is.
func TestAnotherWay(t *testing.T) {
	t.Parallel()
	clock := &testClock{now: time.UnixMilli(1_700_000_000_000)}
	g := newRig(t, func(o *Options) { o.Now = clock.Now })
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 9))
	direct := connect(t, g.rm.addr(), id)
	direct.responseID = am.responseID
	direct.allocate(ask(10, "*", 0))
	direct.allocate()
	am.responseID = direct.responseID
	g.pends(id, clock.Now().Add(-time.Millisecond))
	am.allocate() // what was steered is not restored: nobody asks for it any more
	g.wantRows(id, 3)
	am.allocate(ask(10, "*", 4))
	g.wantRows(id, 4, "10 * 4")
	clock.add(10 * time.Second)
	g.pends(id, clock.Now(), model.AskRow{Priority: 10, ResourceName: "*", Count: 4, RelaxLocality: true})
	am.allocate(ask(10, "*", 3))
	g.wantRows(id, 5, "10 * 3")
	am.allocate()
	g.wantRows(id, 6, pinned(3)...)
}

// TestRefusedEdit stops steering an application whose edited call failed at the
// ResourceManager.
func TestRefusedEdit(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	g.rm.set(func(rm *fakeRM) {
		rm.grant = func(_ *rmAttempt, req *wire.Request) ([]byte, string) {
			if len(req.Asks) > 1 {
				return nil, yarnExceptions + "InvalidResourceRequestException"
			}
			return nil, ""
		}
	})
	if _, err := am.tryAllocate(ask(10, "*", 4)); err == nil {
		t.Fatal("no error")
	}
	am.allocate(ask(10, "*", 4))
	g.wantRows(id, 0, "10 * 4")
	if !strings.Contains(g.log.String(), "refused asks that were edited") {
		t.Error(g.log)
	}
}

// TestAdvise rewrites nothing and counts what it would.
func TestAdvise(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.Enforce = false })
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	g.wantRows(id, 0, "10 * 4")
	if s := g.relay.Status(); s.Enforcing || s.Counts.Passed[model.PassAdvise] != 1 || s.Counts.Rewritten[model.ActionPin] != 1 {
		t.Errorf("counts %+v", s.Counts)
	}
}

// TestExcuse says why an application is not steered.
func TestExcuse(t *testing.T) {
	t.Parallel()
	r := rulesOf(&Options{
		OptOutTag: "heddle-off",
		Scopes:    []Scope{{Queues: []string{"root.batch"}, Types: []string{"mapreduce"}}, {Users: []string{"alice"}, Tags: []string{"Steered"}}},
		Stages:    []StageRule{{Type: "MAPREDUCE", Priorities: []int{10}, Stage: model.StageReduce}},
	})
	app := func(user, queue, kind string, tags ...string) *App {
		return &App{User: model.UserID(user), Queue: model.QueueID(queue), Type: kind, Tags: tags}
	}
	for _, c := range []struct {
		name  string
		app   *App
		known bool
		want  model.PassCause
	}{
		{"in the queue", app("bob", "root.batch", "MAPREDUCE"), true, ""},
		{"below the queue", app("bob", "root.batch.night", "MAPREDUCE"), true, ""},
		{"beside the queue", app("bob", "root.batches", "MAPREDUCE"), true, model.PassScope},
		{"another type in the queue", app("bob", "root.batch", "SPARK"), true, model.PassScope},
		{"user and tag, in lower case as YARN has it", app("alice", "root.x", "MAPREDUCE", "steered"), true, ""},
		{"user without tag", app("alice", "root.x", "MAPREDUCE"), true, model.PassScope},
		{"no rule for the type", app("alice", "root.x", "TEZ", "steered"), true, model.PassType},
		{"opted out", app("bob", "root.batch", "MAPREDUCE", "heddle-off"), true, model.PassOptOut},
		{"unknown", &App{}, false, model.PassStale},
	} {
		if got := r.passReason(c.app, c.known); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSweep ends attempts that do not come back, and no others.
func TestSweep(t *testing.T) {
	t.Parallel()
	clock := &testClock{now: time.UnixMilli(1_700_000_000_000)}
	g := newRig(t, func(o *Options) { o.Now = clock.Now })
	kept, gone, idle := connect(t, g.addr, attemptID(1)), connect(t, g.addr, attemptID(2)), connect(t, g.addr, attemptID(3))
	for _, am := range []*fakeAM{kept, gone, idle} {
		am.register()
		am.allocate(ask(10, "*", 4))
		am.allocate()
	}
	gone.conn.Close()
	idle.conn.Close()
	eventually(t, "one connection", func() bool { return g.relay.Status().Connections == 1 })
	g.guide.set(func(f *fakeGuide) {
		f.apps = map[model.AppID]App{model.AppID(attemptID(3).AppID()): *f.all}
		f.all = nil
	})
	g.relay.sweepOnce()
	if s := g.relay.Describe("", 0, 1000); len(s.Attempts) != 2 {
		t.Errorf("attempts %+v", s.Attempts)
	}
	clock.add(21 * time.Minute)
	g.relay.sweepOnce()
	if s := g.relay.Describe("", 0, 1000); len(s.Attempts) != 1 || s.Attempts[0].App != model.AppID(attemptID(1).AppID()) {
		t.Errorf("attempts %+v", s.Attempts)
	}
}
