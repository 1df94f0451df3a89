package state

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// User is one user with live jobs.
type User struct {
	ID     model.UserID
	Weight float64
	Usage  model.Resource // of live applications; more what the current what-if assumes
	jobs   []*Job         // by arrival
	light  []*Job
	heavy  []*Job
}

// Jobs returns the user's live jobs by arrival.
func (u *User) Jobs() []*Job { return u.jobs }

// Light returns the user's live shuffle-light jobs by arrival.
func (u *User) Light() []*Job { return u.light }

// Heavy returns the user's live shuffle-heavy jobs by arrival.
func (u *User) Heavy() []*Job { return u.heavy }

// Share returns usage over weight, the quantity fair order compares.
func (u *User) Share() float64 { return float64(u.Usage.MemoryMiB) / u.Weight }

// classify puts a job into the list of light or of heavy jobs.
func (u *User) classify(j *Job) {
	if j.Heavy {
		u.light, u.heavy = removeJob(u.light, j), insertJob(u.heavy, j)
	} else {
		u.light, u.heavy = insertJob(u.light, j), removeJob(u.heavy, j)
	}
}

// userIndex holds the users with live jobs.
type userIndex struct {
	byID map[model.UserID]*User
	fair []*User // in fair order
}

// addJob makes a job its user's, who has the weight given if that is above 0.
func (x *userIndex) addJob(j *Job, weight float64) {
	u := x.byID[j.User]
	if u == nil {
		u = &User{ID: j.User, Weight: 1}
		if weight > 0 {
			u.Weight = weight
		}
		x.byID[j.User] = u
	}
	j.Owner = u
	u.jobs = insertJob(u.jobs, j)
	u.classify(j)
	u.Usage = u.Usage.Add(j.Allocated)
}

// removeJob takes a job from its user, and a user without jobs out.
func (x *userIndex) removeJob(j *Job) {
	u := j.Owner
	u.Usage = u.Usage.Sub(j.Allocated)
	u.jobs, u.light, u.heavy = removeJob(u.jobs, j), removeJob(u.light, j), removeJob(u.heavy, j)
	if len(u.jobs) == 0 {
		delete(x.byID, u.ID)
	}
}

// compareUsers is fair order (FairSharePolicy, algorithms.md 2.5.2 rules 2 to 4).
func compareUsers(a, b *User) int {
	return cmp.Or(cmp.Compare(a.Share(), b.Share()), cmp.Compare(a.jobs[0].Submitted, b.jobs[0].Submitted), cmp.Compare(a.ID, b.ID))
}

// sort puts the users into fair order.
func (x *userIndex) sort() {
	x.fair = x.fair[:0]
	for _, u := range x.byID { // order-free: sorted below
		x.fair = append(x.fair, u)
	}
	slices.SortFunc(x.fair, compareUsers)
}

// move restores fair order after one user's usage changed.
func (x *userIndex) move(u *User) {
	f := x.fair
	i := slices.Index(f, u)
	if i < 0 {
		return
	}
	for ; i+1 < len(f) && compareUsers(f[i], f[i+1]) > 0; i++ {
		f[i], f[i+1] = f[i+1], f[i]
	}
	for ; i > 0 && compareUsers(f[i-1], f[i]) > 0; i-- {
		f[i-1], f[i] = f[i], f[i-1]
	}
}
