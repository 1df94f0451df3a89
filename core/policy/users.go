package policy

import (
	"heddle/core/model"
	"heddle/core/state"
)

// Users is what a policy keeps of the users with live jobs, found by a user's
// number. The zero value is empty.
type Users[V any] struct{ table[model.UserID, V] }

// Find returns what is kept of a user, nil without.
func (t *Users[V]) Find(u *state.User) *V { return t.find(u.Number(), u.ID) }

// Of returns what is kept of a user: the zero value if that was nothing so far.
func (t *Users[V]) Of(u *state.User) *V { return t.of(u.Number(), u.ID) }

// Prune forgets users who left, as Jobs.Prune does jobs.
func (t *Users[V]) Prune(v state.View) {
	if t.n <= len(v.Users()) {
		return
	}
	live := make(map[model.UserID]bool, len(v.Users()))
	for _, u := range v.Users() {
		live[u.ID] = true
	}
	for i := range t.rows {
		if r := &t.rows[i]; r.v != nil && !live[r.id] {
			t.clear(r)
		}
	}
}
