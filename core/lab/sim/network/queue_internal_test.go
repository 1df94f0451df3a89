package network

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
)

// drawQueue returns a queue with flows whose ends are to be known, some of which
// were given more bytes later.
func drawQueue(t *rapid.T) (*queue, []flow) {
	flows := make([]flow, rapid.IntRange(1, 6).Draw(t, "flows"))
	q := &queue{at: 7, limit: rapid.Float64Range(0.1, 10).Draw(t, "limit"), rate: rapid.Float64Range(0, 50).Draw(t, "rate")}
	for i := range flows {
		flows[i] = flow{weight: rapid.Float64Range(1e-6, 9).Draw(t, "weight"), slot: idle, watched: true}
		q.insert(flows, toInt32(i), model.Bytes(rapid.IntRange(0, 5000).Draw(t, "bytes")))
		q.watchedFlows++
	}
	for i := range flows {
		if rapid.Bool().Draw(t, "more") {
			q.addBytes(&flows[i], model.Bytes(rapid.IntRange(1, 5000).Draw(t, "added")))
		}
	}
	return q, flows
}

// An end that comes by a time is told as it is, and no later one as an earlier.
func TestEndsByATime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, flows := drawQueue(t)
		want := q.ends(flows, 1<<40)
		by := q.at + model.Time(rapid.IntRange(0, 3000).Draw(t, "by"))
		if got := q.ends(flows, by); got != want && (want <= by || got != never) {
			t.Errorf("the first end by %d is at %d, want %d", by, got, want)
		}
	})
}
