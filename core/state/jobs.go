package state

import (
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// jobIndex holds the jobs and their users.
type jobIndex struct {
	cfg         *Config
	byID        map[model.AppID]*Job
	asked       *Job   // for last: the policy, the engine's rules and Assume ask for the same one
	live        []*Job // by arrival
	ended       []*Job // oldest first
	users       *userIndex
	root        *Queue
	running     runningIndex
	local       *localIndex
	numbers     numbers[Job]
	depends     *dependIndex
	changes     *changeLog
	history     *shuffle.History // nil while a job is only supposed
	firstSubmit model.Time
	listings    uint64 // of applications, so far
}

func newJobIndex(cfg *Config) jobIndex {
	return jobIndex{cfg: cfg, byID: map[model.AppID]*Job{}, users: newUserIndex(), root: newQueue(""), depends: newDependIndex(), local: &localIndex{}, changes: &changeLog{}}
}

// job returns a job, nil if there is none of that id.
func (x *jobIndex) job(id model.AppID) *Job {
	if x.asked == nil || x.asked.ID != id {
		x.asked = x.byID[id]
	}
	return x.asked
}

func compareJobs(a, b *Job) int { return model.CompareApps(&a.App, &b.App) }

func insertJob(list []*Job, j *Job) []*Job {
	i, found := slices.BinarySearchFunc(list, j, compareJobs)
	if found {
		return list
	}
	return slices.Insert(list, i, j)
}

func removeJob(list []*Job, j *Job) []*Job {
	if i, found := slices.BinarySearchFunc(list, j, compareJobs); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

func (x *jobIndex) applyApps(f *model.AppsFact, now model.Time) {
	x.listings++
	for i := range f.Apps {
		app := &f.Apps[i]
		j := x.listed(i, app.ID)
		switch {
		case j == nil && app.State.Final():
			continue // It ended before heddle saw it: nothing to follow.
		case j == nil:
			j = x.add(*app, now)
		case j.App != *app:
			x.update(j, *app, now)
			j = x.byID[app.ID] // another one, if it came back
		}
		if j != nil {
			j.seat.listed = x.listings
		}
	}
	for i := 0; i < len(x.live) && !f.Partial; {
		j := x.live[i]
		if j.seat.listed == x.listings {
			i++
			continue
		}
		x.end(j) // takes j out of live
	}
}

// listed returns the job of an id that is listed at a place: lists often come by
// arrival.
func (x *jobIndex) listed(place int, id model.AppID) *Job {
	if place < len(x.live) && x.live[place].ID == id {
		return x.live[place]
	}
	return x.job(id)
}

func (x *jobIndex) add(app model.App, now model.Time) *Job {
	j := &Job{App: app, Ratio: x.cfg.InitialRatio, Slowstart: DefaultSlowstart, Input: &Input{}}
	j.seat.number = x.numbers.take(j)
	j.moved.joinedLate = now.Sub(app.Submitted) > staleJob
	x.addStages(j)
	x.learn(j)
	j.Heavy = j.Ratio > 1
	x.byID[app.ID] = j
	x.asked = nil
	x.live = insertJob(x.live, j)
	if x.firstSubmit == 0 || app.Submitted < x.firstSubmit {
		x.firstSubmit = app.Submitted
	}
	x.users.addJob(j, x.cfg.Weights[app.User])
	x.root.addJob(j)
	x.changes.add(j)
	return j
}

// addStages gives a job its stages.
func (x *jobIndex) addStages(j *Job) {
	stage := func(kind model.Stage) *Stage {
		return newStage(kind, x.cfg.TaskDefault, x.local, numberOf(j.seat.number, stageIndex(kind)))
	}
	j.Map, j.Reduce, j.Other = stage(model.StageMap), stage(model.StageReduce), stage(model.StageOther)
}

// learn gives a new job the shuffle/input ratio of the runs before it of the
// same user and normalised name: jobs recur, and ShuffleWatcher wants the ratio
// at submission, "from the user or an earlier run" (§3.2).
func (x *jobIndex) learn(j *Job) {
	j.told.key = shuffle.KeyOf(j.User, j.Name)
	if past, known := x.history.Expect(j.told.key); known {
		j.Ratio, j.Earlier = past.Ratio, true
	}
}

// remember keeps what a job has been measured at for the runs after it: while it
// runs what its maps have done so far, and what it has written once it is done.
func (x *jobIndex) remember(j *Job, now model.Time) {
	if !j.Predicted {
		return
	}
	k := &j.told.counters
	r := model.Run{App: j.ID, Submitted: j.Submitted, At: now, Input: k.MapInput, Shuffle: k.MapOutput, Output: model.Unknown}
	if j.Map.Total > 0 && j.Map.Completed >= j.Map.Total && j.Reduce.Completed >= j.Reduce.Total {
		r.Output = k.HDFSWritten
	}
	x.history.Record(j.told.key, r)
}

// follow brings the indexes over all jobs up to date with one of them.
func (x *jobIndex) follow(j *Job) {
	if !j.State.Final() {
		x.running.follow(j)
	}
}

func (x *jobIndex) update(j *Job, app model.App, now model.Time) {
	j.seat.view = nil
	x.changes.add(j)
	ended := j.State.Final()
	if app.State.Final() {
		if !ended {
			x.end(j)
		}
		before := succeeding(j)
		j.App = app
		if before != succeeding(j) {
			x.depends.judge(j, x.changes.add)
		}
		return
	}
	if ended { // back from the dead: a work-preserving restart listed it late
		x.ended = slices.DeleteFunc(x.ended, func(e *Job) bool { return e == j })
		known := j.Stages
		j.Stages = Stages{}
		x.forget(j)
		again := x.add(app, now) // gets the number that has just become free: known stays what is counted under it
		adopt(again, j, known)
		for _, s := range []*Stage{known.Map, known.Reduce, known.Other} {
			x.local.register(&s.Wanted)
		}
		x.depends.link(again, x.changes.add)
		return
	}
	if app.User != j.User || app.Submitted != j.Submitted { // its place in every list changes
		x.end(j)
		x.update(j, app, now)
		return
	}
	at := x.users.places(j)
	j.Owner.use(app.Allocated.Sub(j.Allocated))
	if app.Queue != j.Queue || app.Priority != j.Priority {
		x.root.removeJob(j)
		j.App = app
		x.root.addJob(j)
	} else {
		x.root.use(j, app.Allocated.Sub(j.Allocated))
		j.App = app
	}
	x.users.settle(j, at)
}

// end takes a job out of the live indexes and keeps it among the ended ones for
// its last facts. Its state stays what it was until a source says better.
func (x *jobIndex) end(j *Job) {
	x.users.removeJob(j)
	x.root.removeJob(j)
	x.running.drop(j)
	x.live = removeJob(x.live, j)
	if !j.State.Final() {
		j.State = model.AppFinished
	}
	j.Allocated, j.Containers = model.Resource{}, 0
	j.told.live = [stageCount]stageRows{}
	j.relaunch()
	j.moved.rateOut, j.moved.rateIn = nil, nil
	j.seat.view = nil
	x.changes.add(j)
	x.ended = append(x.ended, j)
	if over := len(x.ended) - x.cfg.FinishedJobs; over > 0 {
		for _, old := range x.ended[:over] {
			x.forget(old)
		}
		x.ended = slices.Delete(x.ended, 0, over)
	}
}

// suppose adds a job for the length of one question. The function it returns
// takes the job out again.
func (x *jobIndex) suppose(app model.App, now model.Time) (j *Job, takeOut func()) {
	first, ended := x.firstSubmit, x.ended
	j = x.add(app, now)
	return j, func() {
		x.ended = nil
		x.end(j)
		x.ended, x.firstSubmit = ended, first
		x.forget(j)
	}
}
