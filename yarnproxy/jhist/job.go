package jhist

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/core/lab/measured"
	"heddle/core/model"
)

// Job is what a history file says of one job.
type Job struct {
	measured.Job

	Status string // SUCCEEDED, FAILED, KILLED or ERROR; empty if the file says no end
	// Totals are the job's counters at its end, all model.Unknown if the file says none.
	Totals Totals
}

// Totals are counters of a whole job.
type Totals struct {
	MapRead       model.Bytes // HDFS_BYTES_READ of its maps
	MapOutput     model.Bytes // MAP_OUTPUT_MATERIALIZED_BYTES of its maps
	MapWritten    model.Bytes // HDFS_BYTES_WRITTEN of its maps
	Shuffled      model.Bytes // REDUCE_SHUFFLE_BYTES of its reduces
	ReduceWritten model.Bytes // HDFS_BYTES_WRITTEN of its reduces
}

// Read reads a history file. Each task of the job is the attempt that succeeded; failed,
// killed and superseded attempts are left out. Errors are ErrNotHistory and
// *SyntaxError, or say that the file is of no job.
func Read(r io.Reader) (*Job, error) {
	d, err := newDecoder(r)
	if err != nil {
		return nil, err
	}
	h := newHistory()
	for {
		e, err := d.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		h.apply(&e)
	}
	if h.job.ID == "" {
		return nil, fmt.Errorf("the history has %d events, and none names its job", d.event)
	}
	return h.finish(), nil
}

// history puts a job together from its events.
type history struct {
	job      *Job
	attempts map[string]*attempt // by id
	tasks    map[string]*task    // by id
}

// task is a task and which of its attempts succeeded.
type task struct {
	id        string
	isMap     bool
	replicas  []string
	succeeded string // id of the attempt; empty if none has
}

// attempt is an attempt of a task.
type attempt struct {
	measured.Task

	taskID  string
	ended   bool // it succeeded; another may have been before it
	written model.Bytes
}

func newHistory() *history {
	none := Totals{model.Unknown, model.Unknown, model.Unknown, model.Unknown, model.Unknown}
	return &history{job: &Job{Totals: none}, attempts: map[string]*attempt{}, tasks: map[string]*task{}}
}

// apply takes in one event.
func (h *history) apply(e *record) {
	switch e.name {
	case "JobSubmitted":
		h.job.ID, h.job.Name = e.text("jobid"), e.text("jobName")
		h.job.User = model.UserID(e.text("userName"))
		h.job.Submitted = e.time("submitTime")
		h.setQueue(e)
	case "JobQueueChange":
		h.setQueue(e)
	case "JobInfoChange":
		h.job.Submitted = cmp.Or(e.time("submitTime"), h.job.Submitted)
	case "AMStarted": // the last attempt's is where the job ended
		h.job.AMHost = e.text("nodeManagerHost")
	case "JobFinished":
		h.job.Finished, h.job.Status = e.time("finishTime"), "SUCCEEDED"
		h.setTotals(e)
	case "JobUnsuccessfulCompletion":
		h.job.Finished, h.job.Status = e.time("finishTime"), cmp.Or(e.text("jobStatus"), "FAILED")
	case "TaskStarted":
		t := h.task(e)
		for host := range strings.SplitSeq(e.text("splitLocations"), ",") {
			if host = strings.TrimSpace(host); host != "" {
				t.replicas = append(t.replicas, host)
			}
		}
	case "TaskFinished":
		if id := e.text("successfulAttemptId"); id != "" && e.text("status") == "SUCCEEDED" {
			h.task(e).succeeded = id
		}
	case "TaskAttemptStarted":
		a := h.attempt(e)
		a.Launched = e.time("startTime")
		a.Host = cmp.Or(a.Host, e.text("trackerName"))
	case "MapAttemptFinished", "ReduceAttemptFinished":
		h.finishAttempt(e)
	case "TaskAttemptUnsuccessfulCompletion": // also of one that had succeeded, when its node is lost
		h.attempt(e).ended = false
	}
}

func (h *history) setQueue(e *record) {
	q := e.text("jobQueueName")
	if q != "" && q != "root" && !strings.HasPrefix(q, "root.") {
		q = "root." + q
	}
	h.job.Queue = model.QueueID(q)
}

func (h *history) setTotals(e *record) {
	maps, reduces := e.counters("mapCounters"), e.counters("reduceCounters")
	h.job.Totals = Totals{
		MapRead: maps.get("HDFS_BYTES_READ"), MapOutput: maps.get("MAP_OUTPUT_MATERIALIZED_BYTES"), MapWritten: maps.get("HDFS_BYTES_WRITTEN"),
		Shuffled: reduces.get("REDUCE_SHUFFLE_BYTES"), ReduceWritten: reduces.get("HDFS_BYTES_WRITTEN"),
	}
}

func (h *history) task(e *record) *task {
	id := e.text("taskid")
	t := h.tasks[id]
	if t == nil {
		t = &task{id: id, isMap: e.text("taskType") == "MAP"}
		h.tasks[id] = t
	}
	return t
}

func (h *history) attempt(e *record) *attempt {
	id := e.text("attemptId")
	a := h.attempts[id]
	if a == nil {
		a = &attempt{taskID: e.text("taskid")}
		h.attempts[id] = a
	}
	return a
}

func (h *history) finishAttempt(e *record) {
	h.task(e) // its TaskStarted may be missing
	a := h.attempt(e)
	c := e.counters("counters")
	a.ended = true
	a.Host = cmp.Or(e.text("hostname"), a.Host)
	a.Rack = model.RackID(e.text("rackname"))
	a.Fetched, a.Finished = e.time("shuffleFinishTime"), e.time("finishTime")
	a.Read, a.written = c.get("HDFS_BYTES_READ"), c.get("HDFS_BYTES_WRITTEN")
	a.Output = c.get("MAP_OUTPUT_MATERIALIZED_BYTES")
	a.Shuffled = c.get("REDUCE_SHUFFLE_BYTES")
}

// finish makes tasks of the attempts that succeeded.
func (h *history) finish() *Job {
	h.chooseAttempts()
	reduces := false
	tasks := make([]*task, 0, len(h.tasks))
	for _, t := range h.tasks { // order-free: sorted below
		tasks = append(tasks, t)
		reduces = reduces || !t.isMap
	}
	slices.SortFunc(tasks, func(a, b *task) int {
		return cmp.Or(cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id)) // numbers have leading zeros up to six digits
	})
	for _, t := range tasks {
		a := h.attempts[t.succeeded]
		if a == nil || !a.ended {
			continue
		}
		m := a.Task
		m.Replicas = t.replicas
		if !t.isMap {
			m.Output, m.Read = a.written, model.Unknown
			h.job.Reduces = append(h.job.Reduces, m)
			continue
		}
		m.Fetched, m.Shuffled = 0, model.Unknown
		if !reduces {
			m.Output = a.written
		}
		h.job.Maps = append(h.job.Maps, m)
	}
	return h.job
}

// chooseAttempts names an attempt of each task of which no event says which attempt
// succeeded: the one that ended first.
func (h *history) chooseAttempts() {
	ids := make([]string, 0, len(h.attempts))
	for id := range h.attempts { // order-free: sorted below
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		a := h.attempts[id]
		t := h.tasks[a.taskID]
		if !a.ended || t == nil {
			continue
		}
		if old := h.attempts[t.succeeded]; old == nil || !old.ended {
			t.succeeded = id
		}
	}
}

// field returns a field, out of the union that it may be in.
func (r *record) field(name string) any {
	v := r.fields[name]
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		for _, one := range m { // order-free: there is one
			return one
		}
	}
	return v
}

func (r *record) text(name string) string {
	s, _ := r.field(name).(string)
	return s
}

func (r *record) time(name string) model.Time { return model.Time(max(number(r.field(name), 0), 0)) }

// number returns a whole number, or what to return if v is none.
func number(v any, otherwise int64) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	}
	return otherwise
}

// counters are counters by name, of the groups that MapReduce itself counts in.
type counters map[string]model.Bytes

func (c counters) get(name string) model.Bytes {
	if v, ok := c[name]; ok {
		return v
	}
	return model.Unknown
}

// counters returns the counters in a field.
func (r *record) counters(name string) counters {
	all := counters{}
	top, _ := r.fields[name].(map[string]any)
	for len(top) > 0 && top["groups"] == nil { // a union
		inner := unwrap(top)
		if inner == nil {
			return all
		}
		top = inner
	}
	groups, _ := top["groups"].([]any)
	for _, g := range groups {
		group, _ := g.(map[string]any)
		if n, _ := group["name"].(string); !ownGroup(n) {
			continue
		}
		counts, _ := group["counts"].([]any)
		for _, c := range counts {
			count, _ := c.(map[string]any)
			if n, ok := count["name"].(string); ok {
				all[n] = model.Bytes(max(number(count["value"], int64(model.Unknown)), int64(model.Unknown)))
			}
		}
	}
	return all
}

// unwrap returns the record in a union, nil if there is none.
func unwrap(u map[string]any) map[string]any {
	if v, ok := u[unionValue].(map[string]any); ok {
		return v
	}
	if len(u) != 1 {
		return nil
	}
	for _, v := range u { // order-free: there is one
		m, _ := v.(map[string]any)
		return m
	}
	return nil
}

// ownGroup reports whether MapReduce itself counts in a group, under its names of Hadoop 1 and 2.
func ownGroup(name string) bool {
	switch name {
	case "org.apache.hadoop.mapreduce.FileSystemCounter", "org.apache.hadoop.mapreduce.TaskCounter",
		"FileSystemCounters", "org.apache.hadoop.mapred.Task$Counter":
		return true
	}
	return false
}
