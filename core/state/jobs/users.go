package jobs

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// User is one user with live jobs.
type User struct {
	ID      model.UserID
	Weight  float64
	Usage   model.Resource // of live applications, with what the current what-if assumes
	share   float64        // of memory in Usage, over Weight
	jobs    []*Job         // by arrival
	byUsage ranking[*Job]  // the jobs by usage
	filled  uint64         // Users.changes when byUsage was filled; 0 before the first question
	tie     int            // place among users with equal shares, valid while Users.sorted equals Users.changes
	index   *Users
	number  int
}

// Number returns a number from 0 that no other user of the cluster has at the
// time, as Job.Number does. Another user gets it once this one has no live jobs.
func (u *User) Number() int { return u.number }

// Jobs returns the user's live jobs by arrival.
func (u *User) Jobs() []*Job { return u.jobs }

// JobsByUsage returns the user's live jobs, the one with the least memory first,
// then by arrival: FairSharePolicy's order inside a queue, where every job has
// the weight 1 (algorithms.md 2.5.2).
func (u *User) JobsByUsage() []*Job {
	if u.filled != u.index.changes {
		u.filled, u.byUsage.compare = u.index.changes, compareUsage
		u.byUsage.fill(u.jobs)
	}
	return u.byUsage.list
}

func compareUsage(a, b *Job) int {
	if c := cmp.Compare(a.Usage().MemoryMiB, b.Usage().MemoryMiB); c != 0 {
		return c
	}
	return Compare(a, b)
}

// Share returns usage over weight, the quantity fair order compares.
func (u *User) Share() float64 { return u.share }

// addUsage adds to what the user has.
func (u *User) addUsage(more model.Resource) {
	u.Usage = u.Usage.Add(more)
	u.share = float64(u.Usage.MemoryMiB) / u.Weight
}

// Shares returns the user's parts of all memory and of all vcores over weight,
// the larger first: the larger is the dominant share (Ghodsi et al., "Dominant
// Resource Fairness", NSDI 2011, §4.1). Nobody
// has a share of a resource that the cluster lacks.
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

// UserOrder is one of the orders users can be served in.
type UserOrder uint8

// The orders. Each puts equal users by earliest job and then by name.
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

// Users holds the users with live jobs. Their orders, and those of each one's
// jobs by usage, are sorted again at the first question after a job came or went, and
// are updated while only usage changes.
type Users struct {
	byID       map[model.UserID]*User
	numbers    numbers[User]
	total      model.Resource // of all running nodes; shares are parts of it
	orders     [userOrders]ranking[*User]
	maintained [userOrders]bool // from the first time an order is asked for
	changes    uint64           // starts at 1 and grows when a job comes or goes, or total changes
	sorted     uint64           // changes when the orders were made
}

func newUsers() *Users {
	us := &Users{byID: map[model.UserID]*User{}, changes: 1}
	for i, compare := range [userOrders]func(a, b *User) int{
		ByMemory:        func(a, b *User) int { return cmp.Compare(a.share, b.share) },
		ByDominantShare: func(a, b *User) int { return us.compareShares(a, b, false) },
		ByShares:        func(a, b *User) int { return us.compareShares(a, b, true) },
	} {
		us.orders[i].compare = func(a, b *User) int {
			if c := compare(a, b); c != 0 {
				return c
			}
			return cmp.Compare(a.tie, b.tie)
		}
	}
	us.maintained[ByMemory] = true
	return us
}

func (us *Users) compareShares(a, b *User, both bool) int {
	aDominant, aOther := a.Shares(us.total)
	bDominant, bOther := b.Shares(us.total)
	if c := cmp.Compare(aDominant, bDominant); c != 0 || !both {
		return c
	}
	return cmp.Compare(aOther, bOther)
}

// In returns the users in an order, which is maintained from now on.
func (us *Users) In(o UserOrder) []*User {
	if !us.maintained[o] || us.sorted != us.changes {
		us.maintained[o], us.sorted = true, us.changes
		us.sort()
	}
	return us.orders[o].list
}

// addJob adds a job to its user. A weight above 0 becomes that of a new user.
func (us *Users) addJob(j *Job, weight float64) {
	u := us.byID[j.User]
	if u == nil {
		u = &User{ID: j.User, Weight: 1, index: us}
		if weight > 0 {
			u.Weight = weight
		}
		us.byID[j.User] = u
		u.number = us.numbers.add(u)
	}
	us.changes++
	j.Owner = u
	u.jobs = Insert(u.jobs, j)
	u.addUsage(j.Allocated)
}

// removeJob removes a job from its user, and the user with the last job.
func (us *Users) removeJob(j *Job) {
	us.changes++
	u := j.Owner
	u.addUsage(model.Resource{}.Sub(j.Allocated))
	u.jobs = Remove(u.jobs, j)
	if len(u.jobs) == 0 {
		delete(us.byID, u.ID)
		us.numbers.release(u.number)
	}
}

// sort sorts the maintained orders again.
func (us *Users) sort() {
	fair := &us.orders[ByMemory]
	clear(fair.list)
	fair.list = fair.list[:0]
	for _, u := range us.byID { // order-free: sorted below
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
		if us.maintained[o] {
			us.orders[o].fill(fair.list)
		}
	}
}

// Resize sets what the nodes have in all.
func (us *Users) Resize(total model.Resource) {
	if total != us.total {
		us.total = total
		us.changes++
	}
}

// places are the places of a job and its user in the orders, -1 in orders that are
// not maintained or are outdated.
type places struct {
	user [userOrders]int
	job  int
}

// placesOf returns the places of a job and its user before their usage changes.
func (us *Users) placesOf(j *Job) places {
	u := j.Owner
	at := places{job: -1}
	for o := range us.orders {
		if at.user[o] = -1; us.maintained[o] && us.sorted == us.changes {
			at.user[o] = us.orders[o].find(u)
		}
	}
	if u.filled == us.changes {
		at.job = u.byUsage.find(j)
	}
	return at
}

// reorder moves a job and its user to their new places after their usage changed.
func (us *Users) reorder(j *Job, from places) {
	for o := range us.orders {
		us.orders[o].move(from.user[o])
	}
	j.Owner.byUsage.move(from.job)
}

// assume supposes so many more tasks of a job's stage to run.
func (us *Users) assume(j *Job, s *Stage, tasks int) {
	at := us.placesOf(j)
	task := s.Capability.Times(int64(tasks))
	j.Owner.addUsage(task)
	j.indexes.assumed = j.indexes.assumed.Add(task)
	us.reorder(j, at)
}
