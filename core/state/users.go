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
	share  float64        // of the memory; of Usage
	jobs   []*Job         // by arrival
	light  []*Job
	heavy  []*Job
	used   ranking[*Job] // by usage, as of filled
	filled uint64        // userIndex.changes when used was filled; 0 until somebody asks
	tie    int           // place among those who are equal otherwise, while the orders are kept
	index  *userIndex
	number int
}

// Number returns a number from 0 that no other user of the cluster has at the
// time, as Job.Number does. It is given again once the user has no live jobs.
func (u *User) Number() int { return u.number }

// Jobs returns the user's live jobs by arrival.
func (u *User) Jobs() []*Job { return u.jobs }

// JobsByUsage returns the user's live jobs, the one with the least memory first,
// then by arrival: FairSharePolicy's order inside a queue, where every job has
// the weight 1 (algorithms.md 2.5.2).
func (u *User) JobsByUsage() []*Job {
	if u.filled != u.index.changes {
		u.filled, u.used.compare = u.index.changes, compareUsage
		u.used.fill(u.jobs)
	}
	return u.used.list
}

func compareUsage(a, b *Job) int {
	if c := cmp.Compare(a.Usage().MemoryMiB, b.Usage().MemoryMiB); c != 0 {
		return c
	}
	return compareJobs(a, b)
}

// Light returns the user's live shuffle-light jobs by arrival.
func (u *User) Light() []*Job { return u.light }

// Heavy returns the user's live shuffle-heavy jobs by arrival.
func (u *User) Heavy() []*Job { return u.heavy }

// Share returns usage over weight, the quantity fair order compares.
func (u *User) Share() float64 { return u.share }

// use adds to what the user has.
func (u *User) use(more model.Resource) {
	u.Usage = u.Usage.Add(more)
	u.share = float64(u.Usage.MemoryMiB) / u.Weight
}

// Shares returns the user's parts of all memory and of all vcores over weight,
// the larger first: the larger is the dominant share (Ghodsi et al., "Dominant
// Resource Fairness", NSDI 2011, §4.1). Of a resource the cluster has none of
// nobody has a share.
func (u *User) Shares(total model.Resource) (dominant, other float64) {
	part := func(used, of int64) float64 {
		if of <= 0 {
			return 0
		}
		return float64(used) / float64(of) / u.Weight
	}
	m, v := part(u.Usage.MemoryMiB, total.MemoryMiB), part(u.Usage.VCores, total.VCores)
	return max(m, v), min(m, v)
}

// classify puts a job into the list of light or of heavy jobs.
func (u *User) classify(j *Job) {
	if j.Heavy {
		u.light, u.heavy = removeJob(u.light, j), insertJob(u.heavy, j)
	} else {
		u.light, u.heavy = insertJob(u.light, j), removeJob(u.heavy, j)
	}
}

// UserOrder is one of the orders users can be served in.
type UserOrder uint8

// The orders. In each, who is equal goes by earliest job and then by name.
const (
	// ByMemory is fair order: least memory over weight (FairSharePolicy, algorithms.md 2.5.2 rules 2 to 4).
	ByMemory UserOrder = iota
	// ByDominantShare is DRF's: least dominant share over weight (algorithms.md 2.5.5).
	ByDominantShare
	// ByShares compares the dominant shares and, where they are equal, the other ones
	// (YARN's DominantResourceFairnessPolicy).
	ByShares

	userOrders = 3
)

// userIndex holds the users with live jobs. Their orders, and those of each one's
// jobs by usage, are made anew when somebody asks after a job came or went, and
// are kept while jobs only have more or less.
type userIndex struct {
	byID    map[model.UserID]*User
	numbers numbers[User]
	total   model.Resource // of all running nodes: what shares are parts of
	orders  [userOrders]ranking[*User]
	kept    [userOrders]bool // which orders are kept; one is from the first time it is asked for
	changes uint64           // jobs that came or went, or another total, so far and one
	sorted  uint64           // changes when the orders were made
}

func newUserIndex() *userIndex {
	x := &userIndex{byID: map[model.UserID]*User{}, changes: 1}
	for i, compare := range [userOrders]func(a, b *User) int{
		ByMemory:        func(a, b *User) int { return cmp.Compare(a.share, b.share) },
		ByDominantShare: func(a, b *User) int { return x.compareShares(a, b, false) },
		ByShares:        func(a, b *User) int { return x.compareShares(a, b, true) },
	} {
		x.orders[i].compare = func(a, b *User) int {
			if c := compare(a, b); c != 0 {
				return c
			}
			return cmp.Compare(a.tie, b.tie)
		}
	}
	x.kept[ByMemory] = true
	return x
}

func (x *userIndex) compareShares(a, b *User, both bool) int {
	aDominant, aOther := a.Shares(x.total)
	bDominant, bOther := b.Shares(x.total)
	if c := cmp.Compare(aDominant, bDominant); c != 0 || !both {
		return c
	}
	return cmp.Compare(aOther, bOther)
}

// in returns the users in an order, and keeps it from now on.
func (x *userIndex) in(o UserOrder) []*User {
	if !x.kept[o] || x.sorted != x.changes {
		x.kept[o], x.sorted = true, x.changes
		x.sort()
	}
	return x.orders[o].list
}

// addJob makes a job its user's, who has the weight given if that is above 0.
func (x *userIndex) addJob(j *Job, weight float64) {
	u := x.byID[j.User]
	if u == nil {
		u = &User{ID: j.User, Weight: 1, index: x}
		if weight > 0 {
			u.Weight = weight
		}
		x.byID[j.User] = u
		u.number = x.numbers.take(u)
	}
	x.changes++
	j.Owner = u
	u.jobs = insertJob(u.jobs, j)
	u.classify(j)
	u.use(j.Allocated)
}

// removeJob takes a job from its user, and a user without jobs out.
func (x *userIndex) removeJob(j *Job) {
	x.changes++
	u := j.Owner
	u.use(model.Resource{}.Sub(j.Allocated))
	u.jobs, u.light, u.heavy = removeJob(u.jobs, j), removeJob(u.light, j), removeJob(u.heavy, j)
	if len(u.jobs) == 0 {
		delete(x.byID, u.ID)
		x.numbers.release(u.number)
	}
}

// UserNumbered returns the user of a number, nil if nobody has it.
func (r relations) UserNumbered(n int) *User { return at(r.jobs.users.numbers.of, n) }

// sort makes the orders that are kept.
func (x *userIndex) sort() {
	fair := &x.orders[ByMemory]
	clear(fair.list)
	fair.list = fair.list[:0]
	for _, u := range x.byID { // order-free: sorted below
		fair.list = append(fair.list, u)
	}
	slices.SortFunc(fair.list, func(a, b *User) int {
		return cmp.Or(cmp.Compare(a.jobs[0].Submitted, b.jobs[0].Submitted), cmp.Compare(a.ID, b.ID))
	})
	for i, u := range fair.list {
		u.tie = i
	}
	slices.SortFunc(fair.list, fair.compare)
	for o := ByMemory + 1; o < userOrders; o++ {
		if x.kept[o] {
			x.orders[o].fill(fair.list)
		}
	}
}

// resize takes note of what the nodes have in all.
func (x *userIndex) resize(total model.Resource) {
	if total != x.total {
		x.total = total
		x.changes++
	}
}

// seats are where a job and its user stand in the orders, -1 in those that are
// not kept or are to be made anew.
type seats struct {
	user [userOrders]int
	job  int
}

// places returns where a job and its user stand before what they have changes.
func (x *userIndex) places(j *Job) seats {
	u := j.Owner
	at := seats{job: -1}
	for o := range x.orders {
		if at.user[o] = -1; x.kept[o] && x.sorted == x.changes {
			at.user[o] = x.orders[o].find(u)
		}
	}
	if u.filled == x.changes {
		at.job = u.used.find(j)
	}
	return at
}

// settle brings the orders up to date after what a job has changed.
func (x *userIndex) settle(j *Job, from seats) {
	for o := range x.orders {
		x.orders[o].settle(from.user[o])
	}
	j.Owner.used.settle(from.job)
}

// use supposes so many more tasks of a job's stage to run.
func (x *userIndex) use(j *Job, s *Stage, tasks int) {
	at := x.places(j)
	task := s.Capability.Times(int64(tasks))
	j.Owner.use(task)
	j.seat.assumed = j.seat.assumed.Add(task)
	x.settle(j, at)
}
