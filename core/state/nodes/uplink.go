package nodes

import (
	"heddle/core/model"
	"heddle/core/shuffle"
)

// Methods by which uplink load is known (design 5). Loads of the methods other
// than MethodEstimate arrive as model.UplinkFact.
const (
	MethodEstimate   = "estimate"
	MethodShuffleJMX = "shuffle-jmx"
	MethodPrometheus = "prometheus"
)

// ApplyUplink stores the loads of racks' uplinks until the next sample. Racks that
// nothing else has named have no uplink to judge.
func (x *Index) ApplyUplink(at model.Time, f model.UplinkFact) {
	for _, s := range f.Samples {
		if r := x.Rack(s.Rack); r != nil {
			r.reported, r.reportedAt = s, at
		}
	}
}

// Sampling is how the load of uplinks is sampled.
type Sampling struct {
	Method     string         // one of the Method constants
	MaxAge     model.Duration // a reported load older than this falls back to the estimate
	Saturation shuffle.SaturationParams
}

// Sample samples the uplinks of racks at now: the reported load while it is fresh,
// else the estimate, bytes/s leaving and entering by rack number. It returns how
// many racks fell back to the estimate although another method is configured.
func (s *Sampling) Sample(racks []*Rack, now model.Time, out, in []float64) (estimated int64) {
	for i, r := range racks {
		load := model.UplinkSample{Out: model.BytesPerSecond(out[i]), In: model.BytesPerSecond(in[i])}
		r.Method = MethodEstimate
		if s.Method != MethodEstimate && r.reportedAt != 0 && now.Sub(r.reportedAt) <= s.MaxAge {
			load, r.Method = r.reported, s.Method
		}
		r.Load.Sample(s.Saturation, now, load.Out, load.In)
		r.Utilization = r.Load.Judge(s.Saturation, r.Link.Out, r.Link.In)
		if r.Method != s.Method {
			estimated++
		}
	}
	return estimated
}
