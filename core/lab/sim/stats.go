package sim

import (
	"math"
	"slices"

	"heddle/core/lab/bounds"
	"heddle/core/lab/sim/network"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
)

// runStats is what a run is measured by.
type runStats struct {
	responses []float64       // by job: seconds from submission to end; below 0 while it is not done
	demands   []bounds.Demand // by job, once it is there
	traffic   []JobTraffic    // by job, once it is done
	totals    statTotals
	users     map[model.UserID]*userUsage
	shares    shareStats

	events, placements int
	engineSeconds      float64    // seconds
	lastProgress       model.Time // when a task last ended, or a job came
	span

	coflows        coflows
	links          linkLoads
	nodesSampledAt model.Time // nodes
	activeTotals
}

// activeTotals are of the jobs that are there.
type activeTotals struct {
	activeUsers   int
	activeShuffle model.Bytes
	activeMaps    int
}

// span is the time from the first submission to the last end.
type span struct {
	first, last model.Time
	begun       bool
}

// linkLoads are the loads of the uplinks at the last heartbeat, by rack.
type linkLoads struct {
	traffic, before []network.Traffic
	loads           []topology.Link
	congested       []bool
	readAt          model.Time
	used            [][]float64 // by rack and minute: the mean share of the busier direction
}

// usedStep is the width of a column of links.used.
const usedStep = model.Minute

// addUse adds the share of its capacity that a rack's busier link carried from one time
// to another to the minutes in between.
func (l *linkLoads) addUse(rack int, share float64, from, to model.Time) {
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

// statTotals are sums over the run that go into its result.
type statTotals struct {
	shuffled           model.Bytes
	crossed            float64 // shuffle bytes between racks, by where tasks ran
	crossedFractionSum float64 // sum over jobs that shuffle of the fraction that crossed
	shufflingJobs      int     // such jobs
	localityCounts     [3]int
	mapProgressSum     float64 // sum of map progress at first reduces
	reducingJobs       int     // jobs with reduces
	congestedSamples   int     // (rack, sample) pairs
	onsets             int
	overThreshold      int // (node, sample) pairs
	nodeSamples        int
	preemptedReduces   int // reduces
	failureCounts
	fetchGroups int // of tasks that fetch, that the network was given
}

// failureCounts count what lost nodes and speculation have led to.
type failureCounts struct {
	lostAttempts  int // attempts
	redoneTasks   int // tasks
	extraAttempts int // extra attempts
	extraWon      int // of them, those that were done first
}

// userUsage is what a user has used while it had jobs.
type userUsage struct {
	containerSeconds float64 // container-seconds
	activeSeconds    float64 // seconds with live jobs
	activeJobs       int
	containers       int // containers
	activeSince      model.Time
}

func newBook(c *Cluster, w *workload.Workload) runStats {
	b := runStats{
		responses: make([]float64, len(w.Jobs)), demands: make([]bounds.Demand, len(w.Jobs)), traffic: make([]JobTraffic, len(w.Jobs)), users: map[model.UserID]*userUsage{}, shares: newShareStats(w),
		links: linkLoads{
			loads: make([]topology.Link, len(c.Racks)), congested: make([]bool, len(c.Racks)), used: make([][]float64, len(c.Racks)), before: make([]network.Traffic, len(c.Racks)),
		},
	}
	for i := range b.responses {
		b.responses[i] = -1
	}
	return b
}

func (b *runStats) jobArrived(s *world, j *job) {
	b.demands[j.index] = demandOf(s, j)
	if !b.begun || j.submit < b.first {
		b.begun, b.first = true, j.submit
	}
	b.activeShuffle += j.spec.Shuffle()
	b.activeMaps += j.maps()
	u := b.users[j.spec.User]
	if u == nil {
		u = &userUsage{}
		b.users[j.spec.User] = u
	}
	j.usage = u
	b.shares.jobArrived(j)
	if u.activeJobs++; u.activeJobs == 1 {
		u.activeSince = j.submit
		b.activeUsers++
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

func (b *runStats) containerReleased(j *job, took model.Duration) {
	u := j.usage
	u.containerSeconds += took.Seconds()
	u.containers--
	j.account.has--
}

func (b *runStats) jobFinished(j *job, at model.Time) {
	b.last = max(b.last, at)
	b.responses[j.index] = at.Sub(j.submit).Seconds()
	b.jobLeft(j, at)
	b.addTraffic(j)
	b.coflows.add(j, len(b.links.loads))
}

// jobLeft takes an ended job off its user and the active totals, whether its tasks
// are done or not.
func (b *runStats) jobLeft(j *job, at model.Time) {
	b.activeShuffle -= j.spec.Shuffle()
	b.activeMaps -= j.maps()
	b.shares.jobLeft(j)
	u := j.usage
	if u.activeJobs--; u.activeJobs == 0 {
		b.activeUsers--
		u.activeSeconds += at.Sub(u.activeSince).Seconds()
	}
}

// addTraffic adds what a finished job has moved.
func (b *runStats) addTraffic(j *job) {
	shuffled, crossed, gathers := model.Bytes(0), 0.0, false
	m := &b.traffic[j.index]
	for i := range j.stages {
		t := &j.stages[i]
		for l, n := range t.localityCounts {
			b.totals.localityCounts[l] += n
		}
		m.Read += t.remoteBytes
		for _, e := range t.inputs {
			gathers = true
			if e.kind == model.ScatterGather {
				shuffled += e.from.outputDone
				crossed += float64(shuffle.CrossRack(e.from.outputByRack, t.launchedOn))
				m.Sources, m.Sinks = max(m.Sources, effectiveCount(e.from.outputByRack)), max(m.Sinks, effectiveCount(t.launchedOn))
			}
		}
	}
	m.Shuffle, m.Crossed = shuffled, model.Bytes(crossed)
	if !gathers {
		return
	}
	b.totals.reducingJobs++
	b.totals.mapProgressSum += max(j.mapsAtFirstReduce, 0)
	b.totals.shuffled += shuffled
	if shuffled > 0 {
		b.totals.crossed += crossed
		b.totals.crossedFractionSum += crossed / float64(shuffled)
		b.totals.shufflingJobs++
	}
}

// demandOf returns the least a job takes, wherever its tasks run and those of the
// jobs before it: all its tasks, its longest chain of them, and what it sends
// across racks.
func demandOf(s *world, j *job) bounds.Demand {
	d := bounds.Demand{Arrival: j.spec.Submit.Sub(0).Seconds(), Waits: len(j.spec.Parents) > 0}
	for _, p := range j.spec.Parents {
		parent := &s.stats.demands[p]
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
		for _, e := range t.spec.Edges {
			after := longest
			if e.Kind == model.OneToOne { // a task does not wait for all of the source
				after = shortest
			}
			paths[i] = max(paths[i], paths[e.From]+after)
		}
		d.Path = max(d.Path, paths[i])
		d.CrossRack = max(d.CrossRack, leastCrossRack(s, t))
	}
	return d
}

// finishedDemands returns the demands of the jobs that finished: no bound holds for
// the others.
func (b *runStats) finishedDemands() []bounds.Demand {
	if !slices.ContainsFunc(b.responses, func(seconds float64) bool { return seconds < 0 }) {
		return b.demands
	}
	var out []bounds.Demand
	for i, seconds := range b.responses {
		if seconds >= 0 {
			out = append(out, b.demands[i])
		}
	}
	return out
}

// leastCrossRack returns the least that crosses racks of what a stage gathers from
// stages that read files, and of these files. What another job wrote may lie
// anywhere.
func leastCrossRack(s *world, t *stage) model.Bytes {
	var blocks [][]int
	var least []model.Bytes
	for _, e := range t.inputs {
		if e.kind != model.ScatterGather || e.from.kind != model.StageMap {
			continue
		}
		reads := e.from.spec.Reads
		later := slices.ContainsFunc(reads, func(f workload.File) bool { return f.Place == workload.OfParent })
		for task := range e.from.total {
			if !e.from.in.hasBlock(task) || later && reads[e.from.spec.Split(task, s.cluster.Block).File].Place == workload.OfParent {
				continue
			}
			var racks []int
			for _, n := range e.from.in.replicas(task) {
				if n >= 0 {
					racks = append(racks, s.layout.nodes[n].rack)
				}
			}
			blocks, least = append(blocks, racks), append(least, min(e.from.in.size(task), e.from.outputOf(task)))
		}
	}
	return shuffle.LowerBound(blocks, least)
}

// sampleLinks reads the links, whenever rates have been shared out again, and now and
// then the nodes.
func (b *runStats) sampleLinks(s *world) {
	l := &b.links
	dt := s.now.Sub(l.readAt)
	if dt <= 0 || !s.net.Solved() && dt < s.params.LongestStep && !s.layout.background.movesAt(s.now) {
		return
	}
	l.readAt = s.now
	l.traffic = s.net.Traffic(l.traffic)
	beats := int(dt / s.params.Heartbeat)
	for r := range l.traffic {
		rack := &s.cluster.Racks[r]
		l.loads[r] = load(&l.before[r], &l.traffic[r], dt, s.layout.background.loads[r])
		share := max(float64(l.loads[r].Out/rack.Uplink.Out), float64(l.loads[r].In/rack.Uplink.In))
		l.addUse(r, share, s.now.Add(-dt), s.now)
		busy := share >= s.params.Congestion
		if busy {
			b.totals.congestedSamples += beats
			if !l.congested[r] {
				b.totals.onsets++
			}
		}
		l.congested[r] = busy
	}
	l.before, l.traffic = l.traffic, l.before
	if s.now.Sub(b.nodesSampledAt) >= s.params.Sample {
		b.nodesSampledAt = s.now
		b.sampleNodes(s)
	}
}

// load is what a rack's links carried on average between two readings, other traffic included.
func load(before, now *network.Traffic, dt model.Duration, other topology.Link) topology.Link {
	var up, down model.Bytes
	for k := range network.Kinds {
		up += now.Up[k] - before.Up[k]
		down += now.Down[k] - before.Down[k]
	}
	return topology.Link{
		Out: model.BytesPerSecond(float64(up)/dt.Seconds()) + other.Out,
		In:  model.BytesPerSecond(float64(down)/dt.Seconds()) + other.In,
	}
}

// sampleNodes counts the nodes whose maps are about to put out more than NAS's
// TrafficThreshold: a node's part of an average wave (algorithms.md 2.3.4).
func (b *runStats) sampleNodes(s *world) {
	if b.activeMaps == 0 {
		return
	}
	each := float64(b.activeShuffle) / float64(b.activeMaps)
	for i := range s.layout.nodes {
		n := &s.layout.nodes[i]
		b.totals.nodeSamples++
		if float64(n.runningOutput) > each*float64(n.total[0]) {
			b.totals.overThreshold++
		}
	}
}
