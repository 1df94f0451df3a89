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
	used   ranking[*Job] // by usage; empty until somebody asks
}

// Jobs returns the user's live jobs by arrival.
func (u *User) Jobs() []*Job { return u.jobs }

// JobsByUsage returns the user's live jobs, the one with the least memory first,
// then by arrival: FairSharePolicy's order inside a queue, where every job has
// the weight 1 (algorithms.md 2.5.2).
func (u *User) JobsByUsage() []*Job {
	if len(u.used.list) == 0 {
		u.used = ranking[*Job]{compare: compareUsage}
		u.used.fill(u.jobs)
	}
	return u.used.list
}

func compareUsage(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Usage().MemoryMiB, b.Usage().MemoryMiB), compareJobs(a, b))
}

// Light returns the user's live shuffle-light jobs by arrival.
func (u *User) Light() []*Job { return u.light }

// Heavy returns the user's live shuffle-heavy jobs by arrival.
func (u *User) Heavy() []*Job { return u.heavy }

// Share returns usage over weight, the quantity fair order compares.
func (u *User) Share() float64 { return float64(u.Usage.MemoryMiB) / u.Weight }

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

// userIndex holds the users with live jobs.
type userIndex struct {
	byID   map[model.UserID]*User
	total  model.Resource // of all running nodes: what shares are parts of
	orders [userOrders]ranking[*User]
	kept   [userOrders]bool // which orders are kept; one is from the first time it is asked for
}

func newUserIndex() *userIndex {
	x := &userIndex{byID: map[model.UserID]*User{}}
	for i, compare := range [userOrders]func(a, b *User) int{
		ByMemory:        func(a, b *User) int { return cmp.Compare(a.Share(), b.Share()) },
		ByDominantShare: func(a, b *User) int { return x.compareShares(a, b, false) },
		ByShares:        func(a, b *User) int { return x.compareShares(a, b, true) },
	} {
		x.orders[i].compare = func(a, b *User) int {
			return cmp.Or(compare(a, b), cmp.Compare(a.jobs[0].Submitted, b.jobs[0].Submitted), cmp.Compare(a.ID, b.ID))
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
	if !x.kept[o] {
		x.kept[o] = true
		x.sort()
	}
	return x.orders[o].list
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

// sort puts users, and their jobs by usage, into order after jobs came, went or
// changed what they have.
func (x *userIndex) sort() {
	fair := &x.orders[ByMemory]
	clear(fair.list)
	fair.list = fair.list[:0]
	for _, u := range x.byID { // order-free: sorted below
		fair.list = append(fair.list, u)
		if len(u.used.list) > 0 {
			u.used.fill(u.jobs)
		}
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
		x.sort()
	}
}

// use supposes so many more tasks of a job's stage to run, and keeps every order.
func (x *userIndex) use(j *Job, s *Stage, tasks int) {
	u := j.Owner
	var at [userOrders]int
	for o := range x.orders {
		at[o] = x.orders[o].find(u)
	}
	job := u.used.find(j)
	u.Usage = u.Usage.Add(s.Capability.Times(int64(tasks)))
	s.assumed += tasks
	for o := range x.orders {
		x.orders[o].settle(at[o])
	}
	u.used.settle(job)
}
