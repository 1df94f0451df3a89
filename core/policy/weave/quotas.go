package weave

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// expected is the map output that is expected on each rack once all maps are complete.
type expected struct {
	output []float64 // in bytes by rack number
	draws  []float64 // of a job with stages: the part of it that the reduces to come read
	total  float64
	from   facts
}

// facts are what is computed from them anew. Maps count by how many sixteenths of them were launched, and are complete.
type facts struct {
	computed           bool
	maps               int
	launched, complete int // sixteenths
	racks              uint64
	choice             int // version of the racks chosen
	shuffle            bool
	output             model.Bytes // reported once all maps are complete
	due, progress      int         // of a job's stages
	plain              bool        // it is known what the maps put out before that was compressed, of which output is predicted
}

// facts returns a job's facts as they are now.
func (e *entry) facts(racks uint64) facts {
	m := e.job.Map
	f := facts{computed: true, maps: e.size.maps, racks: racks, choice: e.racks.version, shuffle: e.size.shuffle > 0}
	f.complete = 16 * min(m.Completed, e.size.maps) / e.size.maps
	f.launched = 16 * min(m.Completed+m.Running, e.size.maps) / e.size.maps
	if e.job.Graph != nil {
		f.due, f.progress = e.stages.due, e.stages.progress
	}
	counters, _ := e.job.Counters()
	f.plain = counters.MapOutputPlain > 0
	if m.Completed >= e.size.maps {
		f.output = e.job.Output.Total
	}
	return f
}

// expect sets what is expected of a job, if its facts changed: as its launched maps tell, and before on the racks that were
// chosen, or where the input lies.
func (r *rule) expect(v state.View, e *entry) {
	share := r.racksOf(v, e).share
	now := e.facts(r.cluster.racks)
	x, racks := &e.expected, len(v.Racks())
	if x.from == now {
		return
	}
	if policy.Save(r.journal, x); r.journal.Asking() {
		x.output, x.draws = nil, nil
	}
	x.from = now
	policy.Save(r.journal, &e.gate)
	e.gate.looked = 0 // it was found with what was expected before
	x.output, x.total = zeroed(x.output, racks), 0
	if e.size.shuffle <= 0 {
		return
	}
	weights := r.forecast.weights[:0]
	sum := 0.0
	if e.job.ExpectOutput(&r.forecast.Forecast, racks) {
		weights = append(weights, r.forecast.ByRack...)
		sum = r.forecast.Total
	} else {
		for i := range racks {
			w := topology.At(share, i)
			if share == nil {
				w = float64(topology.At(e.job.Input.ByRack, i))
			}
			weights, sum = append(weights, w), sum+w
		}
		if sum <= 0 {
			weights, sum = append(weights[:0], r.cluster.memory...), r.cluster.all.memory
		}
	}
	r.forecast.weights = weights
	if e.job.Graph != nil {
		r.division.expectStages(e, racks, weights, sum)
		return
	}
	for i, w := range weights {
		x.output[i] = w / max(sum, 1e-9) * e.size.shuffle
		x.total += x.output[i]
	}
}

// quotas are how many of a job's reduces are wanted on each rack.
type quotas struct {
	counts  []int     // by rack number, which sum to the job's reduces, or those of its stages up to the ones in turn; empty while no output is expected
	before  []int     // of a job with stages, those that had been launched before
	n       int       // those that were divided
	draws   []float64 // bytes by rack number that a reduce saves its part of where it runs: map output there, and what dependents read there
	pulled  bool      // dependents made a difference
	version int       // counts the divisions
	reduces int
	from    facts
}

// quotasOf returns a job's quotas, computed anew when its facts or the number of its reduces changed.
func (r *rule) quotasOf(v state.View, e *entry) *quotas {
	q := &e.quotas
	r.expect(v, e)
	if q.from == e.expected.from && q.reduces == e.size.reduces {
		return q
	}
	if policy.Save(r.journal, q); r.journal.Asking() {
		q.counts, q.draws, q.before = nil, nil, nil
	}
	q.from, q.reduces = e.expected.from, e.size.reduces
	q.version++
	q.n = e.size.reduces
	if j := e.job; j.Graph != nil {
		q.before = append(q.before[:0], j.Reduce.LaunchedByRack()...)
		q.n = e.stages.due - sum(q.before)
	}
	if e.expected.total > 0 && q.n > 0 {
		r.division.divide(v, e, &r.cluster, r.params.Slack)
		for i, n := range q.before {
			if i < len(q.counts) {
				q.counts[i] += n
			}
		}
	} else {
		q.counts = q.counts[:0]
	}
	return q
}

// divide sets the counts, by the map output and by what dependents read.
func (d *division) divide(v state.View, e *entry, c *cluster, slack float64) {
	q := &e.quotas
	q.draws = append(q.draws[:0], e.expected.output...)
	d.output, d.total, d.uplink, d.n = q.draws, e.expected.total, c.uplink, q.n
	if e.job.Graph != nil {
		d.total = 0
		for i, bytes := range e.expected.draws {
			q.draws[i] = bytes
			d.total += bytes
		}
	}
	d.findRoom(v, e, c)
	d.each = e.size.reduceS
	q.counts, q.pulled = d.counts(q.counts, slack*e.size.reduceS), false
	pull := d.pulling.pull(v, e)
	if pull == nil {
		return
	}
	for i, bytes := range pull {
		q.draws[i] += bytes
		d.total += bytes
	}
	d.without = append(d.without[:0], q.counts...)
	q.counts = d.counts(q.counts, slack*e.size.reduceS)
	q.pulled = !slices.Equal(q.counts, d.without)
}

// findRoom sets how many reduces of a job racks hold.
func (d *division) findRoom(v state.View, e *entry, c *cluster) {
	d.holds = d.holds[:0]
	for i, rack := range v.Racks() {
		room := 0
		if rack.Runs() {
			room = int(c.containers(i, e.job.Reduce))
		}
		d.holds = append(d.holds, room)
	}
	d.makeRoom()
}

// counts returns how many reduces each rack is to have, in the memory of was. The busiest uplink may carry some seconds longer where that
// saves bytes.
func (d *division) counts(was []int, longer float64) []int {
	least := d.fastest()
	was = d.fewestBytes(was, least*(1+1e-6))
	d.wide = d.fewestBytes(d.wide, max(1.15*least, least+max(longer, 1)))
	if d.crossing(d.wide) < d.crossing(was)-worthIt*d.total {
		return append(was[:0], d.wide...)
	}
	return was
}

// worthIt is the part of a job's shuffle for which the busiest uplink may carry longer.
const worthIt = 0.02

// crossing returns the bytes that cross racks with reduces placed as counts say.
func (d *division) crossing(counts []int) float64 {
	sum := 0.0
	for i, n := range counts {
		sum += float64(n) / float64(d.n) * (d.total - d.output[i])
	}
	return sum
}

// division divides n reduces over racks. Slices are by rack number.
type division struct {
	output, uplink []float64 // bytes; bytes/s
	total          float64   // of the output
	holds          []int     // reduces that a rack holds at once, 0 for one without running nodes
	room           []int     // as many as it has to take at least if all racks take as many waves
	each           float64   // seconds that a reduce takes; further waves need as much time
	n              int

	most, order, wide []int
	pulling           pulling
	without           []int
	lies, from        []float64 // of stages
}

// makeRoom gives each rack its part of several waves where there is no room for all reduces at once.
func (d *division) makeRoom() {
	all := sum(d.holds)
	d.room = append(d.room[:0], d.holds...)
	for i := range d.room {
		if all < d.n && all > 0 {
			d.room[i] = (d.room[i]*d.n + all - 1) / all
		}
	}
}

// bounds returns how many reduces a rack may have at least and at most if its uplink is to be done in so many seconds, and so are its
// waves of reduces where there is more than one.
func (d *division) bounds(rack int, seconds float64) (least, most int) {
	least, most = shuffle.Bounds(d.output[rack], d.total, d.n, seconds*d.uplink[rack])
	room := d.room[rack]
	if d.each > 0 {
		room = max(room, int(min(float64(d.holds[rack])*math.Floor(seconds/d.each), float64(d.n))))
	}
	return least, min(most, room)
}

// fastest returns the seconds that the busiest uplink takes at least, found by bisection.
func (d *division) fastest() float64 {
	slowest := math.Inf(1)
	for i, uplink := range d.uplink {
		if d.room[i] > 0 {
			slowest = min(slowest, uplink)
		}
	}
	if math.IsInf(slowest, 1) {
		return 0
	}
	lo, hi := 0.0, d.total/slowest
	for range 40 {
		if mid := (lo + hi) / 2; d.fits(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// fits reports whether all reduces can be placed so that no uplink takes more seconds. What lies on a rack without running
// nodes has to leave it whatever the places.
func (d *division) fits(seconds float64) bool {
	least, most := 0, 0
	for i, room := range d.room {
		if room == 0 {
			continue
		}
		lo, hi := d.bounds(i, seconds)
		if lo > hi {
			return false
		}
		least, most = least+lo, most+hi
	}
	return least <= d.n && d.n <= most
}

// fewestBytes returns the counts with which no uplink takes more seconds, and of these the ones with the fewest bytes across
// racks: the racks with most output have as many as they may. It uses the memory of counts.
func (d *division) fewestBytes(counts []int, seconds float64) []int {
	counts, d.most, d.order = counts[:0], d.most[:0], d.order[:0]
	left := d.n
	for i, room := range d.room {
		least, most := 0, 0
		if room > 0 {
			least, most = d.bounds(i, seconds)
			least = min(least, most)
		}
		counts, d.most, d.order = append(counts, least), append(d.most, most), append(d.order, i)
		left -= least
	}
	slices.SortStableFunc(d.order, func(a, b int) int { return cmp.Compare(d.output[b], d.output[a]) })
	for _, limit := range [][]int{d.most, d.room} { // beyond its uplink's part a rack has more only if nothing else is left
		for _, i := range d.order {
			more := max(min(left, limit[i]-counts[i]), 0)
			counts[i] += more
			left -= more
		}
	}
	return counts
}
