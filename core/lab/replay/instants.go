package replay

import (
	"iter"
	"math"

	"heddle/core/model"
	"heddle/core/trace"
)

// every is how often a service samples and plans by default.
const every = model.Second

// silent is the longest time between two records within which instants are assumed: a service
// that runs records something every second, so it was not running, or its clock was set.
const silent = 60 * model.Minute

// assumeInstants puts samples and rounds into records that do not say when the service
// made them, as those of format 1: one of each a second, as a service does by default.
func assumeInstants(h *trace.Header, records iter.Seq2[trace.Record, error]) iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		next := h.Start
		for rec, err := range records {
			if err != nil {
				yield(rec, err)
				return
			}
			if rec.At < next.Add(-silent) || rec.At > next.Add(silent) {
				next = rec.At
			}
			for ; next <= rec.At && next < math.MaxInt64-model.Time(every); next = next.Add(every) {
				if !yieldInstant(next, rec.Seq, yield) {
					return
				}
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// yieldInstant yields a sample and a round.
func yieldInstant(at model.Time, seq uint64, yield func(trace.Record, error) bool) bool {
	for _, f := range [...]model.Fact{model.SampleFact{}, model.RoundFact{}} {
		o := model.Observation{Source: model.SourceService, At: at, Fact: f}
		if !yield(trace.Record{Seq: seq, At: at, Observation: &o}, nil) {
			return false
		}
	}
	return true
}
