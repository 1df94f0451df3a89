package policy

import (
	"iter"

	"heddle/core/model"
	"heddle/core/state"
)

// Jobs is what a policy keeps of the live jobs, found by a job's number: an offer
// hashes no name. The zero value is empty.
type Jobs[V any] struct{ table[model.AppID, V] }

// JobsLeaving is an empty table that shows each value to a function before it
// is forgotten.
func JobsLeaving[V any](gone func(*V)) Jobs[V] { return Jobs[V]{table[model.AppID, V]{gone: gone}} }

// Find returns what is kept of a job, nil without.
func (t *Jobs[V]) Find(j *state.Job) *V { return t.find(j.Number(), j.ID) }

// Of returns what is kept of a job: the zero value if that was nothing so far.
func (t *Jobs[V]) Of(j *state.Job) *V { return t.of(j.Number(), j.ID) }

// Drop forgets a job.
func (t *Jobs[V]) Drop(j *state.Job) {
	if t.Find(j) != nil {
		t.clear(&t.rows[j.Number()])
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
