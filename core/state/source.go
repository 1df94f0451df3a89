package state

import (
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

func (c *Cluster) applyPoll(src model.Source, at model.Time, f model.PollFact) {
	s := c.sources[src]
	if s == nil {
		s = &sourceState{polls: map[model.PollResult]int64{}, buckets: make([]int64, len(DurationBuckets())+1)}
		c.sources[src] = s
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

// Age returns how old a source's last good poll is at now; ok is false before
// there was one. A decision on state older than its limit is not to be made.
func (v View) Age(src model.Source, now model.Time) (age model.Duration, ok bool) {
	s := v.c.sources[src]
	if s == nil || s.lastOK == 0 {
		return 0, false
	}
	return max(now.Sub(s.lastOK), 0), true
}
