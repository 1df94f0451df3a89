package mapreduce

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
)

// detailTries is how often a detail of a task is asked for before it is left
// unknown.
const detailTries = 5

// job is what the poller remembers of one job. One goroutine at a time owns it.
type job struct {
	app            model.AppID
	id             string
	fact           model.JobFact // as last read
	tasks          map[taskKey]*task
	order          []taskKey // sorted
	taskLimitHit   bool      // a task was not followed because of MaxTasks
	polls          int       // rounds in which the job was asked
	countersPoll   int       // of them, the last one that read the counters; 0 before
	confRead       bool
	confTries      int
	notFound       int // answers 404 in a row
	unlistedRounds int // rounds in a row in which the ResourceManager did not list it
	backoff        poll.Backoff
	err            error // of the last failure, nil when the job answered since
	servedRound    int   // the poller's round that served it last
	pendingDetails []detail
}

// task is what the poller remembers of one task.
type task struct {
	model.Task
	successful     string // attempt that succeeded
	locatedAttempt string // attempt whose host and rack Task holds
	finalAttempt   string // attempt that was seen after it succeeded
	countedAttempt string // attempt whose final counters Task holds
	attemptsPoll   int    // the job's round of the last look at the running attempt
	countersPoll   int    // the job's round of the last look at its counters
	tries          int    // failures in a row
	changed        bool   // since it was last sent
}

// detail is one request about one task: its attempts, or the counters of the
// attempt that stands for it.
type detail struct {
	key      taskKey
	counters bool
}

func newJob(app model.AppID) (*job, error) {
	id, err := JobID(app)
	if err != nil {
		return nil, err
	}
	return &job{app: app, id: id, tasks: map[taskKey]*task{}}, nil
}

// merge applies a tasks list and returns how many of its tasks are not followed
// because the job has limit tasks already.
func (j *job) merge(entries []entry, limit int) int {
	refused, grown := 0, false
	for _, e := range entries {
		t := j.tasks[e.key]
		if t == nil {
			if len(j.tasks) >= limit {
				refused++
				continue
			}
			t = &task{changed: true, Task: model.Task{
				Stage: e.key.stage, Index: e.key.index,
				Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
			}}
			j.tasks[e.key] = t
			j.order, grown = append(j.order, e.key), true
		}
		t.merge(e)
	}
	if grown {
		slices.SortFunc(j.order, func(a, b taskKey) int {
			return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.index, b.index))
		})
	}
	return refused
}

func (t *task) merge(e entry) {
	if t.State == e.state && t.Progress == e.progress && t.successful == e.successful && t.Finished == e.finished {
		return
	}
	t.changed = true
	// The attempt that stood for the task no longer does: it succeeded before
	// and is run again, another one succeeded, or all have failed.
	gone := t.successful != "" && t.successful != e.successful
	if gone || e.state == model.TaskPending {
		t.Host, t.Rack, t.locatedAttempt, t.countedAttempt = "", "", "", ""
		t.Input, t.Output, t.Shuffled = model.Unknown, model.Unknown, model.Unknown
		t.Launched, t.Fetched, t.finalAttempt = 0, 0, ""
	}
	// Progress that falls back is another attempt's.
	if e.state == model.TaskRunning && e.progress < t.Progress {
		t.attemptsPoll = 0
	}
	t.State, t.Progress, t.successful, t.Finished, t.tries = e.state, e.progress, e.successful, e.finished, 0
}

// changes returns the tasks that changed since the last call, maps first.
func (j *job) changes() []model.Task {
	var changed []model.Task
	for _, key := range j.order {
		if t := j.tasks[key]; t.changed {
			t.changed = false
			changed = append(changed, t.Task)
		}
	}
	return changed
}

// setLocation sets host and rack of the task to those of the attempt that stands
// for it. If no attempt does, it clears them and returns false.
func (t *task) setLocation(attempts []attempt) bool {
	a, found := choose(attempts, t.successful)
	t.locatedAttempt = a.id
	if t.Host != a.host || t.Rack != a.rack {
		t.Host, t.Rack, t.changed = a.host, a.rack, true
	}
	if found && a.launched > 0 && a.launched != t.Launched {
		t.Launched, t.changed = a.launched, true
	}
	if found && t.successful != "" {
		t.finalAttempt = t.successful
		if t.Stage == model.StageReduce && a.fetched != t.Fetched {
			t.Fetched, t.changed = a.fetched, true
		}
	}
	return found
}

// applyCounters applies the counters of an attempt. A counter that is not reported
// leaves its value as it is.
func (t *task) applyCounters(c attemptCounters) {
	for _, v := range []struct {
		to    *model.Bytes
		value model.Bytes
		of    model.Stage
	}{
		{&t.Input, c.input, model.StageMap},
		{&t.Output, c.output, model.StageMap},
		{&t.Shuffled, c.shuffled, model.StageReduce},
	} {
		if v.of == t.Stage && v.value != model.Unknown && v.value != *v.to {
			*v.to, t.changed = v.value, true
		}
	}
}

// The order in which details are read: the racks of completed maps come first,
// because the job's counters are divided among them.
const (
	completedMaps = iota
	runningReduces
	runningMaps
	completedReduces
	mapCounters
	reduceCounters
	shuffleProgress
	refreshes
	fetchTimes
	classes
)

// missingDetails lists at most limit details that are still to be read. Running
// attempts are read again after refresh rounds; with final, the job has ended and
// nothing runs.
func (j *job) missingDetails(refresh, limit int, final bool) []detail {
	var class [classes][]detail
	add := func(c int, d detail) {
		if len(class[c]) < limit {
			class[c] = append(class[c], d)
		}
	}
	for _, key := range j.order {
		t := j.tasks[key]
		switch {
		case t.tries >= detailTries:
		case t.State == model.TaskSucceeded:
			places, counts := completedMaps, mapCounters
			if key.stage == model.StageReduce {
				places, counts = completedReduces, reduceCounters
			}
			if t.locatedAttempt != t.successful {
				add(places, detail{key: key})
			} else if key.stage == model.StageReduce && t.finalAttempt != t.successful {
				add(fetchTimes, detail{key: key})
			}
			if t.countedAttempt != t.successful {
				add(counts, detail{key: key, counters: true})
			}
		case t.State == model.TaskRunning && !final:
			j.addRunningDetails(t, refresh, add)
		}
	}
	plan := slices.Concat(class[:]...)
	return plan[:min(limit, len(plan))]
}

// addRunningDetails adds the details of a running task that are to be read.
func (j *job) addRunningDetails(t *task, refresh int, add func(int, detail)) {
	key := taskKey{t.Stage, t.Index}
	switch first := t.Host == "" || t.attemptsPoll == 0; {
	case first && key.stage == model.StageReduce:
		add(runningReduces, detail{key: key})
	case first:
		add(runningMaps, detail{key: key})
	case j.polls-t.attemptsPoll >= refresh:
		add(refreshes, detail{key: key})
	}
	if key.stage == model.StageReduce && t.locatedAttempt != "" && (t.countersPoll == 0 || j.polls-t.countersPoll >= refresh) {
		add(shuffleProgress, detail{key: key, counters: true})
	}
}
