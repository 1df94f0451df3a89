package policy

import (
	"iter"

	"heddle/core/model"
	"heddle/core/state"
)

// Jobs is what a policy keeps of the live jobs, found by a job's number: an offer
// hashes no name. The zero value is empty.
type Jobs[V any] struct {
	rows []row[V] // by number
	n    int
	gone func(*V)
}

type row[V any] struct {
	id model.AppID
	v  *V // nil for none
}

// JobsLeaving is an empty table that shows each value to a function before it
// is forgotten.
func JobsLeaving[V any](gone func(*V)) Jobs[V] { return Jobs[V]{gone: gone} }

// Len returns of how many jobs something is kept.
func (t *Jobs[V]) Len() int { return t.n }

// Find returns what is kept of a job, nil without.
func (t *Jobs[V]) Find(j *state.Job) *V {
	if n := j.Number(); n < len(t.rows) && t.rows[n].id == j.ID {
		return t.rows[n].v
	}
	return nil
}

// Of returns what is kept of a job: the zero value if that was nothing so far.
func (t *Jobs[V]) Of(j *state.Job) *V {
	if v := t.Find(j); v != nil {
		return v
	}
	n := j.Number()
	for n >= len(t.rows) {
		t.rows = append(t.rows, row[V]{})
	}
	t.clear(&t.rows[n]) // a job's that had the number before
	t.rows[n] = row[V]{j.ID, new(V)}
	t.n++
	return t.rows[n].v
}

// Drop forgets a job.
func (t *Jobs[V]) Drop(j *state.Job) {
	if t.Find(j) != nil {
		t.clear(&t.rows[j.Number()])
	}
}

func (t *Jobs[V]) clear(r *row[V]) {
	if r.v == nil {
		return
	}
	v := r.v
	*r = row[V]{}
	t.n--
	if t.gone != nil {
		t.gone(v)
	}
}

// Prune forgets jobs that left. With as many entries as live jobs or fewer the
// table does not outgrow the cluster, so that most calls look at nothing.
func (t *Jobs[V]) Prune(v state.View) {
	if t.n <= len(v.Jobs()) {
		return
	}
	for i := range t.rows {
		r := &t.rows[i]
		if r.v == nil {
			continue
		}
		if j := v.Job(r.id); j == nil || j.State.Final() || t.Find(j) != r.v {
			t.clear(r)
		}
	}
}

// All yields what is kept, in no order that means anything.
func (t *Jobs[V]) All() iter.Seq2[model.AppID, *V] {
	return func(yield func(model.AppID, *V) bool) {
		for i := range t.rows {
			if r := &t.rows[i]; r.v != nil && !yield(r.id, r.v) {
				return
			}
		}
	}
}
