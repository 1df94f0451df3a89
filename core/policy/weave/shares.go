package weave

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// accounts are how far users are behind their shares.
type accounts struct {
	users  policy.Users[account]
	at     model.Time // up to which they are kept
	behind int        // users whose jobs go first
}

// account is that of one user.
type account struct {
	seconds float64 // of all it is entitled to, that it has not had
	first   bool    // its jobs go first
}

// keep brings the accounts up to date, every second. A user is entitled to an equal part of the memory, by weight, of the
// users that want more than they have, and to no more than it wants. Who wants nothing is owed nothing.
func (a *accounts) keep(in *policy.Input, limit float64) {
	v := in.View
	since := v.Now().Sub(a.at)
	if limit <= 0 || (a.at != 0 && since >= 0 && since < model.Second) {
		return
	}
	if a.at == 0 {
		since = 0
	}
	policy.Save(in.Journal, &a.at)
	policy.Save(in.Journal, &a.behind)
	a.at, a.behind = v.Now(), 0
	a.users.Prune(v)
	weights := 0.0
	for _, u := range v.Users() {
		if wanted(u) > 0 {
			weights += u.Weight
		}
	}
	for _, u := range v.Users() {
		k := a.users.Of(u)
		policy.Save(in.Journal, k)
		more := wanted(u)
		if more == 0 || since < 0 { // a clock that was set back begins anew
			*k = account{}
			continue
		}
		has := float64(u.Usage.MemoryMiB)
		entitled := min(u.Weight/weights*float64(v.Capacity().Total.MemoryMiB), has+more)
		k.seconds = min(max(k.seconds+since.Seconds()*(1-has/entitled), 0), 2*limit)
		if k.first = k.seconds > limit; k.first {
			a.behind++
		}
	}
}

// wanted returns the memory, in MiB, of what a user asks for and may start now.
func wanted(u *state.User) float64 {
	sum := 0.0
	for _, j := range u.Jobs() {
		sum += float64(j.Map.Pending) * float64(j.Map.Capability.MemoryMiB)
		if startsReduces(j) {
			sum += float64(j.Reduce.Pending) * float64(j.Reduce.Capability.MemoryMiB)
		}
	}
	return sum
}

// isBehind reports whether a user's jobs go first.
func (a *accounts) isBehind(u *state.User) bool {
	k := a.users.Find(u)
	return k != nil && k.first
}
