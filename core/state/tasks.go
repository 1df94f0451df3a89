package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
)

// task is what is kept of one task.
type task struct {
	state     taskState
	rack      int32 // noRack until known
	progress  float32
	input     model.Bytes
	output    model.Bytes
	shuffled  model.Bytes
	host      hostNumber
	preferred span
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

// rackTally counts completed tasks and what is known of their bytes, by rack.
type rackTally struct {
	tasks  []int         // completed tasks on the rack
	known  []int         // of those, with a reported output
	output []model.Bytes // sum of the reported outputs
	onHost hostTable[model.Bytes]

	estimate shuffle.Estimate // of output from input
	moved    bool             // since the job's output was last summed
}

func (t *rackTally) add(rack, sign int, input, output model.Bytes) {
	t.moved = true
	t.estimate.Add(input, output, sign)
	t.tasks, t.known, t.output = grown(t.tasks, rack), grown(t.known, rack), grown(t.output, rack)
	t.tasks[rack] += sign
	if output >= 0 {
		t.known[rack] += sign
		t.output[rack] += model.Bytes(sign) * output
	}
}

// addOn adds a reported output to those on a host.
func (t *rackTally) addOn(host hostNumber, output model.Bytes) {
	if host == noHost || output == 0 {
		return
	}
	sum := t.onHost.entry(host)
	*sum = max(*sum+output, 0)
}

// applyTask replaces what is known of one task. live are the stage's live
// containers by rack.
func (s *Stage) applyTask(t *model.Task, live []int, nodes *nodeIndex) {
	for len(s.tasks) <= t.Index {
		s.tasks = append(s.tasks, task{host: noHost, rack: noRack, input: model.Unknown, output: model.Unknown, shuffled: model.Unknown})
	}
	old := &s.tasks[t.Index]
	s.count(old, -1, nodes)
	next := task{
		state: stateOf(t.State), rack: old.rack, progress: float32(t.Progress),
		input: known(t.Input, old.input), output: known(t.Output, old.output), shuffled: known(t.Shuffled, old.shuffled),
		host: old.host, preferred: old.preferred,
	}
	if t.Host != "" || t.Rack != "" {
		next.host = nodes.hosts.number(t.Host)
		next.rack = nodes.rackOfTask(t, next.host)
	}
	if t.State == model.TaskPending || t.State == model.TaskFailed {
		next.host, next.rack, next.output = noHost, noRack, model.Unknown // a map that is run again gives its output anew
	}
	if len(t.Preferred) > 0 {
		next.preferred = s.preferred.keep(t.Preferred, old.preferred, &nodes.hosts)
		s.followTasks()
	}
	before := old.rack
	*old = next
	s.count(old, +1, nodes)
	s.relaunchOn(before, live)
	s.relaunchOn(old.rack, live)
}

// rackOfTask returns the rack number of a task's host.
func (x *nodeIndex) rackOfTask(t *model.Task, host hostNumber) int32 {
	var r int
	if host == noHost {
		r = x.hostRack(t.Host, t.Rack)
	} else {
		r = x.numberedRack(host, t.Rack)
	}
	return int32(r) //nolint:gosec // bounded by the number of racks
}

func known(now, before model.Bytes) model.Bytes {
	if now < 0 {
		return before
	}
	return now
}

// followTasks makes the tasks themselves the source of the stage's demand.
func (s *Stage) followTasks() {
	if s.demand != fromTasks {
		s.demand = fromTasks
		s.clearDemand()
	}
}

// count adds or takes away a task's part in the stage's indexes.
func (s *Stage) count(t *task, sign int, nodes *nodeIndex) {
	switch {
	case t.state == succeeded && t.rack != noRack:
		s.done.add(int(t.rack), sign, t.input, t.output)
		s.done.addOn(t.host, model.Bytes(sign)*max(t.output, 0))
	case t.state == running && t.rack != noRack:
		s.runOn = grown(s.runOn, int(t.rack))
		s.runOn[t.rack] += sign
		s.hosts.change(t.host, hostRun{tasks: int32(sign)}) //nolint:gosec // 1 or -1
	case t.state == pending && t.preferred.hosts > 0:
		s.countDemand(t, sign, nodes)
	}
}

// countDemand adds or takes away a pending task's part in the stage's demand.
func (s *Stage) countDemand(t *task, sign int, nodes *nodeIndex) {
	s.Pending += sign
	preferred := s.preferred.of(t.preferred)
	for i, host := range preferred {
		if host == noHost {
			continue
		}
		rack := nodes.numberedRack(host, "")
		s.Wanted.addOn(host, sign)
		first := true
		for _, before := range preferred[:i] {
			if before != noHost && nodes.numberedRack(before, "") == rack {
				first = false
				break
			}
		}
		if first {
			s.Wanted.addIn(rack, sign)
		}
	}
}

// relaunch recomputes launched tasks by rack: completed ones, plus running ones
// by task or by live container, whichever source has seen more of them.
func (s *Stage) relaunch(live []int) {
	n := max(len(s.done.tasks), len(s.runOn), len(live))
	s.launched = grown(s.launched[:0], n-1)
	for r := range n {
		s.relaunchOn(int32(r), live)
	}
}

// relaunchOn is relaunch of one rack.
func (s *Stage) relaunchOn(rack int32, live []int) {
	if rack != noRack {
		r := int(rack)
		s.launched = grown(s.launched, r)
		s.launched[r] = at(s.done.tasks, r) + max(at(s.runOn, r), at(live, r))
	}
}
