package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// TestGuardedQueues: of many queues 100 have series, those first where steering is off; what is not known has none.
func TestGuardedQueues(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.snap = &snapshot.Snapshot{Seq: 1}
	for i := range 150 {
		r.snap.Guard.Queues = append(r.snap.Guard.Queues, snapshot.GuardedQueue{Queue: model.QueueID(fmt.Sprintf("root.%03d", i)), Chance: 1, Off: i == 149})
	}
	r.snap.Guard.Queues[3].Steered, r.snap.Guard.Queues[3].Predicted = 12, -0.25
	r.snap.Guard.Queues[4].Chance, r.snap.Guard.Queues[4].Measured = 0.5, 0.125
	d := r.dump(t)
	want(t, d, `heddle_guard_off{queue="root.149"}`, 1)
	want(t, d, `heddle_guard_off{queue="root.098"}`, 0)
	want(t, d, `heddle_guard_predicted_loss_ratio{queue="root.003"}`, -0.25)
	want(t, d, `heddle_guard_measured_loss_ratio{queue="root.004"}`, 0.125)
	for series, n := range map[string]int{"heddle_guard_off{": 100, "heddle_guard_trips_total{": 100, "heddle_guard_predicted_loss_ratio{": 1, "heddle_guard_measured_loss_ratio{": 1} {
		if got := strings.Count(d, series); got != n {
			t.Errorf("%d series of %s, want %d", got, series, n)
		}
	}
	if r.snap.Guard.Queues[0].Off || r.snap.Guard.Queues[99].Queue != "root.099" {
		t.Error("the snapshot was changed")
	}
}
