// Package rumen reads the job traces of Rumen, Hadoop's tool that makes them of job
// histories: one JSON object (LoggedJob) after the other.
package rumen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/core/lab/measured"
	"heddle/core/model"
)

// text is a string; anything else, such as what an anonymizer put in its place, is "".
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte(`"`)) {
		*t = ""
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// whole is a whole number, nil if it is not there; below 0 is not known.
type whole struct {
	value int64
	known bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *whole) UnmarshalJSON(data []byte) error {
	*w = whole{}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(data, &w.value); err != nil {
		return fmt.Errorf("%.40s is no whole number", data)
	}
	w.known = w.value >= 0
	return nil
}

func (w whole) time() model.Time {
	if !w.known {
		return 0
	}
	return model.Time(w.value)
}

// firstKnown returns the first number that is known.
func firstKnown(of ...whole) model.Bytes {
	for _, w := range of {
		if w.known {
			return model.Bytes(w.value)
		}
	}
	return model.Unknown
}

// The objects of a trace, with the fields in use.
type (
	loggedJob struct {
		ID       text         `json:"jobID"`
		User     text         `json:"user"`
		Name     text         `json:"jobName"`
		Queue    text         `json:"queue"`
		Submit   whole        `json:"submitTime"`
		Relative whole        `json:"relativeTime"` // of the submission, in a trace without times of the day
		Finish   whole        `json:"finishTime"`
		Outcome  text         `json:"outcome"`
		MapMB    whole        `json:"jobMapMB"`
		ReduceMB whole        `json:"jobReduceMB"`
		Maps     []loggedTask `json:"mapTasks"`
		Reduces  []loggedTask `json:"reduceTasks"`
	}
	loggedTask struct {
		Input     whole           `json:"inputBytes"`
		Output    whole           `json:"outputBytes"`
		Preferred []location      `json:"preferredLocations"`
		Attempts  []loggedAttempt `json:"attempts"`
	}
	loggedAttempt struct {
		Result      text      `json:"result"`
		Start       whole     `json:"startTime"`
		Finish      whole     `json:"finishTime"`
		Shuffled    whole     `json:"shuffleFinished"`
		Host        text      `json:"hostName"` // "/rack/host"
		Location    *location `json:"location"`
		HDFSRead    whole     `json:"hdfsBytesRead"`
		HDFSWritten whole     `json:"hdfsBytesWritten"`
		FileWritten whole     `json:"fileBytesWritten"`
		MapInput    whole     `json:"mapInputBytes"`
		MapOutput   whole     `json:"mapOutputBytes"`
		Fetched     whole     `json:"reduceShuffleBytes"`
	}
	location struct {
		Layers []text `json:"layers"` // racks from the outermost, and the host
	}
)

// place returns rack and host of a location, with or without a slash before its layers.
func (l *location) place() (model.RackID, string) {
	if l == nil || len(l.Layers) == 0 {
		return "", ""
	}
	layers := make([]string, len(l.Layers))
	for i, one := range l.Layers {
		layers[i] = strings.Trim(string(one), "/")
	}
	return split(strings.Join(layers, "/"))
}

// split returns rack and host of a path such as /rack/host; the rack of a host alone is not known.
func split(path string) (model.RackID, string) {
	path = strings.Trim(path, "/")
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", path
	}
	return model.RackID("/" + strings.Trim(path[:at], "/")), path[at+1:]
}

// Read reads a job trace. Each task is its attempt that succeeded. Jobs that did not
// succeed are left out. The errors are *measured.ObjectError.
//
// What maps put out is known before compression only. Where the reduces fetched another
// sum, what each map put out is scaled to it.
func Read(r io.Reader) (*measured.Trace, error) {
	t := &reader{trace: &measured.Trace{Racks: map[model.RackID][]string{}}, placed: map[string]bool{}}
	err := measured.EachObject(r, func(number int, j *loggedJob) error {
		t.job(number, j)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t.trace, nil
}

// reader collects jobs, and the racks of hosts.
type reader struct {
	trace  *measured.Trace
	placed map[string]bool // hosts that are in trace.Racks
}

func (r *reader) place(rack model.RackID, host string) {
	if rack != "" && host != "" && !r.placed[host] {
		r.placed[host] = true
		r.trace.Racks[rack] = append(r.trace.Racks[rack], host)
	}
}

func (r *reader) job(number int, l *loggedJob) {
	id := cmp.Or(string(l.ID), fmt.Sprintf("object %d", number))
	switch {
	case l.ID == "":
		r.trace.Left = append(r.trace.Left, measured.Left{ID: id, Why: "it has no jobID: it is no job of Rumen"})
		return
	case l.Outcome != "" && !succeeded(l.Outcome):
		r.trace.Left = append(r.trace.Left, measured.Left{ID: id, Why: "it ended as " + string(l.Outcome)})
		return
	}
	j := measured.Job{
		ID: id, Name: string(l.Name), User: model.UserID(l.User), Queue: queue(string(l.Queue)), Submitted: cmp.Or(l.Submit.time(), l.Relative.time()),
		Finished: l.Finish.time(), MapTask: container(l.MapMB), ReduceTask: container(l.ReduceMB),
	}
	for i := range l.Maps {
		if t, ok := r.task(&l.Maps[i]); ok {
			a := t.attempt
			m := t.Task
			m.Read = firstKnown(a.HDFSRead, a.MapInput, l.Maps[i].Input)
			m.Output = firstKnown(a.MapOutput, a.FileWritten, l.Maps[i].Output)
			if len(l.Reduces) == 0 {
				m.Output = firstKnown(a.HDFSWritten, l.Maps[i].Output)
			}
			j.Maps = append(j.Maps, m)
		}
	}
	for i := range l.Reduces {
		if t, ok := r.task(&l.Reduces[i]); ok {
			a := t.attempt
			m := t.Task
			m.Replicas, m.Fetched = nil, a.Shuffled.time()
			m.Shuffled = firstKnown(a.Fetched, l.Reduces[i].Input)
			m.Output = firstKnown(a.HDFSWritten, l.Reduces[i].Output)
			j.Reduces = append(j.Reduces, m)
		}
	}
	if j.Submitted == 0 && len(j.Maps) > 0 {
		j.Submitted = slices.MinFunc(j.Maps, func(a, b measured.Task) int { return cmp.Compare(a.Launched, b.Launched) }).Launched
	}
	scaleOutput(&j)
	r.trace.Jobs = append(r.trace.Jobs, j)
}

// ended is a task and the attempt of it that succeeded.
type ended struct {
	measured.Task

	attempt *loggedAttempt
}

// task returns the attempt of a task that succeeded, false if none has.
func (r *reader) task(l *loggedTask) (ended, bool) {
	for i := range l.Attempts {
		a := &l.Attempts[i]
		if !succeeded(a.Result) {
			continue
		}
		rack, host := a.Location.place()
		if host == "" {
			rack, host = split(string(a.Host))
		}
		t := measured.Task{
			Host: host, Rack: rack, Launched: a.Start.time(), Finished: a.Finish.time(),
			Read: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
		}
		r.place(rack, host)
		for k := range l.Preferred {
			rack, host := l.Preferred[k].place()
			if host != "" {
				r.place(rack, host)
				t.Replicas = append(t.Replicas, host)
			}
		}
		return ended{t, a}, true
	}
	return ended{}, false
}

// scaleOutput makes what maps put out sum to what reduces fetched, if both are known.
func scaleOutput(j *measured.Job) {
	var out, fetched model.Bytes
	for i := range j.Reduces {
		if j.Reduces[i].Shuffled < 0 {
			return
		}
		fetched += j.Reduces[i].Shuffled
	}
	for i := range j.Maps {
		out += max(j.Maps[i].Output, 0)
	}
	if fetched <= 0 || out <= 0 || out == fetched {
		return
	}
	var before, scaled model.Bytes // sums, so that roundings do not add up
	for i := range j.Maps {
		before += max(j.Maps[i].Output, 0)
		upTo := model.Bytes(float64(before) / float64(out) * float64(fetched))
		if i == len(j.Maps)-1 {
			upTo = fetched
		}
		j.Maps[i].Output = upTo - scaled
		scaled = upTo
	}
}

func succeeded(result text) bool { return result == "SUCCESS" || result == "SUCCEEDED" }

// queue returns the full path of a queue.
func queue(name string) model.QueueID {
	if name == "" || name == "root" || strings.HasPrefix(name, "root.") {
		return model.QueueID(name)
	}
	return model.QueueID("root." + name)
}

// container returns the size of a task's container.
func container(mb whole) model.Resource {
	if !mb.known || mb.value == 0 {
		return model.Resource{}
	}
	return model.Resource{MemoryMiB: mb.value, VCores: 1}
}
