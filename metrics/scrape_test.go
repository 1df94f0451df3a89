package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/metrics"
	"heddle/metrics/internal/sample"
)

// bigSnapshot has 200 racks, and traffic of every kind on all 40,000 pairs.
func bigSnapshot(seq uint64) *snapshot.Snapshot {
	const racks = 200
	s := &snapshot.Snapshot{Seq: seq, At: start, Traffic: snapshot.Traffic{Bytes: map[snapshot.TrafficKind][][]float64{}}}
	for i := range racks {
		id := model.RackID(fmt.Sprintf("/dc1/rack%03d", i))
		s.Traffic.Racks = append(s.Traffic.Racks, id)
		s.Racks = append(s.Racks, snapshot.Rack{
			ID: id, Nodes: map[model.NodeState]int{model.NodeRunning: 25}, Total: model.Resource{MemoryMiB: 1 << 20, VCores: 800},
			Used: model.Resource{MemoryMiB: int64(i) << 10, VCores: int64(i)}, Containers: map[model.Stage]int{model.StageMap: i}, HDFSBlocks: 1000,
			Uplink: snapshot.Uplink{CapacityOut: 125e6, CapacityIn: 125e6, Out: 1e6, In: 2e6, Method: state.MethodEstimate},
		})
	}
	for k, kind := range snapshot.TrafficKinds() {
		rows := make([][]float64, racks)
		for src := range rows {
			rows[src] = make([]float64, racks)
			for dst := range rows[src] {
				rows[src][dst] = float64((src*dst)%977)*1e6 + float64(k) + float64(seq)
			}
		}
		s.Traffic.Bytes[kind] = rows
	}
	for _, src := range model.Sources() {
		s.Sources = append(s.Sources, snapshot.Source{Source: src, LastOK: start, Result: model.PollOK, Buckets: make([]int64, len(snapshot.DurationBuckets())+1)})
	}
	return s
}

func scrape(h http.Handler) int {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept-Encoding", "gzip") // as Prometheus does
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	n, _ := io.Copy(io.Discard, w.Body)
	return int(n)
}

// BenchmarkScrape is one scrape at 200 racks; the target is 20 ms.
func BenchmarkScrape(b *testing.B) {
	r := newRig(b, 0)
	snaps := []*snapshot.Snapshot{bigSnapshot(1), bigSnapshot(2)}
	h := metrics.Handler(r.reg, hclog.NewNullLogger())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.snap = snaps[i%2]
		if scrape(h) == 0 {
			b.Fatal("empty scrape")
		}
	}
}

// TestScrapeCost holds the processor time of a scrape at 200 racks to 200 ms,
// ten times the target. Processor time does not depend on what else runs on
// the machine; BenchmarkScrape has the latency.
func TestScrapeCost(t *testing.T) { // not parallel: the time is the process's
	if raced {
		t.Skip("measures time: not with the race detector")
	}
	r := newRig(t, 0)
	r.snap = bigSnapshot(1)
	h := metrics.Handler(r.reg, hclog.NewNullLogger())
	const scrapes = 9
	before := processorTime(t)
	for range scrapes {
		scrape(h)
	}
	cost := (processorTime(t) - before) / scrapes
	t.Logf("%v of processor time a scrape", cost)
	if cost > 200*time.Millisecond {
		t.Errorf("a scrape costs %v of processor time, want at most 200 ms", cost)
	}
	if n := len(series(t, r.dump(t))); n > metrics.DefaultPairs+1 {
		t.Errorf("%d series of rack pairs, want at most %d and other", n, metrics.DefaultPairs)
	}
}

// processorTime returns what the process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestScrapesWhileThingsHappen: scrapes, rounds, full queues and new snapshots
// at the same time; no counter goes back between two scrapes of one scraper.
func TestScrapesWhileThingsHappen(t *testing.T) {
	t.Parallel()
	var snap atomic.Pointer[snapshot.Snapshot]
	reg := prometheus.NewRegistry()
	c, err := metrics.New(reg, metrics.Options{
		Snapshot: snap.Load, Now: time.Now, Policy: func() string { return sample.Policy }, ConfigHash: func() string { return "h" }, Pairs: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	cluster := sample.New(start)
	stop := make(chan struct{})
	var moving, scrapers sync.WaitGroup
	moving.Go(func() {
		for at := start; ; at += 1000 {
			select {
			case <-stop:
				return
			default:
			}
			snap.Store(cluster.Step(at))
			c.Round(sample.Policy, time.Millisecond)
			c.QueueFull("observations")
		}
	})
	for range 4 {
		scrapers.Go(func() {
			before := map[string]float64{}
			for range 50 {
				families, err := reg.Gather()
				if err != nil {
					t.Error(err)
					return
				}
				for _, f := range families {
					for _, m := range f.GetMetric() {
						name := f.GetName() + fmt.Sprint(m.GetLabel())
						if v := m.GetCounter().GetValue(); m.GetCounter() != nil && strings.HasPrefix(name, "heddle_") {
							if v < before[name] {
								t.Errorf("%s went back from %v to %v", name, before[name], v)
							}
							before[name] = v
						}
					}
				}
			}
		})
	}
	scrapers.Wait()
	close(stop)
	moving.Wait()
}
