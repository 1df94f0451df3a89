package state

import "heddle/core/model"

// Methods by which uplink load is known (design 5). Loads of the methods other
// than MethodEstimate arrive as model.UplinkFact.
const (
	MethodEstimate   = "estimate"
	MethodShuffleJMX = "shuffle-jmx"
	MethodPrometheus = "prometheus"
)

// Advance samples every rack's uplink at now and sets NetSat's flags. It is to
// be called once per SaturationParams.Period.
func (c *Cluster) Advance(now model.Time) {
	c.advanceClock(now)
	out, in := c.jobs.rates(c.now, len(c.nodes.racks))
	for i, r := range c.nodes.racks {
		estimate := model.UplinkSample{Out: model.BytesPerSecond(out[i]), In: model.BytesPerSecond(in[i])}
		if !r.sample(&c.cfg, c.now, estimate) {
			c.counts.EstimatedLoads++
		}
	}
}

// sample takes the load of a rack's uplink at now, by the configured method
// while that is fresh, else the estimate. It returns whether it was the
// configured one.
func (r *Rack) sample(cfg *Config, now model.Time, load model.UplinkSample) (asConfigured bool) {
	r.Method = MethodEstimate
	if cfg.UplinkMethod != MethodEstimate && r.at != 0 && now.Sub(r.at) <= cfg.UplinkMaxAge {
		load, r.Method = r.sampled, cfg.UplinkMethod
	}
	r.Load.Sample(cfg.Saturation, now, load.Out, load.In)
	r.Utilization = r.Load.Judge(cfg.Saturation, r.Link.Out, r.Link.In)
	return r.Method == cfg.UplinkMethod
}

// rates sums the rates of the live jobs whose counters are fresh, in bytes/s
// leaving and entering each rack.
func (x *jobIndex) rates(now model.Time, racks int) (out, in []float64) {
	out, in = make([]float64, racks), make([]float64, racks)
	for _, j := range x.live {
		if now.Sub(j.moved.at) > x.cfg.UplinkMaxAge {
			continue
		}
		for r, v := range j.moved.rateOut {
			out[r] += v
		}
		for r, v := range j.moved.rateIn {
			in[r] += v
		}
	}
	return out, in
}

func (x *nodeIndex) applyUplink(at model.Time, f model.UplinkFact) {
	for _, s := range f.Samples {
		if _, ok := x.tree.Lookup(s.Rack); !ok {
			continue // a rack without nodes has no uplink to judge
		}
		r := x.rack(s.Rack)
		r.sampled, r.at = s, at
	}
}
