package amrm

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// TestLife is the life of an application of which nothing is planned: every call
// arrives byte for byte, and the relay knows what it asks for.
func TestLife(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate()
	am.allocate(ask(20, "w11", 2), ask(20, "/rack1", 2), ask(20, "*", 4))
	am.allocate()

	calls := g.rm.calls(id)
	want := [][]byte{
		allocateBody(0), allocateBody(1, ask(20, "w11", 2), ask(20, "/rack1", 2), ask(20, "*", 4)), allocateBody(2),
	}
	for i, c := range calls {
		if !bytes.Equal(c.body, want[i]) {
			t.Errorf("call %d arrived as %x, want %x", i, c.body, want[i])
		}
	}
	if len(calls) != len(want) {
		t.Errorf("%d calls arrived, want %d", len(calls), len(want))
	}
	s := g.relay.Describe("", 0, 1000)
	if s.Connections != 1 || s.Blind != 0 || s.Counts.Allocates != 3 || s.Counts.Accepted != 1 || !s.Enforcing {
		t.Errorf("status %+v", s)
	}
	if len(s.Attempts) != 1 {
		t.Fatalf("attempts %+v", s.Attempts)
	}
	a := s.Attempts[0]
	if a.App != "application_1700000000000_0001" || a.Attempt != 1 || a.Type != "MAPREDUCE" || !a.Connected || a.Response != 3 {
		t.Errorf("attempt %+v", a)
	}
	if got := sum(s.Counts.Buckets); got != 3 || s.Counts.Seconds <= 0 {
		t.Errorf("%d latencies of %v s in all, want 3", got, s.Counts.Seconds)
	}
	am.finish()
	eventually(t, "the attempt is forgotten", func() bool { return len(g.relay.Describe("", 0, 1000).Attempts) == 0 })
	am.conn.Close()
	eventually(t, "the connection is gone", func() bool { return g.relay.Status().Connections == 0 })
}

func sum(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

// TestPrivacy is a connection whose frames are wrapped after SASL: they go on
// as they come, and whose they are is known.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.rm.qop = "auth-conf"
	am, err := tryConnect(t, g.addr, attemptID(1), "auth-conf")
	if err != nil {
		t.Fatal(err)
	}
	wrapped := bytes.Repeat([]byte{7, 1, 3}, 5000)
	frame := am.sasl(ipc.SASL{State: ipc.SASLWrap, Token: wrapped})
	for range 3 {
		if _, err := am.conn.Write(frame); err != nil {
			t.Fatal(err)
		}
		back, err := am.in.Next()
		if err != nil || !bytes.Equal(back, frame) {
			t.Fatalf("a wrapped frame of %d bytes came back as %d bytes, %v", len(frame), len(back), err)
		}
	}
	s := g.relay.Describe("", 0, 1000)
	if s.Blind != 1 || s.Counts.Passed[model.PassPrivacy] != 1 || len(s.Attempts) != 1 || !s.Attempts[0].Connected {
		t.Errorf("status %+v", s)
	}
	am.conn.Close()
	eventually(t, "no connection is blind", func() bool { return g.relay.Status().Blind == 0 })
}

// TestUpstreamRefused is a ResourceManager in standby: the client loses its
// connection at once, and the next one works once it is active.
func TestUpstreamRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	address := g.rm.addr()
	g.rm.stop()
	for range 2 {
		c, err := net.Dial("tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Write(ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL}))
		start := time.Now()
		if !closed(c) || time.Since(start) > 5*time.Second {
			t.Error("a client of a ResourceManager that refuses is kept waiting")
		}
		c.Close()
	}
	if n := strings.Count(g.log.String(), "does not take connections"); n != 1 {
		t.Errorf("said %d times, want once:\n%s", n, g.log)
	}
	g.rm = newFakeRM(t, address)
	am := connect(t, g.addr, attemptID(1))
	am.register()
	am.allocate()
}

// TestResourceManagerDies ends a connection in the middle of a call: the client
// sees the end, connects again and repeats the call with another call id.
func TestResourceManagerDies(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	g.rm.set(func(rm *fakeRM) { rm.before = func(string) bool { return false } })
	if _, err := am.tryAllocate(); err == nil {
		t.Fatal("an answer of a ResourceManager that died")
	}
	eventually(t, "the connection is gone", func() bool { return g.relay.Status().Connections == 0 })
	g.rm.set(func(rm *fakeRM) { rm.before = nil })
	again := connect(t, g.addr, id)
	again.call, again.responseID = 100, am.responseID
	again.allocate()
	if s := g.relay.Describe("", 0, 1000); len(s.Attempts) != 1 || s.Attempts[0].Response != 2 {
		t.Errorf("attempts %+v", s.Attempts)
	}
}

// TestClientDies ends a connection from the other side.
func TestClientDies(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	am := connect(t, g.addr, attemptID(1))
	am.register()
	am.conn.(*net.TCPConn).SetLinger(0)
	am.conn.Close()
	eventually(t, "the connection is gone", func() bool { return g.relay.Status().Connections == 0 })
	if s := g.relay.Describe("", 0, 1000); len(s.Attempts) != 1 || s.Attempts[0].Connected {
		t.Errorf("attempts %+v: it may come back", s.Attempts)
	}
	eventually(t, "the ResourceManager's end is closed", func() bool {
		g.rm.mu.Lock()
		defer g.rm.mu.Unlock()
		for c := range g.rm.conns {
			if _, err := c.Write(nil); err == nil {
				return false
			}
		}
		return true
	})
}

// chopped writes every byte on its own.
type chopped struct{ net.Conn }

func (c chopped) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := c.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

// TestSegments sends frames byte by byte, and two in one segment.
func TestSegments(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) {
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return c, err
		}
	})
	id := attemptID(1)
	am := connect(t, g.addr, id)
	whole := am.conn
	am.conn = chopped{whole}
	am.register()
	am.allocate(ask(10, "*", 4))
	am.conn = whole
	two := slices.Concat(am.frame("allocate", allocateBody(1)), am.frame("allocate", allocateBody(2, ask(10, "*", 3))))
	if _, err := am.conn.Write(two); err != nil {
		t.Fatal(err)
	}
	last := am.call
	am.call = last - 1
	if _, err := am.receive(); err != nil {
		t.Fatal(err)
	}
	am.call = last
	if _, err := am.receive(); err != nil {
		t.Fatal(err)
	}
	if calls := g.rm.calls(id); len(calls) != 3 || !slices.Equal(calls[2].rows(), []string{"10 * 3"}) {
		t.Errorf("calls %+v", calls)
	}
}

// TestGarbage holds what is not Hadoop RPC, or not any more, to going on as it comes. (A frame that
// is too long before authentication does not: TestLongFrameBeforeAuthentication.)
func TestGarbage(t *testing.T) {
	t.Parallel()
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	g := newRig(t, func(o *Options) { o.Listeners[0].Upstream = upstream.Addr().String() })
	hello := ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})
	cases := map[string][]byte{
		"http":         []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"version 8":    []byte("hrpc\x08\x00\xdfand more"),
		"no SASL":      []byte("hrpc\x09\x00\x00and more"),
		"no header":    append(slices.Clone(hello), 0, 0, 0, 3, 0xff, 0xff, 0xff),
		"empty frame":  append(slices.Clone(hello), 0, 0, 0, 0),
		"half a frame": append(slices.Clone(hello), 0, 0, 0, 9, 1, 2),
	}
	refused := prefixed(7, []byte("refused"))
	for name, sent := range cases { // order-free: one after the other
		c, err := net.Dial("tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c.Write(sent)
			c.(*net.TCPConn).CloseWrite()
		}()
		u, err := upstream.Accept()
		if err != nil {
			t.Fatal(err)
		}
		u.SetDeadline(time.Now().Add(10 * time.Second))
		var got bytes.Buffer
		if _, err := got.ReadFrom(u); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(got.Bytes(), sent) {
			t.Errorf("%s: arrived as %q, want %q", name, got.Bytes(), sent)
		}
		u.Write(refused)
		u.Close()
		got.Reset()
		if _, err := got.ReadFrom(c); err != nil || !bytes.Equal(got.Bytes(), refused) {
			t.Errorf("%s: answered %q, %v", name, got.String(), err)
		}
		c.Close()
	}
}

// TestLongFrame sends frames that are too long to be looked at, both ways.
func TestLongFrame(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	g.rm.set(func(rm *fakeRM) {
		rm.grant = func(*rmAttempt, *wire.Request) ([]byte, string) {
			return appendMessage(nil, 99, bytes.Repeat([]byte("y"), largeFrame)), ""
		}
	})
	body := appendMessage(allocateBody(0), 99, bytes.Repeat([]byte("x"), largeFrame))
	answer, err := am.try("allocate", body)
	if err != nil || len(answer) < largeFrame {
		t.Fatalf("an answer of %d bytes, %v", len(answer), err)
	}
	if calls := g.rm.calls(id); len(calls) != 1 || !bytes.Equal(calls[0].body, body) {
		t.Error("a long call did not arrive as it was sent")
	}
	g.rm.set(func(rm *fakeRM) { rm.grant = nil })
	am.responseID = 1
	am.allocate()
	if n := g.relay.Status().Counts.Passed[model.PassDecode]; n != 2 {
		t.Errorf("%d frames were not looked at, want 2", n)
	}
}

// TestTooManyConnections closes what is above the limit, and says so once.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.Conns.Total = 1 })
	am := connect(t, g.addr, attemptID(1))
	am.register()
	for range 3 {
		c, err := net.Dial("tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		if !closed(c) {
			t.Error("a connection above the limit is kept")
		}
		c.Close()
	}
	if n := strings.Count(g.log.String(), "too many connections"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
	am.allocate()
	am.conn.Close()
	eventually(t, "there is room again", func() bool { return g.relay.Status().Connections == 0 })
	connect(t, g.addr, attemptID(2)).register()
	if n := g.relay.Status().Counts.Refused[model.RefuseConnections]; n != 3 {
		t.Errorf("%d refused, want 3", n)
	}
}

// TestSlowReader has one client take no answers: another is served as ever, and
// the slow one loses its connection after a time.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.rm.set(func(rm *fakeRM) {
		rm.grant = func(a *rmAttempt, _ *wire.Request) ([]byte, string) {
			if a == rm.attempts[attemptID(1)] {
				return appendMessage(nil, 99, make([]byte, 4<<20)), ""
			}
			return nil, ""
		}
	})
	slow := connect(t, g.addr, attemptID(1))
	slow.register()
	for i := range 12 { // pipelined, so that sockets fill up
		if _, err := slow.conn.Write(slow.frame("allocate", allocateBody(int32(i)))); err != nil {
			t.Fatal(err)
		}
	}
	quick := connect(t, g.addr, attemptID(2))
	quick.register()
	const slowest = 10 * time.Second // on a busy machine; a call that waited for the slow reader would never be answered
	for range 20 {
		start := time.Now()
		quick.allocate()
		if d := time.Since(start); d > slowest {
			t.Errorf("a call took %v beside a slow reader", d)
		}
	}
	eventually(t, "the slow one is gone", func() bool { return g.relay.Status().Connections == 1 })
	quick.allocate()
}

// TestShutdown lets the answer to a call under way through, and closes what idles.
func TestShutdown(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	idle, busy := connect(t, g.addr, attemptID(1)), connect(t, g.addr, attemptID(2))
	idle.register()
	busy.register()
	arrived, finish := make(chan struct{}), make(chan struct{})
	g.rm.set(func(rm *fakeRM) {
		rm.before = func(string) bool {
			close(arrived)
			<-finish
			return true
		}
	})
	answered := make(chan error, 1)
	go func() {
		_, err := busy.tryAllocate()
		answered <- err
	}()
	<-arrived
	go func() {
		closed(idle.conn) // the relay has begun to end
		close(finish)
	}()
	g.stop()
	if err := <-answered; err != nil {
		t.Errorf("the answer under way: %v", err)
	}
	if !closed(busy.conn) {
		t.Error("a connection is left open")
	}
	if _, err := net.Dial("tcp", g.addr); err == nil {
		t.Error("it still listens")
	}
}

// TestShutdownDoesNotWait closes a connection whose answer does not come.
func TestShutdownDoesNotWait(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	am := connect(t, g.addr, attemptID(1))
	am.register()
	hang, arrived := make(chan struct{}), make(chan struct{})
	defer close(hang)
	g.rm.set(func(rm *fakeRM) { rm.before = func(string) bool { close(arrived); <-hang; return true } })
	go am.conn.Write(am.frame("allocate", allocateBody(0)))
	<-arrived
	start := time.Now()
	g.stop()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("the end took %v", d)
	}
}

// TestTwoTokens is a client that presents a token of its own and then the name
// of another one: whose calls these are is not believed.
func TestTwoTokens(t *testing.T) {
	t.Parallel()
	r := &Relay{counts: newCounts(), log: hclog.NewNullLogger()}
	c := &conn{relay: r}
	token := func(id wire.Attempt) []byte {
		digest := ipctest.AppendDigest(nil, &ipc.Digest{Username: tokenOf(id), Nonce: "n", CNonce: "c", NC: "1", URI: "/", QOP: "auth", Response: "r"})
		frame := (&fakeAM{id: id}).sasl(ipc.SASL{State: ipc.SASLInitiate, Token: digest})
		return frame[4:]
	}
	if err := c.identify(token(attemptID(1))); err != nil || !c.session.state.named || c.session.state.token != attemptID(1) {
		t.Fatalf("%v, %+v", err, c.session.state)
	}
	if err := c.identify(token(attemptID(2))); !errors.Is(err, errTwoTokens) || c.session.state.named {
		t.Errorf("%v, %+v", err, c.session.state)
	}
	other := &conn{relay: r}
	h := ipc.SASLHeader()
	h.CallerContext = []byte("mr_appmaster_" + attemptID(3).String())
	digest := ipctest.AppendDigest(nil, &ipc.Digest{Username: tokenOf(attemptID(1)), Nonce: "n", CNonce: "c", NC: "1", URI: "/", QOP: "auth", Response: "r"})
	frame := ipc.AppendRequest(nil, h, nil, ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLInitiate, Token: digest}))
	if err := other.identify(frame[4:]); !errors.Is(err, errTwoAttempts) || other.session.state.named {
		t.Errorf("%v, %+v", err, other.session.state)
	}
}

// TestStatusIsSorted lists attempts by application and attempt.
func TestStatusIsSorted(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	for _, n := range []int32{12, 3, 7} {
		connect(t, g.addr, attemptID(n)).register()
	}
	var got []model.AppID
	for _, a := range g.relay.Describe("", 0, 1000).Attempts {
		got = append(got, a.App)
	}
	want := []model.AppID{"application_1700000000000_0003", "application_1700000000000_0007", "application_1700000000000_0012"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
