package policy

import (
	"heddle/core/model"
	"heddle/core/state"
)

// Users is what a policy keeps of the users with live jobs, found by a user's
// number as Jobs finds jobs. The zero value is empty.
type Users[V any] struct {
	rows []userRow[V] // by number
	n    int
}

type userRow[V any] struct {
	id model.UserID
	v  *V // nil for none
}

// Len returns of how many users something is kept.
func (t *Users[V]) Len() int { return t.n }

// Find returns what is kept of a user, nil without.
func (t *Users[V]) Find(u *state.User) *V {
	if n := u.Number(); n < len(t.rows) && t.rows[n].id == u.ID {
		return t.rows[n].v
	}
	return nil
}

// Of returns what is kept of a user: the zero value if that was nothing so far.
func (t *Users[V]) Of(u *state.User) *V {
	if v := t.Find(u); v != nil {
		return v
	}
	n := u.Number()
	for n >= len(t.rows) {
		t.rows = append(t.rows, userRow[V]{})
	}
	if t.rows[n].v == nil { // else it was one's who had the number before
		t.n++
	}
	t.rows[n] = userRow[V]{u.ID, new(V)}
	return t.rows[n].v
}

// Prune forgets users who left, as Jobs.Prune does jobs.
func (t *Users[V]) Prune(v state.View) {
	if t.n <= len(v.Users()) {
		return
	}
	for i := range t.rows {
		r := &t.rows[i]
		if r.v == nil {
			continue
		}
		if u := v.UserNumbered(i); u == nil || u.ID != r.id {
			*r = userRow[V]{}
			t.n--
		}
	}
}
