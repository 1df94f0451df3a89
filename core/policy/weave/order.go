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

// order is a list of jobs by what is left of them, then by arrival. A job that changes moves by as many places as it passes
// jobs: a task that starts or ends moves it little.
type order struct {
	list int
	rows []row
}

// row is a job with what was left of it when it took its place.
type row struct {
	left float64
	e    *entry
}

// listing is whether a job is in a list, and what was left of it when it took its place.
type listing struct {
	in   bool
	left float64
}

func compareRows(a, b row) int {
	return cmp.Or(cmp.Compare(a.left, b.left), state.CompareJobs(a.e.job, b.e.job))
}

// place returns where a job is in the list, counted from 0. The job must be in it.
func (o *order) place(e *entry) int {
	at, _ := slices.BinarySearchFunc(o.rows, row{e.listings[o.list].left, e}, compareRows)
	return at
}

// set puts a job into the list where it belongs, or takes it out.
func (o *order) set(e *entry, listed bool) {
	was, now := &e.listings[o.list], row{e.size.left, e}
	switch {
	case !listed && was.in:
		at := o.place(e)
		o.rows = slices.Delete(o.rows, at, at+1)
	case listed && !was.in:
		at, _ := slices.BinarySearchFunc(o.rows, now, compareRows)
		o.rows = slices.Insert(o.rows, at, now)
	case listed && was.left != now.left:
		o.move(o.place(e), now)
	}
	*was = listing{listed, now.left}
}

// move puts the job at a place where it belongs now.
func (o *order) move(at int, now row) {
	for ; at > 0 && compareRows(now, o.rows[at-1]) < 0; at-- {
		o.rows[at] = o.rows[at-1]
	}
	for ; at+1 < len(o.rows) && compareRows(o.rows[at+1], now) < 0; at++ {
		o.rows[at] = o.rows[at+1]
	}
	o.rows[at] = now
}
