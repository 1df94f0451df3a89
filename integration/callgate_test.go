//go:build linux

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// callLog is when allocate calls arrived at the ResourceManager, by attempt. The calls come through gates that a test
// puts in front of the scheduler port, one for each way that a call can take.
type callLog struct {
	mu    sync.Mutex
	calls map[string][]arrival
}

// arrival is one allocate call.
type arrival struct {
	at  time.Time
	way string // of the gate it came through
}

func newCallLog() *callLog { return &callLog{calls: map[string][]arrival{}} }

// attemptID is how MapReduce's ApplicationMaster names itself in the caller context of every call it makes.
var attemptID = regexp.MustCompile(`appattempt_\d+_\d+_\d+`)

// gate passes connections on to a scheduler address, and notes allocate calls. It returns its own address, which every
// host of the cluster reaches.
func (l *callLog) gate(t *testing.T, c *hadoop.Cluster, way, to string) (address string) {
	t.Helper()
	listening, err := net.Listen("tcp", net.JoinHostPort(c.GatewayAddr(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go l.serve(ctx, listening, way, to)
	return listening.Addr().String()
}

// serve passes connections on until ctx ends. While the scheduler address takes none, neither does the gate.
func (l *callLog) serve(ctx context.Context, listening net.Listener, way, to string) {
	address := listening.Addr().String()
	for ctx.Err() == nil {
		stop := context.AfterFunc(ctx, func() { _ = listening.Close() })
		l.serveWhile(ctx, listening, way, to)
		stop()
		_ = listening.Close()
		for ctx.Err() == nil {
			up, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
			if err == nil {
				_ = up.Close()
				if listening, err = net.Listen("tcp", address); err == nil {
					break
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// serveWhile passes connections on until the scheduler address takes none.
func (l *callLog) serveWhile(ctx context.Context, listening net.Listener, way, to string) {
	for {
		in, err := listening.Accept()
		if err != nil {
			return
		}
		out, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
		if err != nil {
			_ = in.Close()
			return
		}
		context.AfterFunc(ctx, func() { _ = in.Close(); _ = out.Close() })
		go l.pass(way, out, in)
		go copyStream(in, out)
	}
}

// pass copies what an ApplicationMaster sends. Its calls are small and seconds apart, so that each comes in one piece.
func (l *callLog) pass(way string, to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for attempt := ""; ; {
		n, err := from.Read(buf)
		if id := attemptID.Find(buf[:n]); id != nil {
			attempt = string(id)
		}
		if bytes.Contains(buf[:n], []byte("\x08allocate\x12")) {
			l.add(attempt, arrival{time.Now(), way})
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (l *callLog) add(attempt string, a arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[attempt] = append(l.calls[attempt], a)
}

// since returns the calls of an attempt from a time on.
func (l *callLog) since(attempt string, from time.Time) []arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.calls[attempt]
	at := slices.IndexFunc(all, func(a arrival) bool { return !a.at.Before(from) })
	if at < 0 {
		return nil
	}
	return slices.Clone(all[at:])
}

// last returns the newest call of an attempt.
func (l *callLog) last(attempt string) (arrival, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.calls[attempt]
	if len(all) == 0 {
		return arrival{}, fmt.Errorf("%s has not called", attempt)
	}
	return all[len(all)-1], nil
}

// gap returns the longest time between two calls of an attempt, the first of them the last one before from.
func (l *callLog) gap(attempt string, from time.Time) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.calls[attempt]
	for i := 1; i < len(all); i++ {
		if all[i].at.After(from) {
			longest = max(longest, all[i].at.Sub(all[i-1].at))
		}
	}
	return longest
}

// waitWay waits until an attempt's newest call is younger than from, and returns the way it took. A call has to follow
// on the same way: the first one after a failure may fail too.
func (l *callLog) waitWay(t *testing.T, d time.Duration, attempt string, from time.Time) (way string) {
	t.Helper()
	eventually(t, d, attempt+" calls again", func(context.Context) error {
		calls := l.since(attempt, from)
		if n := len(calls); n < 3 || calls[n-1].way != calls[n-2].way || calls[n-2].way != calls[n-3].way {
			return fmt.Errorf("%d calls", n)
		}
		way = calls[len(calls)-1].way
		return nil
	})
	return way
}

// attemptOf is the first attempt of an application.
func attemptOf(app string) string {
	var cluster, n int64
	if _, err := fmt.Sscanf(app, "application_%d_%d", &cluster, &n); err != nil {
		return ""
	}
	return fmt.Sprintf("appattempt_%d_%04d_%06d", cluster, n, 1)
}
