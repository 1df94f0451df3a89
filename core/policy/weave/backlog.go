package weave

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/topology"
)

// sums are bytes over each rack's uplink, by rack number.
type sums struct {
	down []float64 // into the rack
	up   []float64 // out of it
}

func (s *sums) reset(racks int) { s.down, s.up = zeroed(s.down, racks), zeroed(s.up, racks) }

func (s *sums) set(o *sums) { s.down, s.up = append(s.down[:0], o.down...), append(s.up[:0], o.up...) }

// backlogs are what running reduces have to fetch over each uplink, for a job those of the jobs up to it in the order. They
// are worked out every second; what is started in between counts for every job.
type backlogs struct {
	at     model.Time
	every  model.Duration
	number int    // counts the times they were worked out
	upTo   []sums // for the first jobs that have reduces to start
	kept   int    // of upTo
	all    sums   // for the jobs after these
	since  sums   // of the reduces that were started since
}

// mostKept is for how many jobs backlogs are kept apart. Those after them in the order count what is before the last of them.
const mostKept = 64

// refresh works the backlogs out if it is time.
func (r *rule) refresh(in *policy.Input) {
	v, b := in.View, &r.backlogs
	racks := len(v.Racks())
	age := v.Now().Sub(b.at)
	if b.number > 0 && len(b.since.down) == racks && age >= 0 && age < b.every {
		return
	}
	if policy.Save(in.Journal, b); in.Journal.Asking() {
		b.upTo, b.all, b.since = nil, sums{}, sums{}
	}
	b.at, b.kept = v.Now(), 0
	b.number++
	b.every = max(model.Second, model.Duration(float64(len(r.fetching.rows)*racks)/1e6*float64(model.Second)))
	b.all.reset(racks)
	b.since.reset(racks)
	next := 0
	for i := range r.asking.rows {
		a := r.asking.rows[i]
		if b.kept == mostKept {
			break
		}
		if a.e.size.shuffle <= 0 || a.e.job.Reduce.Pending == 0 || !startsReduces(a.e.job) {
			continue
		}
		for ; next < len(r.fetching.rows) && compareRows(a, r.fetching.rows[next]) >= 0; next++ {
			addFetches(r, v, r.fetching.rows[next].e)
		}
		if b.kept == len(b.upTo) {
			b.upTo = append(b.upTo, sums{})
		}
		b.upTo[b.kept].set(&b.all)
		policy.Save(in.Journal, &a.e.gate)
		a.e.gate.kept, a.e.gate.number = b.kept, b.number
		b.kept++
	}
	if b.kept < mostKept {
		for ; next < len(r.fetching.rows); next++ {
			addFetches(r, v, r.fetching.rows[next].e)
		}
	}
}

// addFetches adds what a job's running reduces still fetch over each uplink. A reduce fetches from each rack the part of the
// map output that is there.
func addFetches(r *rule, v state.View, e *entry) {
	r.expect(v, e)
	j, x, to := e.job, &e.expected, &r.backlogs.all
	if x.total <= 0 || e.size.reduces == 0 {
		return
	}
	running := float64(j.Reduce.Running)
	each := e.size.shuffle / float64(e.size.reduces)
	fetched := float64(j.Predict().Fetched)
	left := min((running+float64(j.Reduce.Completed))*each-fetched, running*each)
	if left <= 0 {
		return
	}
	for rack, here := range x.output {
		part := 0.0
		if run := j.Reduce.Launched(rack) - topology.At(j.Reduce.CompletedByRack(), rack); run > 0 {
			part = float64(run) / running
			to.down[rack] += left * part * (1 - here/x.total)
		}
		to.up[rack] += left * max(1-part, 0) * here / x.total
	}
}

// started adds what a reduce fetches that is started on the offered rack.
func (b *backlogs) started(in *policy.Input, e *entry) {
	x := &e.expected
	if x.total <= 0 || len(b.since.down) != len(x.output) {
		return
	}
	if policy.Save(in.Journal, &b.since); in.Journal.Asking() {
		was := b.since
		b.since = sums{}
		b.since.set(&was)
	}
	here := in.Offer.Node.Rack.Index
	each := e.size.shuffle / float64(max(e.size.reduces, 1))
	b.since.down[here] += each * (1 - x.output[here]/x.total)
	for rack, m := range x.output {
		if rack != here {
			b.since.up[rack] += each * m / x.total
		}
	}
}

// gate is what was found last of whether the uplinks let a job's reduces start.
type gate struct {
	number, kept int     // of backlogs: when the job's was kept, and where
	looked       int     // number of backlogs when the following was found
	sources      float64 // bytes of map output times the seconds that its racks' uplinks have to carry, over all racks
}

// of returns the backlog of the jobs up to one.
func (b *backlogs) of(g *gate) *sums {
	if g.number == b.number && g.kept < b.kept {
		return &b.upTo[g.kept]
	}
	return &b.all
}

// admits reports whether a reduce may be started on the offered rack as far as the uplinks go, or has waited for them AdmitMaxS.
func (r *rule) admits(in *policy.Input, e *entry) bool {
	if r.hasRoom(e, in.Offer.Node.Rack.Index) {
		return true
	}
	now, w := in.View.Now(), &e.waits.admission
	if !w.On || w.Since > now {
		*in.Journal.Edit(w) = policy.Wait{On: true, Since: now}
	}
	return now.Sub(w.Since) >= model.Duration(r.params.AdmitMaxS*float64(model.Second))
}

// hasRoom reports whether what the uplinks of a reduce on a rack have to carry for the jobs up to its own takes less than AdmitS,
// or less than the reduce's own bytes a few times. The uplinks of racks with map output count by their mean weighted with it, and
// not by the slowest: a reduce that waits for one source fetches from the others.
func (r *rule) hasRoom(e *entry, rack int) bool {
	if r.params.AdmitS <= 0 || len(r.backlogs.since.down) != len(e.expected.output) {
		return true
	}
	policy.Save(r.journal, &e.gate)
	own := e.size.shuffle / float64(e.size.reduces) / r.cluster.uplink[rack]
	return !r.backlogs.busier(e, rack, max(r.params.AdmitS, r.params.AdmitReduces*own), &r.cluster)
}

// busier reports whether uplinks have more than so many seconds to carry for the jobs up to one whose reduce would be
// started on a rack. What they carry only grows until it is worked out anew, so that a job for which it was too much once need
// not be looked at again.
func (b *backlogs) busier(e *entry, here int, limit float64, c *cluster) bool {
	x, since, g := &e.expected, &b.since, &e.gate
	before := b.of(g)
	if x.output[here] < x.total*(1-1e-9) && (before.down[here]+since.down[here])/c.uplink[here] > limit {
		return true
	}
	elsewhere := x.total - x.output[here]
	if elsewhere <= x.total*1e-9 {
		return false
	}
	own := x.output[here] * (before.up[here] + since.up[here]) / c.uplink[here]
	if g.looked == b.number && (g.sources-own)/elsewhere > limit {
		return true
	}
	g.sources, g.looked = 0, b.number
	for s, m := range x.output {
		if m > 0 && c.uplink[s] > 0 {
			g.sources += m * (before.up[s] + since.up[s]) / c.uplink[s]
		}
	}
	return (g.sources-own)/elsewhere > limit
}

func zeroed(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	s = s[:n]
	clear(s)
	return s
}
