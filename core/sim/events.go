package sim

import (
	"slices"

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

// queue holds the events to come, the earliest first: a binary heap.
type queue struct {
	heap []event
	seq  int64
}

func (q *queue) push(at model.Time, attempt int32) {
	q.seq++
	q.insert(event{at, q.seq, attempt})
}

func (q *queue) insert(e event) {
	q.heap = append(q.heap, e)
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.heap[i].before(q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// next returns when the earliest event is due; false without any.
func (q *queue) next() (model.Time, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

func (q *queue) pop() event {
	top, last := q.heap[0], len(q.heap)-1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && q.heap[child].before(q.heap[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

// drop takes the event of an attempt out, if it has one.
func (q *queue) drop(attempt int32) {
	i := slices.IndexFunc(q.heap, func(e event) bool { return e.attempt == attempt })
	if i < 0 {
		return
	}
	rest := append(q.heap[:i:i], q.heap[i+1:]...)
	q.heap = q.heap[:0]
	for _, e := range rest {
		q.insert(e)
	}
}

// attempt is a running task.
type attempt struct {
	job      *job
	am       bool  // the ApplicationMaster, until it asks for tasks
	stage    int32 // of the job
	task     int32
	waits    int32 // groups it is in that have yet to fetch all
	node     int32
	source   int32 // node of the replica it reads over the network
	launched model.Time
	ready    model.Time     // when it has computed; the network may take longer
	written  bool           // a map's output is on its way to HDFS
	level    model.Locality // of the block it reads
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
