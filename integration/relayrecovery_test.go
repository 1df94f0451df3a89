//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
	"heddle/integration/unmanaged"
	"heddle/yarnproxy/amrm/wire"
)

// The test of this file measures how long asks that wait on their planned racks are without their pin when the relay
// is killed and started again.

// heartbeat is the time between two calls of an application, that of MapReduce's.
const heartbeat = time.Second

// waitingApp is an application with an ask that nothing satisfies while the test runs. It calls as an ApplicationMaster
// does that knows one address alone: every heartbeat, and on a new connection after a failure.
type waitingApp struct {
	*testApp
	asks  []unmanaged.Call // made in turn; the last one again and again
	stop  chan struct{}
	ended chan error
}

func startWaiting(a *testApp, again bool) *waitingApp {
	w := &waitingApp{testApp: a, stop: make(chan struct{}), ended: make(chan error, 1)}
	ask := func(n int) unmanaged.Call { return unmanaged.Call{Rows: a.rows(fmt.Sprintf("1: *=%d", n))} }
	w.asks = []unmanaged.Call{ask(2), {}}
	if again {
		w.asks = nil
		for i := range 1000 {
			w.asks = append(w.asks, ask(2+i%2))
		}
	}
	go func() { w.ended <- w.run() }()
	return w
}

// run makes calls until stopped.
func (w *waitingApp) run() error {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	repeat := false
	for i := 0; ; {
		answer, err := w.heartbeat(w.asks[min(i, len(w.asks)-1)], repeat)
		if repeat = err != nil; !repeat {
			i++
			if len(answer.Allocated) > 0 {
				return fmt.Errorf("%s was granted %d containers: there was to be no room", w.ID, len(answer.Allocated))
			}
		}
		select {
		case <-tick.C:
		case <-w.stop:
			return nil
		}
	}
}

func (w *waitingApp) heartbeat(c unmanaged.Call, repeat bool) (*unmanaged.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if !repeat {
		return w.Allocate(ctx, c)
	}
	if err := w.Connect(ctx, w.address); err != nil {
		return nil, err
	}
	return w.Repeat(ctx)
}

// end stops the calls.
func (w *waitingApp) end(t *testing.T) {
	t.Helper()
	close(w.stop)
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
}

// closeQueue has the ResourceManager grant nothing in queue batch, whatever is free, until the test ends: a container
// of a whole node is more than the twentieth of the cluster that the queue may have.
func closeQueue(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	file := filepath.Join(filepath.Dir(c.ConfDir()), hadoop.Master, "capacity-scheduler.xml")
	original, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(original)
	for queue, values := range map[string][2]string{"root.default.capacity": {"60", "95"}, "root.batch.capacity": {"40", "5"}, "root.batch.maximum-capacity": {"100", "5"}} {
		property := regexp.MustCompile(`(<name>yarn\.scheduler\.capacity\.` + regexp.QuoteMeta(queue) + `</name>\s*<value>)` + values[0] + `<`)
		if !property.MatchString(text) {
			t.Fatalf("%s is not %s in %s", queue, values[0], file)
		}
		text = property.ReplaceAllString(text, "${1}"+values[1]+"<")
	}
	refresh := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, _, err := c.Run(ctx, "org.apache.hadoop.yarn.client.cli.RMAdminCLI", "-refreshQueues"); err != nil {
			t.Fatal(err)
		}
	}
	refresh(text)
	t.Cleanup(func() { refresh(string(original)) })
}

// pinLog is what two views of an attempt's ask were over time: whether the ResourceManager had it as a pin, by its
// REST, and whether the relay said that it steers it.
type pinLog struct {
	mu      sync.Mutex
	atRM    map[string][]pinState
	inForce map[string][]pinState
}

type pinState struct {
	at     time.Time
	pinned bool
}

// watch looks until stopped.
func watchPins(t *testing.T, s *service, apps []*waitingApp) (l *pinLog, stop func()) {
	t.Helper()
	l = &pinLog{atRM: map[string][]pinState{}, inForce: map[string][]pinState{}}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	every := func(look func()) {
		watching.Go(func() {
			for tick := time.NewTicker(200 * time.Millisecond); ; {
				look()
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for _, a := range apps {
		every(func() {
			if rows, err := a.pending(ctx); err == nil {
				strict := slices.ContainsFunc(rows, func(r model.AskRow) bool { return r.ResourceName == wire.Any && !r.RelaxLocality })
				l.add(l.atRM, a.ID, strict)
			}
		})
	}
	every(func() {
		var r model.Relay
		if s.get(ctx, "/v1/relay", &r) != nil {
			return // no relay is linked
		}
		for i := range r.Attempts {
			pinned := slices.ContainsFunc(r.Attempts[i].Keys, func(k model.RelayKey) bool { return k.Cause == "" && k.Action.Waits() })
			l.add(l.inForce, string(r.Attempts[i].App), pinned)
		}
	})
	return l, func() { cancel(); watching.Wait() }
}

func (l *pinLog) add(to map[string][]pinState, app string, pinned bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to[app] = append(to[app], pinState{time.Now(), pinned})
}

// after sums up what was seen of an application after a time: since when it has been pinned without a break, and for
// how long it was not pinned in all.
func (l *pinLog) after(of map[string][]pinState, app string, from time.Time) (since time.Duration, without time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	states := of[app]
	pinned := false
	before := from
	for _, s := range states {
		if s.at.Before(from) {
			continue
		}
		if !s.pinned {
			without += s.at.Sub(before)
		}
		if s.pinned && !pinned {
			since = s.at.Sub(from)
		}
		pinned, before = s.pinned, s.at
	}
	if !pinned {
		return 0, without, errors.New(app + " is not pinned")
	}
	return since, without, nil
}

// TestRelayRecovery kills the relay under asks that wait, HEDDLE_RUNS times, and starts it again at once. Sources are
// polled as by default.
func TestRelayRecovery(t *testing.T) {
	c := cluster(t)
	settings := strings.NewReplacer(
		"poll_interval: 500ms, requests_per_second: 60", "requests_per_second: 60",
		"poll_interval: 500ms, requests_per_second: 120", "requests_per_second: 120",
		"advanced: {state: {publish_interval: 200ms}}", "advanced: {relay: {limits: {full_after: 50m}}}",
		"pin_deadline: 3m, trim_deadline: 1m, decide_in: 2s", "pin_deadline: 1h",
	).Replace(relaySettings(t, c, "enforce"))
	s := startConfigured(t, c, settings)
	closeQueue(t, c)
	for _, way := range []string{"quiet", "asking"} {
		t.Run(way, func(t *testing.T) { measureRecovery(t, c, s, way == "asking") })
	}
}

// recovering is how many applications wait in TestRelayRecovery.
const recovering = 6

// measureRecovery prints a line for each kill.
func measureRecovery(t *testing.T, c *hadoop.Cluster, s *service, again bool) {
	t.Helper()
	var apps []*waitingApp
	for range recovering {
		a := newQueuedApp(t, c, "batch", "SPARK", c.GatewayAddr()+":"+relayPort)
		a.requestID, a.size = 0, 1024
		eventually(t, 20*time.Second, "heddle knows "+a.ID, func(ctx context.Context) error { _, err := s.app(ctx, a.ID); return err })
		w := startWaiting(a, again)
		t.Cleanup(func() { w.end(t) })
		apps = append(apps, w)
	}
	log, stop := watchPins(t, s, apps)
	t.Cleanup(stop)
	allPinned := func(from time.Time) {
		t.Helper()
		eventually(t, time.Minute, "all asks are pinned for some time", func(ctx context.Context) error {
			var errs []error
			for _, a := range apps {
				for _, of := range []map[string][]pinState{log.atRM, log.inForce} {
					since, _, err := log.after(of, a.ID, from)
					if err == nil && time.Since(from)-since < 5*time.Second {
						err = fmt.Errorf("%s has been pinned for %v", a.ID, time.Since(from)-since)
					}
					errs = append(errs, err)
				}
			}
			if err := errors.Join(errs...); err != nil {
				var r model.Relay // none while no relay is linked
				_ = s.get(ctx, "/v1/relay", &r)
				return fmt.Errorf("%w; the relay has%s", err, relayText(&r))
			}
			return nil
		})
	}
	allPinned(time.Now())
	var all []time.Duration
	for range repetitions(t, 1) {
		killed := time.Now()
		s.relay.kill()
		s.relay.launch()
		back := time.Now()
		allPinned(back)
		var atRM, without, inForce []time.Duration
		for _, a := range apps {
			since, _, _ := log.after(log.atRM, a.ID, back)
			_, lost, _ := log.after(log.atRM, a.ID, killed)
			steered, _, _ := log.after(log.inForce, a.ID, back)
			atRM, without, inForce = append(atRM, since), append(without, lost), append(inForce, steered)
		}
		all = append(all, without...)
		t.Logf("back after %.1f s; seconds from then until pinned for good at the ResourceManager %s, until the relay steers %s; without a pin %s",
			back.Sub(killed).Seconds(), inSeconds(atRM), inSeconds(inForce), inSeconds(without))
	}
	slices.Sort(all)
	t.Logf("again %v: %d attempts over %d kills without a pin for %s s", again, recovering, len(all)/recovering, inSeconds(all))
	if worst := all[len(all)-1]; worst > 20*time.Second {
		t.Errorf("an ask was without its pin for %v", worst)
	}
}

// inSeconds writes times with a digit after the point.
func inSeconds(all []time.Duration) string {
	text := make([]string, len(all))
	for i, d := range all {
		text[i] = fmt.Sprintf("%.1f", d.Seconds())
	}
	return strings.Join(text, " ")
}
