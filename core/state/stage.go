package state

import (
	"strings"

	"heddle/core/model"
)

// Stage is the map or the reduce stage of a job: how many tasks there are, what
// is outstanding and where it would be local, and where tasks were launched.
type Stage struct {
	Kind       model.Stage
	Total      int
	Completed  int
	Running    int
	Pending    int            // asks outstanding
	Capability model.Resource // of one task
	Wanted     wanted

	launched  []int       // tasks running or done, by rack
	runOn     []int       // running tasks, by rack, as the tasks themselves say
	tasks     []task      // by index
	preferred preferences // of the tasks
	done      rackTally   // completed tasks, by rack
	hosts     hostRuns    // running tasks by host
	demand    demandSource
	asked     bool // Capability is that of an ask
}

// demandSource is what says how many tasks are outstanding, and where they would be local.
type demandSource uint8

const (
	fromInput demandSource = iota // the job's progress, and the blocks of its input
	fromRows                      // the ask table
	fromTasks                     // tasks with known preferred hosts
)

func newStage(kind model.Stage, capability model.Resource, local *localIndex, number stageNumber) *Stage {
	s := &Stage{Kind: kind, Capability: capability, Wanted: wanted{local: local, stage: number}}
	local.register(&s.Wanted)
	return s
}

// PendingOn returns how many pending tasks would be local on a node.
func (s *Stage) PendingOn(n *Node) int { return int(s.Wanted.on(n.number)) }

// PendingIn returns how many pending tasks would be at least rack-local in a
// rack, by its number.
func (s *Stage) PendingIn(rack int) int { return at(s.Wanted.inRack, rack) }

// Places returns how many hosts and racks the pending tasks would be local on: 0
// for tasks that are asked for anywhere. It costs O(racks).
func (s *Stage) Places() int {
	n := s.Wanted.placesOn
	for _, tasks := range s.Wanted.inRack {
		if tasks > 0 {
			n++
		}
	}
	return n
}

// Launched returns how many tasks run or ran on a rack, by its number.
func (s *Stage) Launched(rack int) int { return at(s.launched, rack) }

// LaunchedByRack returns the tasks running or done, by rack number. It may be
// shorter than the number of racks.
func (s *Stage) LaunchedByRack() []int { return s.launched }

// Tasks returns how many tasks the stage has: what the job says, else what is
// known to be asked for.
func (s *Stage) Tasks() int {
	if s.Total > 0 {
		return s.Total
	}
	return s.Pending + s.Running + s.Completed
}

// Fraction returns completed over total tasks, 0 without tasks.
func (s *Stage) Fraction() float64 {
	if s.Total == 0 {
		return 0
	}
	return float64(s.Completed) / float64(s.Total)
}

// clearDemand forgets what is outstanding.
func (s *Stage) clearDemand() {
	s.Pending = 0
	s.Wanted.clear()
}

// toldByJob reports whether the job itself says what is outstanding, better
// than the ask table does.
func (s *Stage) toldByJob() bool {
	return s.demand == fromTasks || (s.Kind == model.StageReduce && s.Total > 0)
}

// size takes what the job's configuration says a task is, until an ask shows it.
func size(s *Stage, task model.Resource) {
	if !s.asked && !task.IsZero() {
		s.Capability = task
	}
}

func (s *Stage) applyAsk(row *model.AskRow, nodes *nodeIndex) {
	if !row.Capability.IsZero() {
		s.Capability, s.asked = row.Capability, true
	}
	if s.toldByJob() || row.Count <= 0 {
		return
	}
	switch {
	case row.ResourceName == model.AnyName:
		s.Pending += row.Count
	case strings.HasPrefix(row.ResourceName, "/"):
		s.Wanted.addIn(nodes.rack(model.RackID(row.ResourceName)).Index, row.Count)
	default:
		s.Wanted.addOn(nodes.hosts.number(row.ResourceName), row.Count)
	}
}

// demandFromInput supposes, for a job whose ask table is not known, that its
// pending maps read the blocks of its input in equal parts.
func (s *Stage) demandFromInput(in *Input, pending int) {
	s.clearDemand()
	s.Pending = pending
	if total := len(in.Blocks); total > 0 {
		for host, n := range in.byHost { // order-free: each entry is set on its own
			s.Wanted.addOn(host, (pending*n+total-1)/total)
		}
		for r, n := range in.rackBlocks {
			s.Wanted.addIn(r, (pending*n+total-1)/total)
		}
	}
}

func (s *Stage) locality(n *Node) (model.Locality, bool) {
	switch {
	case s.Pending <= 0:
		return model.OffSwitch, false
	case s.Wanted.Local(n):
		return model.NodeLocal, true
	case at(s.Wanted.inRack, n.Rack.Index) > 0:
		return model.RackLocal, true
	}
	return model.OffSwitch, true
}

// at returns s[i], or zero beyond the end.
func at[T any](s []T, i int) T {
	if i < len(s) {
		return s[i]
	}
	var zero T
	return zero
}

// grown returns s long enough to index i.
func grown[T any](s []T, i int) []T {
	for len(s) <= i {
		var zero T
		s = append(s, zero)
	}
	return s
}
