package state

import (
	"slices"

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

	onHost   map[string]int // pending tasks that would be node-local on the host
	inRack   []int          // pending tasks that would be rack-local, by rack
	launched []int          // tasks running or done, by rack
	runOn    []int          // running tasks, by rack, as the tasks themselves say
	tasks    []task         // by index
	done     rackTally      // completed tasks, by rack
	rows     bool           // demand comes from the ask table
	byTask   bool           // demand comes from tasks with known preferred hosts
}

// task is what is kept of one task.
type task struct {
	state     model.TaskState
	rack      int32 // noRack until known
	progress  float32
	input     model.Bytes
	output    model.Bytes
	shuffled  model.Bytes
	host      string
	preferred []string
}

const noRack int32 = -1

// rackTally counts completed tasks and what is known of their bytes, by rack.
type rackTally struct {
	tasks  []int         // completed tasks on the rack
	known  []int         // of those, with a reported output
	output []model.Bytes // sum of the reported outputs
}

func newStage(kind model.Stage, capability model.Resource) *Stage {
	return &Stage{Kind: kind, Capability: capability, onHost: map[string]int{}}
}

// PendingOn returns how many pending tasks would be node-local on a host.
func (s *Stage) PendingOn(host string) int { return s.onHost[host] }

// PendingIn returns how many pending tasks would be at least rack-local in a
// rack, by its number.
func (s *Stage) PendingIn(rack int) int { return at(s.inRack, rack) }

// Launched returns how many tasks run or ran on a rack, by its number.
func (s *Stage) Launched(rack int) int { return at(s.launched, rack) }

// LaunchedByRack returns the tasks running or done, by rack number. It may be
// shorter than the number of racks.
func (s *Stage) LaunchedByRack() []int { return s.launched }

// Fraction returns completed over total tasks, 0 without tasks.
func (s *Stage) Fraction() float64 {
	if s.Total == 0 {
		return 0
	}
	return float64(s.Completed) / float64(s.Total)
}

func (s *Stage) locality(n *Node) (model.Locality, bool) {
	switch {
	case s.Pending <= 0:
		return model.OffSwitch, false
	case s.onHost[n.Host] > 0:
		return model.NodeLocal, true
	case at(s.inRack, n.Rack.Index) > 0:
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

func (t *rackTally) add(rack int, sign int, output model.Bytes) {
	t.tasks, t.known, t.output = grown(t.tasks, rack), grown(t.known, rack), grown(t.output, rack)
	t.tasks[rack] += sign
	if output >= 0 {
		t.known[rack] += sign
		t.output[rack] += model.Bytes(sign) * output
	}
}

// demand forgets what is outstanding.
func (s *Stage) clearDemand() {
	s.Pending = 0
	clear(s.onHost)
	clear(s.inRack)
}

func (s *Stage) addDemand(host string, rack, n int) {
	if host != "" {
		s.onHost[host] += n
		if s.onHost[host] <= 0 {
			delete(s.onHost, host)
		}
	}
	if rack >= 0 {
		s.inRack = grown(s.inRack, rack)
		s.inRack[rack] = max(s.inRack[rack]+n, 0)
	}
}

// Stage returns the job's map or reduce stage, nil for any other.
func (j *Job) Stage(kind model.Stage) *Stage {
	switch kind {
	case model.StageMap:
		return j.Map
	case model.StageReduce:
		return j.Reduce
	}
	return nil
}

// Blacklisted reports whether the application refuses a host.
func (j *Job) Blacklisted(host string) bool { return slices.Contains(j.Blacklist, host) }

// TaskLocality returns the locality level one task of the stage would have on a
// node; false unless the task is pending and its preferred hosts are known.
func (v View) TaskLocality(s *Stage, index int, n *Node) (model.Locality, bool) {
	if index < 0 || index >= len(s.tasks) || s.tasks[index].state != model.TaskPending {
		return model.OffSwitch, false
	}
	level := model.OffSwitch
	for _, host := range s.tasks[index].preferred {
		if host == n.Host {
			return model.NodeLocal, true
		}
		if r, ok := v.c.tree.RackOf(host); ok && r == n.Rack.Index {
			level = model.RackLocal
		}
	}
	return level, true
}
