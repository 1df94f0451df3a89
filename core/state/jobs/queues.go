package jobs

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// Queue is a queue of the scheduler with live jobs, or the root, which holds
// those of all queues.
type Queue struct {
	ID    model.QueueID  // as the ResourceManager names it; "" is the root
	Usage model.Resource // of live applications, with what the current what-if assumes

	jobs   ranking[*Job]
	moves  int          // jobs that came or left, over all queues, when the last one here did
	leaves []*Queue     // of the root, by id
	users  []*QueueUser // by id
}

// QueueUser is one user in one queue.
type QueueUser struct {
	*User
	Used model.Resource // by the user's jobs in the queue
	jobs int
}

// Jobs returns the queue's live jobs by priority, higher first, then by arrival
// (FifoOrderingPolicy, FifoPolicy; algorithms.md 2.5.1).
func (q *Queue) Jobs() []*Job { return q.jobs.list }

// Changes returns a number that differs after a job came or left.
func (q *Queue) Changes() int { return q.moves }

// Leaves returns the root's queues by id.
func (q *Queue) Leaves() []*Queue { return q.leaves }

// Users returns the users with live jobs in the queue by id; none for the root.
func (q *Queue) Users() []*QueueUser { return q.users }

// User returns a user of the queue, nil without a live job there.
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
	return Compare(a, b)
}

func newQueue(id model.QueueID) *Queue {
	return &Queue{ID: id, jobs: ranking[*Job]{compare: compareRank}}
}

// leaf returns the place of a queue among the leaves, and whether it is there.
func (q *Queue) leaf(id model.QueueID) (int, bool) {
	return slices.BinarySearchFunc(q.leaves, id, func(l *Queue, id model.QueueID) int { return cmp.Compare(l.ID, id) })
}

// addJob adds a job to the root, to its queue and to its user there.
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
	j.indexes.queue, j.indexes.queueUser = l, l.users[k]
	j.indexes.queueUser.jobs++
	q.jobs.insert(j)
	l.jobs.insert(j)
	q.moves++
	l.moves = q.moves
	q.addUsage(j, j.Usage())
}

// removeJob removes a job, and its queue and its user there with their last job.
func (q *Queue) removeJob(j *Job) {
	zero := model.Resource{}
	q.addUsage(j, zero.Sub(j.Usage()))
	q.jobs.remove(j)
	i, _ := q.leaf(j.Queue)
	l := q.leaves[i]
	l.jobs.remove(j)
	q.moves++
	l.moves = q.moves
	if k, _ := l.user(j.User); l.users[k].jobs == 1 {
		l.users = slices.Delete(l.users, k, k+1)
	} else {
		l.users[k].jobs--
	}
	if len(l.jobs.list) == 0 {
		q.leaves = slices.Delete(q.leaves, i, i+1)
	}
}

// addUsage adds to what the root, a job's queue and its user there have.
func (q *Queue) addUsage(j *Job, more model.Resource) {
	q.Usage = q.Usage.Add(more)
	j.indexes.queue.Usage = j.indexes.queue.Usage.Add(more)
	j.indexes.queueUser.Used = j.indexes.queueUser.Used.Add(more)
}
