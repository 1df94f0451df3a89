package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/metrics"
	"heddle/metrics/internal/sample"
)

// TestRelay: what the relay publishes is exported as it is, steered containers
// by the action in force, and only those that still wait.
func TestRelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.relay = sample.Relay(3, start)
	r.now = start + 500
	d := r.dump(t)
	want(t, d, `heddle_relay_enforcing`, 1)
	want(t, d, `heddle_relay_connections{kind="plain"}`, 4)
	want(t, d, `heddle_relay_connections{kind="blind"}`, 1)
	want(t, d, `heddle_relay_accepted_connections_total`, 7)
	want(t, d, `heddle_relay_attempts`, 3)
	want(t, d, `heddle_relay_asks_rewritten_total{action="pin"}`, 60)
	want(t, d, `heddle_relay_asks_rewritten_total{action="repeat"}`, 18)
	want(t, d, `heddle_relay_passthrough_total{cause="no_plan"}`, 0)
	want(t, d, `heddle_relay_passthrough_total{cause="site"}`, 33)
	want(t, d, `heddle_relay_steered_containers{action="pin"}`, 12)
	want(t, d, `heddle_relay_steered_containers{action="trim"}`, 3)
	want(t, d, `heddle_relay_steered_containers{action="hold"}`, 2)
	want(t, d, `heddle_relay_steered_containers{action="next_rack"}`, 0)
	want(t, d, `heddle_relay_oldest_steered_ask_seconds`, 12.5)
	want(t, d, `heddle_relay_refused_connections_total{cause="connections"}`, 3)
	want(t, d, `heddle_relay_refused_connections_total{cause="idle"}`, 18)
	want(t, d, `heddle_relay_unauthenticated_connections`, 2)
	want(t, d, `heddle_relay_faults_total`, 1)
	want(t, d, `heddle_relay_forgotten_answers_total`, 15)
	want(t, d, `heddle_relay_allocate_seconds_bucket{le="1e-05"}`, 3*14)
	want(t, d, `heddle_relay_allocate_seconds_bucket{le="1"}`, 3*(14*15/2-1))
	want(t, d, `heddle_relay_allocate_seconds_count`, 3*14*15/2)
	want(t, d, `heddle_relay_allocate_seconds_sum`, 0.75)
}

// TestIdleRelay: a relay that has done nothing exports every series at 0.
func TestIdleRelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.relay = &model.Relay{}
	d := r.dump(t)
	for _, a := range model.Actions() {
		want(t, d, fmt.Sprintf(`heddle_relay_asks_rewritten_total{action=%q}`, a), 0)
	}
	for _, c := range model.PassCauses() {
		want(t, d, fmt.Sprintf(`heddle_relay_passthrough_total{cause=%q}`, c), 0)
	}
	for _, c := range model.RefuseCauses() {
		want(t, d, fmt.Sprintf(`heddle_relay_refused_connections_total{cause=%q}`, c), 0)
	}
	for _, series := range []string{`unauthenticated_connections`, `enforcing`, `connections{kind="plain"}`, `connections{kind="blind"}`, `attempts`, `oldest_steered_ask_seconds`, `steered_containers{action="hold"}`, `allocate_seconds_count`, `faults_total`, `forgotten_answers_total`} {
		want(t, d, "heddle_relay_"+series, 0)
	}
}

// TestNoRelayNoMetrics: without a relay, or before it runs, nothing is exported of it.
func TestNoRelayNoMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	if d := r.dump(t); strings.Contains(d, "heddle_relay_") {
		t.Errorf("a relay that does not run:\n%s", d)
	}
	none := &rig{reg: prometheus.NewRegistry()}
	_, err := metrics.New(none.reg, metrics.Options{
		Snapshot: func() *snapshot.Snapshot { return nil }, Now: time.Now, Policy: func() string { return "" }, ConfigHash: func() string { return "h" },
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := none.dump(t); strings.Contains(d, "heddle_relay_") {
		t.Errorf("no relay:\n%s", d)
	}
}
