package mapreduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// entry is one element of a tasks list.
type entry struct {
	key        taskKey
	state      model.TaskState
	progress   float64    // 0..1
	successful string     // id of the attempt that succeeded, "" until one has
	finished   model.Time // of a task that succeeded
}

// attempt is one element of a task's attempts list.
type attempt struct {
	id       string
	state    string
	host     string // "" before a container is assigned
	rack     model.RackID
	progress float64
	launched model.Time
	fetched  model.Time // of a reduce that has all map output, else 0
}

// field returns the value under the only key of an answer, or nil where it is
// null, "" or {} (the dialects of hadoop.md 1.13). A missing key is an error.
func field(body []byte, key string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := rest.Decode(body, &object); err != nil {
		return nil, err
	}
	raw, ok := object[key]
	if !ok {
		return nil, fmt.Errorf("the answer has no %q", key)
	}
	if len(raw) < 16 { // longer ones are no empty value, and may be megabytes
		switch string(bytes.Join(bytes.Fields(raw), nil)) {
		case "null", `""`, "{}", "[]":
			return nil, nil
		}
	}
	return raw, nil
}

// jobJSON is a job object of the ApplicationMaster or the JobHistory server
// (AMWebServices and HsWebServices, dao JobInfo).
type jobJSON struct {
	ID               string   `json:"id"`
	MapsTotal        rest.Int `json:"mapsTotal"`
	MapsPending      rest.Int `json:"mapsPending"`
	MapsRunning      rest.Int `json:"mapsRunning"`
	MapsCompleted    rest.Int `json:"mapsCompleted"`
	ReducesTotal     rest.Int `json:"reducesTotal"`
	ReducesPending   rest.Int `json:"reducesPending"`
	ReducesRunning   rest.Int `json:"reducesRunning"`
	ReducesCompleted rest.Int `json:"reducesCompleted"`
}

// decodeJob reads a job object. The history's has no pending and running
// counts: they are 0 there, which is what they are.
func decodeJob(body []byte, app model.AppID, job string) (model.JobFact, error) {
	raw, err := field(body, "job")
	if err != nil {
		return model.JobFact{}, fmt.Errorf("job object of %s: %w", job, err)
	}
	var j jobJSON
	if raw != nil {
		if err := json.Unmarshal(raw, &j); err != nil {
			return model.JobFact{}, fmt.Errorf("job object of %s: %w", job, err)
		}
	}
	if j.ID != job {
		return model.JobFact{}, fmt.Errorf("job object of %s: it is that of %q", job, j.ID)
	}
	fact := model.JobFact{App: app}
	for _, count := range []struct {
		name string
		from rest.Int
		to   *int
	}{
		{"mapsTotal", j.MapsTotal, &fact.MapsTotal},
		{"mapsPending", j.MapsPending, &fact.MapsPending},
		{"mapsRunning", j.MapsRunning, &fact.MapsRunning},
		{"mapsCompleted", j.MapsCompleted, &fact.MapsCompleted},
		{"reducesTotal", j.ReducesTotal, &fact.ReducesTotal},
		{"reducesPending", j.ReducesPending, &fact.ReducesPending},
		{"reducesRunning", j.ReducesRunning, &fact.ReducesRunning},
		{"reducesCompleted", j.ReducesCompleted, &fact.ReducesCompleted},
	} {
		if count.from < 0 || count.from > maxTaskIndex {
			return model.JobFact{}, fmt.Errorf("job object of %s: %s is %d", job, count.name, count.from)
		}
		*count.to = int(count.from)
	}
	return fact, nil
}

// taskJSON is a task of a tasks list (dao TaskInfo).
type taskJSON struct {
	ID         string      `json:"id"`
	State      string      `json:"state"`
	Progress   rest.Number `json:"progress"` // percent
	Successful string      `json:"successfulAttempt"`
	Finish     rest.Int    `json:"finishTime"`
}

// decodeTasks reads a tasks list. Elements that cannot be used are left out
// and named in the error; the others are returned beside it.
func decodeTasks(body []byte, job string) ([]entry, error) {
	raw, err := field(body, "tasks")
	if err != nil {
		return nil, fmt.Errorf("tasks of %s: %w", job, err)
	}
	var list struct {
		Task rest.List[taskJSON] `json:"task"`
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("tasks of %s: %w", job, err)
		}
	}
	entries := make([]entry, 0, len(list.Task))
	var bad rest.ErrorList
	for i := range list.Task {
		e, err := list.Task[i].entry(job)
		if err != nil {
			bad.Add(err)
			continue
		}
		entries = append(entries, e)
	}
	if err := bad.Err(); err != nil {
		return entries, fmt.Errorf("tasks of %s: %w", job, err)
	}
	return entries, nil
}

func (t *taskJSON) entry(job string) (entry, error) {
	key, err := parseTaskID(t.ID, job)
	if err != nil {
		return entry{}, err
	}
	e := entry{key: key, progress: ratio(t.Progress), successful: t.Successful}
	switch t.State { // org.apache.hadoop.mapreduce.v2.api.records.TaskState
	case "NEW", "SCHEDULED":
		e.state = model.TaskPending
	case "RUNNING", "KILL_WAIT":
		e.state = model.TaskRunning
	case "SUCCEEDED":
		e.state = model.TaskSucceeded
	case "FAILED", "KILLED":
		e.state = model.TaskFailed
	default:
		return entry{}, fmt.Errorf("task %s: unknown state %q", t.ID, t.State)
	}
	if e.state != model.TaskSucceeded {
		e.successful = ""
	} else if !attemptOf(e.successful, t.ID) {
		return entry{}, fmt.Errorf("task %s: its successful attempt is %q", t.ID, e.successful)
	} else {
		e.finished = max(model.Time(t.Finish), 0)
	}
	return e, nil
}

// attemptJSON is one attempt of a task (dao TaskAttemptInfo).
type attemptJSON struct {
	ID       string      `json:"id"`
	State    string      `json:"state"`
	Rack     string      `json:"rack"`
	Node     string      `json:"nodeHttpAddress"`
	Progress rest.Number `json:"progress"` // percent
	Start    rest.Int    `json:"startTime"`
	Shuffled rest.Int    `json:"shuffleFinishTime"` // of reduces
}

// decodeAttempts reads the attempts of one task, in the order listed.
func decodeAttempts(body []byte, task string) ([]attempt, error) {
	raw, err := field(body, "taskAttempts")
	if err != nil {
		return nil, fmt.Errorf("attempts of %s: %w", task, err)
	}
	var list struct {
		Attempt rest.List[attemptJSON] `json:"taskAttempt"`
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("attempts of %s: %w", task, err)
		}
	}
	attempts := make([]attempt, 0, len(list.Attempt))
	for _, a := range list.Attempt {
		if !attemptOf(a.ID, task) {
			return nil, fmt.Errorf("attempts of %s: it lists %q", task, a.ID)
		}
		attempts = append(attempts, attempt{
			id: a.ID, state: a.State, host: hostOf(a.Node), rack: model.RackID(a.Rack), progress: ratio(a.Progress),
			launched: max(model.Time(a.Start), 0), fetched: max(model.Time(a.Shuffled), 0),
		})
	}
	return attempts, nil
}

// choose returns the attempt that stands for its task: the one that succeeded,
// or of those that run the furthest. A failed attempt never does.
func choose(attempts []attempt, successful string) (attempt, bool) {
	best, found := attempt{}, false
	for _, a := range attempts {
		if successful != "" {
			if a.id == successful {
				return a, true
			}
			continue
		}
		if !runs(a.state) || a.host == "" {
			continue
		}
		if !found || a.progress > best.progress {
			best, found = a, true
		}
	}
	return best, found
}

// runs reports whether an attempt in this state (TaskAttemptState) occupies a
// container whose work can still become the task's result.
func runs(state string) bool {
	switch state {
	case "STARTING", "ASSIGNED", "RUNNING", "COMMIT_PENDING", "SUCCEEDED":
		return true
	}
	return false
}

// ratio turns percent into 0..1, in steps of 0.01: nothing needs more, and a task is sent again
// when it changes.
func ratio(percent rest.Number) float64 {
	return min(max(math.Round(float64(percent))/100, 0), 1)
}
