package metrics_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/metrics"
	"heddle/metrics/internal/sample"
)

var update = flag.Bool("update", false, "write testdata and docs anew")

const start = model.Time(1_700_000_100_000)

// rig is a collector with the snapshot, the clock and the policy in the test's hands.
type rig struct {
	*metrics.Collector
	reg    *prometheus.Registry
	snap   *snapshot.Snapshot
	relay  *model.Relay
	now    model.Time
	policy string
}

func newRig(tb testing.TB, pairs int) *rig {
	tb.Helper()
	r := &rig{reg: prometheus.NewRegistry(), now: start, policy: sample.Policy}
	var err error
	r.Collector, err = metrics.New(r.reg, metrics.Options{
		Snapshot: func() *snapshot.Snapshot { return r.snap }, Relay: func() *model.Relay { return r.relay },
		Linked: func() (linked, wanted bool) { return true, r.relay != nil }, Now: func() time.Time { return time.UnixMilli(int64(r.now)) },
		Policy: func() string { return r.policy }, ConfigHash: func() string { return "5f2a9c" },
		Version: "0.1.0", Revision: "abcdef0", Pairs: pairs,
		Sources: []model.Source{model.SourceRM, model.SourceMapReduce, model.SourceHistory, model.SourceHDFS, model.SourceUplink},
		Queues:  []string{"observations", "recorder"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// fataler is what rapid.T and testing.TB share.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// dump scrapes heddle's own metrics.
func (r *rig) dump(t fataler) string {
	t.Helper()
	w := httptest.NewRecorder()
	metrics.Handler(r.reg, hclog.NewNullLogger()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: status %d: %s", w.Code, w.Body)
	}
	var out strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "heddle_") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// value returns one series of a dump; ok is false when it is not there.
func value(dump, series string) (v float64, ok bool) {
	for line := range strings.Lines(dump) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			_, err := fmt.Sscan(rest, &v)
			return v, err == nil
		}
	}
	return 0, false
}

func want(t fataler, dump, series string, v float64) {
	t.Helper()
	if got, ok := value(dump, series); !ok || got != v {
		t.Errorf("%s = %v (there: %v), want %v", series, got, ok, v)
	}
}

func compareFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), got); diff != "" {
		t.Errorf("%s is not what the code gives (run with -update if it should be); -file +code:\n%s", path, diff)
	}
}

// TestGolden: the whole dump of a small cluster, byte by byte. Dashboards and
// rules are checked against this file.
func TestGolden(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	c := sample.New(start)
	for i := range 3 {
		r.now = start.Add(model.Duration(i) * model.Second)
		r.snap = c.Step(r.now)
	}
	r.relay = sample.Relay(3, r.now)
	r.now = r.now.Add(1500 * model.Millisecond)
	r.Round(sample.Policy, 700*time.Microsecond)
	r.QueueFull("observations")
	got := regexp.MustCompile(`goversion="[^"]*"`).ReplaceAllString(r.dump(t), `goversion="go"`)
	compareFile(t, "testdata/metrics.prom", got)

	want(t, got, `heddle_source_age_seconds{source="rm"}`, 1.5)
	want(t, got, `heddle_source_up{source="mapreduce"}`, 1)
	want(t, got, `heddle_source_up{source="history"}`, 0)
	want(t, got, `heddle_source_up{source="uplink"}`, 0)
	want(t, got, `heddle_polls_total{result="budget",source="mapreduce"}`, 3)
	want(t, got, `heddle_poll_duration_seconds_bucket{source="rm",le="0.05"}`, 3)
	want(t, got, `heddle_poll_duration_seconds_bucket{source="rm",le="0.025"}`, 0)
	want(t, got, `heddle_rack_nodes{rack="/dc1/rack3",state="lost"}`, 1)
	want(t, got, `heddle_rack_nodes{rack="/dc1/rack1",state="decommissioning"}`, 1)
	want(t, got, `heddle_rack_memory_bytes{rack="/dc1/rack3",use="total"}`, 3*8192*1024*1024)
	want(t, got, `heddle_hosts_without_rack`, 1)
	want(t, got, `heddle_rack_mismatches`, 1)
	want(t, got, `heddle_decisions_total{policy="shufflewatcher",reason="map_output"}`, 3)
	want(t, got, `heddle_rejected_placements_total{policy="shufflewatcher",rule="capacity"}`, 3)
	want(t, got, `heddle_regret_bytes_total{direction="saved",policy="shufflewatcher"}`, 3*8*1024*1024)
	want(t, got, `heddle_granted_reduces_total{policy="shufflewatcher",verdict="no_output"}`, 6)
	want(t, got, `heddle_regret_bytes_total{direction="lost",policy="nas"}`, 3*2*1024*1024)
	want(t, got, `heddle_shadow_skipped_total{policy="nas"}`, 3)
	want(t, got, `heddle_queue_full_total{queue="recorder"}`, 0)
	want(t, got, `heddle_round_duration_seconds_bucket{policy="shufflewatcher",le="0.001"}`, 1)
}

func TestNamesPassLint(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.snap, r.relay = sample.New(start).Step(start), sample.Relay(1, start)
	r.Round(sample.Policy, time.Millisecond)
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestDesignNames: names that dashboards of others may depend on are there,
// with exactly their labels.
func TestDesignNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	c := sample.New(start)
	c.Step(start)
	r.snap, r.relay = c.Step(start+1000), sample.Relay(2, start+1000)
	r.Round(sample.Policy, time.Millisecond)
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = strings.Join(labels, ",")
	}
	for name, labels := range map[string]string{
		"heddle_build_info": "goversion,revision,version", "heddle_config_info": "hash", "heddle_source_up": "source",
		"heddle_source_age_seconds": "source", "heddle_polls_total": "result,source", "heddle_poll_bytes_total": "source",
		"heddle_poll_duration_seconds": "source", "heddle_rack_nodes": "rack,state", "heddle_rack_memory_bytes": "rack,use",
		"heddle_rack_vcores": "rack,use", "heddle_rack_containers": "kind,rack",
		"heddle_rack_uplink_capacity_bytes_per_second": "rack", "heddle_rack_uplink_bytes_per_second": "direction,rack,source",
		"heddle_rack_uplink_utilization_ratio": "direction,rack", "heddle_rack_saturated": "rack",
		"heddle_cross_rack_bytes_total": "dst_rack,kind,src_rack", "heddle_hdfs_blocks": "rack",
		"heddle_containers_allocated_total": "locality", "heddle_decisions_total": "policy,reason",
		"heddle_round_duration_seconds": "policy", "heddle_rejected_placements_total": "policy,rule",
		"heddle_regret_bytes_total": "direction,policy", "heddle_granted_reduces_total": "policy,verdict", "heddle_shadow_skipped_total": "policy", "heddle_queue_full_total": "queue",
		"heddle_relay_connections": "kind", "heddle_relay_allocate_seconds": "", "heddle_relay_asks_rewritten_total": "action",
		"heddle_relay_passthrough_total": "cause",
		"heddle_rack_mismatches":         "", "heddle_hosts_without_rack": "", "heddle_clock_jumps_total": "", "heddle_resourcemanager_restarts_total": "",
	} {
		if labels2, ok := got[name]; !ok || labels2 != labels {
			t.Errorf("%s{%s} (there: %v), want labels %q", name, labels2, ok, labels)
		}
	}
}

func TestBeforeTheFirstSnapshot(t *testing.T) {
	t.Parallel()
	d := newRig(t, 0).dump(t)
	want(t, d, `heddle_source_up{source="rm"}`, 0)
	want(t, d, `heddle_config_info{hash="5f2a9c"}`, 1)
	if strings.Contains(d, "heddle_source_age_seconds{") || strings.Contains(d, "heddle_rack_nodes{") {
		t.Errorf("figures of a cluster nobody has read:\n%s", d)
	}
}

// TestWhatIsGoneLeavesNoSeries: a rack that lost its nodes and an uplink figure
// of another source disappear at the next scrape.
func TestWhatIsGoneLeavesNoSeries(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.snap = &snapshot.Snapshot{Seq: 1, Racks: []snapshot.Rack{
		{ID: "/a", Nodes: map[model.NodeState]int{model.NodeRunning: 1}, Uplink: snapshot.Uplink{Method: state.MethodPrometheus, CapacityIn: 8, CapacityOut: 4, Out: 2}},
		{ID: "/b", HDFSBlocks: 3},
	}}
	d := r.dump(t)
	want(t, d, `heddle_rack_uplink_bytes_per_second{direction="out",rack="/a",source="prometheus"}`, 2)
	want(t, d, `heddle_rack_uplink_utilization_ratio{direction="out",rack="/a"}`, 0.5)
	want(t, d, `heddle_rack_uplink_capacity_bytes_per_second{rack="/a"}`, 4)
	want(t, d, `heddle_rack_nodes{rack="/b",state="running"}`, 0)

	r.snap = &snapshot.Snapshot{Seq: 2, Racks: []snapshot.Rack{
		{ID: "/a", Nodes: map[model.NodeState]int{model.NodeRunning: 1}, Uplink: snapshot.Uplink{Method: state.MethodEstimate}},
		{ID: "/b"},
	}}
	d = r.dump(t)
	want(t, d, `heddle_rack_uplink_bytes_per_second{direction="out",rack="/a",source="estimate"}`, 0)
	for _, gone := range []string{`source="prometheus"`, `rack="/b"`, "utilization_ratio{", "capacity_bytes_per_second{"} {
		if strings.Contains(d, gone) {
			t.Errorf("%s is still there:\n%s", gone, d)
		}
	}
}

// TestCountersFollowThePolicy: what is decided after the policy was changed is
// counted under the new name, and the old series stay where they were.
func TestCountersFollowThePolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.policy = "fair"
	r.snap = &snapshot.Snapshot{Seq: 1, Counts: snapshot.Counts{DecidedByReason: map[model.Reason]int64{model.ReasonRankOnly: 4}}}
	r.dump(t)
	r.policy = "delay"
	r.snap = &snapshot.Snapshot{Seq: 2, Counts: snapshot.Counts{DecidedByReason: map[model.Reason]int64{model.ReasonRankOnly: 9}}}
	d := r.dump(t)
	want(t, d, `heddle_decisions_total{policy="fair",reason="rank_only"}`, 4)
	want(t, d, `heddle_decisions_total{policy="delay",reason="rank_only"}`, 5)
	if d2 := r.dump(t); d2 != d {
		t.Errorf("a second scrape of one snapshot differs:\n%s", cmp.Diff(d, d2))
	}
}

// TestObserveModeHasNoDecisions: no policy, no policy label.
func TestObserveModeHasNoDecisions(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.policy = ""
	r.snap = &snapshot.Snapshot{Seq: 1}
	if d := r.dump(t); strings.Contains(d, `policy=`) {
		t.Errorf("a policy label without a policy:\n%s", d)
	}
}

func TestRegisteringTwiceIsAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	if _, err := metrics.New(r.reg, metrics.Options{}); err == nil || !strings.Contains(err.Error(), "register metrics") {
		t.Errorf("error %v, want one about registering", err)
	}
}

// TestScrapeFailureIsAnError: a scrape that is not complete is no 200.
func TestScrapeFailureIsAnError(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	d := prometheus.NewDesc("broken", "Always broken.", nil, nil)
	reg.MustRegister(prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		ch <- prometheus.NewInvalidMetric(d, os.ErrInvalid)
	}))
	var log strings.Builder
	w := httptest.NewRecorder()
	metrics.Handler(reg, hclog.New(&hclog.LoggerOptions{Output: &log})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(log.String(), "scrape is not complete") {
		t.Errorf("status %d, log %q", w.Code, log.String())
	}
}
