package weave

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// accounts are how far users are behind their shares in each queue, and how far jobs would have come at an equal share of
// their users'.
type accounts struct {
	byKey    map[accountKey]*account
	at       model.Time // up to which they are kept
	first    int        // accounts and jobs that go first
	starving int        // accounts that are behind by longestBehind
	spare    float64    // MiB x seconds that may go to jobs which do not go first, before those that do

	queues, users []share // of one round
}

// longestBehind is how many seconds of its share a user is owed at most. One that is owed as much goes before all.
const longestBehind = 3600

// spareSeconds is for how long what may go to others is saved up.
const spareSeconds = 60

// accountKey is a user in a queue.
type accountKey struct {
	queue model.QueueID
	user  model.UserID
}

// account is that of one user in one queue. Memory is in MiB.
type account struct {
	seconds  float64 // of all it is entitled to, that it has not had
	first    bool    // its jobs go first, from BehindS on until it has had all
	weight   float64
	has      float64 // memory of its containers
	more     float64 // memory of what it asks for and may start now
	asking   int     // its jobs that do
	entitled float64 // memory
	kept     model.Time
	known    bool // at the time before
}

// share is what takes part in a division.
type share struct {
	weight, wants, gets float64
	of                  *account     // of a user
	queue               *state.Queue // of a queue
}

// keep brings the accounts up to date, every second. Queues are entitled to a part of the memory by their weights, and the
// users of a queue to a part of that by theirs; what one does not want the others may have. Who wants nothing is owed nothing.
func (a *accounts) keep(in *policy.Input, asking *order, p *Params) {
	v := in.View
	since := v.Now().Sub(a.at).Seconds()
	if a.at != 0 && since >= 0 && since < 1 {
		return
	}
	a.save(in.Journal)
	if a.at == 0 || since < 0 { // a clock that was set back begins anew
		since = 0
		clear(a.byKey)
	}
	a.at, a.first, a.starving = v.Now(), 0, 0
	full := p.Spare * float64(v.Capacity().Total.MemoryMiB)
	a.spare = min(a.spare+full*since, full*spareSeconds)
	a.count(in, asking)
	a.divide(v, p)
	for key, k := range a.byKey { // order-free: each by itself
		if k.kept != a.at {
			delete(a.byKey, key)
			continue
		}
		if k.known { // else it came in the meantime
			k.owe(since, p.BehindS)
		}
		if k.known = true; k.first {
			a.first++
		}
		if k.seconds >= longestBehind {
			a.starving++
		}
	}
	for i := range asking.rows {
		if e := asking.rows[i].e; e.fall(a.at, since, p) {
			a.first++
		}
	}
}

// owe adds what a user was denied in some seconds, and takes off what it had beyond its share. Its jobs go first from
// so many seconds on until it is owed nothing.
func (k *account) owe(seconds, limit float64) {
	if k.more <= 0 || k.entitled <= 0 || limit <= 0 {
		k.seconds, k.first = 0, false
		return
	}
	k.seconds = min(max(k.seconds+seconds*(1-k.has/k.entitled), 0), longestBehind)
	k.first = k.seconds > limit || k.first && k.seconds > 0
}

// save has a question restore the accounts.
func (a *accounts) save(j *policy.Journal) {
	if !j.Asking() {
		return
	}
	policy.Save(j, a)
	a.queues, a.users = nil, nil
	was := a.byKey
	a.byKey = make(map[accountKey]*account, len(was))
	for key, k := range was { // order-free: a copy
		k := *k
		a.byKey[key] = &k
	}
}

// count finds what each user wants in each queue.
func (a *accounts) count(in *policy.Input, asking *order) {
	if a.byKey == nil {
		a.byKey = map[accountKey]*account{}
	}
	for _, q := range in.View.Root().Leaves() {
		for _, u := range q.Users() {
			key := accountKey{q.ID, u.ID}
			k := a.byKey[key]
			if k == nil {
				k = &account{}
				a.byKey[key] = k
			}
			k.kept, k.weight, k.has, k.more, k.asking, k.entitled = a.at, u.Weight, float64(u.Used.MemoryMiB), 0, 0, 0
		}
	}
	for i := range asking.rows {
		e := asking.rows[i].e
		policy.Save(in.Journal, &e.account)
		policy.Save(in.Journal, &e.fair)
		if e.account = a.byKey[accountKey{e.job.Queue, e.job.User}]; e.account != nil {
			e.account.more += wanted(e.job)
			e.account.asking++
		}
	}
}

// divide sets what each account is entitled to.
func (a *accounts) divide(v state.View, p *Params) {
	a.queues = a.queues[:0]
	for _, q := range v.Root().Leaves() {
		s := share{weight: 1, queue: q}
		if w, named := p.Queues[string(q.ID)]; named {
			s.weight = w
		}
		for _, u := range q.Users() {
			k := a.byKey[accountKey{q.ID, u.ID}]
			s.wants += k.has + k.more
		}
		a.queues = append(a.queues, s)
	}
	divideShares(a.queues, float64(v.Capacity().Total.MemoryMiB))
	for _, q := range a.queues {
		a.users = a.users[:0]
		for _, u := range q.queue.Users() {
			k := a.byKey[accountKey{q.queue.ID, u.ID}]
			a.users = append(a.users, share{weight: k.weight, wants: k.has + k.more, of: k})
		}
		divideShares(a.users, q.gets)
		for i := range a.users {
			a.users[i].of.entitled = a.users[i].gets
		}
	}
	clear(a.queues)
	clear(a.users)
}

// divideShares divides an amount by weight, to nobody more than it wants (max-min fairness). It changes the order.
func divideShares(s []share, amount float64) {
	slices.SortStableFunc(s, func(a, b share) int { return cmp.Compare(a.wants*b.weight, b.wants*a.weight) })
	weights := 0.0
	for i := range s {
		weights += s[i].weight
	}
	for i := range s {
		s[i].gets = min(s[i].wants, amount*s[i].weight/max(weights, 1e-9))
		amount -= s[i].gets
		weights -= s[i].weight
	}
}

// wanted returns the memory, in MiB, of what a job asks for and may start now.
func wanted(j *state.Job) float64 {
	sum := float64(j.Map.Pending) * float64(j.Map.Capability.MemoryMiB)
	if startsReduces(j) {
		sum += float64(j.Reduce.Pending) * float64(j.Reduce.Capability.MemoryMiB)
	}
	return sum
}

// progress is how far a job would have come had its user's jobs shared what the user is entitled to.
type progress struct {
	seconds  float64    // container seconds
	complete model.Time // when it would have been complete; 0 before
	late     bool       // it goes first
}

// fall adds what a job would have had in some seconds up to now, and reports whether it goes first on its own account: it
// is late once it has been there Late times as long as it would have taken.
func (e *entry) fall(now model.Time, seconds float64, p *Params) bool {
	k, f := e.account, &e.fair
	if k == nil || p.Late <= 0 {
		f.late = false
		return false
	}
	if f.complete == 0 {
		task := float64(max(e.job.Map.Capability.MemoryMiB, e.job.Reduce.Capability.MemoryMiB, 1))
		seconds = min(seconds, max(now.Sub(e.job.Submitted).Seconds(), 0))
		f.seconds += seconds * k.entitled / float64(max(k.asking, 1)) / task
		if f.seconds >= e.size.work {
			f.complete = now
		}
	}
	took := f.complete.Sub(e.job.Submitted).Seconds()
	f.late = f.complete != 0 && now.Sub(e.job.Submitted).Seconds() > p.Late*took
	return f.late
}

// first reports whether a job goes before those of others that are not.
func (e *entry) first() bool { return e.fair.late || e.account != nil && e.account.first }

// starves reports whether a job's user goes before all others.
func (e *entry) starves() bool { return e.account != nil && e.account.seconds >= longestBehind }
