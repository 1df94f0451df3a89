package hdfsclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// bench is a poller with a NameNode in memory, on synctest's clock.
type bench struct {
	t      *testing.T
	nn     *fakeNameNode
	poller *Poller
	client *Client
	out    chan model.Observation
	log    logLines

	mu     sync.Mutex
	wanted []string
	base   inMemory
}

// logLines keeps what was logged.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

// Write implements io.Writer.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(bytes.TrimSpace(p)))
	return len(p), nil
}

func (l *logLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// RoundTrip implements http.RoundTripper.
func (b *bench) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	base := b.base
	b.mu.Unlock()
	return base.RoundTrip(r)
}

func (b *bench) connect(base inMemory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.base = base
}

// start runs a poller until the test ends.
func start(t *testing.T, cfg Config, opts Options, wanted ...string) *bench {
	t.Helper()
	b := &bench{t: t, nn: newFake(t), out: make(chan model.Observation, 100), wanted: wanted}
	b.base = inMemory{"nn1:9870": b.nn}
	cfg.NameNodes = []string{"http://nn1:9870"}
	opts.Base = b
	opts.Log = hclog.New(&hclog.LoggerOptions{Output: &b.log, DisableTime: true})
	c, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	b.client = c
	b.poller = NewPoller(c, func() []string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.wanted
	})
	return b
}

func (b *bench) run() {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error)
	go func() { done <- b.poller.Run(ctx, b.out) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			b.t.Errorf("Run returned %v", err)
		}
		if err := b.client.Close(); err != nil {
			b.t.Error(err)
		}
	})
}

// next returns what was sent until the next PollFact, which comes last.
func (b *bench) next() (facts []model.Fact, poll model.PollFact) {
	b.t.Helper()
	for {
		o := <-b.out
		if now := model.Time(time.Now().UnixMilli()); o.Source != model.SourceHDFS || o.At > now || now.Sub(o.At) > model.Minute {
			b.t.Fatalf("observation of %s at %d, and it is %d", o.Source, o.At, now)
		}
		if p, ok := o.Fact.(model.PollFact); ok {
			return facts, p
		}
		facts = append(facts, o.Fact)
	}
}

// kinds describes facts shortly.
func kinds(facts []model.Fact) string {
	var s []string
	for _, f := range facts {
		switch f := f.(type) {
		case model.BlocksFact:
			s = append(s, fmt.Sprintf("%s:%d", f.Path, len(f.Blocks)))
		case model.DataNodesFact:
			s = append(s, fmt.Sprintf("nodes:%d", len(f.DataNodes)))
		default:
			s = append(s, f.Kind())
		}
	}
	return strings.Join(s, " ")
}

func (b *bench) expect(want string, result model.PollResult) model.PollFact {
	b.t.Helper()
	facts, poll := b.next()
	if got := kinds(facts); got != want || poll.Result != result {
		b.t.Fatalf("round sent %q and ended %s (%s), want %q and %s", got, poll.Result, poll.Error, want, result)
	}
	return poll
}

func TestPollerRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{Interval: 10 * time.Second, DataNodeInterval: 30 * time.Second, CacheAge: time.Minute}, Options{},
			"hdfs://nn1/d", "/one", "/one")
		b.nn.put("/d/a", 2)
		b.nn.put("/d/b", 1)
		b.nn.put("/one", 4)
		b.run()
		poll := b.expect("nodes:9 hdfs://nn1/d:3 /one:4", model.PollOK)
		if poll.Requests != 2+1+2+2+2 || poll.Bytes < 10_000 || poll.Error != "" {
			t.Errorf("got %+v", poll)
		}
		began := time.Now()
		for i, want := range []string{"", "", "nodes:9", "", "", "nodes:9 hdfs://nn1/d:3 /one:4", ""} {
			if i == 1 {
				b.mu.Lock()
				b.wanted = append(b.wanted, "/d/a") // a job came
				b.mu.Unlock()
				want = "/d/a:2"
			}
			if i == 5 {
				b.mu.Lock()
				b.wanted = b.wanted[:3]
				b.mu.Unlock()
			}
			b.expect(want, model.PollOK)
		}
		if got := time.Since(began); got != 70*time.Second {
			t.Errorf("seven rounds took %v", got)
		}
		if lines := b.log.take(); len(lines) != 0 {
			t.Errorf("logged for no reason: %q", lines)
		}
	})
}

// TestPollerNameNodeRestart goes through a restart: the port is closed, then
// the namespace is loaded, then blocks are reported, then all is well.
func TestPollerNameNodeRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{DataNodeInterval: time.Second}, Options{}, "/d")
		b.nn.put("/d/a", 2)
		b.run()
		b.expect("nodes:9 /d:2", model.PollOK)

		up := b.base
		b.connect(inMemory{})
		var last time.Duration
		for i := range 8 {
			began := time.Now()
			poll := b.expect("", model.PollUnreachable)
			if last = time.Since(began); i == 0 && !strings.Contains(poll.Error, "connection refused") {
				t.Errorf("got %q", poll.Error)
			}
		}
		if last < time.Minute || last > 2*time.Minute {
			t.Errorf("the eighth failure came after %v, want a back-off of one to two minutes", last)
		}
		b.connect(up)
		b.nn.set(func() {
			b.nn.override = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/webhdfs") {
					return false
				}
				reply(w, 403, []byte(startupAnswer))
				return true
			}
		})
		b.expect("", model.PollError)
		state := b.nn.state
		b.nn.set(func() {
			b.nn.override = nil
			b.nn.state = bytes.Replace(state, []byte(`"Operational"`), []byte(`"safeMode"`), 1)
		})
		b.expect("", model.PollError)
		b.nn.set(func() { b.nn.state = state })
		if facts, poll := b.next(); poll.Result != model.PollOK || !strings.Contains(kinds(facts), "nodes:9") {
			t.Errorf("after the restart: %q, %s", kinds(facts), poll.Result)
		}
		b.expect("nodes:9", model.PollOK)

		lines := b.log.take()
		want := []string{"result=unreachable", "answers again"} // one outage, whatever it passes through
		if len(lines) != len(want) {
			t.Fatalf("logged %d lines, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
		}
		for i := range want {
			if !strings.Contains(lines[i], want[i]) {
				t.Errorf("line %d is %q, want %q in it", i, lines[i], want[i])
			}
		}
	})
}

func TestPollerResults(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			reply(w, status, []byte(body))
			return true
		}
	}
	for name, tt := range map[string]struct {
		override func(http.ResponseWriter, *http.Request) bool
		want     model.PollResult
	}{
		"standby":   {answer(403, standbyAnswer), model.PollStandby},
		"safe mode": {answer(403, safeModeAnswer), model.PollError},
		"no login":  {answer(401, ""), model.PollDenied},
		"garbage":   {answer(200, "{"), model.PollInvalid},
		"broken":    {answer(500, ""), model.PollError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := start(t, Config{}, Options{}, "/d")
				b.nn.override = tt.override
				b.run()
				for range 3 {
					if poll := b.expect("", tt.want); poll.Error == "" {
						t.Error("no error told")
					}
				}
				if lines := b.log.take(); len(lines) != 1 || !strings.Contains(lines[0], "do=") {
					t.Errorf("logged %q, want one line that says what to do", lines)
				}
			})
		})
	}
}

// TestPollerBadPaths: one path that cannot be read does not keep the others
// from being read, and is logged once.
func TestPollerBadPaths(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{DataNodeInterval: time.Hour, CacheAge: time.Hour}, Options{}, "/gone", "s3a://b/x", "/secret", "/d")
		b.nn.put("/d/a", 2)
		b.nn.put("/secret/a", 1)
		b.nn.forbid = []string{"/secret"}
		b.run()
		poll := b.expect("nodes:9 /d:2", model.PollDenied)
		for _, want := range []string{"/gone: no such file", "s3a://b/x", "permission denied"} {
			if !strings.Contains(strings.ToLower(poll.Error), want) {
				t.Errorf("%q is not in %q", want, poll.Error)
			}
		}
		results := map[model.PollResult]int{}
		for range 40 {
			_, poll := b.next()
			results[poll.Result]++
		}
		if results[model.PollDenied] < 2 || results[model.PollDenied] > 20 || results[model.PollOK]+results[model.PollDenied] != 40 {
			t.Errorf("results of 40 rounds: %v; want the path to be tried again, ever more seldom", results)
		}
		b.nn.set(func() { b.nn.forbid = nil })
		b.nn.put("/gone", 1)
		var got []model.Fact
		for range 20 {
			facts, _ := b.next()
			got = append(got, facts...)
		}
		if s := kinds(got); !strings.Contains(s, "/gone:1") || !strings.Contains(s, "/secret:1") {
			t.Errorf("got %q after the paths were mended", s)
		}
		if lines := b.log.take(); len(lines) != 3+2 {
			t.Errorf("logged\n%s\nwant three paths going bad and two coming back", strings.Join(lines, "\n"))
		}
	})
}

// TestPollerWorkIsBounded: more paths than a round may walk, and a NameNode so
// slow that a walk takes several rounds.
func TestPollerWorkIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{PathsPerRound: 2, DataNodeInterval: time.Hour}, Options{}, "/a", "/b", "/c")
		for _, name := range b.wanted {
			b.nn.put(name, 1)
		}
		b.run()
		b.expect("nodes:9 /a:1 /b:1", model.PollBudget)
		b.expect("/c:1", model.PollOK)
	})
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{RoundTime: 20 * time.Second, Concurrency: 1, DataNodeInterval: time.Hour}, Options{}, "/slow")
		for i := range 30 {
			b.nn.put(fmt.Sprintf("/slow/%02d", i), 1)
		}
		b.nn.override = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.RawQuery, "BLOCKLOCATIONS") {
				select {
				case <-time.After(1500 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
			return false
		}
		b.run()
		b.expect("nodes:9", model.PollBudget)
		b.expect("", model.PollBudget)
		b.expect("/slow:30", model.PollOK)
		if n := b.nn.locationRequests(); n > 30+4 {
			t.Errorf("%d requests for 30 files: a round that ended lost what it had", n)
		}
		if lines := b.log.take(); len(lines) != 0 {
			t.Errorf("logged %q", lines)
		}
	})
}

func TestPollerBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{DataNodeInterval: time.Hour}, Options{Budget: rest.NewBudget(1, 0)}, "/d")
		for i := range 40 {
			b.nn.put(fmt.Sprintf("/d/%02d", i), 1)
		}
		b.run()
		rounds := 1
		for began := time.Now(); ; rounds++ {
			facts, poll := b.next()
			if strings.Contains(kinds(facts), "/d:40") {
				if spent := time.Since(began).Seconds(); float64(b.nn.locationRequests()) > spent+2 {
					t.Errorf("%d requests for locations in %v s at one a second", b.nn.locationRequests(), spent)
				}
				break
			}
			if poll.Result != model.PollBudget || rounds > 10 {
				t.Fatalf("round %d ended %s: %s", rounds, poll.Result, poll.Error)
			}
		}
		if rounds < 2 {
			t.Error("the budget was not met")
		}
	})
}

// TestPollerStopsWhileBlocked: a receiver that went away does not hold it.
func TestPollerStopsWhileBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, Config{}, Options{}, "/d")
		b.nn.put("/d/a", 1)
		b.out = make(chan model.Observation)
		b.run()
		synctest.Wait()
	})
}
