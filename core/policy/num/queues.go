package num

import (
	"cmp"

	"heddle/core/heap"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/num/schedule"
	"heddle/core/state"
)

// entry is what is kept of one live job.
type entry struct {
	id         model.AppID
	submitted  model.Time
	fluid      schedule.Job // as it was sized last
	ratio      int64        // of it, in parts of ratioUnit
	reducesDue bool         // reduces may run
	ready      bool         // there is something for a reduce to fetch, or the maps are over
	buffered   int64        // map output that reduces could fetch, in parts of bufferUnit
	rank       [2]int       // of its maps and of its reduces in the last Plan

	at  [maxQueues]int // place in each queue, plus 1; 0 is not in it
	key [maxQueues]float64
}

// Ratios and buffers are summed in whole numbers: a sum does not depend on the
// order in which jobs come and go, and the mean of equal ratios is none other.
const (
	ratioUnit  = 1e-6
	ratioMax   = 1e6
	bufferUnit = 1e-6 // a microsecond of the network, in seconds
)

// maxQueues is how many queues there can be: that of the shuffle, and two lanes for
// each of P1 and P2.
const maxQueues = 5

// queue is the jobs of one lane of a schedule that have a task to start, or those
// of the shuffle queue.
type queue struct {
	n        int // its number, below maxQueues
	schedule schedule.Schedule
	lane     int
	shuffle  bool // the shuffle queue; else a lane of the map queue

	heap   heap.Heap[*entry]
	ratios int64 // of the jobs in it
}

// before orders the queue: by key, then by arrival. Reduces that have something to
// fetch go before those that have not.
func (q *queue) before(a, b *entry) bool {
	switch {
	case q.shuffle && a.ready != b.ready:
		return a.ready
	case a.key[q.n] != b.key[q.n]:
		return a.key[q.n] < b.key[q.n]
	}
	return cmp.Or(cmp.Compare(a.submitted, b.submitted), cmp.Compare(a.id, b.id)) < 0
}

// keyOf returns a job's key, and whether it has a task to start in the queue.
func (q *queue) keyOf(e *entry, j *state.Job) (key float64, in bool) {
	s := j.Map
	if q.shuffle {
		s, key, in = j.Reduce, q.schedule.ShuffleKey(&e.fluid), e.reducesDue
	} else {
		key, in = q.schedule.MapKey(q.lane, &e.fluid)
	}
	if q.schedule.Shares() { // whoever holds least memory is furthest below an equal share
		key = float64(s.Running) * float64(s.Capability.MemoryMiB)
	}
	return key, in && s.Pending > 0
}

// update puts a job where it belongs in the queue. It was ready or not before.
func (q *queue) update(e *entry, j *state.Job, wasReady bool) {
	key, in := q.keyOf(e, j)
	isSame := key == e.key[q.n] && e.ready == wasReady
	e.key[q.n] = key
	switch {
	case !in:
		q.remove(e)
	case e.at[q.n] == 0:
		q.push(e)
	case !isSame:
		q.heap.Set(e.at[q.n]-1, e)
	}
}

func (q *queue) push(e *entry) {
	q.ratios += e.ratio
	q.heap.Push(e)
}

// remove takes a job out, if it is in.
func (q *queue) remove(e *entry) {
	if e.at[q.n] > 0 {
		q.ratios -= e.ratio
		q.heap.Remove(e.at[q.n] - 1)
		e.at[q.n] = 0
	}
}

// queues holds the live jobs in the queues the schedules need.
type queues struct {
	sizes    *Sizes
	jobs     policy.Jobs[entry]
	all      []*queue // the shuffle queue, then the lanes of the map queue
	shuffle  *queue
	buffered int64 // of all jobs past slowstart

	mark     state.Revision // up to which the jobs are as the cluster has them
	changed  []*state.Job   // since then; empty between offers
	total    model.Resource // of the nodes that ran when capacity was computed
	capacity capacity
	passed   []*entry // that the present offer was tried with
}

// add makes a queue.
func (x *queues) add(s schedule.Schedule, lane int, shuffle bool) *queue {
	q := &queue{n: len(x.all), schedule: s, lane: lane, shuffle: shuffle}
	q.heap = heap.NewIndexed(q.before, func(e *entry, place int) { e.at[q.n] = place + 1 })
	x.all = append(x.all, q)
	return q
}

// mapQueues returns all lanes of the map queue.
func (x *queues) mapQueues() []*queue { return x.all[1:] }

// update applies the jobs that changed, or all when nodes came or went, because the
// sizes are in parts of what the cluster can do.
func (x *queues) update(v state.View) {
	if total := v.Capacity().Total; total != x.total {
		x.total, x.capacity = total, x.sizes.capacity(v)
		x.mark = state.Revision{}
	}
	x.changed, x.mark = v.Changed(x.mark, x.changed[:0])
	for i, j := range x.changed {
		x.changed[i] = nil
		if j.State.Final() {
			x.jobs.Drop(j)
		} else {
			x.updateJob(j)
		}
	}
	x.jobs.Prune(v)
}

// updateJob sizes a job and puts it where it belongs in every queue.
func (x *queues) updateJob(j *state.Job) {
	e := x.jobs.Of(j)
	e.id, e.submitted = j.ID, j.Submitted
	before, wasReady := e.ratio, e.ready
	x.buffered -= e.buffered
	x.sizes.measure(e, j, &x.capacity)
	x.buffered += e.buffered
	for _, q := range x.all {
		if e.at[q.n] > 0 {
			q.ratios += e.ratio - before
		}
		q.update(e, j, wasReady)
	}
}

// forget takes a job that left out of all queues.
func (x *queues) forget(e *entry) {
	for _, q := range x.all {
		q.remove(e)
	}
	x.buffered -= e.buffered
}

// each calls try with the jobs of a queue in order, or only with those that have
// something to fetch, until it returns false. It reports whether that happened.
func (x *queues) each(v state.View, q *queue, ready bool, try func(*state.Job) bool) (stopped bool) {
	for q.heap.Len() > 0 && !stopped && (!ready || q.heap.First().ready) {
		e := q.heap.First()
		if stopped = !try(v.Job(e.id)); !stopped {
			q.remove(e)
			x.passed = append(x.passed, e)
		}
	}
	for _, e := range x.passed {
		q.push(e)
	}
	clear(x.passed)
	x.passed = x.passed[:0]
	return stopped
}
