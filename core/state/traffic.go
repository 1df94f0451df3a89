package state

import (
	"maps"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
)

// TrafficKind is what moved bytes between racks.
type TrafficKind string

// The kinds of traffic (metrics label kind).
const (
	TrafficShuffle TrafficKind = "shuffle"
	TrafficMapRead TrafficKind = "map_read"
	TrafficWrite   TrafficKind = "write"
)

// TrafficKinds lists the kinds in a fixed order.
func TrafficKinds() []TrafficKind {
	return []TrafficKind{TrafficShuffle, TrafficMapRead, TrafficWrite}
}

const trafficKinds = 3

// traffic sums the bytes that moved from rack to rack since heddle started. It
// only ever grows: each reading of a job's counters adds what is new in it,
// split over rack pairs by what is known at that moment.
type traffic struct {
	none   bool                      // nothing is added
	pairs  [trafficKinds][][]float64 // [kind][source rack][destination rack]
	regret map[string]float64        // by policy: shuffle bytes above what its plan would have sent
}

// moved is what of one job's traffic has been added already.
type moved struct {
	at      model.Time // of the last reading of its counters
	total   [trafficKinds]float64
	cross   [trafficKinds]float64
	byDst   []float64 // shuffled bytes by destination rack
	rateOut []float64 // bytes/s leaving each rack between the last two readings
	rateIn  []float64
	planned []int  // reduces per rack of the last plan made before reduces ran
	policy  string // whose plan it was

	joinedLate bool // the job had run for a while when heddle first saw it
	settled    bool // the JobHistory server has given the last facts
}

// staleJob is how much older than heddle's first look a job must be for the
// bytes it moved before to be left out.
const staleJob = model.Minute

// applyCounters takes a reading of a job's counters at now, and adds what is new
// in it. Weights are the live DataNodes by rack number.
func (t *traffic) applyCounters(j *Job, f model.CountersFact, now model.Time, weights []float64) {
	first := !j.told.counted
	j.setCounters(f)
	if t.none {
		return
	}
	m := &j.moved
	sinceMS := now.Sub(m.at)
	if first {
		sinceMS = now.Sub(j.Submitted)
	}
	m.at = now
	clear(m.rateOut)
	clear(m.rateIn)
	if first && m.joinedLate { // heddle did not see it move: all so far is taken as counted
		m.total, m.byDst = totals(j), fetchedBy(j)
		return
	}
	perSecond := 0.0
	if sinceMS > 0 && !j.State.Final() {
		perSecond = 1 / sinceMS.Seconds()
	}
	t.moveShuffle(j, perSecond)
	t.moveMapReads(j, weights, perSecond)
	t.moveWrites(j, weights, perSecond)
}

// totals returns what the job's counters say it moved so far, by kind.
func totals(j *Job) [trafficKinds]float64 {
	return [trafficKinds]float64{float64(max(j.told.counters.ReduceShuffle, 0)), mapReadTotal(j), writeTotal(j)}
}

// moveShuffle adds the bytes reduces fetched since the last reading. What goes
// to which rack follows the reduces' own counters and progress; where it comes
// from follows the map output of the moment.
func (t *traffic) moveShuffle(j *Job, perSecond float64) {
	m := &j.moved
	rest := float64(max(j.told.counters.ReduceShuffle, 0)) - m.total[0]
	output := float64(shuffle.Total(j.Output.ByRack))
	if rest <= 0 || output <= 0 {
		return
	}
	want := fetchedBy(j)
	due := 0.0
	for d := range want {
		want[d] = max(want[d]-at(m.byDst, d), 0)
		due += want[d]
	}
	if due <= 0 {
		return
	}
	m.byDst = grown(m.byDst, len(want)-1)
	for d, w := range want {
		if w <= 0 {
			continue
		}
		bytes := rest * w / due
		m.byDst[d] += bytes
		for s, b := range j.Output.ByRack {
			if b > 0 {
				t.move(m, pair{0, s, d}, bytes*float64(b)/output, perSecond)
			}
		}
	}
	m.total[0] += rest
}

// fetchedBy estimates the bytes fetched so far by the reduces on each rack:
// those that reported count as reported, the rest of the job counter is spread
// over the others by how far their copy phase is (a third of a reduce's
// progress, ReduceTask's copy, sort and reduce phases).
func fetchedBy(j *Job) []float64 {
	s := j.Reduce
	var out, weight []float64
	reported, open := 0.0, 0.0
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.rack == noRack {
			continue
		}
		r := int(t.rack)
		out, weight = grown(out, r), grown(weight, r)
		if t.shuffled >= 0 && t.state == succeeded {
			out[r] += float64(t.shuffled)
			reported += float64(t.shuffled)
			continue
		}
		w := max(min(float64(t.progress)*3, 1), 0.01)
		weight[r] += w
		open += w
	}
	rest := float64(max(j.told.counters.ReduceShuffle, 0)) - reported
	if open > 0 && rest > 0 {
		for r := range out {
			out[r] += rest * weight[r] / open
		}
	}
	if len(out) == 0 { // no reduce has been seen one by one: go by where they were launched
		for r, n := range s.launched {
			out = grown(out, r)
			out[r] = float64(n)
		}
	}
	return out
}

// mapReadTotal is the input that maps read from another rack: the input bytes
// of the share of maps that were neither node- nor rack-local.
func mapReadTotal(j *Job) float64 {
	k := &j.told.counters
	all := k.NodeLocalMaps + k.RackLocalMaps + k.OtherLocalMaps
	if all <= 0 || k.MapInput <= 0 {
		return 0
	}
	return float64(k.MapInput) * float64(k.OtherLocalMaps) / float64(all)
}

func (t *traffic) moveMapReads(j *Job, weights []float64, perSecond float64) {
	from := floats(j.Input.ByRack)
	if len(from) == 0 {
		from = weights
	}
	t.moveOff(j, flow{kind: 1, total: mapReadTotal(j), from: from, to: floats(j.Map.launched)}, perSecond)
}

// writeTotal is the output whose second replica went to another rack: HDFS puts
// exactly one copy across racks, however many replicas there are beyond one
// (BlockPlacementPolicyDefault; algorithms.md 1.2).
func writeTotal(j *Job) float64 {
	if j.Conf.Replication == 1 || j.told.counters.HDFSWritten <= 0 {
		return 0
	}
	return float64(j.told.counters.HDFSWritten)
}

func (t *traffic) moveWrites(j *Job, weights []float64, perSecond float64) {
	writers := j.Reduce
	if j.Reduce.Total == 0 {
		writers = j.Map
	}
	t.moveOff(j, flow{kind: 2, total: writeTotal(j), from: floats(writers.launched), to: weights}, perSecond)
}

// flow is traffic of one kind whose rack pairs are known by their ends' weights only.
type flow struct {
	kind     int
	total    float64 // since the job started
	from, to []float64
}

// moveOff adds what is new of a flow, split over pairs of different racks in
// proportion to the product of their ends' weights.
func (t *traffic) moveOff(j *Job, f flow, perSecond float64) {
	m := &j.moved
	rest := f.total - m.total[f.kind]
	sum := 0.0
	for s, a := range f.from {
		for d, b := range f.to {
			if s != d {
				sum += a * b
			}
		}
	}
	if rest <= 0 || sum <= 0 {
		return
	}
	for s, a := range f.from {
		for d, b := range f.to {
			if s != d && a*b > 0 {
				t.move(m, pair{f.kind, s, d}, rest*a*b/sum, perSecond)
			}
		}
	}
	m.total[f.kind] += rest
}

type pair struct{ kind, src, dst int }

func (t *traffic) move(m *moved, p pair, bytes, perSecond float64) {
	rows := &t.pairs[p.kind]
	*rows = grown(*rows, p.src)
	(*rows)[p.src] = grown((*rows)[p.src], p.dst)
	(*rows)[p.src][p.dst] += bytes
	if p.src == p.dst {
		return
	}
	m.cross[p.kind] += bytes
	m.rateOut, m.rateIn = grown(m.rateOut, p.src), grown(m.rateIn, p.dst)
	m.rateOut[p.src] += bytes * perSecond
	m.rateIn[p.dst] += bytes * perSecond
}

// settle closes the account of a job whose last facts have come: what it sent across racks
// above what the plan made before its reduces ran would have sent.
func (t *traffic) settle(j *Job) {
	m := &j.moved
	if m.settled {
		return
	}
	m.settled = true
	if m.planned == nil || m.joinedLate {
		return
	}
	regret := m.cross[0] - float64(shuffle.CrossRack(j.Output.ByRack, m.planned))
	t.regret[m.policy] += max(regret, 0)
}

// view returns the traffic for a snapshot.
func (t *traffic) view(tree *topology.Tree) Traffic {
	v := Traffic{Racks: make([]model.RackID, tree.Len()), Bytes: map[TrafficKind][][]float64{}, Regret: maps.Clone(t.regret)}
	for i := range v.Racks {
		v.Racks[i] = tree.ID(i)
	}
	for k, kind := range TrafficKinds() {
		rows := make([][]float64, len(t.pairs[k]))
		for s, row := range t.pairs[k] {
			rows[s] = append([]float64(nil), row...)
		}
		v.Bytes[kind] = rows
	}
	return v
}

func floats[T ~int | ~int64](s []T) []float64 {
	out := make([]float64, len(s))
	for i, v := range s {
		out[i] = float64(v)
	}
	return out
}
