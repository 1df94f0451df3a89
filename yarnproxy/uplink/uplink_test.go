package uplink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// daemons is the web servers of a cluster's NodeManagers and DataNodes, by
// host:port. An absent one refuses the connection.
type daemons struct {
	mu       sync.Mutex
	counters map[string][]int64
	asked    map[string]int
	hang     string // host:port that never answers
	page     string // host:port that answers with a page
}

func (d *daemons) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	values, ok := d.counters[r.URL.Host]
	d.asked[r.URL.Host]++
	hang, page := d.hang == r.URL.Host, d.page == r.URL.Host
	d.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if !ok {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json; charset=utf8")
	switch {
	case page:
		rec.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rec, "<html></html>")
	case r.URL.RawQuery == "qry=Hadoop:service=NodeManager,name=ShuffleMetrics":
		fmt.Fprintf(rec, `{"beans":[{"name":%q,"ShuffleOutputBytes":%d}]}`, shuffleBean, values[0])
	case r.URL.RawQuery == "qry=Hadoop:service=DataNode,name=DataNodeActivity-*":
		fmt.Fprintf(rec, `{"beans":[{"name":"%sx-9866","RemoteBytesRead":%d,"RemoteBytesWritten":%d}]}`, dataNodeBean, values[0], values[1])
	default:
		rec.WriteHeader(http.StatusNotFound)
	}
	return rec.Result(), nil
}

// bench is a poller of two racks of two hosts each.
type bench struct {
	*Poller
	tb    testing.TB
	site  *daemons
	nodes []model.Node
	now   time.Time
	log   *bytes.Buffer
	last  map[model.RackID]model.UplinkSample
	poll  model.PollFact
}

func newBench(tb testing.TB, change func(*Config)) *bench {
	tb.Helper()
	b := &bench{
		tb: tb, now: time.UnixMilli(1795218000000), log: &bytes.Buffer{},
		site: &daemons{counters: map[string][]int64{}, asked: map[string]int{}},
	}
	for _, host := range []string{"w11", "w12", "w21", "w22"} {
		b.nodes = append(b.nodes, model.Node{
			ID: model.NodeID(host + ":45454"), Host: host, Rack: model.RackID("/rack" + host[1:2]), State: model.NodeRunning, HTTPAddress: host + ":8042",
		})
		b.site.counters[host+":8042"] = []int64{0}
		b.site.counters[host+":9864"] = []int64{0, 0}
	}
	b.nodes = append(b.nodes, model.Node{ID: "w99:45454", Host: "w99", Rack: "/rack9", State: model.NodeLost})
	cfg := Config{
		Client:     rest.New(rest.Options{Base: b.site}),
		Nodes:      func() []model.Node { return b.nodes },
		CrossShare: func(model.RackID) (float64, float64) { return .5, .5 },
		Now:        func() time.Time { return b.now },
		Logger:     hclog.New(&hclog.LoggerOptions{Output: b.log, Level: hclog.Info}),
	}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	b.Poller = p
	return b
}

// next runs a round and lets the interval pass.
func (b *bench) next() {
	b.tb.Helper()
	out := make(chan model.Observation, 4)
	b.runner.Once(context.Background(), out)
	close(out)
	b.take(out)
	b.now = b.now.Add(b.cfg.Interval)
}

func (b *bench) take(out <-chan model.Observation) {
	b.last = nil
	for o := range out {
		if o.Source != model.SourceUplink {
			b.tb.Errorf("source %s", o.Source)
		}
		switch fact := o.Fact.(type) {
		case model.UplinkFact:
			if fact.Method != "shuffle-jmx" {
				b.tb.Errorf("method %s", fact.Method)
			}
			b.last = map[model.RackID]model.UplinkSample{}
			for _, s := range fact.Samples {
				b.last[s.Rack] = s
			}
		case model.PollFact:
			b.poll = fact
		}
	}
}

func (b *bench) want(what string, want map[model.RackID]model.UplinkSample) {
	b.tb.Helper()
	for rack, s := range want {
		s.Rack = rack
		want[rack] = s
	}
	if diff := cmp.Diff(want, b.last, near(), cmpopts.EquateEmpty()); diff != "" {
		b.tb.Errorf("%s: %s", what, diff)
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{}); err == nil {
		t.Error("an empty configuration is taken")
	}
	b := newBench(t, nil)
	bad := b.cfg
	bad.Scheme = "ftp"
	if _, err := New(bad); err == nil || !strings.Contains(err.Error(), "ftp") {
		t.Errorf("scheme ftp: %v", err)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.next()
	b.want("one reading gives no rate", nil)
	if b.poll.Result != model.PollOK || b.poll.Requests != 8 || b.poll.Bytes == 0 {
		t.Errorf("poll %+v", b.poll)
	}
	b.site.counters["w11:8042"] = []int64{5000} // 1000 bytes/s
	b.site.counters["w12:8042"] = []int64{1000} // 200 bytes/s
	b.site.counters["w21:9864"] = []int64{1500, 0}
	b.next()
	// Shuffle: half of 1200 leaves /rack1, half of that enters each. HDFS: 2 of
	// 3 peers of /rack2's 300 bytes/s are in /rack1.
	b.want("after one interval", map[model.RackID]model.UplinkSample{"/rack1": {Out: 600, In: 300 + 200}, "/rack2": {Out: 200, In: 300}})
	b.next()
	b.want("nothing moves", map[model.RackID]model.UplinkSample{"/rack1": {}, "/rack2": {}})
	b.site.counters["w11:8042"] = []int64{100}
	b.site.counters["w12:8042"] = []int64{2000}
	b.next()
	b.want("one NodeManager restarted", map[model.RackID]model.UplinkSample{"/rack1": {Out: 100, In: 50}, "/rack2": {In: 50}})
	b.now = b.now.Add(-time.Hour)
	b.next()
	b.want("the clock went back", nil)
	b.next()
	b.want("an interval later", map[model.RackID]model.UplinkSample{"/rack1": {}, "/rack2": {}})
	b.nodes = b.nodes[:2]
	b.next()
	if len(b.daemons) != 4 || len(b.last) != 1 {
		t.Errorf("%d daemons after nodes left, samples %v", len(b.daemons), b.last)
	}
	if b.log.Len() != 0 {
		t.Errorf("log %s", b.log)
	}
}

// TestSilentDaemons counts the daemons that do not answer, asks them less
// often, and goes on with the others.
func TestSilentDaemons(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	delete(b.site.counters, "w12:9864")
	b.site.page = "w22:8042"
	for i := range 23 {
		b.site.counters["w11:8042"] = []int64{int64(i) * 5000}
		b.next()
		if i > 0 && b.last["/rack1"].Out != 500 {
			t.Errorf("round %d: %v", i, b.last)
		}
	}
	if b.poll.Result != model.PollOK || !strings.Contains(b.poll.Error, "2 of 8 daemons do not answer") {
		t.Errorf("poll %+v", b.poll)
	}
	if n := b.site.asked["w12:9864"]; n != 3+2 {
		t.Errorf("the absent DataNode was asked %d times in 23 rounds", n)
	}
	counters := maps.Clone(b.site.counters)
	clear(b.site.counters)
	b.next()
	b.next()
	if b.poll.Result != model.PollUnreachable || !strings.Contains(b.poll.Error, "8 of 8 daemons") {
		t.Errorf("all silent: %+v", b.poll)
	}
	b.site.page = ""
	b.site.counters = counters
	for range 12 {
		b.next()
	}
	if b.poll.Result != model.PollOK || strings.Count(b.log.String(), "cannot be read") != 1 || strings.Count(b.log.String(), "answers again") != 1 {
		t.Errorf("poll %+v, log %s", b.poll, b.log)
	}
}

func TestNoNodes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.nodes = b.nodes[4:]
	b.next()
	if b.poll.Result != model.PollError || !strings.Contains(b.poll.Error, "no node") || b.last != nil {
		t.Errorf("poll %+v, samples %v", b.poll, b.last)
	}
}

func TestWithoutDataNodes(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(cfg *Config) { cfg.DataNodePort, cfg.Scheme = -1, "https" })
	b.next()
	if len(b.daemons) != 4 || b.poll.Result != model.PollOK {
		t.Errorf("%d daemons, poll %+v", len(b.daemons), b.poll)
	}
	b.site.counters["w11:8042"] = []int64{1 << 60}
	b.next()
	if !strings.Contains(b.poll.Error, "1 counters ran faster") || b.last["/rack1"].Out != 0 {
		t.Errorf("absurd counter: %+v, %v", b.poll, b.last)
	}
}

// TestBudget reads all daemons in turn on a budget for half of them, on fake
// time and with one that never answers.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(cfg *Config) {
			cfg.Now, cfg.Interval, cfg.Workers = time.Now, 2*time.Second, 2
		})
		b.cfg.Client = rest.New(rest.Options{Base: b.site, Budget: rest.NewBudget(2, 0)})
		b.site.hang = "w22:9864"
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out := make(chan model.Observation, 1)
		done := make(chan error)
		go func() { done <- b.Run(ctx, out) }()
		results := map[model.PollResult]int{}
		for over := false; !over; {
			select {
			case o := <-out:
				if poll, ok := o.Fact.(model.PollFact); ok {
					results[poll.Result]++
				}
			case err := <-done:
				over = true
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}
		}
		total := 0
		for _, host := range []string{"w11", "w12", "w21", "w22"} {
			total += b.site.asked[host+":8042"] + b.site.asked[host+":9864"]
			if n := b.site.asked[host+":8042"]; n < 8 {
				t.Errorf("%s was asked %d times", host, n)
			}
		}
		if total > 2*60+2 || results[model.PollBudget] < 15 || results[model.PollBudget]+results[model.PollOK] < 28 {
			t.Errorf("%d requests, polls %v", total, results)
		}
	})
}
