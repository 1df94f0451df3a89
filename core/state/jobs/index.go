package jobs

import (
	"iter"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/demand"
	"heddle/core/state/inputs"
	"heddle/core/state/nodes"
)

// Config is what an Index needs besides observations. The fields mean what they
// mean in state.Config.
type Config struct {
	FinishedJobs int
	InitialRatio float64
	Weights      map[model.UserID]float64
	TaskDefault  model.Resource
}

// Hooks are called when something happens to a job that other indexes follow. None
// may be nil.
type Hooks struct {
	Forgotten func(*Job)           // the job is in no index any more
	Replaced  func(old, next *Job) // the application came back: the cluster has another Job for it
	Outcome   func(*Job)           // the job turned out to have failed, or not to have
}

// Index holds the jobs, live and lately ended, with their users and queues.
type Index struct {
	Users   *Users
	Queues  *Queue // the root
	Changes *Changes

	cfg         Config
	hooks       Hooks
	byID        map[model.AppID]*Job
	last        *Job   // asked for last: the policy, the engine's rules and Assume ask for the same one
	live        []*Job // by arrival
	ended       []*Job // oldest first
	running     runningIndex
	demand      demand.Index
	numbers     numbers[Job]
	history     *shuffle.History // nil while a job is only supposed
	firstSubmit model.Time
	listings    uint64 // lists of applications so far
}

// NewIndex returns an index without jobs. History takes what jobs were measured at.
func NewIndex(cfg Config, history *shuffle.History, hooks Hooks) *Index {
	return &Index{
		Users: newUsers(), Queues: newQueue(""), Changes: &Changes{},
		cfg: cfg, hooks: hooks, byID: map[model.AppID]*Job{}, history: history,
	}
}

// Job returns a job, nil if there is none of that id.
func (x *Index) Job(id model.AppID) *Job {
	if x.last == nil || x.last.ID != id {
		x.last = x.byID[id]
	}
	return x.last
}

// Live returns the live jobs by submit time, then id.
func (x *Index) Live() []*Job { return x.live }

// Ended returns the jobs that ended lately, oldest first.
func (x *Index) Ended() []*Job { return x.ended }

// FirstSubmit returns the submit time of the first job ever seen.
func (x *Index) FirstSubmit() model.Time { return x.firstSubmit }

// RunningMaps returns the maps that run on a host, by job in no order.
func (x *Index) RunningMaps(host nodes.Host) []RunningMaps { return x.running.at(host) }

// StagesLocalTo returns how many stages have pending tasks that would be node-local
// on a host: what MapsLocalTo goes through.
func (x *Index) StagesLocalTo(host nodes.Host) int { return len(x.demand.OnHost(host)) }

// MapsLocalTo yields the jobs with pending maps that would be node-local on a host, by their
// numbers and in no order. It does not touch the jobs, some of which may have ended.
func (x *Index) MapsLocalTo(host nodes.Host) iter.Seq2[int, *Job] {
	return func(yield func(int, *Job) bool) {
		for _, e := range x.demand.OnHost(host) {
			number := int(e.Stage) / stageKinds
			if !e.Taken && int(e.Stage)%stageKinds == stageIndex(model.StageMap) && !yield(number, x.numbers.of[number]) {
				return
			}
		}
	}
}

// ApplyApps applies a list of applications. Those that a whole list lacks have
// ended.
func (x *Index) ApplyApps(f *model.AppsFact, now model.Time) {
	x.listings++
	for i := range f.Apps {
		app := &f.Apps[i]
		j := x.listed(i, app.ID)
		switch {
		case j == nil && app.State.Final():
			continue // it ended before heddle saw it
		case j == nil:
			j = x.add(*app, now)
		case j.App != *app:
			x.update(j, *app, now)
			j = x.byID[app.ID] // another one if it came back, nil if it was forgotten
		}
		if j != nil {
			j.indexes.listing = x.listings
		}
	}
	for i := 0; i < len(x.live) && !f.Partial; {
		j := x.live[i]
		if j.indexes.listing == x.listings {
			i++
			continue
		}
		x.end(j) // removes j from x.live
	}
}

// listed returns the job of an id that is listed at a place: many lists come by
// arrival.
func (x *Index) listed(place int, id model.AppID) *Job {
	if place < len(x.live) && x.live[place].ID == id {
		return x.live[place]
	}
	return x.Job(id)
}

// Update brings the indexes up to date after a fact about one job was applied.
func (x *Index) Update(j *Job, now model.Time) {
	j.indexes.published = nil
	if !j.State.Final() {
		x.running.update(j)
	}
	if j.reported.mapsBegan == 0 && j.Map.Running+j.Map.Completed > 0 {
		j.reported.mapsBegan = now
	}
	remember(x.history, j, now)
	x.Changes.Add(j)
}

// add adds a live job that is new to the cluster.
func (x *Index) add(app model.App, now model.Time) *Job {
	j := &Job{App: app, Ratio: x.cfg.InitialRatio, Conf: Conf{Slowstart: DefaultSlowstart}, Input: &inputs.Input{}}
	j.indexes.number = x.numbers.add(j)
	j.reported.firstSeen = now
	stage := func(kind model.Stage) *Stage {
		number := demand.StageNumber(j.Number()*stageKinds + stageIndex(kind)) //nolint:gosec // bounded by the number of jobs
		s := &Stage{Kind: kind, Capability: x.cfg.TaskDefault}
		s.demand.Init(&x.demand, number)
		return s
	}
	j.Map, j.Reduce, j.Other = stage(model.StageMap), stage(model.StageReduce), stage(model.StageOther)
	// Jobs recur, and ShuffleWatcher wants the ratio at submission, "from the user
	// or an earlier run" (§3.2).
	j.reported.key = shuffle.KeyOf(j.User, j.Name)
	if past, known := x.history.Expect(j.reported.key); known {
		j.Ratio, j.Earlier = past.Ratio, true
	}
	j.Heavy = j.Ratio > 1
	x.byID[app.ID] = j
	x.last = nil
	if x.firstSubmit == 0 || app.Submitted < x.firstSubmit {
		x.firstSubmit = app.Submitted
	}
	x.live = Insert(x.live, j)
	x.Users.addJob(j, x.cfg.Weights[j.User])
	x.Queues.addJob(j)
	x.Changes.Add(j)
	return j
}

// remember stores what a job was measured at for the runs after it: while it runs
// what its maps have done so far, and what it has written once it is done.
func remember(history *shuffle.History, j *Job, now model.Time) {
	if !j.Predicted {
		return
	}
	k := &j.reported.counters
	r := model.Run{App: j.ID, Submitted: j.Submitted, At: now, Input: k.MapInput, Shuffle: k.MapOutput, Output: model.Unknown}
	if j.Map.Total > 0 && j.Map.Completed >= j.Map.Total && j.Reduce.Completed >= j.Reduce.Total {
		r.Output = k.HDFSWritten
	}
	history.Record(j.reported.key, r)
}

// update applies what the ResourceManager lists of a job that is known.
func (x *Index) update(j *Job, app model.App, now model.Time) {
	j.indexes.published = nil
	x.Changes.Add(j)
	switch {
	case app.State.Final():
		if !j.State.Final() {
			x.end(j)
		}
		failed := j.Failed()
		app.User, app.Submitted = j.User, j.Submitted // lists of ended jobs are in this order
		j.App = app
		if failed != j.Failed() {
			x.hooks.Outcome(j)
		}
	case j.State.Final(): // a work-preserving restart listed it late
		x.ended = slices.DeleteFunc(x.ended, func(e *Job) bool { return e == j })
		x.replace(j, app, now)
	case app.User != j.User || app.Submitted != j.Submitted: // its place in every list changes
		x.leave(j)
		x.replace(j, app, now)
	default:
		x.updateLive(j, app)
	}
}

func (x *Index) updateLive(j *Job, app model.App) {
	before := x.Users.placesOf(j)
	more := app.Allocated.Sub(j.Allocated)
	j.Owner.addUsage(more)
	if app.Queue != j.Queue || app.Priority != j.Priority {
		x.Queues.removeJob(j)
		j.App = app
		x.Queues.addJob(j)
	} else {
		x.Queues.addUsage(j, more)
		j.App = app
	}
	x.Users.reorder(j, before)
}

// replace puts a new live job in the place of one that is in no index over live
// jobs, with all that is known of the application.
func (x *Index) replace(old *Job, app model.App, now model.Time) {
	x.numbers.release(old.indexes.number)
	next := x.add(app, now) // gets the number that was just released, so that its stages stay what demand is indexed by
	next.Map, next.Reduce, next.Other, next.Graph = old.Map, old.Reduce, old.Other, old.Graph
	next.Input, next.Output, next.Conf, next.reported = old.Input, old.Output, old.Conf, old.reported
	updateRatio(next)
	for _, s := range next.stages() {
		x.demand.Add(&s.demand)
	}
	old.indexes = jobIndexes{forgotten: true}
	x.hooks.Replaced(old, next)
}

// leave removes a job from the indexes over live jobs.
func (x *Index) leave(j *Job) {
	x.Users.removeJob(j)
	x.Queues.removeJob(j)
	x.running.removeJob(j)
	x.live = Remove(x.live, j)
}

// end moves a job to the ended ones, where it stays for its last facts. A source
// may report its outcome later.
func (x *Index) end(j *Job) {
	x.leave(j)
	if !j.State.Final() {
		j.State = model.AppFinished
	}
	j.Allocated, j.Containers = model.Resource{}, 0
	j.reported.live = [stageKinds]liveContainers{}
	j.recount()
	j.indexes.published = nil
	x.Changes.Add(j)
	x.ended = append(x.ended, j)
	if over := len(x.ended) - x.cfg.FinishedJobs; over > 0 {
		for _, old := range x.ended[:over] {
			x.forget(old)
		}
		x.ended = slices.Delete(x.ended, 0, over)
	}
}

// forget removes a job that is in no index over live jobs from all others.
func (x *Index) forget(j *Job) {
	x.hooks.Forgotten(j)
	delete(x.byID, j.ID)
	x.last = nil
	for _, s := range j.stages() {
		s.clearDemand()
	}
	x.numbers.release(j.indexes.number)
	j.indexes = jobIndexes{forgotten: true}
}
