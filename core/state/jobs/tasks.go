package jobs

import (
	"slices"

	"heddle/core/model"
	"heddle/core/state/demand"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// tasks are the tasks of a stage by index, and the hosts they prefer.
type tasks struct {
	list      []task
	preferred demand.Preferences
}

// task is what is known of one task.
type task struct {
	state     taskState
	rack      int32 // noRack until known
	progress  float32
	input     model.Bytes
	output    model.Bytes
	shuffled  model.Bytes
	host      nodes.Host
	preferred demand.Span
}

const noRack int32 = -1

// taskState is a model.TaskState in a byte: there are millions of tasks.
type taskState uint8

const (
	otherState taskState = iota
	pending
	running
	succeeded
)

func stateOf(s model.TaskState) taskState {
	switch s {
	case model.TaskPending:
		return pending
	case model.TaskRunning:
		return running
	case model.TaskSucceeded:
		return succeeded
	case model.TaskFailed:
	}
	return otherState
}

// ApplyTasks replaces what is known of the listed tasks of a job. It returns how
// many it does not track: those of other stages, outside their stage, or from the
// limit on.
func ApplyTasks(j *Job, f *model.TasksFact, hosts *nodes.Hosts, limit int) (untracked int64) {
	for i := range f.Tasks {
		t := &f.Tasks[i]
		s := j.Stage(t.Stage)
		if s == nil || t.Index < 0 || t.Index >= limit || (s.Total > 0 && t.Index >= s.Total) {
			untracked++
			continue
		}
		if more := min(s.Total, limit) - len(s.tasks.list); more > 0 {
			s.tasks.list = slices.Grow(s.tasks.list, more) // all that can come, so that it grows once
		}
		applyTask(s, t, j.reported.live[stageIndex(t.Stage)], hosts)
	}
	countByContainers(j)
	if j.Map.completed.Changed() {
		j.updateOutput()
	} else {
		j.Output.Version++ // a reader that caches what follows from a job's tasks looks at it
		updateRatio(j)
	}
	return untracked
}

// applyTask replaces what is known of one task. live are the stage's live
// containers by rack.
func applyTask(s *Stage, t *model.Task, live liveContainers, hosts *nodes.Hosts) {
	for len(s.tasks.list) <= t.Index {
		s.tasks.list = append(s.tasks.list, task{host: nodes.NoHost, rack: noRack, input: model.Unknown, output: model.Unknown, shuffled: model.Unknown})
	}
	old := &s.tasks.list[t.Index]
	countTask(s, old, -1, hosts)
	next := task{
		state: stateOf(t.State), rack: old.rack, progress: float32(t.Progress),
		input: known(t.Input, old.input), output: known(t.Output, old.output), shuffled: known(t.Shuffled, old.shuffled),
		host: old.host, preferred: old.preferred,
	}
	if t.Host != "" || t.Rack != "" {
		next.host = hosts.Host(t.Host)
		next.rack = rackOfTask(t, next.host, hosts)
	}
	if t.State == model.TaskPending || t.State == model.TaskFailed {
		next.host, next.rack, next.output = nodes.NoHost, noRack, model.Unknown // a map that runs again reports its output anew
	}
	if len(t.Preferred) > 0 {
		next.preferred = s.tasks.preferred.Set(t.Preferred, old.preferred, hosts)
		if s.demandSource != fromTasks {
			s.demandSource = fromTasks
			s.clearDemand()
		}
	}
	before := old.rack
	*old = next
	countTask(s, old, +1, hosts)
	s.recountIn(before, live)
	s.recountIn(old.rack, live)
}

// rackOfTask returns the rack number of a task's host.
func rackOfTask(t *model.Task, host nodes.Host, hosts *nodes.Hosts) int32 {
	var r int
	if host == nodes.NoHost {
		r = hosts.RackOf(t.Host, t.Rack)
	} else {
		r = hosts.RackOfHost(host, t.Rack)
	}
	return int32(r) //nolint:gosec // bounded by the number of racks
}

func known(now, before model.Bytes) model.Bytes {
	if now < 0 {
		return before
	}
	return now
}

// countTask adds a task's part to the stage's indexes (sign +1) or removes it (-1).
func countTask(s *Stage, t *task, sign int, hosts *nodes.Hosts) {
	switch {
	case t.state == succeeded && t.rack != noRack:
		s.completed.Add(int(t.rack), sign, t.input, t.output)
		s.completed.AddOnHost(t.host, model.Bytes(sign)*max(t.output, 0))
	case t.state == running && t.rack != noRack:
		s.runningIn = topology.Extend(s.runningIn, int(t.rack))
		s.runningIn[t.rack] += sign
		s.runningOn.change(t.host, taskCount{tasks: int32(sign)}) //nolint:gosec // 1 or -1
	case t.state == pending && !t.preferred.Empty():
		countDemand(s, t, sign, hosts)
	}
}

// countDemand adds a pending task's part to the stage's demand or removes it.
func countDemand(s *Stage, t *task, sign int, hosts *nodes.Hosts) {
	s.Pending += sign
	preferred := s.tasks.preferred.Of(t.preferred)
	for i, host := range preferred {
		if host == nodes.NoHost {
			continue
		}
		rack := hosts.RackOfHost(host, "")
		s.demand.AddOnHost(host, sign)
		counted := slices.ContainsFunc(preferred[:i], func(before nodes.Host) bool {
			return before != nodes.NoHost && hosts.RackOfHost(before, "") == rack
		})
		if !counted {
			s.demand.AddInRack(rack, sign)
		}
	}
}

// FetchedByRack estimates the bytes that the reduces on each rack have fetched so
// far: those that reported count as reported, the rest of the job counter is
// distributed over the others by how far their copy phase is (a third of a
// reduce's progress, ReduceTask's copy, sort and reduce phases).
func (j *Job) FetchedByRack() []float64 {
	s := j.Reduce
	var out, weight []float64
	reported, open := 0.0, 0.0
	for i := range s.tasks.list {
		t := &s.tasks.list[i]
		if t.rack == noRack {
			continue
		}
		r := int(t.rack)
		out, weight = topology.Extend(out, r), topology.Extend(weight, r)
		if t.shuffled >= 0 && t.state == succeeded {
			out[r] += float64(t.shuffled)
			reported += float64(t.shuffled)
			continue
		}
		w := max(min(float64(t.progress)*3, 1), 0.01)
		weight[r] += w
		open += w
	}
	rest := float64(max(j.reported.counters.ReduceShuffle, 0)) - reported
	if open > 0 && rest > 0 {
		for r := range out {
			out[r] += rest * weight[r] / open
		}
	}
	if len(out) == 0 { // no task is known: the estimate follows the launched reduces
		for r, n := range s.launched {
			out = topology.Extend(out, r)
			out[r] = float64(n)
		}
	}
	return out
}
