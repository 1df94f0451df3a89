// Package sls reads and writes the traces of Hadoop's scheduler load simulator: one JSON
// object for each job after the other. They say how long containers ran and on which
// nodes, and nothing about bytes.
package sls

import (
	"bytes"
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

// What the load simulator takes where a trace does not say it.
const (
	defaultUser  = "default"
	defaultQueue = "default"
	typeMap      = "map"
	typeReduce   = "reduce"
)

const (
	priorityReduce = 10      // of the load simulator's MapReduce; its maps have 20
	priorityMap    = 20      //
	maxCount       = 100_000 // tasks or jobs that one count may stand for
	maxTasks       = 1 << 22 // of a whole trace, counts included
)

// epoch is added to all times: those of a trace begin at 0, where 0 would be not known.
const epoch = model.Time(1)

// amount is a whole number that may also stand in quotes, as the simulator takes both.
type amount struct {
	value int64
	given bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *amount) UnmarshalJSON(data []byte) error {
	*a = amount{}
	text := bytes.Trim(data, `"`)
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(text, &a.value); err != nil {
		return fmt.Errorf("%.40s is no whole number", data)
	}
	a.given = true
	return nil
}

func (a amount) or(otherwise int64) int64 {
	if a.given {
		return a.value
	}
	return otherwise
}

// The objects of a trace, with the fields in use.
type (
	slsJob struct {
		AMType string    `json:"am.type"`
		ID     string    `json:"job.id"`
		Name   string    `json:"job.name"` // written by this package; the simulator ignores it
		User   string    `json:"job.user"`
		Queue  string    `json:"job.queue.name"`
		Start  amount    `json:"job.start.ms"`
		End    amount    `json:"job.end.ms"`
		Count  amount    `json:"job.count"`
		Tasks  []slsTask `json:"job.tasks"`
		Nodes  amount    `json:"num.nodes"` // of a first object that is no job
	}
	slsTask struct {
		Host     string `json:"container.host"`
		Start    amount `json:"container.start.ms"`
		End      amount `json:"container.end.ms"`
		Duration amount `json:"container.duration.ms"`
		Legacy   amount `json:"duration.ms"`
		Priority amount `json:"container.priority"`
		Type     string `json:"container.type"`
		Count    amount `json:"count"`
		Memory   amount `json:"container.memory-mb"`
		VCores   amount `json:"container.vcores"`
	}
	slsRack struct {
		Rack  string    `json:"rack"`
		Nodes []slsNode `json:"nodes"`
	}
	slsNode struct {
		Node   string `json:"node"`
		Memory int64  `json:"memory-mb,omitempty"`
		VCores int64  `json:"vcores,omitempty"`
	}
)

// Read reads a trace. A task without bytes has 0. A container of neither maps nor
// reduces leaves its job out. The errors are *measured.ObjectError.
func Read(r io.Reader) (*measured.Trace, error) {
	t := &reader{trace: &measured.Trace{StartsAtOnce: true}, ids: map[string]bool{}}
	if err := measured.EachObject(r, t.object); err != nil {
		return nil, err
	}
	t.trace.Notes = []string{"the trace says no bytes: tasks compute, and neither read, shuffle nor write"}
	return t.trace, nil
}

// reader collects the jobs of a trace.
type reader struct {
	trace *measured.Trace
	ids   map[string]bool
	tasks int64
}

func (r *reader) object(number int, l *slsJob) error {
	if number == 1 && l.Nodes.given && len(l.Tasks) == 0 {
		return nil
	}
	id := cmp.Or(l.ID, r.freeID(number))
	count := max(l.Count.or(1), 1)
	if count > maxCount {
		return fmt.Errorf("job.count is %d, more than %d", count, maxCount)
	}
	j, wrong := r.job(id, l, count)
	if wrong != nil {
		r.trace.Left = append(r.trace.Left, measured.Left{ID: id, Why: wrong.Error()})
		return nil //nolint:nilerr // the other jobs are read
	}
	if r.tasks > maxTasks {
		return fmt.Errorf("with its counts the trace has more than %d tasks", maxTasks)
	}
	for k := range count {
		one := *j
		if k > 0 || count > 1 {
			one.ID = fmt.Sprintf("%s_%d", id, k+1)
		}
		r.ids[one.ID] = true
		r.trace.Jobs = append(r.trace.Jobs, one)
	}
	return nil
}

// freeID returns an id for a job that has none.
func (r *reader) freeID(number int) string {
	id := fmt.Sprintf("job_%d", number)
	for r.ids[id] {
		id += "'"
	}
	return id
}

func (r *reader) job(id string, l *slsJob, count int64) (*measured.Job, error) {
	queue := cmp.Or(l.Queue, defaultQueue)
	if queue != "root" && !strings.HasPrefix(queue, "root.") {
		queue = "root." + queue
	}
	start := l.Start.or(0)
	j := &measured.Job{
		ID: id, Name: l.Name, User: model.UserID(cmp.Or(l.User, defaultUser)), Queue: model.QueueID(queue),
		Submitted: model.Time(start) + epoch, Finished: model.Time(l.End.or(-1)) + epoch,
	}
	if start < 0 {
		return nil, fmt.Errorf("its job.start.ms is %d", start)
	}
	for i := range l.Tasks {
		c := &l.Tasks[i]
		copies := max(c.Count.or(1), 1)
		if copies > maxCount {
			return nil, fmt.Errorf("its task %d has the count %d, more than %d", i+1, copies, maxCount)
		}
		if r.tasks += copies * count; r.tasks > maxTasks {
			return nil, fmt.Errorf("with its counts the trace has more than %d tasks", maxTasks)
		}
		t, kind, err := c.task(start)
		if err != nil {
			return nil, fmt.Errorf("its task %d %w", i+1, err)
		}
		var size model.Resource
		if c.Memory.or(0) > 0 {
			size = model.Resource{MemoryMiB: c.Memory.value, VCores: max(c.VCores.or(1), 1)}
		}
		if kind == typeReduce {
			j.Reduces, j.ReduceTask = append(j.Reduces, slices.Repeat([]measured.Task{t}, int(copies))...), larger(j.ReduceTask, size)
		} else {
			j.Maps, j.MapTask = append(j.Maps, slices.Repeat([]measured.Task{t}, int(copies))...), larger(j.MapTask, size)
		}
	}
	return j, nil
}

// larger returns the size that all tasks of a kind fit in.
func larger(a, b model.Resource) model.Resource {
	return model.Resource{MemoryMiB: max(a.MemoryMiB, b.MemoryMiB), VCores: max(a.VCores, b.VCores)}
}

// task returns when and where a container ran, and what ran in it.
func (c *slsTask) task(start int64) (measured.Task, string, error) {
	kind := c.Type
	if kind == "" {
		kind = typeMap
		if c.Priority.or(priorityMap) == priorityReduce {
			kind = typeReduce
		}
	}
	if kind != typeMap && kind != typeReduce {
		return measured.Task{}, "", fmt.Errorf("has the type %q, and is neither a map nor a reduce", kind)
	}
	begin := c.Start.or(start)
	var took int64
	switch {
	case c.Duration.given:
		took = c.Duration.value
	case c.Legacy.given:
		took = c.Legacy.value
	case c.Start.given && c.End.given:
		took = c.End.value - c.Start.value
	}
	const longest = 1 << 45 // milliseconds, so that sums stay in range
	if took <= 0 || took > longest || begin < 0 || begin > longest {
		return measured.Task{}, "", errors.New("does not say how long it ran: want container.start.ms and container.end.ms after it, or container.duration.ms")
	}
	rack, host := split(c.Host)
	return measured.Task{Host: host, Rack: rack, Launched: model.Time(begin) + epoch, Finished: model.Time(begin+took) + epoch}, kind, nil
}

// split returns rack and host of a name such as /rack/host; a host alone is in the
// default rack, as Hadoop has it.
func split(path string) (model.RackID, string) {
	path = strings.Trim(path, "/")
	at := strings.LastIndexByte(path, '/')
	switch {
	case path == "":
		return "", ""
	case at < 0:
		return "/default-rack", path
	}
	return model.RackID("/" + strings.Trim(path[:at], "/")), path[at+1:]
}

// ReadNodes reads a file of nodes, an object for each rack, and returns the hosts by rack.
// The errors are *measured.ObjectError.
func ReadNodes(r io.Reader) (map[model.RackID][]string, error) {
	racks := map[model.RackID][]string{}
	seen := map[string]bool{}
	err := measured.EachObject(r, func(_ int, l *slsRack) error {
		name := strings.Trim(l.Rack, "/")
		if name == "" {
			return errors.New("it names no rack; want {\"rack\":\"rack1\",\"nodes\":[{\"node\":\"node1\"}]}")
		}
		rack := model.RackID("/" + name)
		for _, n := range l.Nodes {
			switch {
			case n.Node == "":
				continue // Hadoop's own sample ends in an empty one
			case seen[n.Node]:
				return fmt.Errorf("node %s is there twice", n.Node)
			}
			seen[n.Node] = true
			racks[rack] = append(racks[rack], n.Node)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(racks) == 0 {
		return nil, errors.New("there is no node in it")
	}
	return racks, nil
}
