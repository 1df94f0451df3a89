package demand

import (
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// Stage is where the pending tasks of one stage would be local. The index refers to
// it, so that it must not be copied.
type Stage struct {
	// RackGains counts how often a rack became one where a task would be local.
	RackGains int

	index  *Index
	number StageNumber
	onHost nodes.HostTable[count]
	hosts  int   // with a task
	inRack []int // by rack number
}

// count counts the pending tasks of one stage on one host.
type count struct {
	tasks int32
	place int32 // one more than the place in the index, 0 if there is none
}

// Init makes a stage known to an index under a number that is free. It must be
// called once, before any task is added.
func (s *Stage) Init(x *Index, number StageNumber) {
	s.index, s.number = x, number
	x.Add(s)
}

// OnHost returns how many tasks would be node-local on a host.
func (s *Stage) OnHost(host nodes.Host) int { return int(s.onHost.At(host).tasks) }

// InRack returns how many tasks would be rack-local in a rack, by its number.
func (s *Stage) InRack(rack int) int { return topology.At(s.inRack, rack) }

// ByRack returns InRack of every rack. The slice may be shorter than the number of
// racks.
func (s *Stage) ByRack() []int { return s.inRack }

// Places returns how many hosts and racks the tasks would be local on: 0 for tasks
// that are asked for anywhere. It costs O(racks).
func (s *Stage) Places() int {
	n := s.hosts
	for _, tasks := range s.inRack {
		if tasks > 0 {
			n++
		}
	}
	return n
}

// Anywhere reports whether the tasks would be local nowhere: Places is 0.
func (s *Stage) Anywhere() bool { return s.hosts == 0 && s.Places() == 0 }

// Clear removes all tasks.
func (s *Stage) Clear() {
	for host, c := range s.onHost.All() {
		if c.place > 0 {
			s.index.remove(host, c)
		}
	}
	s.onHost.Clear()
	s.hosts = 0
	clear(s.inRack)
}

// AddOnHost adds so many tasks that would be node-local on a host. A negative
// number takes tasks away, at most those that are there.
func (s *Stage) AddOnHost(host nodes.Host, tasks int) {
	if host == nodes.NoHost {
		return
	}
	c := s.onHost.Entry(host)
	before := c.tasks
	c.tasks = max(before+int32(tasks), 0) //nolint:gosec // of tasks
	switch {
	case before == 0 && c.tasks > 0:
		s.hosts++
		s.index.insert(host, s.number, c)
	case before > 0 && c.tasks == 0:
		s.hosts--
		s.index.remove(host, c)
	}
}

// AddInRack adds so many tasks that would be rack-local in a rack. A negative
// number takes tasks away, at most those that are there.
func (s *Stage) AddInRack(rack, tasks int) { s.changeRack(rack, max(tasks, -s.InRack(rack))) }

// AssumeOnHost supposes one node-local task on a host to run (+1), or takes that
// back (-1). The count may fall below zero until it is taken back.
func (s *Stage) AssumeOnHost(host nodes.Host, sign int) {
	c := s.onHost.Find(host) // in the table and in the index, as the task was node-local
	c.tasks -= int32(sign)   //nolint:gosec // 1 or -1
	s.index.onHost[host][c.place-1].Taken = c.tasks <= 0
}

// AssumeInRack supposes one rack-local task in a rack to run (+1), or takes that
// back (-1).
func (s *Stage) AssumeInRack(rack, sign int) { s.changeRack(rack, -sign) }

func (s *Stage) changeRack(rack, tasks int) {
	s.inRack = topology.Extend(s.inRack, rack)
	before := s.inRack[rack]
	s.inRack[rack] += tasks
	if before <= 0 && s.inRack[rack] > 0 {
		s.RackGains++
	}
}
