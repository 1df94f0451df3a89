package replay

import (
	"iter"

	"heddle/core/model"
	"heddle/core/trace"
)

// every is how often a service samples and plans by default.
const every = model.Second

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
			for ; next <= rec.At; next = next.Add(every) {
				for _, f := range [...]model.Fact{model.SampleFact{}, model.RoundFact{}} {
					o := model.Observation{Source: model.SourceService, At: next, Fact: f}
					if !yield(trace.Record{Seq: rec.Seq, At: next, Observation: &o}, nil) {
						return
					}
				}
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}
