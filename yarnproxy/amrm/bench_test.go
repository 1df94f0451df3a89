package amrm

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// heartbeats are the frames of n empty allocate calls in a row, and of their answers.
func heartbeats(am *fakeAM, n int) (up, down [][]byte) {
	for i := range n {
		up = append(up, am.frame("allocate", allocateBody(int32(i))))
		h := ipc.ResponseHeader{CallID: am.call, ClientID: am.client}
		down = append(down, ipctest.AppendResponse(nil, h, appendNumber(appendNumber(nil, 2, int64(i+1)), 7, 9)))
	}
	return up, down
}

// deaf is a connection that takes everything.
type deaf struct{ scripted }

func (deaf) Write(b []byte) (int, error) { return len(b), nil }

// inside is a connection of a registered attempt without sockets.
func inside(tb testing.TB, guide Guide) *conn {
	tb.Helper()
	r, err := New(Options{
		Listeners: []Listener{{Address: ":0", Upstream: "rm:8030"}}, Guide: guide, Enforce: true,
		Stages: []StageRule{{Type: "MAPREDUCE", Priorities: []int{10}, Stage: "reduce"}}, Limits: asks.Limits{MaxKeys: 10, MaxRows: 100},
		Logger: hclog.NewNullLogger(), OptOutTag: "heddle-off", Scopes: []Scope{{Queues: []string{"root.default"}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	c := newConn(r, &deaf{})
	tb.Cleanup(c.finish)
	c.connect(&deaf{})
	c.authenticate()
	c.session.enter(phaseCalls)
	a := r.attempts.join(attemptID(1))
	c.session.attach(a)
	r.steering.registered(a, nil, new(scratch))
	return c
}

// TestHeartbeatAllocatesNothing is the call that comes every second from every
// application: nothing is asked for, nothing is steered.
func TestHeartbeatAllocatesNothing(t *testing.T) {
	if raced {
		t.Skip("memory is counted without the race detector")
	}
	c := inside(t, newFakeGuide())
	am := &fakeAM{id: attemptID(1), client: []byte("0123456789abcdef")}
	const runs = 2000
	up, down := heartbeats(am, runs+1)
	next := 0
	perRun := testing.AllocsPerRun(runs, func() {
		if err := c.request(context.Background(), up[next]); err != nil {
			t.Fatal(err)
		}
		if err := c.response(down[next]); err != nil {
			t.Fatal(err)
		}
		next++
	})
	if a := c.session.owner(); perRun != 0 || a.last.answered != runs+1 || a.asks.State() != asks.InSync {
		t.Errorf("%v allocations for a call and its answer, want 0; %d answered", perRun, a.last.answered)
	}
}

// BenchmarkInside is what a call and its answer cost without sockets.
func BenchmarkInside(b *testing.B) {
	am := &fakeAM{id: attemptID(1), client: []byte("0123456789abcdef")}
	b.Run("heartbeat", func(b *testing.B) {
		c := inside(b, newFakeGuide())
		up, down := heartbeats(am, 4096)
		a := c.session.owner()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%4096 == 0 {
				a.asks.Register(nil, nil)
			}
			_ = c.request(b.Context(), up[i%4096])
			_ = c.response(down[i%4096])
		}
	})
	b.Run("edited", func(b *testing.B) {
		guide := newFakeGuide()
		guide.targets["reduce"] = reducesOn("/rack1")
		c := inside(b, guide)
		_, down := heartbeats(am, 4096)
		a := c.session.owner()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%4096 == 0 {
				a.asks.Register(nil, nil)
			}
			b.StopTimer()
			frame := am.frame("allocate", allocateBody(int32(i%4096), ask(10, "*", int32(3+i%2))))
			b.StartTimer()
			_ = c.request(b.Context(), frame)
			_ = c.response(down[i%4096])
		}
	})
}

// copier is a bare copy of bytes both ways, to compare with.
func copier(tb testing.TB, upstream string) (address string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", upstream)
			if err != nil {
				in.Close()
				continue
			}
			wg.Go(func() { io.Copy(out, in); out.Close() })
			wg.Go(func() { io.Copy(in, out); in.Close() })
		}
	})
	tb.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// BenchmarkCall is one allocate call after the other over TCP: straight to the
// ResourceManager, through a bare copy, and through the relay.
func BenchmarkCall(b *testing.B) {
	g := newRig(b, nil)
	g.rm.forgetful = true
	g.plan(reducesOn("/rack1"))
	for i, way := range []struct {
		name, address string
		rows          bool
	}{
		{"direct", g.rm.addr(), false},
		{"copy", copier(b, g.rm.addr()), false},
		{"relay", g.addr, false},
		{"direct with an ask", g.rm.addr(), true},
		{"relay edits", g.addr, true},
	} {
		b.Run(way.name, func(b *testing.B) {
			am := connect(b, way.address, wire.Attempt{Cluster: 1, App: int32(i + 1), Attempt: int32(b.N)})
			am.conn.SetDeadline(noDeadline())
			am.register()
			n := int32(3)
			for b.Loop() {
				if way.rows {
					n = 7 - n // 4, 3, 4, …
					am.allocate(ask(10, "*", n))
				} else {
					am.allocate()
				}
			}
			am.finish()
			am.conn.Close()
		})
	}
}

// idle returns the memory in use with n connections that idle.
func idle(tb testing.TB, address string, first, n int) (bytes int) {
	tb.Helper()
	before := inUse()
	for i := range n {
		am := connect(tb, address, attemptID(int32(first+i)))
		am.conn.SetDeadline(noDeadline())
		am.register()
		am.allocate(ask(10, "*", 4))
		am.allocate()
	}
	return inUse() - before
}

func inUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

// TestIdleMemory is what an idle connection costs in the relay: the difference
// to connections without it, whose other ends live in this process too.
func TestIdleMemory(t *testing.T) {
	if raced {
		t.Skip("memory is counted without the race detector")
	}
	n := *loadConns
	g := newRig(t, func(o *Options) { o.Logger = hclog.NewNullLogger() })
	g.rm.forgetful = true
	idle(t, g.rm.addr(), 1, 20) // pools and tables
	direct := idle(t, g.rm.addr(), 1000, n)
	through := idle(t, g.addr, 10_000, n)
	perConn := (through - direct) / n
	t.Logf("%d connections: %d bytes each, of which directly %d", n, through/n, direct/n)
	if perConn > 64<<10 {
		t.Errorf("an idle connection holds %d bytes, want at most 64 KiB", perConn)
	}
}

// full is a relay of so many attempts, each of which asks with so many host rows.
func full(tb testing.TB, attempts, rows int) *Relay {
	tb.Helper()
	r, err := New(Options{
		Listeners: []Listener{{Address: ":0", Upstream: "rm:8030"}}, Guide: newFakeGuide(), Enforce: true,
		Stages: []StageRule{{Type: "MAPREDUCE", Stage: "reduce"}}, Limits: asks.Limits{MaxRows: 2 * rows}, Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range attempts {
		a := r.attempts.join(attemptID(int32(i + 1)))
		ask := asks.Request{ResponseID: 0, Rows: []asks.Row{{Key: asks.Key{Priority: 20, RequestID: -1}, Name: "*", Count: int32(rows), Relax: true}}}
		for h := range rows {
			ask.Rows = append(ask.Rows, asks.Row{Key: asks.Key{Priority: 20, RequestID: -1}, Name: fmt.Sprintf("w%03d.example.com", h), Count: 1, Relax: true})
		}
		a.asks.Request(1, &ask, &a.intent)
	}
	return r
}

// TestStatusReadsNoRows: what a scrape costs does not depend on the rows that applications ask with.
func TestStatusReadsNoRows(t *testing.T) {
	few, many := full(t, 50, 1), full(t, 50, 400)
	cost := func(r *Relay) float64 { return testing.AllocsPerRun(20, func() { r.Status() }) }
	if a, b := cost(few), cost(many); b > a+5 {
		t.Errorf("%v allocations with a row for each attempt, %v with 400", a, b)
	}
	if d := many.Describe("", 10, 3); len(d.Attempts) != 3 || d.Total != 50 || len(d.Attempts[0].Keys[0].Asked) != 401 || d.Steering.Attempts != 50 {
		t.Errorf("a page has %d attempts of %d", len(d.Attempts), d.Total)
	}
}

// BenchmarkStatus is what a scrape costs beside 2,000 attempts with 400 host rows each, and what a page of attempts does.
func BenchmarkStatus(b *testing.B) {
	r := full(b, 2000, 400)
	b.Run("scrape", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Status()
		}
	})
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Describe("", 0, 50)
		}
	})
}
