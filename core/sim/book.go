package sim

import (
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/sim/network"
	"heddle/core/topology"
	"heddle/core/workload"
)

// book keeps what a run is measured by.
type book struct {
	response []float64        // by job: seconds from submission to end; below 0 while it is not done
	demands  []shuffle.Demand // by job, once it is there
	moved    []Moved          // by job, once it is done
	tally    tally
	users    map[model.UserID]*account
	withJobs int // users

	events, placements int
	engine             float64    // seconds
	stirred            model.Time // when a task last ended, or a job came
	span

	coflows   coflows
	links     links
	inspected model.Time // nodes

	activeShuffle model.Bytes // of live jobs
	activeMaps    int
}

// span is the time from the first submission to the last end.
type span struct {
	first, last model.Time
	begun       bool
}

// links are the loads of the uplinks at the last heartbeat, by rack.
type links struct {
	traffic, before []network.Traffic
	loads           []topology.Link
	congested       []bool
	at              model.Time
	used            [][]float64 // by rack and minute: the mean share of the busier direction
}

// usedStep is the width of a column of links.used.
const usedStep = model.Minute

// note adds what a rack's busier link was used for a while to the minutes of it.
func (l *links) note(rack int, share float64, from, to model.Time) {
	for from < to {
		column := int(from / model.Time(usedStep))
		end := min(to, model.Time(column+1)*model.Time(usedStep))
		for len(l.used[rack]) <= column {
			l.used[rack] = append(l.used[rack], 0)
		}
		l.used[rack][column] += share * end.Sub(from).Seconds() / usedStep.Seconds()
		from = end
	}
}

// tally sums what the result tells.
type tally struct {
	shuffled    model.Bytes
	crossed     float64 // shuffle bytes between racks, by where tasks ran
	byJob       float64 // sum over jobs that shuffle of the fraction that crossed
	shuffling   int     // such jobs
	level       [3]int
	progress    float64 // sum of map progress at first reduces
	reducing    int     // jobs with reduces
	congestion  int     // (rack, sample) pairs
	onsets      int
	overTraffic int // (node, sample) pairs
	inspections int
	preempted   int // reduces
	mishaps
	groups int // of tasks that fetch, that the network was given
}

// mishaps count what faults have led to.
type mishaps struct {
	lost   int // attempts
	redone int // tasks
	spares int // extra attempts
	won    int // of them, those that were done first
}

// account is one user's: what it used while it had jobs.
type account struct {
	used    float64 // container-seconds
	with    float64 // seconds with live jobs
	live    int
	running int // containers
	since   model.Time
}

func newBook(c *Cluster, w *workload.Workload) book {
	b := book{
		response: make([]float64, len(w.Jobs)), demands: make([]shuffle.Demand, len(w.Jobs)), moved: make([]Moved, len(w.Jobs)), users: map[model.UserID]*account{},
		links: links{
			loads: make([]topology.Link, len(c.Racks)), congested: make([]bool, len(c.Racks)), used: make([][]float64, len(c.Racks)), before: make([]network.Traffic, len(c.Racks)),
		},
	}
	for i := range b.response {
		b.response[i] = -1
	}
	return b
}

func (b *book) arrive(s *world, j *job) {
	b.demands[j.index] = demandOf(s, j)
	if !b.begun || j.submit < b.first {
		b.begun, b.first = true, j.submit
	}
	b.activeShuffle += j.of.Shuffle()
	b.activeMaps += j.maps()
	u := b.users[j.of.User]
	if u == nil {
		u = &account{}
		b.users[j.of.User] = u
	}
	j.account = u
	if u.live++; u.live == 1 {
		u.since = j.submit
		b.withJobs++
	}
}

// maps returns how many tasks of a job read files.
func (j *job) maps() int {
	n := 0
	for i := range j.stages {
		if t := &j.stages[i]; t.kind == model.StageMap {
			n += t.total
		}
	}
	return n
}

func (b *book) ended(j *job, took model.Duration) {
	u := j.account
	u.used += took.Seconds()
	u.running--
}

func (b *book) finish(j *job, at model.Time) {
	b.last = max(b.last, at)
	b.response[j.index] = at.Sub(j.submit).Seconds()
	b.forsake(j, at)
	b.count(j)
	b.coflows.add(j, len(b.links.loads))
}

// forsake takes note that a job is over, with its tasks done or not.
func (b *book) forsake(j *job, at model.Time) {
	b.activeShuffle -= j.of.Shuffle()
	b.activeMaps -= j.maps()
	u := j.account
	if u.live--; u.live == 0 {
		b.withJobs--
		u.with += at.Sub(u.since).Seconds()
	}
}

// count sums what a job that is done has moved.
func (b *book) count(j *job) {
	shuffled, crossed, gathers := model.Bytes(0), 0.0, false
	m := &b.moved[j.index]
	for i := range j.stages {
		t := &j.stages[i]
		for l, n := range t.level {
			b.tally.level[l] += n
		}
		m.Read += t.remote
		for _, e := range t.inputs {
			gathers = true
			if e.kind == model.ScatterGather {
				shuffled += e.from.left
				crossed += float64(shuffle.CrossRack(e.from.leftOn, t.on))
				m.Sources, m.Sinks = max(m.Sources, spread(e.from.leftOn)), max(m.Sinks, spread(t.on))
			}
		}
	}
	m.Shuffle, m.Crossed = shuffled, model.Bytes(crossed)
	if !gathers {
		return
	}
	b.tally.reducing++
	b.tally.progress += max(j.first, 0)
	b.tally.shuffled += shuffled
	if shuffled > 0 {
		b.tally.crossed += crossed
		b.tally.byJob += crossed / float64(shuffled)
		b.tally.shuffling++
	}
}

// demandOf returns the least a job takes, wherever its tasks run and those of the
// jobs before it: all its tasks, its longest chain of them, and what it sends
// across racks.
func demandOf(s *world, j *job) shuffle.Demand {
	d := shuffle.Demand{Arrival: j.of.Submit.Sub(0).Seconds(), Waits: len(j.of.Parents) > 0}
	for _, p := range j.of.Parents {
		parent := &s.book.demands[p]
		d.Arrival = max(d.Arrival, parent.Arrival+parent.Path)
	}
	paths := make([]float64, len(j.stages)) // seconds from the job's begin to the end of a stage
	for i := range j.stages {
		t := &j.stages[i]
		shortest, longest := math.Inf(1), 0.0
		for task := range t.total {
			took := t.cost(task).Seconds()
			shortest, longest = min(shortest, took), max(longest, took)
			d.Work += took
			if t.kind == model.StageMap {
				d.Maps += took
			}
		}
		paths[i] = longest
		for _, e := range t.of.Edges {
			after := longest
			if e.Kind == model.OneToOne { // a task does not wait for all of the source
				after = shortest
			}
			paths[i] = max(paths[i], paths[e.From]+after)
		}
		d.Path = max(d.Path, paths[i])
		d.CrossRack = max(d.CrossRack, crossing(s, t))
	}
	return d
}

// met returns the demands of the jobs, without those that did not come to their
// end: no bound holds for them.
func (b *book) met() []shuffle.Demand {
	if !slices.ContainsFunc(b.response, func(seconds float64) bool { return seconds < 0 }) {
		return b.demands
	}
	var out []shuffle.Demand
	for i, seconds := range b.response {
		if seconds >= 0 {
			out = append(out, b.demands[i])
		}
	}
	return out
}

// crossing returns the least that crosses racks of what a stage gathers from
// stages that read files, and of these files. What another job wrote may lie
// anywhere.
func crossing(s *world, t *stage) model.Bytes {
	var blocks [][]int
	var least []model.Bytes
	for _, e := range t.inputs {
		if e.kind != model.ScatterGather || e.from.kind != model.StageMap {
			continue
		}
		reads := e.from.of.Reads
		later := slices.ContainsFunc(reads, func(f workload.File) bool { return f.Place == workload.OfParent })
		for task := range e.from.total {
			if !e.from.in.held(task) || later && reads[e.from.of.Split(task, s.cluster.Block).File].Place == workload.OfParent {
				continue
			}
			var racks []int
			for _, n := range e.from.in.of(task) {
				if n >= 0 {
					racks = append(racks, s.layout.nodes[n].rack)
				}
			}
			blocks, least = append(blocks, racks), append(least, min(e.from.in.size(task), e.from.outputOf(task)))
		}
	}
	return shuffle.LowerBound(blocks, least)
}

// sample reads the links, whenever rates have been shared out anew, and now and
// then the nodes.
func (b *book) sample(s *world) {
	l := &b.links
	dt := s.now.Sub(l.at)
	if dt <= 0 || !s.net.Solved() && dt < s.params.LongestStep {
		return
	}
	l.at = s.now
	l.traffic = s.net.Traffic(l.traffic)
	beats := int(dt / s.params.Heartbeat)
	for r := range l.traffic {
		rack := &s.cluster.Racks[r]
		l.loads[r] = load(&l.before[r], &l.traffic[r], dt, rack)
		share := max(float64(l.loads[r].Out/rack.Uplink.Out), float64(l.loads[r].In/rack.Uplink.In))
		l.note(r, share, s.now.Add(-dt), s.now)
		busy := share >= s.params.Congestion
		if busy {
			b.tally.congestion += beats
			if !l.congested[r] {
				b.tally.onsets++
			}
		}
		l.congested[r] = busy
	}
	l.before, l.traffic = l.traffic, l.before
	if s.now.Sub(b.inspected) >= s.params.Sample {
		b.inspected = s.now
		b.inspect(s)
	}
}

// load is what a rack's links carried on average between two readings.
func load(before, now *network.Traffic, dt model.Duration, rack *Rack) topology.Link {
	var up, down model.Bytes
	for k := range network.Kinds {
		up += now.Up[k] - before.Up[k]
		down += now.Down[k] - before.Down[k]
	}
	return topology.Link{
		Out: model.BytesPerSecond(float64(up)/dt.Seconds()) + rack.Background.Out,
		In:  model.BytesPerSecond(float64(down)/dt.Seconds()) + rack.Background.In,
	}
}

// inspect counts the nodes whose maps are about to put out more than NAS's
// TrafficThreshold: a node's part of an average wave (algorithms.md 2.3.4).
func (b *book) inspect(s *world) {
	if b.activeMaps == 0 {
		return
	}
	each := float64(b.activeShuffle) / float64(b.activeMaps)
	for i := range s.layout.nodes {
		n := &s.layout.nodes[i]
		b.tally.inspections++
		if float64(n.outputs) > each*float64(n.total[0]) {
			b.tally.overTraffic++
		}
	}
}
