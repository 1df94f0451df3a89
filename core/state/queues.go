package state

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// Queue is a queue of the scheduler with live jobs, or the root, which holds
// those of all queues.
type Queue struct {
	ID    model.QueueID  // as the ResourceManager names it; "" is the root
	Usage model.Resource // of live applications; more what the current what-if assumes

	jobs   ranking[*Job]
	came   int          // jobs that came or left, over all queues, when the last one here did
	leaves []*Queue     // of the root, by id
	users  []*QueueUser // by id
}

// QueueUser is a user's part in one queue.
type QueueUser struct {
	*User
	Used model.Resource // by the user's jobs in the queue
	jobs int
}

// Jobs returns the queue's live jobs by priority, higher first, then by arrival
// (FifoOrderingPolicy, FifoPolicy; algorithms.md 2.5.1).
func (q *Queue) Jobs() []*Job { return q.jobs.list }

// Changes returns a number that is another one after a job came or left.
func (q *Queue) Changes() int { return q.came }

// Leaves returns the root's queues by id.
func (q *Queue) Leaves() []*Queue { return q.leaves }

// Users returns the users with live jobs in the queue by id; none for the root.
func (q *Queue) Users() []*QueueUser { return q.users }

// User returns a user's part in the queue, nil if the user has no live job there.
func (q *Queue) User(id model.UserID) *QueueUser {
	if i, found := q.user(id); found {
		return q.users[i]
	}
	return nil
}

func (q *Queue) user(id model.UserID) (int, bool) {
	return slices.BinarySearchFunc(q.users, id, func(u *QueueUser, id model.UserID) int { return cmp.Compare(u.ID, id) })
}

func compareRank(a, b *Job) int {
	if a.Priority != b.Priority {
		return cmp.Compare(b.Priority, a.Priority)
	}
	return compareJobs(a, b)
}

func newQueue(id model.QueueID) *Queue {
	return &Queue{ID: id, jobs: ranking[*Job]{compare: compareRank}}
}

// leaf returns the place of a queue among the leaves.
func (q *Queue) leaf(id model.QueueID) (int, bool) {
	return slices.BinarySearchFunc(q.leaves, id, func(l *Queue, id model.QueueID) int { return cmp.Compare(l.ID, id) })
}

// addJob puts a job into the root and its queue.
func (q *Queue) addJob(j *Job) {
	i, found := q.leaf(j.Queue)
	if !found {
		q.leaves = slices.Insert(q.leaves, i, newQueue(j.Queue))
	}
	l := q.leaves[i]
	k, found := l.user(j.User)
	if !found {
		l.users = slices.Insert(l.users, k, &QueueUser{User: j.Owner})
	}
	j.seat.leaf, j.seat.part = l, l.users[k]
	j.seat.part.jobs++
	q.jobs.insert(j)
	l.jobs.insert(j)
	q.came++
	l.came = q.came
	q.use(j, j.Usage())
}

// removeJob takes a job out, with its queue and its user there if it was the last.
func (q *Queue) removeJob(j *Job) {
	zero := model.Resource{}
	q.use(j, zero.Sub(j.Usage()))
	q.jobs.remove(j)
	i, _ := q.leaf(j.Queue)
	l := q.leaves[i]
	l.jobs.remove(j)
	q.came++
	l.came = q.came
	if k, _ := l.user(j.User); l.users[k].jobs == 1 {
		l.users = slices.Delete(l.users, k, k+1)
	} else {
		l.users[k].jobs--
	}
	if len(l.jobs.list) == 0 {
		q.leaves = slices.Delete(q.leaves, i, i+1)
	}
}

// use adds to what a job's queue and its user there have.
func (q *Queue) use(j *Job, more model.Resource) {
	q.Usage = q.Usage.Add(more)
	j.seat.leaf.Usage = j.seat.leaf.Usage.Add(more)
	j.seat.part.Used = j.seat.part.Used.Add(more)
}
