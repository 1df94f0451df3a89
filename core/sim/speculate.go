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

// spares are the extra attempts of a stage.
type spares struct {
	took    model.Duration // by the attempts that were done, all together
	done    int
	waiting []int        // tasks with one attempt, and one that waits for a container
	twins   map[int]bool // tasks with two attempts
	best    int          // the task that gains most by an extra attempt, as far as was looked
	gain    model.Duration
}

// watch is when a job was looked at for tasks that are late.
type watch struct {
	rest  model.Time // not again before
	eager bool       // but then
}

// speculate asks for extra attempts of tasks that are late, at most one for each
// stage of a job that has no task waiting (maybeScheduleASpeculation). An attempt
// that computes is known to the end, as its progress says; one that fetches is not.
func (r *attempts) speculate(s *world) {
	for i := range r.list {
		if by := &r.list[i]; by.job != nil && !by.am && s.now >= by.job.rest {
			t := &by.job.stages[by.stage]
			t.spare.consider(t, by, s.now)
		}
	}
	for _, j := range s.jobs.live {
		if s.now < j.rest {
			j.eager = true
			continue
		}
		j.rest, j.eager = s.now.Add(afterNone), false
		for i := range j.stages {
			if j.stages[i].addSpare(s, j) {
				j.rest, j.eager = s.now.Add(afterSome), true
			}
		}
	}
}

// wake returns when a job is to be looked at that was not since it rests, if that
// is before another time, which may be none.
func (t *jobTable) wake(now, at model.Time, ok bool) (model.Time, bool) {
	for _, j := range t.live {
		if j.eager && j.rest > now && (!ok || j.rest < at) {
			at, ok = j.rest, true
		}
	}
	return at, ok
}

// consider looks whether an attempt's task gains more by an extra attempt than
// those before: one that takes as long as the stage's others on average would end
// sooner (DefaultSpeculator.speculationValue).
func (p *spares) consider(t *stage, by *attempt, now model.Time) {
	task := int(by.task)
	if p.done == 0 || float64(t.completed) < speculateFrom*float64(t.total) || by.ready < now || p.twins[task] {
		return
	}
	gain := by.ready.Sub(now.Add(p.took / model.Duration(p.done)))
	if gain > p.gain || gain == p.gain && gain > 0 && task < p.best {
		p.best, p.gain = task, gain
	}
}

// addSpare asks for the extra attempt that gains most, if the stage may have one
// more. It is asked for like the first.
func (t *stage) addSpare(s *world, j *job) bool {
	p := t.spare
	task, gain := p.best, p.gain
	p.best, p.gain = 0, 0
	most := max(speculateLeast, int(speculateTotal*float64(t.total)), int(speculateRunning*float64(t.running)))
	if gain <= 0 || t.pending() > 0 || len(p.twins) >= most {
		return false
	}
	p.waiting = append(p.waiting, task)
	t.extra++
	s.desk.demand[s.layout.pool(t.kind)]++
	if t.kind == model.StageMap {
		j.tell(t, task, model.TaskPending, &s.layout.nodes[0], s) // where is told of tasks that run
	}
	s.desk.mark(j)
	return true
}

// pickSpare takes the task whose extra attempt is to start on a node in place of a
// task of a locality, if its block is nearer or there is no such task; -1 without.
func (t *stage) pickSpare(node int, l *layout, other int, than model.Locality) (task int, level model.Locality) {
	task, level = -1, than
	for _, k := range t.spare.waiting {
		at := model.OffSwitch
		for _, n := range t.in.known(k, l) {
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

// withdraw takes the extra attempt of a task back that waits for a container.
func (t *tasks) withdraw(task int) bool {
	i := slices.Index(t.spare.waiting, task)
	if i < 0 {
		return false
	}
	t.spare.waiting = slices.Delete(t.spare.waiting, i, i+1)
	t.extra--
	return true
}

// settle ends what a task that is done has besides: its other attempt, or the asking
// for one.
func (t *stage) settle(s *world, by *attempt, at model.Time) {
	p, task := t.spare, int(by.task)
	p.took += at.Sub(by.launched)
	p.done++
	if t.withdraw(task) {
		s.desk.demand[s.layout.pool(t.kind)]--
	}
	if !p.twins[task] {
		return
	}
	delete(p.twins, task)
	other := s.running.of(by)
	if s.running.list[other].launched < by.launched {
		s.book.tally.won++
	}
	s.running.stop(s, other, at)
}

// outlived ends the asking for an extra attempt of a task whose attempt has ended
// without a result. It reports whether the task has another attempt, which goes on.
func (t *stage) outlived(s *world, by *attempt) bool {
	task := int(by.task)
	if t.withdraw(task) {
		s.desk.demand[s.layout.pool(t.kind)]--
	}
	if !t.spare.twins[task] {
		return false
	}
	delete(t.spare.twins, task)
	other := &s.running.list[s.running.of(by)]
	by.job.tell(t, task, model.TaskRunning, &s.layout.nodes[other.node], s)
	s.desk.mark(by.job)
	return true
}

// of returns the attempt at the same task as one that has ended.
func (r *attempts) of(by *attempt) int32 {
	return int32(slices.IndexFunc(r.list, func(o attempt) bool { //nolint:gosec // bounded by the containers
		return o.job == by.job && !o.am && o.stage == by.stage && o.task == by.task
	}))
}

// doubled returns how many tasks have two attempts.
func (t *tasks) doubled() int {
	if t.spare == nil {
		return 0
	}
	return len(t.spare.twins)
}

// late reports whether an extra attempt of a task waits for a container.
func (t *tasks) late(task int) bool { return t.extra > 0 && slices.Contains(t.spare.waiting, task) }
