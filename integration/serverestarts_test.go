//go:build linux

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadoop"
	"heddle/integration/unmanaged"
)

// timedApp is an application that makes calls all the time, every so often for a container that it then gives back,
// and notes how long each took.
type timedApp struct {
	*testApp
	quiet, asking []time.Duration
	stop          chan struct{}
	ended         chan error
}

// The calls of a timedApp.
const (
	timedEvery  = 100 * time.Millisecond
	timedAsking = 10 // calls from one that asks to the next
)

func startTimed(t *testing.T, c *hadoop.Cluster, s *service, address string) *timedApp {
	t.Helper()
	a := &timedApp{testApp: newTestApp(t, c, hadoop.Capacity, "SPARK", address), stop: make(chan struct{}), ended: make(chan error, 1)}
	a.requestID, a.size = 0, 128
	eventually(t, 20*time.Second, "heddle knows "+a.ID, func(ctx context.Context) error { _, err := s.app(ctx, a.ID); return err })
	go func() { a.ended <- a.run() }()
	return a
}

// run makes calls until stopped. A call that fails ends it: no connection may be lost.
func (a *timedApp) run() error {
	tick := time.NewTicker(timedEvery)
	defer tick.Stop()
	one, none := a.rows("1: *=1"), a.rows("1: *=0")
	var granted unmanaged.Call
	for i := 0; ; i++ {
		call, to := granted, &a.quiet
		granted = unmanaged.Call{}
		if i%timedAsking == 0 {
			call.Rows, to = one, &a.asking
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		start := time.Now()
		answer, err := a.Allocate(ctx, call)
		took := time.Since(start)
		cancel()
		if err != nil {
			return err
		}
		*to = append(*to, took)
		for i := range answer.Allocated {
			granted.Release = append(granted.Release, answer.Allocated[i].ID)
			granted.Rows = none
		}
		select {
		case <-tick.C:
		case <-a.stop:
			return nil
		}
	}
}

// finish stops the calls and returns how long they took, sorted.
func (a *timedApp) finish() (quiet, asking []time.Duration) {
	a.t.Helper()
	close(a.stop)
	if err := <-a.ended; err != nil {
		a.t.Errorf("a call of %s: %v", a.ID, err)
	}
	slices.Sort(a.quiet)
	slices.Sort(a.asking)
	return a.quiet, a.asking
}

// quantile is one of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func latencyText(sorted []time.Duration) string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%d calls, p50 %.1f ms, p90 %.1f, p99 %.1f, longest %.1f", len(sorted),
		ms(quantile(sorted, 0.5)), ms(quantile(sorted, 0.9)), ms(quantile(sorted, 0.99)), ms(quantile(sorted, 1)))
}

// jobsRun is how many jobs have succeeded, and why the last one did not.
type jobsRun struct {
	succeeded int64
	err       error
}

// jobsUntil runs the slow job again and again until stopped, or until one fails.
func jobsUntil(c *hadoop.Cluster, with hadoop.Settings, stop <-chan struct{}) <-chan jobsRun {
	ended := make(chan jobsRun, 1)
	go func() {
		var r jobsRun
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
			_, r.err = c.JobWith(ctx, with, "sleep", slowJob()...)
			cancel()
			if r.err != nil {
				break
			}
			r.succeeded++
			select {
			case <-stop:
				ended <- r
				return
			default:
			}
		}
		ended <- r
	}()
	return ended
}

// TestServeRestarts: serve is killed 100 times and upgraded 20 times (HEDDLE_RUNS kills, an upgrade for every five) under
// steered jobs. A second heddle, whose serve nobody touches, has the same jobs at the same time: calls through the first
// take as long as through the second. No connection is lost, and no job.
func TestServeRestarts(t *testing.T) {
	c := cluster(t)
	const otherPort = "7940"
	settings := strings.Replace(relaySettings(t, c, "enforce"), ", decide_in: 2s", "", 1) // as by default
	s := startConfigured(t, c, settings)
	other := startConfigured(t, c, strings.Replace(relaySettings(t, c, "enforce"), ":"+relayPort, ":"+otherPort, 1))
	stop := make(chan struct{})
	jobs := []<-chan jobsRun{
		jobsUntil(c, throughRelay(c), stop),
		jobsUntil(c, hadoop.Settings{"yarn.resourcemanager.scheduler.address": net.JoinHostPort(c.GatewayAddr(), otherPort)}, stop),
	}
	s.waitPinned(t)
	disturbed := startTimed(t, c, s, net.JoinHostPort(c.GatewayAddr(), relayPort))
	undisturbed := startTimed(t, c, other, net.JoinHostPort(c.GatewayAddr(), otherPort))

	rng := rand.New(rand.NewPCG(1, 2))
	kills, upgrades := repetitions(t, 100), 0
	began := time.Now()
	for n := range kills {
		s.process.kill()
		s.process.launch()
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond) // the next one may come at any time
		if n%5 == 4 {
			eventually(t, time.Minute, "the next serve is ready", s.ready)
			s.process.stop()
			s.process.launch()
			upgrades++
		}
	}
	eventually(t, time.Minute, "the last serve is ready", s.ready)
	took := time.Since(began)
	quiet, asking := disturbed.finish()
	quietOther, askingOther := undisturbed.finish()
	close(stop)
	ran := [2]jobsRun{<-jobs[0], <-jobs[1]}
	for i, r := range ran {
		if r.err != nil {
			t.Errorf("a job through heddle %d: %v", i+1, r.err)
		}
	}
	t.Logf("serve killed %d times and upgraded %d times within %.0f s", kills, upgrades, took.Seconds())
	t.Logf("calls that ask for nothing: %s; undisturbed %s", latencyText(quiet), latencyText(quietOther))
	t.Logf("calls that ask: %s; undisturbed %s", latencyText(asking), latencyText(askingOther))
	r := s.relayStatus(withTimeout(t, 10*time.Second))
	t.Logf("relay: %d connections accepted from %d jobs and one application, rewritten %v, passed %v", r.Counts.Accepted, ran[0].succeeded, r.Counts.Rewritten, r.Counts.Passed)
	if r.Counts.Accepted != ran[0].succeeded+1 {
		t.Errorf("%d connections: one was lost", r.Counts.Accepted)
	}
	if p99, want := quantile(quiet, 0.99), 2*quantile(quietOther, 0.99)+20*time.Millisecond; p99 > want {
		t.Errorf("p99 of calls is %v while serve is killed, want %v at most", p99, want)
	}
	// A plan is waited for until decide_in, 200 ms by default.
	if p99, want := quantile(asking, 0.99), 2*quantile(askingOther, 0.99)+220*time.Millisecond; p99 > want {
		t.Errorf("p99 of calls that ask is %v while serve is killed, want %v at most", p99, want)
	}
}
