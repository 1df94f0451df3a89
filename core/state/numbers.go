package state

// seat is where a job is in the indexes over all jobs.
type seat struct {
	number int
	leaf   *Queue     // its queue
	part   *QueueUser // its user's part there
	view   *AppView   // as last published, nil when the job changed since
	gone   bool       // the job is forgotten
}

// Number returns a number from 0 that no other job of the cluster has at the
// time, so that what is kept of jobs can lie in a slice. It is given again once
// the job is forgotten.
func (j *Job) Number() int { return j.seat.number }

// jobNumbers gives jobs their numbers.
type jobNumbers struct {
	next int // the lowest that was never given
	free []int
}

func (x *jobNumbers) take() int {
	if last := len(x.free) - 1; last >= 0 {
		n := x.free[last]
		x.free = x.free[:last]
		return n
	}
	x.next++
	return x.next - 1
}

// forget drops the last that is known of a job.
func (x *jobIndex) forget(j *Job) {
	x.depends.unlink(j, x.changes.add)
	delete(x.byID, j.ID)
	x.numbers.free = append(x.numbers.free, j.seat.number)
	j.seat = seat{gone: true}
}
