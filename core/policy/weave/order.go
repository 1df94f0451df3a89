package weave

import (
	"cmp"
	"slices"

	"heddle/core/state"
)

// The lists of jobs. A job may be in both.
const (
	listAsking   = iota // jobs that have tasks to start
	listFetching        // jobs with running reduces that have map output to fetch
	lists
)

// order is a list of jobs by what is left of them, then by arrival. A job knows its place, and moves by as many places as it
// passes jobs: a task that starts or ends moves it little.
type order struct {
	list int
	rows []row
}

// row is a job with what was left of it when it took its place.
type row struct {
	left float64
	e    *entry
}

func (a *row) before(b *row) bool {
	if a.left != b.left {
		return a.left < b.left
	}
	return state.CompareJobs(a.e.job, b.e.job) < 0
}

// set puts a job into the list where it belongs, or takes it out.
func (o *order) set(e *entry, listed bool) {
	at := e.places[o.list] - 1
	switch {
	case !listed && at >= 0:
		o.rows = slices.Delete(o.rows, at, at+1)
		e.places[o.list] = 0
		o.number(at)
	case listed && at < 0:
		now := row{e.size.left, e}
		at, _ = slices.BinarySearchFunc(o.rows, now, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.left, b.left), state.CompareJobs(a.e.job, b.e.job))
		})
		o.rows = slices.Insert(o.rows, at, now)
		o.number(at)
	case listed:
		o.move(at, row{e.size.left, e})
	}
}

// move puts the job at a place where it belongs now.
func (o *order) move(at int, now row) {
	for ; at > 0 && now.before(&o.rows[at-1]); at-- {
		o.rows[at] = o.rows[at-1]
		o.rows[at].e.places[o.list] = at + 1
	}
	for ; at+1 < len(o.rows) && o.rows[at+1].before(&now); at++ {
		o.rows[at] = o.rows[at+1]
		o.rows[at].e.places[o.list] = at + 1
	}
	o.rows[at] = now
	now.e.places[o.list] = at + 1
}

// number tells the jobs from a place on where they are.
func (o *order) number(from int) {
	for at := from; at < len(o.rows); at++ {
		o.rows[at].e.places[o.list] = at + 1
	}
}
