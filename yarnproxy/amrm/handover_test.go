package amrm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
)

// withSocket has a relay hand over at a socket.
func withSocket(path string, more ...func(*Options)) func(*Options) {
	return func(o *Options) {
		o.HandoverSocket = path
		for _, change := range more {
			change(o)
		}
	}
}

// socketPath is short enough for an address.
func socketPath(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "heddle") //nolint:usetesting // a test's own may be too long
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "handover")
}

// replace starts a relay that takes over, and waits for the end of the one before.
func (g *rig) replace(change func(*Options)) {
	g.t.Helper()
	before, log := g.ended, g.log
	defer func() {
		if g.t.Failed() {
			g.t.Logf("log of the relay before:\n%s", log)
		}
	}()
	g.start(change)
	select {
	case <-before:
	case <-time.After(10 * time.Second):
		g.t.Fatal("the relay before does not end")
	}
}

// payload is what the fake ResourceManager adds to an answer.
func payload(id wire.Attempt, responseID int32) []byte {
	n := int(id.App*131+responseID*977) % 9000
	if responseID%16 == 7 {
		n *= 40
	}
	return appendMessage(nil, 99, bytes.Repeat([]byte{byte(id.App), byte(responseID)}, n))
}

// hammer has an application call until ctx ends. Every answer is compared, byte
// for byte, and so are calls of which nothing is steered.
func hammer(ctx context.Context, am *fakeAM, every time.Duration, asks ...wire.NewRow) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		body := append(allocateBody(am.responseID, asks...), payload(am.id, am.responseID)...)
		answer, err := am.try("allocate", body)
		if err != nil {
			return fmt.Errorf("%s, call %d: %w", am.id, am.responseID, err)
		}
		am.responseID++
		if want := append(appendNumber(nil, 2, int64(am.responseID)), payload(am.id, am.responseID)...); !bytes.Equal(answer, want) {
			return fmt.Errorf("%s: the answer with id %d has %d bytes, or others, want %d", am.id, am.responseID, len(answer), len(want))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// answers has the fake ResourceManager answer what hammer expects.
func (g *rig) answers() {
	g.rm.set(func(rm *fakeRM) {
		rm.grant = func(a *rmAttempt, _ *wire.Request) ([]byte, string) {
			for id, one := range rm.attempts {
				if one == a {
					return payload(id, a.responseID+1), ""
				}
			}
			return nil, "java.lang.IllegalStateException"
		}
	})
}

// TestHandover hands the relay over twice while applications call all the time.
// No connection ends, no answer is another one, what is steered stays steered.
func TestHandover(t *testing.T) {
	t.Parallel()
	path, journal := socketPath(t), t.TempDir()
	change := withSocket(path, func(o *Options) { o.JournalDir = journal })
	g := newRig(t, change)
	g.plan(reducesOn("/rack1"))
	g.answers()
	const n = 40
	ams := make([]*fakeAM, n)
	for i := range ams {
		ams[i] = connect(t, g.addr, attemptID(int32(i+1)))
		ams[i].register()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calling sync.WaitGroup
	for i, am := range ams {
		calling.Go(func() {
			priority := int32(10) // is steered, and 5 is not
			if i%2 == 1 {
				priority = 5
			}
			if err := hammer(ctx, am, 3*time.Millisecond, ask(priority, "*", 4)); err != nil {
				t.Error(err)
			}
		})
	}
	addr := g.addr
	for range 2 {
		time.Sleep(100 * time.Millisecond)
		g.replace(change)
		if g.addr != addr {
			t.Fatalf("it listens on %s, before on %s", g.addr, addr)
		}
	}
	time.Sleep(100 * time.Millisecond)
	cancel()
	calling.Wait()
	s := g.relay.Status()
	if s.Connections != n || len(s.Attempts) != n || s.Counts.Accepted != 0 {
		t.Errorf("%d connections, %d attempts, %d accepted", s.Connections, len(s.Attempts), s.Counts.Accepted)
	}
	for i, am := range ams {
		calls := g.rm.calls(am.id)
		if len(calls) != int(am.responseID) {
			t.Fatalf("%s: %d calls arrived, want %d", am.id, len(calls), am.responseID)
		}
		for k := range calls {
			want := append(allocateBody(int32(k), ask(5, "*", 4)), payload(am.id, int32(k))...)
			if got := calls[k].rows(); i%2 == 0 && !slices.Equal(got, slices.Sorted(slices.Values(pinned(4)))) {
				t.Errorf("%s: call %d asks for %q", am.id, k, got)
			}
			if i%2 == 1 && !bytes.Equal(calls[k].body, want) {
				t.Errorf("%s: call %d did not arrive as it was sent", am.id, k)
			}
		}
		if a := s.Attempts[i]; a.Response != am.responseID || !a.Connected || len(a.Keys) != 1 || i%2 == 0 && a.Keys[0].Action != model.ActionPin {
			t.Errorf("attempt %+v", a)
		}
	}
	ams[0].finish()
	connect(t, addr, attemptID(n+1)).register()
	eventually(t, "the journal is written", func() bool { return len(g.relay.journal.ops) == 0 })
}

// TestHandoverPause is how long applications are paused, with -load.conns of
// them that each call once a second.
func TestHandoverPause(t *testing.T) {
	path := socketPath(t)
	g := newRig(t, withSocket(path))
	g.plan(reducesOn("/rack1"))
	g.rm.forgetful = true
	n := *loadConns
	ams := make([]*fakeAM, n)
	for i := range ams {
		ams[i] = connect(t, g.addr, attemptID(int32(i+1)))
		ams[i].conn.SetDeadline(noDeadline())
		ams[i].register()
		ams[i].allocate(ask(10, "*", 4))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calling sync.WaitGroup
	var mu sync.Mutex
	var all []time.Duration
	for i, am := range ams {
		calling.Go(func() {
			took := calls(ctx, am, time.Duration(i)*time.Second/time.Duration(n), time.Second)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	for range 3 {
		time.Sleep(700 * time.Millisecond)
		g.replace(withSocket(path))
		for line := range strings.Lines(g.log.String()) {
			if strings.Contains(line, "took over") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	time.Sleep(time.Second)
	cancel()
	calling.Wait()
	slices.Sort(all)
	t.Logf("%d calls: p50 %v, p99 %v, max %v", len(all), quantile(all, 0.5), quantile(all, 0.99), all[len(all)-1])
	if s := g.relay.Status(); s.Connections != n || s.Counts.Accepted != 0 {
		t.Errorf("%d connections, %d of them new, want the %d of the beginning", s.Connections, s.Counts.Accepted, n)
	}
}

// TestHandoverCrash has processes ask for a handover and end in the middle of it:
// everything goes on where it was.
func TestHandoverCrash(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	g := newRig(t, withSocket(path))
	g.plan(reducesOn("/rack1"))
	g.answers()
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for i := range 10 {
		am := connect(t, g.addr, attemptID(int32(i+1)))
		am.register()
		calling.Go(func() {
			if err := hammer(ctx, am, time.Millisecond, ask(10, "*", 4)); err != nil {
				t.Error(err)
			}
		})
	}
	for _, last := range []messageKind{sayHello, sayListeners, sayAttempts, sayConns, sayEnd} {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		from := channel{c}
		if err := from.send(sayHello, helloMsg{Version: handoverVersion}); err != nil {
			t.Fatal(err)
		}
		for kind := messageKind(0); kind != last; {
			m, err := from.receive()
			if err != nil {
				t.Fatalf("before %d: %v", last, err)
			}
			kind = m.kind
			m.close()
		}
		c.Close()
		time.Sleep(50 * time.Millisecond)
	}
	eventually(t, "every failure is said", func() bool { return strings.Count(g.log.String(), "handing over to another heddle failed") == 5 })
	connect(t, g.addr, attemptID(99)).register()
	g.replace(withSocket(path)) // it still can
	cancel()
	calling.Wait()
	if s := g.relay.Status(); s.Connections != 11 {
		t.Errorf("%d connections, want 11", s.Connections)
	}
}

// TestHandoverSilence is a process that takes everything and says nothing.
func TestHandoverSilence(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	g := newRig(t, nil)
	g.stop()
	r := g.build(withSocket(path))
	r.times.greet, r.times.hand = 200*time.Millisecond, 200*time.Millisecond
	g.run(r)
	am := connect(t, g.addr, attemptID(1))
	am.register()
	for _, hello := range []bool{false, true} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if hello {
			if err := (channel{c.(*net.UnixConn)}).send(sayHello, helloMsg{Version: handoverVersion}); err != nil {
				t.Fatal(err)
			}
		}
		am.allocate()
	}
	eventually(t, "both are given up", func() bool { return strings.Count(g.log.String(), "handing over to another heddle failed") == 2 })
	am.allocate()
}

// TestHandoverRefused: another version, another user, and what is no heddle.
func TestHandoverRefused(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	g := newRig(t, withSocket(path))
	am := connect(t, g.addr, attemptID(1))
	am.register()

	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	later := channel{c.(*net.UnixConn)}
	if err := later.send(sayHello, helloMsg{Version: handoverVersion + 1}); err != nil {
		t.Fatal(err)
	}
	if m, err := later.receive(); err != nil || m.kind != sayRefused || !strings.Contains(string(m.body), "it speaks 2, this one 1") {
		t.Errorf("kind %d, %s, %v", m.kind, m.body, err)
	}
	am.allocate()

	stranger := g.build(withSocket(path))
	stranger.handover.peer = func(*net.UnixConn) (uint32, error) { return uint32(os.Geteuid()) + 12345, nil }
	if err := stranger.Listen(t.Context()); !errors.Is(err, errStranger) {
		t.Errorf("a heddle of another user: %v", err)
	}
	am.allocate()

	old := socketPath(t)
	l, err := net.Listen("unix", old)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		to := channel{c.(*net.UnixConn)}
		if m, err := to.receive(); err == nil && m.kind == sayHello {
			to.send(sayRefused, refusedMsg{Reason: "too new"})
		}
	}()
	if err := g.build(withSocket(old)).Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "too new") {
		t.Errorf("a heddle that refuses: %v", err)
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("its socket: %v", err)
	}
}

// TestHandoverStranger: a relay says nothing to a process of another user.
func TestHandoverStranger(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	g := newRig(t, nil)
	g.stop()
	r := g.build(withSocket(path))
	r.handover.peer = func(*net.UnixConn) (uint32, error) { return uint32(os.Geteuid()) + 1, nil }
	g.run(r)
	log := g.log
	if err := g.build(withSocket(path)).Listen(t.Context()); err == nil {
		t.Error("it handed over")
	}
	eventually(t, "the log says why", func() bool { return strings.Contains(log.String(), "belongs to another user") })
	connect(t, g.addr, attemptID(1)).register()
}

// TestHandoverSocket: only its owner may use it, a stale one is replaced, it goes
// with its process, and nothing else is removed.
func TestHandoverSocket(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	g := newRig(t, withSocket(path))
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v, %v", info, err)
	}
	first := g.stop
	g.replace(withSocket(path))
	first()
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("after a handover: %v, %v", info, err)
	}
	g.stop()
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.build(withSocket(path)).Listen(t.Context()); err == nil {
		t.Error("it listens in place of a file")
	}
	if b, err := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file is %q, %v", b, err)
	}
}
