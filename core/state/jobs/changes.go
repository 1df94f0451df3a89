package jobs

// Revision is a point in the history of one cluster's jobs. The zero Revision is
// before all of it.
type Revision struct {
	of *Changes
	n  uint64
}

// Since appends the jobs that changed since a revision, and returns the present
// one, so that a reader can update what it derives from each job at the cost of
// what changed. A job may come twice. Jobs that ended since are among them until
// they are forgotten. For a revision that is too old or of another cluster all live
// jobs are returned. The assumptions of a what-if count as changes.
func (l *Changes) Since(since Revision, jobs, live []*Job) ([]*Job, Revision) {
	now := Revision{l, l.n}
	if since.of != l || l.n-since.n > logged {
		return append(jobs, live...), now
	}
	for n := since.n; n < l.n; n++ {
		if j := l.jobs[n%logged]; !j.indexes.forgotten {
			jobs = append(jobs, j)
		}
	}
	return jobs, now
}

// logged is how many changes are remembered. A reader that is further behind
// looks at every job.
const logged = 1024

// Changes remembers which jobs changed last.
type Changes struct {
	jobs [logged]*Job
	n    uint64 // changes ever
}

// Add records that a job changed, or something that readers derive from it.
func (l *Changes) Add(j *Job) {
	l.addOther(j)
	j.indexes.mapsChanged = Revision{l, l.n}
}

// addOther records a change that its maps have no part in.
func (l *Changes) addOther(j *Job) {
	l.jobs[l.n%logged] = j
	l.n++
}
