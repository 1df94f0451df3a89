package amrm

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// piped is one connection of a relay whose sockets are pipes, so that a test has the clock.
type piped struct {
	t      *testing.T
	relay  *Relay
	client net.Conn
	start  time.Time
	slow   time.Duration // that dialling takes
	dialed chan net.Conn // the ResourceManager's end, once it was dialled
	ended  chan struct{}
}

func newPiped(t *testing.T) *piped {
	t.Helper()
	p := &piped{t: t, start: time.Now(), dialed: make(chan net.Conn, 1), ended: make(chan struct{})}
	r, err := New(Options{
		Listeners: []Listener{{Address: ":0", Upstream: "rm:8030"}}, Guide: newFakeGuide(), Enforce: true,
		Stages: []StageRule{{Type: "MAPREDUCE", Stage: model.StageReduce}}, Limits: asks.Limits{MaxKeys: 10, MaxRows: 5000}, Logger: hclog.NewNullLogger(),
		Dial: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(p.slow)
			ours, theirs := net.Pipe()
			p.dialed <- theirs
			return ours, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.relay = r
	client, ours := net.Pipe()
	p.client = client
	c := r.admit(ours)
	if c == nil {
		t.Fatal("the first connection is refused")
	}
	go func() {
		defer close(p.ended)
		r.serve(t.Context(), &listener{of: r.opts.Listeners[0]}, c)
	}()
	return p
}

// over waits until the relay has closed the connection, and holds it to having done that after a time, for a cause.
func (p *piped) over(after time.Duration, cause model.RefuseCause) {
	p.t.Helper()
	<-p.ended
	if took := time.Since(p.start); took != after {
		p.t.Errorf("closed after %v, want %v", took, after)
	}
	for _, c := range model.RefuseCauses() {
		want := int64(0)
		if c == cause {
			want = 1
		}
		if n := p.relay.Status().Counts.Refused[c]; n != want {
			p.t.Errorf("%d closed for the cause %s, want %d", n, c, want)
		}
	}
	if open, unauthenticated := p.relay.conns.count(); open != 0 || unauthenticated != 0 || len(p.relay.conns.peers) != 0 {
		p.t.Errorf("%d connections, %d unauthenticated, %d addresses are left", open, unauthenticated, len(p.relay.conns.peers))
	}
}

func saslPreamble() []byte {
	return ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})
}

// prefixed is the beginning of a frame that announces a length.
func prefixed(length uint32, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, length), b...)
}

// TestAuthTimeout: whatever a client that does not authenticate does or leaves undone, its connection ends 10 s after it
// began, the time to dial aside, and its ResourceManager is dialled after a whole preamble only.
func TestAuthTimeout(t *testing.T) {
	t.Parallel()
	negotiate := ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: ipc.CallSASL, ClientID: []byte{}}, ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLNegotiate}))
	discard := func(c net.Conn) { io.Copy(io.Discard, c) }
	for name, test := range map[string]struct {
		client, rm func(net.Conn) // what each of them does
		dials      bool
		slow       time.Duration
	}{
		"silent":          {client: func(net.Conn) {}},
		"half a preamble": {client: func(c net.Conn) { c.Write([]byte("hrp")) }},
		"a byte a second": {client: func(c net.Conn) {
			for _, b := range append(saslPreamble(), prefixed(50, make([]byte, 50))...) {
				c.Write([]byte{b})
				time.Sleep(time.Second)
			}
		}, rm: discard, dials: true},
		"preamble": {client: func(c net.Conn) { c.Write(saslPreamble()) }, rm: discard, dials: true},
		"a ResourceManager that is slow to connect": {client: func(c net.Conn) { time.Sleep(9 * time.Second); c.Write(saslPreamble()) }, rm: discard, dials: true, slow: 50 * time.Second},
		"half a frame": {client: func(c net.Conn) { c.Write(append(saslPreamble(), prefixed(60_000, make([]byte, 5000))...)) }, rm: discard, dials: true},
		"calls without end": {client: func(c net.Conn) {
			c.Write(saslPreamble())
			for {
				time.Sleep(time.Second)
				if _, err := c.Write((&fakeAM{}).frame("allocate", nil)); err != nil {
					return
				}
			}
		}, rm: discard, dials: true},
		"takes no answer": {
			client: func(c net.Conn) { c.Write(saslPreamble()) },
			rm:     func(c net.Conn) { go discard(c); c.Write(negotiate); c.Write(negotiate) }, dials: true,
		},
		"a ResourceManager that takes nothing": {client: func(c net.Conn) { c.Write(saslPreamble()) }, rm: func(net.Conn) {}, dials: true},
		"a ResourceManager that only negotiates": {
			client: func(c net.Conn) { c.Write(saslPreamble()); discard(c) },
			rm:     func(c net.Conn) { go discard(c); c.Write(negotiate) }, dials: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPiped(t)
				p.slow = test.slow
				var both sync.WaitGroup
				both.Go(func() { test.client(p.client) })
				dials := false
				both.Go(func() {
					if rm := <-p.dialed; rm != nil {
						dials = true
						test.rm(rm)
						<-p.ended
						rm.Close()
					}
				})
				p.over(test.slow+10*time.Second, model.RefuseAuthTimeout)
				close(p.dialed)
				p.client.Close()
				both.Wait()
				if dials != test.dials {
					t.Errorf("the ResourceManager was dialled: %v", dials)
				}
			})
		})
	}
}

// TestLongFrameBeforeAuthentication: 64 KiB pass in either direction, more end the connection at once, and nothing of it
// arrives. A length that no frame can have is no exception.
func TestLongFrameBeforeAuthentication(t *testing.T) {
	t.Parallel()
	for _, length := range []uint32{64 << 10, 64<<10 + 1, largeFrame, ipc.MaxFrame + 1, 0xffffffff} {
		for _, down := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p := newPiped(t)
				p.client.Write(saslPreamble())
				rm := <-p.dialed
				io.ReadFull(rm, make([]byte, ipc.PreambleLen))
				from, to := p.client, rm
				if down {
					from, to = rm, p.client
				}
				sent := prefixed(length, make([]byte, 64<<10))
				go from.Write(sent)
				if length == 64<<10 {
					got := make([]byte, len(sent))
					if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, sent) {
						t.Errorf("down %v: a frame of 64 KiB: %v", down, err)
					}
					p.over(10*time.Second, model.RefuseAuthTimeout)
				} else {
					if got, _ := io.ReadAll(to); len(got) > 0 {
						t.Errorf("down %v: %d bytes arrive of a frame of %d", down, len(got), length)
					}
					p.over(0, model.RefuseLongFrame)
				}
				p.client.Close()
				rm.Close()
			})
		}
	}
}

// TestAfterAuthentication: none of the limits is left once the ResourceManager has accepted the token.
func TestAfterAuthentication(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPiped(t)
		rm := &fakeRM{qop: "auth", attempts: map[wire.Attempt]*rmAttempt{}}
		go func() {
			c := <-p.dialed
			defer c.Close()
			rm.serve(c)
		}()
		am, err := authenticate(t, p.client, attemptID(1), "auth")
		if err != nil {
			t.Fatal(err)
		}
		am.conn.SetDeadline(noDeadline())
		if s := p.relay.Status(); s.Connections != 1 || s.Unauthenticated != 0 {
			t.Errorf("%d connections, %d unauthenticated", s.Connections, s.Unauthenticated)
		}
		am.register()
		time.Sleep(time.Hour)
		var rows []wire.NewRow
		for i := range 2000 {
			rows = append(rows, ask(20, "w"+strings.Repeat("x", i%50)+string(rune('a'+i%20)), 1))
		}
		rm.set(func(rm *fakeRM) {
			rm.grant = func(*rmAttempt, *wire.Request) ([]byte, string) {
				return appendMessage(nil, 99, make([]byte, 100_000)), ""
			}
		})
		if n := len(allocateBody(0, rows...)); n <= maxUnauthenticatedFrame {
			t.Fatalf("the call has %d bytes", n)
		}
		am.allocate(append(rows, ask(10, "*", 7))...)
		keys := p.relay.Describe("", 0, 1).Attempts[0].Keys
		if len(keys) != 2 || len(keys[0].Asked) != 1 || p.relay.Status().Attempts == nil {
			t.Errorf("a long call is not looked at: %+v", keys)
		}
		if a := p.relay.Describe("", 0, 1).Attempts[0]; a.Response != 1 {
			t.Errorf("a long answer is not looked at: %+v", a)
		}
		p.client.Close()
		p.over(time.Hour, "")
	})
}

// TestUnread: what is not Hadoop RPC as heddle knows it goes on for as long as something passes, and ends after two minutes
// in which nothing did. It counts as unauthenticated.
func TestUnread(t *testing.T) {
	t.Parallel()
	for _, hello := range []string{"hrpc\x0a\x00\xdf", "hrpc\x09\x00\x00", "GET / H"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPiped(t)
			p.client.Write([]byte(hello))
			rm := <-p.dialed
			got := make([]byte, len(hello))
			if _, err := io.ReadFull(rm, got); err != nil || string(got) != hello {
				t.Fatalf("%q arrives as %q, %v", hello, got, err)
			}
			long := prefixed(1<<30, make([]byte, 100_000))
			for i := range 10 {
				time.Sleep(119 * time.Second)
				from, to := p.client, rm
				if i%2 == 1 {
					from, to = rm, p.client
				}
				go from.Write(long)
				got := make([]byte, len(long))
				if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, long) {
					t.Fatalf("after %v: %v", time.Since(p.start), err)
				}
			}
			if s := p.relay.Status(); s.Blind != 1 || s.Unauthenticated != 1 || s.Counts.Passed[model.PassDecode] != 1 {
				t.Errorf("status %+v", s)
			}
			p.over(1190*time.Second+2*time.Minute, model.RefuseIdle)
			if n := p.relay.Status().Blind; n != 0 {
				t.Errorf("%d connections are blind", n)
			}
			p.client.Close()
			rm.Close()
		})
	}
}

// dialFrom connects from a loopback address.
func dialFrom(tb testing.TB, from, to string) net.Conn {
	tb.Helper()
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(context.Background(), "tcp", to)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// TestLimitPerAddress: further connections of one address are closed, once logged, and those of another one are not.
func TestLimitPerAddress(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.Conns.PerAddress = 2 })
	first, second := dialFrom(t, "127.0.0.2", g.addr), dialFrom(t, "127.0.0.2", g.addr)
	eventually(t, "two are open", func() bool { return g.relay.Status().Connections == 2 })
	for range 3 {
		if !closed(dialFrom(t, "127.0.0.2", g.addr)) {
			t.Error("a third connection of the address is kept")
		}
	}
	am := connect(t, g.addr, attemptID(1))
	am.register()
	am.allocate()
	if n := strings.Count(g.log.String(), "too many connections from one address"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, g.log)
	}
	if n := g.relay.Status().Counts.Refused[model.RefuseAddress]; n != 3 {
		t.Errorf("%d are refused, want 3", n)
	}
	first.Close()
	second.Close()
	eventually(t, "they are gone", func() bool { return g.relay.Status().Connections == 1 })
	c := dialFrom(t, "127.0.0.2", g.addr)
	eventually(t, "there is room again", func() bool { return g.relay.Status().Connections == 2 })
	c.Close()
}

// TestLimitUnauthenticated: connections that do not authenticate take no place of those that have, and their own places
// are free again when they end.
func TestLimitUnauthenticated(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.Conns.Total = 12 })
	var ams []*fakeAM
	for i := range 6 {
		am := connect(t, g.addr, attemptID(int32(i+1)))
		am.register()
		ams = append(ams, am)
	}
	var silent []net.Conn
	for range 3 { // a quarter
		silent = append(silent, dialFrom(t, "127.0.0.1", g.addr))
	}
	eventually(t, "they are open", func() bool { s := g.relay.Status(); return s.Connections == 9 && s.Unauthenticated == 3 })
	for range 2 {
		if !closed(dialFrom(t, "127.0.0.1", g.addr)) {
			t.Error("one more is kept")
		}
	}
	for _, am := range ams {
		am.allocate()
	}
	if n := g.relay.Status().Counts.Refused[model.RefuseUnauthenticated]; n != 2 {
		t.Errorf("%d are refused, want 2", n)
	}
	if n := strings.Count(g.log.String(), "too many connections that have not authenticated"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, g.log)
	}
	silent[0].Close()
	eventually(t, "there is room again", func() bool { return g.relay.Status().Unauthenticated == 2 })
	connect(t, g.addr, attemptID(7)).register()
	if s := g.relay.Status(); s.Connections != 9 || s.Unauthenticated != 2 {
		t.Errorf("%d connections, %d unauthenticated", s.Connections, s.Unauthenticated)
	}
}

// TestShutdownBeforeAuthentication: connections that have not authenticated do not delay the relay's end.
func TestShutdownBeforeAuthentication(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.stop()
	r := g.build(nil)
	r.times.drain = time.Hour
	g.run(r)
	var open []net.Conn
	for _, says := range [][]byte{nil, []byte("hrp"), saslPreamble(), slices.Concat(saslPreamble(), prefixed(100, []byte("half"))), []byte("GET / HTTP/1.1\r\n")} {
		c := dialFrom(t, "127.0.0.1", g.addr)
		c.Write(says)
		open = append(open, c)
	}
	eventually(t, "they are open", func() bool { s := g.relay.Status(); return s.Connections == len(open) && s.Blind == 1 })
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.stop()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("the end waits for connections that have not authenticated")
	}
	for i, c := range open {
		if !closed(c) {
			t.Errorf("connection %d is left open", i)
		}
	}
}

// TestCrowd: 2,000 silent connections of one address disturb no ApplicationMaster, and what they hold is bounded.
func TestCrowd(t *testing.T) {
	g := newRig(t, func(o *Options) { o.Conns.PerAddress, o.Logger = 0, hclog.NewNullLogger() })
	am := connect(t, g.addr, attemptID(1))
	am.register()
	am.allocate(ask(10, "*", 4))
	before := inUse()
	refused := make(chan struct{})
	go func() {
		defer close(refused)
		for range 2000 {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}
			c, err := d.DialContext(context.Background(), "tcp", g.addr)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	for done := false; !done; {
		select {
		case <-refused:
			done = true
		default:
			am.allocate()
		}
	}
	eventually(t, "all are accepted", func() bool { return g.relay.Status().Counts.Refused[model.RefuseAddress] == 2000-256 })
	am.allocate()
	if s := g.relay.Status(); s.Connections != 257 || s.Unauthenticated != 256 {
		t.Errorf("%d connections, %d unauthenticated; want 257 and 256", s.Connections, s.Unauthenticated)
	}
	if held := inUse() - before; held > 16<<20 && !raced { // half of it is the clients'
		t.Errorf("they hold %d bytes", held)
	}
}

// TestUnauthenticatedMemory is what a connection costs that announces a frame of 64 KiB and sends nothing of it.
func TestUnauthenticatedMemory(t *testing.T) {
	if raced {
		t.Skip("memory is counted without the race detector")
	}
	const n = 1000
	discard, err := net.Listen("tcp", "127.0.0.1:0") // a ResourceManager of which this process has the sockets alone
	if err != nil {
		t.Fatal(err)
	}
	defer discard.Close()
	g := newRig(t, func(o *Options) {
		o.Logger, o.Conns.Unauthenticated, o.Conns.AuthTimeout, o.Listeners[0].Upstream = hclog.NewNullLogger(), n, time.Hour, discard.Addr().String()
	})
	before := inUse()
	for range n {
		c := dialFrom(t, "127.0.0.1", g.addr)
		c.Write(append(saslPreamble(), 0, 1, 0, 0))
	}
	eventually(t, "all have sent their preamble", func() bool {
		g.relay.conns.mu.Lock()
		defer g.relay.conns.mu.Unlock()
		sasl := 0
		for k := range g.relay.conns.all {
			if k.session.phase() == phaseSASL {
				sasl++
			}
		}
		return sasl == n
	})
	each := (inUse() - before) / n
	t.Logf("%d bytes each, the client's end included", each)
	if each > 24<<10 {
		t.Errorf("a connection that announces a frame holds %d bytes, want at most 24 KiB", each)
	}
}
