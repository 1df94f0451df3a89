package amrm

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
)

// rig is a relay in front of a fake ResourceManager.
type rig struct {
	t     testing.TB
	rm    *fakeRM
	guide *fakeGuide
	relay *Relay
	log   *syncBuffer
	addr  string
	stop  func()        // ends the relay and waits
	ended chan struct{} // closed when it has ended
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// testClock is a clock that a test sets.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newRig(tb testing.TB, change func(*Options)) *rig {
	tb.Helper()
	g := &rig{t: tb, rm: newFakeRM(tb, "127.0.0.1:0"), guide: newFakeGuide()}
	g.start(change)
	return g
}

// start starts a relay, after stop one more in front of the same ResourceManager.
func (g *rig) start(change func(*Options)) {
	g.t.Helper()
	g.run(g.build(change))
}

// build makes a relay that does not run yet.
func (g *rig) build(change func(*Options)) *Relay {
	g.t.Helper()
	g.log = &syncBuffer{}
	o := Options{
		Listeners: []Listener{{RM: "rm1", Address: "127.0.0.1:0", Upstream: g.rm.addr()}},
		Guide:     g.guide, Enforce: true, OptOutTag: "heddle-off", Conns: ConnLimits{PerAddress: 10_000},
		Stages: []StageRule{
			{Type: "MAPREDUCE", Priorities: []int{10}, Stage: model.StageReduce},
			{Type: "MAPREDUCE", Priorities: []int{20}, Stage: model.StageMap},
		},
		Limits: asks.Limits{
			PinDeadline: model.Minute, TrimDeadline: model.Minute, HoldMax: model.Minute, WidenAfter: 5 * model.Second,
			FullAfter: 10 * model.Second, Spread: asks.SpreadPack, MaxKeys: 100, MaxRows: 10_000,
		},
		Logger: hclog.New(&hclog.LoggerOptions{Output: g.log, Level: hclog.Debug}),
	}
	if change != nil {
		change(&o)
	}
	r, err := New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	r.times.drain, r.times.linger, r.times.write = 300*time.Millisecond, 500*time.Millisecond, 2*time.Second
	return r
}

func (g *rig) run(r *Relay) {
	g.t.Helper()
	if err := r.Listen(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- r.Run(ctx)
	}()
	g.ended = done
	g.relay, g.addr = r, r.listeners()[0].Addr().String()
	g.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			g.t.Errorf("Run: %v", err)
		}
	})
	g.t.Cleanup(g.stop)
}

// eventually waits until something holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return
		}
	}
	tb.Fatalf("not within a minute: %s", what)
}

func attemptID(app int32) wire.Attempt {
	return wire.Attempt{Cluster: 1_700_000_000_000, App: app, Attempt: 1}
}

// closed reports whether the peer has closed a connection: nothing more comes.
func closed(c net.Conn) bool {
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := c.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	return n == 0 && err != nil
}
