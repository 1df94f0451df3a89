package amrm

import (
	"strings"
	"testing"
	"time"
)

// TestAnswers: a relay answers a watchdog unless it accepts no connections, or an allocate call would wait for a lock.
func TestAnswers(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	if err := g.relay.Answers(); err != nil {
		t.Error(err)
	}
	l := g.relay.listeners()[0]
	first := l.woke.Load()
	eventually(t, "the listener shows that it runs", func() bool { return l.woke.Load() > first })

	a := g.relay.attempts.list()[0]
	a.mu.Lock()
	answered := make(chan error, 1)
	go func() { answered <- g.relay.Answers() }()
	select {
	case err := <-answered:
		a.mu.Unlock()
		t.Fatalf("it answers while a call would wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	a.mu.Unlock()
	if err := <-answered; err != nil {
		t.Error(err)
	}

	idle := &listener{TCPListener: l.TCPListener}
	idle.woke.Store(g.relay.clock().Add(-time.Minute).UnixNano())
	g.relay.listening.Store(&[]*listener{l, idle})
	if err := g.relay.Answers(); err == nil || !strings.Contains(err.Error(), g.addr) {
		t.Errorf("a listener that accepts nothing: %v", err)
	}
	g.relay.listening.Store(&[]*listener{l})
}
