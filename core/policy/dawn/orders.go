package dawn

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// orders keeps the jobs that have something to launch as Algorithm 1 sorts
// them, rack by rack, so that an offer looks at the front of one list: line 8's
// "remove until the preferred rack is i" leaves the first of rack i's.
type orders struct {
	params Params
	users  map[model.UserID]*queue
	all    queue // of every user, where they are sorted together
}

// queue holds the jobs of one user.
type queue struct {
	racks []rackOrder // by rack number
	work  []*job      // by arrival: those with something to launch
}

// rackOrder lists the jobs that prefer one rack: while the network is saturated
// by rising traffic, while it is not by falling traffic.
type rackOrder struct{ saturated, free []*job }

// filed is where a job stands in the orders.
type filed struct {
	in     *queue // nil when it stands in none
	stage  model.Stage
	window int64 // lower goes first

	// For each state of the network, what Algorithm 1 sorts by.
	saturated, free preference
}

// preference is a preferred rack and the traffic from there.
type preference struct {
	rack    int
	traffic float64 // bytes across racks, of the tasks still to be launched
}

// file puts a job where it belongs by now.
func (o *orders) file(v state.View, j *state.Job, k *job, w *policy.Window) {
	o.remove(k)
	s := stageOf(j)
	if s == nil {
		return
	}
	f := &k.filed
	f.stage = s.Kind
	f.window = w.Number(k.submitted)
	if w.Overdue(k.submitted) {
		f.window = overdue(k)
	}
	c := k.choiceOf(s.Kind)
	share := float64(s.Pending) / float64(max(s.Tasks(), s.Pending))
	f.saturated = o.preferred(v, s, c, c.max, share)
	f.free = o.preferred(v, s, c, c.dep, share)
	u := o.users[k.user]
	if u == nil {
		u = &queue{}
		o.users[k.user] = u
	}
	u.work = inserted(u.work, k, compareJobs)
	f.in = u
	if o.params.Among == AmongAll {
		f.in = &o.all
	}
	f.in.insert(k)
}

// overdue is the window of a job that is one of its own: before all that are
// not, and by arrival.
func overdue(k *job) int64 { return int64(k.submitted) - 1<<62 }

// preferred returns the rack a stage prefers, with the traffic from there. Waves
// bounds how many tasks a rack is given; the rest goes to the rack that is next
// by what draws the stage.
func (o *orders) preferred(v state.View, s *state.Stage, c *choice, p shuffle.Pick, share float64) preference {
	rack, cost := p.Rack, p.Cost
	if o.params.Waves > 0 && rack != shuffle.None && s.Launched(rack) >= o.params.Waves*room(v, rack, s) {
		rack = shuffle.None
		for r, b := range c.from {
			if r != p.Rack && b > 0 && (rack == shuffle.None || b > c.from[rack]) && s.Launched(r) < o.params.Waves*room(v, r, s) {
				rack, cost = r, c.total-b
			}
		}
	}
	return preference{rack, float64(cost) * share}
}

// room returns how many tasks of a stage the running nodes of a rack hold.
func room(v state.View, rack int, s *state.Stage) int { return s.RoomIn(v.Racks()[rack]) }

// remove takes a job out.
func (o *orders) remove(k *job) {
	q := k.filed.in
	if q == nil {
		return
	}
	q.remove(k)
	k.filed.in = nil
	u := o.users[k.user]
	u.work = removed(u.work, k, compareJobs)
	if len(u.work) == 0 {
		delete(o.users, k.user)
	}
}

// of returns the queue Algorithm 1 runs over at a user's turn, nil for none.
func (o *orders) of(u *state.User) *queue {
	if o.params.Among == AmongAll {
		return &o.all
	}
	return o.users[u.ID]
}

// age makes windows of their own of the jobs that became overdue since they
// were filed. It is called before any job is filed at a later time: those it is
// about then come right before the jobs that are not overdue.
func (o *orders) age(w *policy.Window) {
	if o.params.WindowMode != policy.WindowTimeout {
		return
	}
	for _, u := range o.users { // order-free: each job's place follows from itself alone
		i, _ := slices.BinarySearchFunc(u.work, true, func(k *job, _ bool) int {
			if w.Overdue(k.submitted) {
				return -1
			}
			return 1
		})
		for i--; i >= 0 && u.work[i].filed.window == 0; i-- {
			k := u.work[i]
			k.filed.in.remove(k)
			k.filed.window = overdue(k)
			k.filed.in.insert(k)
		}
	}
}

func (q *queue) insert(k *job) {
	if r := k.filed.saturated.rack; r != shuffle.None {
		x := q.rack(r)
		x.saturated = inserted(x.saturated, k, bySaturated)
	}
	if r := k.filed.free.rack; r != shuffle.None {
		x := q.rack(r)
		x.free = inserted(x.free, k, byFree)
	}
}

func (q *queue) remove(k *job) {
	if r := k.filed.saturated.rack; r != shuffle.None {
		q.racks[r].saturated = removed(q.racks[r].saturated, k, bySaturated)
	}
	if r := k.filed.free.rack; r != shuffle.None {
		q.racks[r].free = removed(q.racks[r].free, k, byFree)
	}
}

func (q *queue) rack(r int) *rackOrder {
	for len(q.racks) <= r {
		q.racks = append(q.racks, rackOrder{})
	}
	return &q.racks[r]
}

// prefer returns the jobs that prefer a rack in the order of Algorithm 1.
func (q *queue) prefer(rack int, saturated bool) []*job {
	switch {
	case rack >= len(q.racks):
		return nil
	case saturated:
		return q.racks[rack].saturated
	}
	return q.racks[rack].free
}

// bySaturated is line 7: increasing traffic.
func bySaturated(a, b *job) int {
	if c := cmp.Or(cmp.Compare(a.filed.window, b.filed.window), cmp.Compare(a.filed.saturated.traffic, b.filed.saturated.traffic)); c != 0 {
		return c
	}
	return compareJobs(a, b)
}

// byFree is line 15: decreasing traffic.
func byFree(a, b *job) int {
	if c := cmp.Or(cmp.Compare(a.filed.window, b.filed.window), cmp.Compare(b.filed.free.traffic, a.filed.free.traffic)); c != 0 {
		return c
	}
	return compareJobs(a, b)
}

func (f *filed) traffic(saturated bool) float64 {
	if saturated {
		return f.saturated.traffic
	}
	return f.free.traffic
}

func inserted(list []*job, k *job, compare func(a, b *job) int) []*job {
	i, _ := slices.BinarySearchFunc(list, k, compare)
	return slices.Insert(list, i, k)
}

func removed(list []*job, k *job, compare func(a, b *job) int) []*job {
	if i, found := slices.BinarySearchFunc(list, k, compare); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}
