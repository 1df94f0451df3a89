package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/metrics"
)

// bigSnapshot has 200 racks, and traffic of every kind on all 40,000 pairs.
func bigSnapshot(seq uint64) *state.Snapshot {
	const racks = 200
	s := &state.Snapshot{Seq: seq, At: start, Traffic: state.Traffic{Bytes: map[state.TrafficKind][][]float64{}}}
	for i := range racks {
		id := model.RackID(fmt.Sprintf("/dc1/rack%03d", i))
		s.Traffic.Racks = append(s.Traffic.Racks, id)
		s.Racks = append(s.Racks, state.RackView{
			ID: id, Nodes: map[model.NodeState]int{model.NodeRunning: 25}, Total: model.Resource{MemoryMiB: 1 << 20, VCores: 800},
			Used: model.Resource{MemoryMiB: int64(i) << 10, VCores: int64(i)}, Containers: map[model.Stage]int{model.StageMap: i}, HDFSBlocks: 1000,
			Uplink: state.UplinkView{CapacityOut: 125e6, CapacityIn: 125e6, Out: 1e6, In: 2e6, Method: state.MethodEstimate},
		})
	}
	for k, kind := range state.TrafficKinds() {
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
		s.Sources = append(s.Sources, state.SourceView{Source: src, LastOK: start, Result: model.PollOK, Buckets: make([]int64, len(state.DurationBuckets())+1)})
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
	snaps := []*state.Snapshot{bigSnapshot(1), bigSnapshot(2)}
	h := metrics.Handler(r.reg, hclog.NewNullLogger())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.snap = snaps[i%2]
		if scrape(h) == 0 {
			b.Fatal("empty scrape")
		}
	}
}

// TestScrapeIsQuick holds the median scrape at 200 racks to five times the
// target of 20 ms: what a busy machine may add, not what a wrong algorithm would.
func TestScrapeIsQuick(t *testing.T) {
	r := newRig(t, 0)
	r.snap = bigSnapshot(1)
	h := metrics.Handler(r.reg, hclog.NewNullLogger())
	var took []time.Duration
	for range 9 {
		begin := time.Now()
		scrape(h)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	if m := took[len(took)/2]; m > 100*time.Millisecond {
		t.Errorf("median scrape took %v, want at most 100ms", m)
	}
	if n := len(series(t, r.dump(t))); n > metrics.DefaultPairs+1 {
		t.Errorf("%d series of rack pairs, want at most %d and other", n, metrics.DefaultPairs)
	}
}
