package sim

import (
	"slices"

	"heddle/core/model"
)

// The rules of MapReduce's DefaultSpeculator, with its defaults.
const (
	speculateTotal   = 0.01 // speculative-cap-total-tasks
	speculateRunning = 0.1  // speculative-cap-running-tasks
	speculateLeast   = 10   // minimum-allowed-tasks
	speculateFrom    = 0.05 // of a stage's tasks are done before any gets an extra attempt
	afterNone        = model.Second
	afterSome        = 15 * model.Second
)

// stageSpeculation are the extra attempts of a stage.
type stageSpeculation struct {
	totalTime     model.Duration // by the attempts that were done, all together
	done          int
	waiting       []int        // tasks with one attempt, and one that waits for a container
	doubled       map[int]bool // tasks with two attempts
	candidate     int          // the task that gains most by an extra attempt, as far as was looked
	candidateGain model.Duration
}

// speculationTimer is when a job was looked at for tasks that are late.
type speculationTimer struct {
	nextCheck    model.Time // the job is not looked at before
	checkPending bool       // and it is to be looked at then
}

// speculate asks for extra attempts of tasks that are late, at most one for each
// stage of a job that has no task waiting (maybeScheduleASpeculation). An attempt
// that computes is known to the end, as its progress says; one that fetches is not.
func (r *attempts) speculate(s *world) {
	for i := range r.list {
		if attempt := &r.list[i]; attempt.job != nil && !attempt.isAM && s.now >= attempt.job.nextCheck {
			t := &attempt.job.stages[attempt.stage]
			t.speculation.consider(t, attempt, s.now)
		}
	}
	for _, j := range s.jobs.live {
		if s.now < j.nextCheck {
			j.checkPending = true
			continue
		}
		j.nextCheck, j.checkPending = s.now.Add(afterNone), false
		for i := range j.stages {
			if j.stages[i].askExtra(s, j) {
				j.nextCheck, j.checkPending = s.now.Add(afterSome), true
			}
		}
	}
}

// nextSpeculation returns the earlier of a time, which may be none, and the time at
// which a job that was skipped is to be looked at for late tasks.
func (t *jobTable) nextSpeculation(now, at model.Time, ok bool) (model.Time, bool) {
	for _, j := range t.live {
		if j.checkPending && j.nextCheck > now && (!ok || j.nextCheck < at) {
			at, ok = j.nextCheck, true
		}
	}
	return at, ok
}

// consider looks whether an attempt's task gains more by an extra attempt than
// those before: one that takes as long as the stage's others on average would end
// sooner (DefaultSpeculator.speculationValue).
func (p *stageSpeculation) consider(t *stage, attempt *attempt, now model.Time) {
	task := int(attempt.task)
	if p.done == 0 || float64(t.completed) < speculateFrom*float64(t.total) || attempt.computedAt < now || p.doubled[task] {
		return
	}
	gain := attempt.computedAt.Sub(now.Add(p.totalTime / model.Duration(p.done)))
	if gain > p.candidateGain || gain == p.candidateGain && gain > 0 && task < p.candidate {
		p.candidate, p.candidateGain = task, gain
	}
}

// askExtra asks for the extra attempt that gains most, if the stage may have one
// more. It is asked for like the first.
func (t *stage) askExtra(s *world, j *job) bool {
	p := t.speculation
	task, gain := p.candidate, p.candidateGain
	p.candidate, p.candidateGain = 0, 0
	most := max(speculateLeast, int(speculateTotal*float64(t.total)), int(speculateRunning*float64(t.running)))
	if gain <= 0 || t.pending() > 0 || len(p.doubled) >= most {
		return false
	}
	p.waiting = append(p.waiting, task)
	t.extraAsked++
	s.updates.demand[s.layout.pool(t.kind)]++
	if t.kind == model.StageMap {
		j.updateTask(t, task, model.TaskPending, &s.layout.nodes[0], s) // of a pending task the node is not reported
	}
	s.updates.jobChanged(j)
	return true
}

// pickExtra returns the task whose extra attempt is to start on a node in place of
// another task with a locality, if its block is nearer or there is no other; else -1.
func (t *stage) pickExtra(node int, l *layout, other int, than model.Locality) (task int, level model.Locality) {
	task, level = -1, than
	for _, k := range t.speculation.waiting {
		at := model.OffSwitch
		for _, n := range t.in.knownReplicas(k, l) {
			if int(n) == node {
				at = model.NodeLocal
				break
			} else if l.nodes[n].rack == l.nodes[node].rack {
				at = model.RackLocal
			}
		}
		if at < level || task < 0 && other < 0 {
			task, level = k, at
		}
	}
	return task, level
}

// withdrawExtra takes the extra attempt of a task back that waits for a container.
func (t *tasks) withdrawExtra(task int) bool {
	i := slices.Index(t.speculation.waiting, task)
	if i < 0 {
		return false
	}
	t.speculation.waiting = slices.Delete(t.speculation.waiting, i, i+1)
	t.extraAsked--
	return true
}

// endOther ends the other attempt of a task that is done, or the wait for one.
func (t *stage) endOther(s *world, attempt *attempt, at model.Time) {
	p, task := t.speculation, int(attempt.task)
	p.totalTime += at.Sub(attempt.launched)
	p.done++
	if t.withdrawExtra(task) {
		s.updates.demand[s.layout.pool(t.kind)]--
	}
	if !p.doubled[task] {
		return
	}
	delete(p.doubled, task)
	other := s.running.otherAttempt(attempt)
	if s.running.list[other].launched < attempt.launched {
		s.stats.totals.extraWon++
	}
	s.running.stop(s, other, at)
}

// keepOther handles an attempt of a task that ended without a result: it withdraws an
// extra attempt that waits, and reports whether another attempt goes on.
func (t *stage) keepOther(s *world, attempt *attempt) bool {
	task := int(attempt.task)
	if t.withdrawExtra(task) {
		s.updates.demand[s.layout.pool(t.kind)]--
	}
	if !t.speculation.doubled[task] {
		return false
	}
	delete(t.speculation.doubled, task)
	other := &s.running.list[s.running.otherAttempt(attempt)]
	attempt.job.updateTask(t, task, model.TaskRunning, &s.layout.nodes[other.node], s)
	s.updates.jobChanged(attempt.job)
	return true
}

// otherAttempt returns the attempt at the same task as one that has ended.
func (r *attempts) otherAttempt(ended *attempt) int32 {
	return int32(slices.IndexFunc(r.list, func(o attempt) bool { //nolint:gosec // bounded by the containers
		return o.job == ended.job && !o.isAM && o.stage == ended.stage && o.task == ended.task
	}))
}

// doubledTasks returns how many tasks have two attempts.
func (t *tasks) doubledTasks() int {
	if t.speculation == nil {
		return 0
	}
	return len(t.speculation.doubled)
}

// extraWaiting reports whether an extra attempt of a task waits for a container.
func (t *tasks) extraWaiting(task int) bool {
	return t.extraAsked > 0 && slices.Contains(t.speculation.waiting, task)
}
