package weave

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/topology"
)

// backlog is what running reduces still have to fetch, in bytes by rack number.
type backlog struct {
	down []float64 // into the rack
	up   []float64 // out of it
}

func (b *backlog) reset(racks int) {
	b.down, b.up = zeroed(b.down, racks), zeroed(b.up, racks)
}

func (b *backlog) add(o *backlog) {
	for r := range o.down {
		b.down[r] += o.down[r]
		b.up[r] += o.up[r]
	}
}

// set works out what a job's running reduces still fetch over each uplink, and reports whether that is anything. A reduce
// fetches from each rack the part of the map output that is there.
func (b *backlog) set(e *entry) bool {
	j := e.job
	running := float64(j.Reduce.Running)
	if running == 0 || e.expected.total <= 0 || e.size.reduces == 0 {
		return false
	}
	each := e.size.shuffle / float64(e.size.reduces)
	fetched := float64(j.Predict().Fetched)
	left := min((running+float64(j.Reduce.Completed))*each-fetched, running*each)
	if left <= 0 {
		return false
	}
	b.reset(len(e.expected.output))
	for to, here := range e.expected.output {
		run := float64(j.Reduce.Launched(to) - topology.At(j.Reduce.CompletedByRack(), to))
		if run <= 0 {
			continue
		}
		bytes := left * run / running
		b.down[to] += bytes * (1 - here/e.expected.total)
		for from, m := range e.expected.output {
			if from != to {
				b.up[from] += bytes * m / e.expected.total
			}
		}
	}
	return true
}

// admits reports whether a reduce may be started on the offered rack as far as the uplinks go: what they have to carry for
// the jobs up to its own takes less than AdmitS, or less than the reduce's own bytes a few times. The uplinks of
// racks with map output count by their mean weighted with it, and not by the slowest: a reduce that waits for one source
// fetches from the others.
func (r *rule) admits(in *policy.Input, e *entry) bool {
	if r.params.AdmitS <= 0 {
		return true
	}
	here := in.Offer.Node.Rack.Index
	wait := 0.0
	if e.expected.output[here] < e.expected.total*(1-1e-9) {
		wait = r.before.down[here] / r.cluster.uplink[here]
	}
	weighted, weight := 0.0, 0.0
	for s, m := range e.expected.output {
		if s != here && m > 0 && r.cluster.uplink[s] > 0 {
			weighted += m * r.before.up[s] / r.cluster.uplink[s]
			weight += m
		}
	}
	if weight > 0 {
		wait = max(wait, weighted/weight)
	}
	own := e.size.shuffle / float64(e.size.reduces) / r.cluster.uplink[here]
	if wait <= max(r.params.AdmitS, r.params.AdmitReduces*own) {
		return true
	}
	now, w := in.View.Now(), &e.admission
	if !w.On || w.Since > now {
		*in.Journal.Edit(w) = policy.Wait{On: true, Since: now}
	}
	return now.Sub(w.Since) >= model.Duration(r.params.AdmitMaxS*float64(model.Second))
}

func zeroed(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	s = s[:n]
	clear(s)
	return s
}
