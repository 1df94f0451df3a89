package sim

import (
	"slices"

	"heddle/core/heap"
	"heddle/core/model"
)

// event is the end of a task attempt, as far as it is known: attempts that wait
// for the network have none.
type event struct {
	at      model.Time
	seq     int64 // breaks ties: first in, first out
	attempt int32
}

func (e event) before(o event) bool { return e.at < o.at || (e.at == o.at && e.seq < o.seq) }

// queue holds the events to come, the earliest first.
type queue struct {
	heap heap.Heap[event]
	seq  int64
}

func newQueue() queue { return queue{heap: heap.New(event.before)} }

func (q *queue) push(at model.Time, attempt int32) {
	q.seq++
	q.heap.Push(event{at, q.seq, attempt})
}

// next returns when the earliest event is due; false without any.
func (q *queue) next() (model.Time, bool) {
	if q.heap.Len() == 0 {
		return 0, false
	}
	return q.heap.First().at, true
}

func (q *queue) pop() event { return q.heap.Pop() }

// drop takes the event of an attempt out, if it has one.
func (q *queue) drop(attempt int32) {
	if place := slices.IndexFunc(q.heap.Items(), func(e event) bool { return e.attempt == attempt }); place >= 0 {
		q.heap.Remove(place)
	}
}

// attempt is a running task.
type attempt struct {
	job        *job
	isStarting bool  // its container starts, and it reads or fetches over the network when that is done
	isAM       bool  // the ApplicationMaster, until it asks for tasks
	stage      int32 // of the job
	task       int32
	openGroups int32 // groups it is in that have yet to fetch all
	node       int32
	source     int32 // node of the replica it reads over the network
	launched   model.Time
	computedAt model.Time     // when it has computed; the network may take longer
	isWriting  bool           // a map's output is on its way to HDFS
	container  int64          // its number, where there is a relay
	level      model.Locality // of the block it reads
}

// attempts are the running tasks by number.
type attempts struct {
	list []attempt
	free []int32
}

func (a *attempts) add(t attempt) int32 {
	if n := len(a.free); n > 0 {
		i := a.free[n-1]
		a.free = a.free[:n-1]
		a.list[i] = t
		return i
	}
	a.list = append(a.list, t)
	return int32(len(a.list)) - 1 //nolint:gosec // bounded by the containers
}

func (a *attempts) remove(i int32) {
	a.list[i] = attempt{}
	a.free = append(a.free, i)
}
