package state

import "heddle/core/model"

// seat is where a job is in the indexes over all jobs.
type seat struct {
	number  int
	leaf    *Queue         // its queue
	part    *QueueUser     // its user's part there
	view    *AppView       // as last published, nil when the job changed since
	gone    bool           // the job is forgotten
	assumed model.Resource // what the current what-if has it use, beyond what it is told to
	listed  uint64         // the last listing of applications that it was in
}

// Number returns a number from 0 that no other job of the cluster has at the
// time, so that what is kept of jobs can lie in a slice. It is given again once
// the job is forgotten.
func (j *Job) Number() int { return j.seat.number }

// numbers gives jobs or users their numbers.
type numbers[T any] struct {
	of   []*T // by number, nil for one that is free
	free []int
}

// take returns the number of one more: the last that became free, if any did.
func (x *numbers[T]) take(one *T) int {
	last := len(x.free) - 1
	if last < 0 {
		x.of = append(x.of, one)
		return len(x.of) - 1
	}
	n := x.free[last]
	x.free = x.free[:last]
	x.of[n] = one
	return n
}

func (x *numbers[T]) release(n int) {
	x.of[n] = nil
	x.free = append(x.free, n)
}

// forget drops the last that is known of a job.
func (x *jobIndex) forget(j *Job) {
	x.depends.unlink(j, x.changes.add)
	delete(x.byID, j.ID)
	x.asked = nil
	for _, s := range []*Stage{j.Map, j.Reduce, j.Other} {
		if s != nil {
			s.clearDemand()
		}
	}
	x.numbers.release(j.seat.number)
	j.seat = seat{gone: true}
}
