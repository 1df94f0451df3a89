package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
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
}

// staleJob is how much older than heddle's first look a job must be for the
// bytes it moved before to be left out.
const staleJob = model.Minute

func (c *Cluster) applyCounters(j *Job, f model.CountersFact) {
	first := !j.counted
	j.counters, j.counted = f, true
	c.refreshOutput(j)
	m := &j.moved
	sinceMS := c.now.Sub(m.at)
	if first {
		sinceMS = c.now.Sub(j.Submitted)
	}
	m.at = c.now
	m.rateOut, m.rateIn = clearRates(m.rateOut), clearRates(m.rateIn)
	if first && j.joinedLate {
		c.skipMoved(j)
		return
	}
	perSecond := 0.0
	if sinceMS > 0 && !j.State.Final() {
		perSecond = 1 / sinceMS.Seconds()
	}
	c.moveShuffle(j, perSecond)
	c.moveMapReads(j, perSecond)
	c.moveWrites(j, perSecond)
}

func clearRates(r []float64) []float64 {
	clear(r)
	return r
}

// skipMoved takes a job's traffic so far as counted: heddle started late and
// did not see it.
func (c *Cluster) skipMoved(j *Job) {
	m := &j.moved
	m.total[0] = float64(max(j.counters.ReduceShuffle, 0))
	m.total[1] = c.mapReadTotal(j)
	m.total[2] = c.writeTotal(j)
	m.byDst = fetchedBy(j)
}

// moveShuffle adds the bytes reduces fetched since the last reading. What goes
// to which rack follows the reduces' own counters and progress; where it comes
// from follows the map output of the moment.
func (c *Cluster) moveShuffle(j *Job, perSecond float64) {
	m := &j.moved
	rest := float64(max(j.counters.ReduceShuffle, 0)) - m.total[0]
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
				c.move(j, pair{0, s, d}, bytes*float64(b)/output, perSecond)
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
		if t.shuffled >= 0 && t.state == model.TaskSucceeded {
			out[r] += float64(t.shuffled)
			reported += float64(t.shuffled)
			continue
		}
		w := max(min(float64(t.progress)*3, 1), 0.01)
		weight[r] += w
		open += w
	}
	rest := float64(max(j.counters.ReduceShuffle, 0)) - reported
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
func (c *Cluster) mapReadTotal(j *Job) float64 {
	k := &j.counters
	all := k.NodeLocalMaps + k.RackLocalMaps + k.OtherLocalMaps
	if all <= 0 || k.MapInput <= 0 {
		return 0
	}
	return float64(k.MapInput) * float64(k.OtherLocalMaps) / float64(all)
}

func (c *Cluster) moveMapReads(j *Job, perSecond float64) {
	from := floatsOf(j.Input.ByRack)
	if len(from) == 0 {
		from = c.hdfs.weights
	}
	c.moveOff(j, flow{kind: 1, total: c.mapReadTotal(j), from: from, to: ints(j.Map.launched)}, perSecond)
}

// writeTotal is the output whose second replica went to another rack: HDFS puts
// exactly one copy across racks, however many replicas there are beyond one
// (BlockPlacementPolicyDefault; algorithms.md 1.2).
func (c *Cluster) writeTotal(j *Job) float64 {
	if j.Conf.Replication == 1 || j.counters.HDFSWritten <= 0 {
		return 0
	}
	return float64(j.counters.HDFSWritten)
}

func (c *Cluster) moveWrites(j *Job, perSecond float64) {
	writers := j.Reduce
	if j.Reduce.Total == 0 {
		writers = j.Map
	}
	c.moveOff(j, flow{kind: 2, total: c.writeTotal(j), from: ints(writers.launched), to: c.hdfs.weights}, perSecond)
}

// flow is traffic of one kind whose rack pairs are known by their ends' weights only.
type flow struct {
	kind     int
	total    float64 // since the job started
	from, to []float64
}

// moveOff adds what is new of a flow, split over pairs of different racks in
// proportion to the product of their ends' weights.
func (c *Cluster) moveOff(j *Job, f flow, perSecond float64) {
	rest := f.total - j.moved.total[f.kind]
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
				c.move(j, pair{f.kind, s, d}, rest*a*b/sum, perSecond)
			}
		}
	}
	j.moved.total[f.kind] += rest
}

type pair struct{ kind, src, dst int }

func (c *Cluster) move(j *Job, p pair, bytes, perSecond float64) {
	rows := &c.traffic.pairs[p.kind]
	*rows = grown(*rows, p.src)
	(*rows)[p.src] = grown((*rows)[p.src], p.dst)
	(*rows)[p.src][p.dst] += bytes
	if p.src == p.dst {
		return
	}
	m := &j.moved
	m.cross[p.kind] += bytes
	m.rateOut, m.rateIn = grown(m.rateOut, p.src), grown(m.rateIn, p.dst)
	m.rateOut[p.src] += bytes * perSecond
	m.rateIn[p.dst] += bytes * perSecond
}

// finish settles a job whose last facts have come: what it sent across racks
// above what the plan made before its reduces ran would have sent.
func (c *Cluster) finish(j *Job) {
	if j.done {
		return
	}
	j.done = true
	m := &j.moved
	if m.planned == nil || j.joinedLate {
		return
	}
	regret := m.cross[0] - float64(shuffle.CrossRack(j.Output.ByRack, m.planned))
	if c.traffic.regret == nil {
		c.traffic.regret = map[string]float64{}
	}
	c.traffic.regret[m.policy] += max(regret, 0)
}

// Advance samples every rack's uplink at now and sets NetSat's flags. It is to
// be called once per SaturationParams.Period.
func (c *Cluster) Advance(now model.Time) {
	c.advanceClock(now)
	out, in := c.estimate()
	for i, r := range c.nodes.racks {
		load := model.UplinkSample{Out: model.BytesPerSecond(at(out, i)), In: model.BytesPerSecond(at(in, i))}
		r.Method = MethodEstimate
		if c.cfg.UplinkMethod != MethodEstimate {
			if r.at != 0 && c.now.Sub(r.at) <= c.cfg.UplinkMaxAge {
				load, r.Method = r.sampled, c.cfg.UplinkMethod
			} else {
				c.counts.EstimatedLoads++
			}
		}
		r.Load.Sample(c.cfg.Saturation, c.now, load.Out, load.In)
		r.Utilization = r.Load.Judge(c.cfg.Saturation, r.Link.Out, r.Link.In)
	}
}

// estimate sums the rates of the live jobs whose counters are fresh.
func (c *Cluster) estimate() (out, in []float64) {
	n := len(c.nodes.racks)
	out, in = make([]float64, n), make([]float64, n)
	for _, j := range c.jobs.live {
		if c.now.Sub(j.moved.at) > c.cfg.UplinkMaxAge {
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

func (c *Cluster) applyUplink(at model.Time, f model.UplinkFact) {
	for _, s := range f.Samples {
		i, ok := c.tree.Lookup(s.Rack)
		if !ok {
			continue // a rack without nodes has no uplink to judge
		}
		r := c.rack(i)
		r.sampled, r.at = s, at
	}
}

func floatsOf(b []model.Bytes) []float64 {
	out := make([]float64, len(b))
	for i, v := range b {
		out[i] = float64(v)
	}
	return out
}

func ints(n []int) []float64 {
	out := make([]float64, len(n))
	for i, v := range n {
		out[i] = float64(v)
	}
	return out
}
