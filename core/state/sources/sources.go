// Package sources keeps the health of the sources that heddle polls: when each
// last answered well, how long it took, and what went wrong last.
package sources

import (
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// Health is the health of every source that was polled. Make it with make or a
// literal.
type Health map[model.Source]*source

type source struct {
	polls    map[model.PollResult]int64
	bytes    int64
	requests int64
	seconds  float64    // sum of all durations
	buckets  []int64    // one more than snapshot.DurationBuckets, not cumulative
	lastOK   model.Time // 0 before the first good poll
	last     model.PollFact
}

// Apply counts one poll of a source.
func (h Health) Apply(name model.Source, at model.Time, f model.PollFact) {
	bounds := snapshot.DurationBuckets()
	s := h[name]
	if s == nil {
		s = &source{polls: map[model.PollResult]int64{}, buckets: make([]int64, len(bounds)+1)}
		h[name] = s
	}
	seconds := float64(f.DurationMS) / 1000
	bucket := slices.IndexFunc(bounds, func(bound float64) bool { return seconds <= bound })
	if bucket < 0 {
		bucket = len(bounds)
	}
	s.buckets[bucket]++
	s.seconds += seconds
	s.polls[f.Result]++
	s.bytes += int64(f.Bytes)
	s.requests += f.Requests
	s.last = f
	if f.Result == model.PollOK || f.Result == model.PollBudget {
		s.lastOK = at
	}
}

// Age returns how old a source's last good poll is at now; ok is false before
// the first one.
func (h Health) Age(name model.Source, now model.Time) (age model.Duration, ok bool) {
	s := h[name]
	if s == nil || s.lastOK == 0 {
		return 0, false
	}
	return max(now.Sub(s.lastOK), 0), true
}

// SetBack handles a clock that was set back to now: good polls that would lie
// in the future age from now on.
func (h Health) SetBack(now model.Time) {
	for _, s := range h { // order-free: each on its own
		s.lastOK = min(s.lastOK, now)
	}
}

// Snapshot returns the sources in the order of model.Sources.
func (h Health) Snapshot() []snapshot.Source {
	out := make([]snapshot.Source, 0, len(h))
	for _, name := range model.Sources() {
		s := h[name]
		if s == nil {
			continue
		}
		out = append(out, snapshot.Source{
			Source: name, LastOK: s.lastOK, Result: s.last.Result, Error: s.last.Error, Bytes: s.bytes, Requests: s.requests,
			Seconds: s.seconds, Polls: maps.Clone(s.polls), Buckets: slices.Clone(s.buckets),
		})
	}
	return out
}
