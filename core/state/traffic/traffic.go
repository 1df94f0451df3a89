// Package traffic sums the bytes that jobs move from rack to rack, as far as their
// counters report.
package traffic

import (
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/jobs"
	"heddle/core/state/snapshot"
	"heddle/core/topology"
)

// kind is what moved bytes between racks, by its place in snapshot.TrafficKinds.
type kind int

const (
	shuffled kind = iota
	mapRead
	written
	kinds
)

// Index sums the traffic of all jobs since heddle started. The sums only grow: each
// reading of a job's counters adds what is new in it, split over pairs of racks by
// what is known at that moment.
type Index struct {
	pairs [kinds][][]float64 // bytes by source rack and destination rack
	byJob map[model.AppID]*jobTraffic
}

// jobTraffic is what of one job's traffic has been added already.
type jobTraffic struct {
	readAt    model.Time // of the last reading of its counters
	total     [kinds]float64
	crossRack [kinds]float64
	byDst     []float64 // shuffled bytes by destination rack
	rateOut   []float64 // bytes/s leaving each rack between the last two readings
	rateIn    []float64
}

// staleJob is how much older than heddle's first look a job must be for the
// bytes it moved before to be left out.
const staleJob = model.Minute

// NewIndex returns an index without traffic.
func NewIndex() *Index {
	return &Index{byJob: map[model.AppID]*jobTraffic{}}
}

// of returns the traffic of a job.
func (x *Index) of(app model.AppID) *jobTraffic {
	t := x.byJob[app]
	if t == nil {
		t = &jobTraffic{}
		x.byJob[app] = t
	}
	return t
}

// Forget drops what is known of a job. The sums stay.
func (x *Index) Forget(app model.AppID) { delete(x.byJob, app) }

// StopRates sets the present rates of a job to zero.
func (x *Index) StopRates(app model.AppID) {
	if t := x.byJob[app]; t != nil {
		t.rateOut, t.rateIn = nil, nil
	}
}

// Add adds what is new in a reading of a job's counters at now. Before is whether
// the counters had been read before; dataNodes are the live DataNodes by rack.
func (x *Index) Add(j *jobs.Job, before bool, now model.Time, dataNodes []float64) {
	t := x.of(j.ID)
	sinceMS := now.Sub(t.readAt)
	if !before {
		sinceMS = now.Sub(j.Submitted)
	}
	t.readAt = now
	clear(t.rateOut)
	clear(t.rateIn)
	if !before && joinedLate(j) { // what moved before heddle looked counts as added
		t.total, t.byDst = totals(j), j.FetchedByRack()
		return
	}
	perSecond := 0.0
	if sinceMS > 0 && !j.State.Final() {
		perSecond = 1 / sinceMS.Seconds()
	}
	x.addShuffle(j, t, perSecond)
	from := floats(j.Input.ByRack)
	if len(from) == 0 {
		from = dataNodes
	}
	x.addFlow(t, flow{kind: mapRead, total: mapReadTotal(j), from: from, to: floats(j.Map.LaunchedByRack())}, perSecond)
	writers := j.Reduce
	if j.Reduce.Total == 0 {
		writers = j.Map
	}
	x.addFlow(t, flow{kind: written, total: writeTotal(j), from: floats(writers.LaunchedByRack()), to: dataNodes}, perSecond)
}

// joinedLate reports whether a job had run for a while when heddle first saw it.
func joinedLate(j *jobs.Job) bool { return j.FirstSeen().Sub(j.Submitted) > staleJob }

// totals returns what the job's counters say it moved so far, by kind.
func totals(j *jobs.Job) [kinds]float64 {
	return [kinds]float64{fetchedTotal(j), mapReadTotal(j), writeTotal(j)}
}

// fetchedTotal is what the job's reduces fetched.
func fetchedTotal(j *jobs.Job) float64 {
	k, _ := j.Counters()
	return float64(max(k.ReduceShuffle, 0))
}

// mapReadTotal is the input that maps read from another rack: the input bytes
// of the share of maps that were neither node- nor rack-local.
func mapReadTotal(j *jobs.Job) float64 {
	k, _ := j.Counters()
	all := k.NodeLocalMaps + k.RackLocalMaps + k.OtherLocalMaps
	if all <= 0 || k.MapInput <= 0 {
		return 0
	}
	return float64(k.MapInput) * float64(k.OtherLocalMaps) / float64(all)
}

// writeTotal is the output whose second replica went to another rack: HDFS puts
// exactly one copy across racks, however many replicas there are beyond one
// (BlockPlacementPolicyDefault; algorithms.md 1.2).
func writeTotal(j *jobs.Job) float64 {
	k, _ := j.Counters()
	if j.Conf.Replication == 1 || k.HDFSWritten <= 0 {
		return 0
	}
	return float64(k.HDFSWritten)
}

// addShuffle adds the bytes reduces fetched since the last reading. Their
// destinations follow the reduces' own counters and progress, their sources the
// map output of the moment.
func (x *Index) addShuffle(j *jobs.Job, t *jobTraffic, perSecond float64) {
	rest := fetchedTotal(j) - t.total[shuffled]
	output := float64(shuffle.Total(j.Output.ByRack))
	if rest <= 0 || output <= 0 {
		return
	}
	want := j.FetchedByRack()
	sum := 0.0
	for d := range want {
		want[d] = max(want[d]-topology.At(t.byDst, d), 0)
		sum += want[d]
	}
	if sum <= 0 {
		return
	}
	t.byDst = topology.Extend(t.byDst, len(want)-1)
	for d, w := range want {
		if w <= 0 {
			continue
		}
		bytes := rest * w / sum
		t.byDst[d] += bytes
		for s, b := range j.Output.ByRack {
			if b > 0 {
				x.add(t, pair{shuffled, s, d}, bytes*float64(b)/output, perSecond)
			}
		}
	}
	t.total[shuffled] += rest
}

// flow is traffic of one kind whose pairs of racks are known by their ends' weights
// only.
type flow struct {
	kind     kind
	total    float64 // since the job started
	from, to []float64
}

// addFlow adds what is new of a flow, split over pairs of different racks in
// proportion to the product of their ends' weights.
func (x *Index) addFlow(t *jobTraffic, f flow, perSecond float64) {
	rest := f.total - t.total[f.kind]
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
				x.add(t, pair{f.kind, s, d}, rest*a*b/sum, perSecond)
			}
		}
	}
	t.total[f.kind] += rest
}

// pair is two racks by number, and what moves between them.
type pair struct {
	kind     kind
	src, dst int
}

// add adds bytes of a job between two racks.
func (x *Index) add(t *jobTraffic, p pair, bytes, perSecond float64) {
	rows := &x.pairs[p.kind]
	*rows = topology.Extend(*rows, p.src)
	(*rows)[p.src] = topology.Extend((*rows)[p.src], p.dst)
	(*rows)[p.src][p.dst] += bytes
	if p.src == p.dst {
		return
	}
	t.crossRack[p.kind] += bytes
	t.rateOut, t.rateIn = topology.Extend(t.rateOut, p.src), topology.Extend(t.rateIn, p.dst)
	t.rateOut[p.src] += bytes * perSecond
	t.rateIn[p.dst] += bytes * perSecond
}

// Rates sums the rates of the jobs whose counters are at most maxAge old at now, in
// bytes/s leaving and entering each of so many racks.
func (x *Index) Rates(live []*jobs.Job, now model.Time, maxAge model.Duration, racks int) (out, in []float64) {
	out, in = make([]float64, racks), make([]float64, racks)
	if len(x.byJob) == 0 {
		return out, in
	}
	for _, j := range live {
		t := x.byJob[j.ID]
		if t == nil || now.Sub(t.readAt) > maxAge {
			continue
		}
		for r, v := range t.rateOut {
			out[r] += v
		}
		for r, v := range t.rateIn {
			in[r] += v
		}
	}
	return out, in
}

// CrossRack returns the bytes a job sent across racks, by kind.
func (x *Index) CrossRack(app model.AppID) map[snapshot.TrafficKind]model.Bytes {
	out := map[snapshot.TrafficKind]model.Bytes{}
	t := x.byJob[app]
	for k, name := range snapshot.TrafficKinds() {
		out[name] = 0
		if t != nil {
			out[name] = model.Bytes(t.crossRack[k])
		}
	}
	return out
}

// Snapshot returns the sums for a snapshot.
func (x *Index) Snapshot(racks []snapshot.Rack) snapshot.Traffic {
	v := snapshot.Traffic{Racks: make([]model.RackID, len(racks)), Bytes: map[snapshot.TrafficKind][][]float64{}}
	for i := range racks {
		v.Racks[i] = racks[i].ID
	}
	for k, name := range snapshot.TrafficKinds() {
		rows := make([][]float64, len(x.pairs[k]))
		for s, row := range x.pairs[k] {
			rows[s] = append([]float64(nil), row...)
		}
		v.Bytes[name] = rows
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
