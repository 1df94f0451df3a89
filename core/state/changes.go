package state

import "slices"

// Mark is a point in the history of one cluster. The zero Mark is before all of
// it.
type Mark struct {
	of *changeLog
	n  uint64
}

// Changed appends the jobs that changed since a mark, and returns the mark of
// now: everything that is kept per job and follows from the job can be kept up
// to date at the cost of what changed. A job may come twice. Jobs that ended
// since are among them as long as they are known; jobs that are not known any
// more are not. For a mark that is too old or of another cluster all live jobs
// are returned. The assumptions of a what-if count as changes.
func (r relations) Changed(since Mark, jobs []*Job) ([]*Job, Mark) {
	l := r.jobs.changes
	now := Mark{l, l.n}
	if since.of != l || l.n-since.n > logged {
		return append(jobs, r.jobs.live...), now
	}
	for n := since.n; n < l.n; n++ {
		if j := l.jobs[n%logged]; !j.seat.gone {
			jobs = append(jobs, j)
		}
	}
	return jobs, now
}

// logged is how many changes are remembered. A reader that is further behind
// looks at every job.
const logged = 1024

// changeLog remembers which jobs changed last.
type changeLog struct {
	jobs [logged]*Job
	n    uint64 // changes ever
}

func (l *changeLog) add(j *Job) {
	l.jobs[l.n%logged] = j
	l.n++
}

// readersChanged takes note that the blocks of a path became known.
func (x *jobIndex) readersChanged(path string) {
	for _, j := range x.live {
		if slices.Contains(j.Conf.Inputs, path) {
			x.changes.add(j)
		}
	}
}
