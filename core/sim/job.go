package sim

import (
	"math"
	"math/bits"

	"heddle/core/model"
	"heddle/core/sim/network"
	"heddle/core/workload"
)

// job is one submitted job: its ApplicationMaster, which asks for maps at once
// and for reduces by Hadoop's rules, and its tasks.
type job struct {
	of     *workload.Job
	index  int // in the workload
	id     model.AppID
	submit model.Time
	am     int32 // node of the ApplicationMaster, -1 where it takes no container
	maps   mapStage
	reduce reduceStage

	dirty   bool // something to tell the scheduler
	changed []model.Task
	told    bool       // its configuration and blocks have been told
	counted model.Time // when its counters were told last
}

// mapStage is the maps of a job: what is pending where, what runs, what is done.
type mapStage struct {
	total, pending, running, completed int

	stage        *workload.Stage
	in           blocks
	state        []taskState
	byNode       lists
	byRack       lists
	next         int           // every pending map is at or after it
	output       model.Bytes   // of all maps
	read         model.Bytes   // by completed maps
	left         model.Bytes   // by completed maps, for the reduces
	byRackOutput []model.Bytes // the same by rack
	level        [3]int        // launched, by locality
}

// blocks are what the maps of a job read, one each.
type blocks struct {
	stride int           // most replicas of a block
	at     []int32       // nodes: of map m at[m*stride:][:stride], -1 for none
	upTo   []model.Bytes // what map m and those before it read is upTo[m+1]
}

// size returns what a map reads.
func (b *blocks) size(task int) model.Bytes { return b.upTo[task+1] - b.upTo[task] }

// all returns what all maps read.
func (b *blocks) all() model.Bytes { return b.upTo[len(b.upTo)-1] }

// of returns the nodes with a replica of a map's block, and -1 where there are
// fewer than the most.
func (b *blocks) of(task int) []int32 { return b.at[task*b.stride : (task+1)*b.stride] }

// held reports whether a map's block is anywhere.
func (b *blocks) held(task int) bool { return b.at[task*b.stride] >= 0 }

type taskState uint8

const (
	waiting taskState = iota
	running
	done
)

// reduceStage is the reduces of a job.
type reduceStage struct {
	total, asked, running, completed int // asked counts those that run or are done, too

	stage    *workload.Stage
	shuffle  network.JobID
	groups   []reducer // that fetch
	byRack   []int     // launched, by rack
	state    []taskState
	first    float64 // map progress when the first was launched
	nodes    []int32 // of completed ones: where the output lies
	starved  model.Time
	yielding bool // gave reduces up, and no map has started since
	next     int
}

// reducer is one group of reduces: those of a rack that fetch together.
type reducer struct {
	group network.ID
	rack  int
	tasks []int32
}

// lists are linked lists of tasks by place: a task may be in several. They are
// read from the front, and tasks that are no longer pending fall out then.
type lists struct {
	head []int32
	next []int32
	task []int32
}

const end = -1

func newLists(places, entries int) lists {
	l := lists{head: make([]int32, places), next: make([]int32, 0, entries), task: make([]int32, 0, entries)}
	for i := range l.head {
		l.head[i] = end
	}
	return l
}

// add puts a task at the front of a place's list.
func (l *lists) add(place, task int) {
	l.next = append(l.next, l.head[place])
	l.task = append(l.task, int32(task))   //nolint:gosec // bounded by the workload
	l.head[place] = int32(len(l.next)) - 1 //nolint:gosec // bounded by the workload
}

// first returns a task of a place that is waiting, -1 without.
func (l *lists) first(place int, state []taskState) int {
	for l.head[place] != end {
		e := l.head[place]
		if state[l.task[e]] == waiting {
			return int(l.task[e])
		}
		l.head[place] = l.next[e]
	}
	return -1
}

// newMaps lays a map stage out over the cluster.
func newMaps(s *workload.Stage, c *Cluster, l *layout) mapStage {
	m := mapStage{
		stage: s, total: s.Tasks, pending: s.Tasks, output: s.Output,
		in:           blocks{stride: c.Replication, at: make([]int32, s.Tasks*c.Replication), upTo: make([]model.Bytes, s.Tasks+1)},
		state:        make([]taskState, s.Tasks),
		byNode:       newLists(len(l.nodes), s.Tasks*c.Replication),
		byRack:       newLists(len(l.ofRack), s.Tasks*2),
		byRackOutput: make([]model.Bytes, len(l.ofRack)),
	}
	for i := range m.in.at {
		m.in.at[i] = -1
	}
	return m
}

// place says where the replicas of a map's block are. Maps are placed in order.
func (m *mapStage) place(task int, bytes model.Bytes, replicas []int32, l *layout) {
	m.in.upTo[task+1] = m.in.upTo[task] + bytes
	copy(m.in.of(task), replicas)
	for i, n := range replicas {
		m.byNode.add(int(n), task)
		rack, again := l.nodes[n].rack, false
		for _, before := range replicas[:i] {
			again = again || l.nodes[before].rack == rack
		}
		if !again {
			m.byRack.add(rack, task)
		}
	}
}

// pick takes a pending map for a node: a node-local, a rack-local, any.
func (m *mapStage) pick(node, rack int) (task int, level model.Locality) {
	if task = m.byNode.first(node, m.state); task >= 0 {
		return task, model.NodeLocal
	}
	if task = m.byRack.first(rack, m.state); task >= 0 {
		return task, model.RackLocal
	}
	for ; m.next < m.total; m.next++ {
		if m.state[m.next] == waiting {
			return m.next, model.OffSwitch
		}
	}
	return -1, model.OffSwitch
}

// outputOf returns what a map leaves: its part of the stage's output by what it
// reads, in equal parts where nothing is read. The parts of all maps sum to the
// output.
func (m *mapStage) outputOf(task int) model.Bytes {
	if in := m.in.all(); in > 0 {
		return share(m.output, m.in.upTo[task+1], in) - share(m.output, m.in.upTo[task], in)
	}
	n := model.Bytes(m.total)
	return share(m.output, model.Bytes(task)+1, n) - share(m.output, model.Bytes(task), n)
}

// share returns total·part/of, rounded down, for part <= of. The product may
// exceed 64 bits.
func share(total, part, of model.Bytes) model.Bytes {
	hi, lo := bits.Mul64(uint64(total), uint64(part)) //nolint:gosec // neither is below 0
	q, _ := bits.Div64(hi, lo, uint64(of))            //nolint:gosec // above 0
	return model.Bytes(q)                             //nolint:gosec // at most the total
}

// headroom returns how many containers more the ApplicationMaster is told it may
// have: those that are free of all, as far as its user's fair share goes
// (FSAppAttempt.getHeadroom with a queue for each user; hadoop.md 5.3).
func (b *book) headroom(j *job, free, all int) int {
	return max(min(free, all/max(b.withJobs, 1)-b.users[j.of.User].running), 0)
}

// wanted returns how many reduces the ApplicationMaster asks for by now, those
// that run or are done included, with so much headroom.
//
// RMContainerAllocator.scheduleReduces (algorithms.md 1.5): none before
// slowstart of the maps are complete; all once no map is unassigned; in between
// as many as the smaller of the completed share and the ramp-up limit of what
// the job may have, and what its maps leave of that.
func (j *job) wanted(p *Params, headroom int) int {
	m, r := &j.maps, &j.reduce
	if r.total == 0 || (r.asked == 0 && m.completed < int(math.Ceil(p.Slowstart*float64(m.total)-1e-9))) {
		return 0
	}
	if m.pending == 0 {
		return r.total
	}
	if r.yielding {
		return r.running + r.completed
	}
	running := r.running
	limit := headroom + m.running + running
	share := min(float64(m.completed)/float64(m.total), p.RampUp)
	most := int(float64(limit) * share)
	if maps := m.pending + m.running; limit-most >= maps {
		most = limit - maps
	}
	return min(max(most, running)+r.completed, r.total)
}
