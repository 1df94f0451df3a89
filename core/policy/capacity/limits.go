package capacity

import (
	"math"
	"slices"

	"heddle/core/policy"

	"heddle/core/state"
)

// normalized rounds an amount of memory up to whole smallest containers
// (Resources.multiplyAndNormalizeUp).
func (p *Policy) normalized(mib float64) float64 {
	least := float64(p.params.MinAllocation)
	return math.Ceil(mib/least-1e-9) * least // a product that is whole may come out a hair above
}

// overUserLimit reports whether a job's user has more than the queue leaves one
// user. A user at the limit gets one container more, as in
// LeafQueue.canAssignToUser.
func (p *Policy) overUserLimit(q *queue, j *state.Job) bool {
	if q.limit < 0 {
		q.limit = p.normalized(p.userLimit(q))
	}
	u := q.User(j.User)
	return float64(u.Used.MemoryMiB) > q.limit*u.Weight
}

// userLimit returns how much memory a user of weight 1 may have in a queue
// (UsersManager.computeUserLimit): an equal part of what the active users have,
// at least the percentage of the queue, at most the factor times its capacity.
// The queue counts as large as it is or, when it has grown beyond, as what it
// uses.
func (p *Policy) userLimit(q *queue) float64 {
	conf := &q.conf
	most := float64(q.most)
	if conf.UserLimitFactor != Off {
		most = q.capacity * conf.UserLimitFactor
	}
	if conf.MinimumUserLimit >= 100 && most <= q.capacity {
		return most // the percentage alone is more
	}
	least := float64(p.params.MinAllocation)
	current := q.capacity
	if used := float64(q.Usage.MemoryMiB); used >= q.capacity {
		current = used + least
	}
	used, weights := p.activeUsers(q)
	return min(max((used+least)/weights, current*conf.MinimumUserLimit/100), most)
}

// activeUsers returns what the users of a queue who ask for containers have in
// all, and the sum of their weights.
func (p *Policy) activeUsers(q *queue) (used, weights float64) {
	p.active = p.active[:0]
	for _, j := range q.Jobs() {
		if j.Map.Pending+j.Reduce.Pending+j.Other.Pending > 0 {
			if u := q.User(j.User); !slices.Contains(p.active, u) {
				p.active = append(p.active, u)
				used += float64(u.Used.MemoryMiB)
				weights += u.Weight
			}
		}
	}
	clear(p.active)
	return used, max(weights, math.SmallestNonzeroFloat64)
}

// when is what an activation depends on besides the jobs themselves. A job that
// came since has not been judged; one that left is not in line.
type when struct {
	inLine   int
	capacity float64
}

// isActive reports whether a job has an ApplicationMaster, or would have been
// given one by now.
func (p *Policy) isActive(in *policy.Input, q *queue, j *state.Job) bool {
	if !j.Allocated.IsZero() {
		return true
	}
	k := p.jobs.Of(j)
	if now := (when{len(q.Jobs()), q.capacity}); !k.active && k.judged != now {
		p.activate(in, q, now)
	}
	return k.active
}

// activate goes along the line of a queue and makes jobs active as long as the
// queue's part for ApplicationMasters and the user's part of that have room, and
// one job in any case (LeafQueue.activateApplications). It is done when a job
// has come or gone or the queue has another size.
func (p *Policy) activate(in *policy.Input, q *queue, now when) {
	clear(p.masters)
	running, each := 0.0, float64(p.params.AMMemory)
	for _, j := range q.Jobs() {
		k := p.jobs.Of(j)
		policy.Save(in.Journal, k)
		if k.active || !j.Allocated.IsZero() {
			k.active = true
			running += each
			p.masters[j.User] += each
		}
	}
	ofQueue := p.normalized(max(q.capacity, min(float64(q.most), q.free)) * q.conf.MaximumAM)
	for _, j := range q.Jobs() {
		k := p.jobs.Of(j)
		k.judged = now
		if k.active {
			continue
		}
		if running == 0 || (running+each <= ofQueue && p.masters[j.User]+each <= min(p.mastersOfUser(q, j.Owner), ofQueue)) {
			k.active = true
			running += each
			p.masters[j.User] += each
		}
	}
	clear(p.masters)
}

// mastersOfUser returns how much of a queue the ApplicationMasters of one user
// may have (LeafQueue.getUserAMResourceLimitPerPartition).
func (p *Policy) mastersOfUser(q *queue, u *state.User) float64 {
	conf := &q.conf
	if conf.UserLimitFactor == Off {
		return p.normalized(q.capacity * conf.MaximumAM)
	}
	part := max(conf.MinimumUserLimit/100, 1/float64(len(q.Users())))
	return p.normalized(q.capacity * conf.MaximumAM * min(part*u.Weight, 1) * conf.UserLimitFactor)
}
