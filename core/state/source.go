package state

import (
	"maps"
	"slices"

	"heddle/core/model"
)

// DurationBuckets are the upper bounds of the poll duration histogram in
// seconds: 10 ms for one small answer to 60 s, past any sane timeout.
func DurationBuckets() []float64 {
	return []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

// sourceState is the health of one source.
type sourceState struct {
	polls    map[model.PollResult]int64
	bytes    int64
	requests int64
	sum      float64
	buckets  []int64 // not cumulative; one more than DurationBuckets
	lastOK   model.Time
	last     model.PollFact
}

// sourceIndex holds the sources that were polled.
type sourceIndex map[model.Source]*sourceState

func (x sourceIndex) applyPoll(src model.Source, at model.Time, f model.PollFact) {
	s := x[src]
	if s == nil {
		s = &sourceState{polls: map[model.PollResult]int64{}, buckets: make([]int64, len(DurationBuckets())+1)}
		x[src] = s
	}
	s.polls[f.Result]++
	s.bytes += int64(f.Bytes)
	s.requests += f.Requests
	seconds := float64(f.DurationMS) / 1000
	s.sum += seconds
	i := 0
	for b := DurationBuckets(); i < len(b) && seconds > b[i]; i++ {
	}
	s.buckets[i]++
	s.last = f
	if f.Result == model.PollOK || f.Result == model.PollBudget {
		s.lastOK = at
	}
}

// views returns the sources for a snapshot, in the order of model.Sources.
func (x sourceIndex) views() []SourceView {
	out := make([]SourceView, 0, len(x))
	for _, name := range model.Sources() {
		s := x[name]
		if s == nil {
			continue
		}
		out = append(out, SourceView{
			Source: name, LastOK: s.lastOK, Result: s.last.Result, Error: s.last.Error, Bytes: s.bytes, Requests: s.requests,
			Seconds: s.sum, Polls: maps.Clone(s.polls), Buckets: slices.Clone(s.buckets),
		})
	}
	return out
}

// setBack keeps good polls from lying ahead of a clock that was set back: they
// age from there on.
func (x sourceIndex) setBack(now model.Time) {
	for _, s := range x { // order-free: each on its own
		s.lastOK = min(s.lastOK, now)
	}
}
