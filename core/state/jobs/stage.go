package jobs

import (
	"heddle/core/model"
	"heddle/core/state/demand"
	"heddle/core/state/mapoutput"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// Stage is a stage of a job: how many tasks there are, what is outstanding and
// where it would be local, and where tasks were launched.
type Stage struct {
	Kind       model.Stage
	Total      int
	Completed  int
	Running    int
	Pending    int            // asks outstanding
	Capability model.Resource // of one task

	capabilityAsked bool // Capability is that of an ask, not of the configuration
	demand          demand.Stage
	demandSource    demandSource
	tasks           tasks
	completed       mapoutput.Completed
	runningIn       []int // running tasks by rack number, as the tasks themselves report
	launched        []int // tasks running or done, by rack number
	seen            []int // the most of them at once by rack number, while Total is not known
	runningOn       runningTasks
}

// demandSource is what reports how many tasks are outstanding and where they would
// be local.
type demandSource uint8

const (
	fromInput demandSource = iota // the job's progress, and the blocks of its input
	fromRows                      // the ask table
	fromTasks                     // tasks with known preferred hosts
)

// PendingOn returns how many pending tasks would be node-local on a node.
func (s *Stage) PendingOn(n *nodes.Node) int { return s.demand.OnHost(n.HostNumber()) }

// PendingIn returns how many pending tasks would be at least rack-local in a
// rack, by its number.
func (s *Stage) PendingIn(rack int) int { return s.demand.InRack(rack) }

// RackGains returns a number that grows whenever a rack becomes one where a
// pending task would be local.
func (s *Stage) RackGains() int { return s.demand.RackGains }

// Places returns how many hosts and racks the pending tasks would be local on: 0
// for tasks that are asked for anywhere. It costs O(racks).
func (s *Stage) Places() int { return s.demand.Places() }

// Anywhere reports whether the pending tasks are asked for anywhere.
func (s *Stage) Anywhere() bool { return s.demand.Anywhere() }

// Locality returns the best locality level a pending task would have on a node;
// false without a pending task.
func (s *Stage) Locality(n *nodes.Node) (model.Locality, bool) {
	switch {
	case s.Pending <= 0:
		return model.OffSwitch, false
	case s.PendingOn(n) > 0:
		return model.NodeLocal, true
	case s.demand.InRack(n.Rack.Index) > 0:
		return model.RackLocal, true
	}
	return model.OffSwitch, true
}

// TaskLocality returns the locality level one task would have on a node; false
// unless the task is pending and its preferred hosts are known.
func (s *Stage) TaskLocality(index int, n *nodes.Node, hosts *nodes.Hosts) (model.Locality, bool) {
	if index < 0 || index >= len(s.tasks.list) || s.tasks.list[index].state != pending {
		return model.OffSwitch, false
	}
	level := model.OffSwitch
	for _, host := range s.tasks.preferred.Of(s.tasks.list[index].preferred) {
		if host == n.HostNumber() {
			return model.NodeLocal, true
		}
		if r, ok := hosts.KnownRack(host); ok && r == n.Rack.Index {
			level = model.RackLocal
		}
	}
	return level, true
}

// Launched returns how many tasks run or ran on a rack, by its number.
func (s *Stage) Launched(rack int) int { return topology.At(s.launched, rack) }

// LaunchedByRack returns the tasks running or done, by rack number. It may be
// shorter than the number of racks.
func (s *Stage) LaunchedByRack() []int { return s.launched }

// Started returns how many tasks run or are complete on a rack, as the tasks themselves report. Launched counts one twice
// whose container is still shown after it completed.
func (s *Stage) Started(rack int) int {
	return topology.At(s.runningIn, rack) + topology.At(s.completed.ByRack(), rack)
}

// CompletedByRack returns how many tasks completed on each rack, by its number. The slice
// may be shorter than the number of racks.
func (s *Stage) CompletedByRack() []int { return s.completed.ByRack() }

// OutputOn returns the output of completed tasks that lies on a node, as far as
// attempts reported theirs.
func (s *Stage) OutputOn(n *nodes.Node) model.Bytes { return s.completed.OnHost(n.HostNumber()) }

// Tasks returns how many tasks the stage has: what the job reports, else what is
// known to be asked for.
func (s *Stage) Tasks() int {
	if s.Total > 0 {
		return s.Total
	}
	return s.known()
}

// known returns how many tasks are known one way or another.
func (s *Stage) known() int { return s.Pending + s.Running + s.Completed }

// Fraction returns completed over total tasks, 0 without tasks.
func (s *Stage) Fraction() float64 {
	if s.Total == 0 {
		return 0
	}
	return float64(s.Completed) / float64(s.Total)
}

// RoomIn returns how many tasks of the stage a rack's running nodes hold while they
// run nothing else: its slots of that kind, or by memory as if the rack were one
// node. It is 0 if the size of a task is unknown.
func (s *Stage) RoomIn(r *nodes.Rack) int {
	switch {
	case r.Slots.Typed():
		return r.Slots.Of(s.Kind)
	case s.Capability.MemoryMiB <= 0:
		return 0
	}
	return int(r.Total.MemoryMiB / s.Capability.MemoryMiB)
}

// clearDemand forgets what is outstanding.
func (s *Stage) clearDemand() {
	s.Pending = 0
	s.demand.Clear()
}

// knowsDemand reports whether the job itself reports what is outstanding, better
// than the ask table does.
func (s *Stage) knowsDemand() bool {
	return s.demandSource == fromTasks || (s.Kind == model.StageReduce && s.Total > 0)
}

// recount recomputes the launched tasks by rack: completed ones, plus running ones
// by task or by live container, whichever source has seen more of them.
func (s *Stage) recount(live liveContainers) {
	n := max(len(s.completed.ByRack()), len(s.runningIn), len(live))
	s.launched = topology.Extend(s.launched[:0], n-1)
	for r := range n {
		s.recountIn(int32(r), live)
	}
	if s.Total > 0 { // then those that are complete are known too
		s.seen = s.seen[:0]
		return
	}
	for r, k := range s.launched {
		s.seen = topology.Extend(s.seen, r)
		s.seen[r] = max(s.seen[r], k)
	}
}

// recountIn is recount for one rack.
func (s *Stage) recountIn(rack int32, live liveContainers) {
	if rack == noRack {
		return
	}
	r := int(rack)
	s.launched = topology.Extend(s.launched, r)
	s.launched[r] = topology.At(s.completed.ByRack(), r) + max(topology.At(s.runningIn, r), topology.At(live, r))
}
