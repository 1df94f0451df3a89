package sim

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"heddle/core/model"
	"heddle/core/sim/network"
	"heddle/core/workload"
)

// job is one submitted job: its ApplicationMaster, which asks for tasks by
// Hadoop's rules or by Tez's, and its stages.
type job struct {
	of     *workload.Job
	index  int // in the workload
	id     model.AppID
	submit model.Time
	stages []stage // as in the workload: each after those it reads
	open   int     // stages that no other reads and that are not complete
	nodes  []int32 // of completed tasks that write to HDFS: where the output lies
	first  float64 // part of the maps done when a task that fetches was first launched, below 0 before
	master
	fetching
	yields
	watch
	news
}

// master is a job's ApplicationMaster.
type master struct {
	am       int32      // its node, -1 where it takes no container
	live     bool       // it asks for tasks
	account  *account   // its user's
	mastered model.Time // when its container was launched, or the job submitted
	orphan   bool       // it was lost, and the next has not asked for anything
}

// yields is when a job gives up tasks that fetch for tasks it cannot start.
type yields struct {
	starved  model.Time
	yielding bool // gave some up, and no task that has all it reads has started since
}

// news is what there is to tell of a job.
type news struct {
	dirty      bool // something to tell the scheduler
	changed    []model.Task
	told       bool       // its configuration and blocks have been told
	moved      bool       // its blocks are to be told again
	counted    model.Time // when its counters were told last
	countedAll bool       // with all maps done
}

// graph reports whether the job is more than maps, or maps and reduces: its
// ApplicationMaster is Tez's.
func (j *job) graph() bool {
	if len(j.stages) != 2 {
		return len(j.stages) > 2
	}
	t := &j.stages[1]
	return len(t.inputs) != 1 || t.inputs[0].kind != model.ScatterGather || t.both
}

// stage is the tasks of one stage.
type stage struct {
	of     *workload.Stage
	kind   model.Stage // what the scheduler takes its tasks for: StageMap where they name hosts, else StageReduce
	both   bool        // it reads files and stages
	base   int         // number of its first task among the job's tasks of that kind; of both not before it is asked for
	source             // of a stage that reads files
	gather             // of a stage that reads stages
	yield
	tasks
}

// tasks counts the tasks of a stage.
type tasks struct {
	total, asked, running, completed int     // asked counts those that run or are done, too
	extra                            int     // attempts that are asked for beside those that run
	spare                            *spares // nil without speculation

	state []taskState
	next  int   // every waiting task is at or after it
	on    []int // launched, by rack: tasks, or bytes they draw where those differ
}

// pending returns how many tasks are asked for and not launched.
func (t *tasks) pending() int { return t.asked - t.running - t.completed + t.extra }

// complete reports whether all tasks are done.
func (t *tasks) complete() bool { return t.completed == t.total }

// source is what a stage reads from HDFS, by task.
type source struct {
	in     blocks
	byNode lists
	byRack lists
	taken  model.Bytes // by completed tasks
	remote model.Bytes // from other racks
	level  [3]int      // launched, by locality
}

// yield is what a stage puts out.
type yield struct {
	output  model.Bytes   // of all tasks
	left    model.Bytes   // by completed tasks
	leftOn  []model.Bytes // the same by rack
	at      []int32       // node of each task, where a reader or a loss needs to know; else nil. ^node: lost since
	again   map[int]bool  // tasks that were done and lost their output, be they done again since
	readers []*inflow
}

// gather is what a stage fetches from other stages.
type gather struct {
	inputs []*inflow
	groups []*group // that fetch
	drawn  model.Bytes
	upTo   []model.Bytes // what task t and those before it draw of it is upTo[t+1]; nil where all draw the same
}

// inflow is one edge.
type inflow struct {
	from, to *stage
	kind     model.EdgeKind
	shuffle  network.JobID // of all tasks; none where each has its own
	alone    []*group      // that fetch on their own
}

// each reports whether every task of the reader fetches on its own, since they
// do not all draw the same.
func (e *inflow) each() bool {
	return e.kind == model.OneToOne || e.kind == model.ScatterGather && e.to.upTo != nil
}

// group is tasks that fetch together: those of a rack, over one edge.
type group struct {
	id      network.ID
	job     *job
	stage   *stage
	edge    *inflow
	rack    int
	task    int           // of a group that is one task's own
	shuffle network.JobID // the same
	tasks   []int32
	owed    []int // on its own: tasks whose output it was given and lost, be it made again since
}

// blocks are what the tasks of a stage read, one each.
type blocks struct {
	stride int           // most replicas of a block
	at     []int32       // nodes: of task t at[t*stride:][:stride], -1 for none
	upTo   []model.Bytes // what task t and those before it read is upTo[t+1]
}

// size returns what a task reads.
func (b *blocks) size(task int) model.Bytes {
	if b.upTo == nil {
		return 0
	}
	return b.upTo[task+1] - b.upTo[task]
}

// all returns what all tasks read.
func (b *blocks) all() model.Bytes {
	if b.upTo == nil {
		return 0
	}
	return b.upTo[len(b.upTo)-1]
}

// of returns the nodes with a replica of a task's block, and -1 where there are
// fewer than the most.
func (b *blocks) of(task int) []int32 { return b.at[task*b.stride : (task+1)*b.stride] }

// held reports whether a task's block is anywhere.
func (b *blocks) held(task int) bool { return b.at != nil && b.at[task*b.stride] >= 0 }

type taskState uint8

const (
	waiting taskState = iota
	running
	done
)

// lists are tasks by place: a task may be at several. They are read from the
// front, and tasks that are no longer pending fall out then.
type lists struct {
	next []int32 // by place: where in task the rest of its list begins
	upTo []int32 // by place: where it ends
	task []int32
}

const end = -1

// newLists returns lists of what each calls its argument with, twice the same.
func newLists(places int, each func(add func(place, task int))) lists {
	l := lists{next: make([]int32, places), upTo: make([]int32, places)}
	each(func(place, _ int) { l.upTo[place]++ })
	sum := int32(0)
	for p, n := range l.upTo {
		l.next[p], l.upTo[p] = sum, sum
		sum += n
	}
	l.task = make([]int32, sum)
	each(func(place, task int) {
		l.task[l.upTo[place]] = int32(task) //nolint:gosec // bounded by the workload
		l.upTo[place]++
	})
	return l
}

// first returns a task of a place that is waiting, -1 without.
func (l *lists) first(place int, state []taskState) int {
	for ; l.next[place] < l.upTo[place]; l.next[place]++ {
		if t := l.task[l.next[place]]; state[t] == waiting {
			return int(t)
		}
	}
	return -1
}

// newStages returns the stages of a job, with the files they read still to be
// placed.
func newStages(s *world, j *job) []stage {
	list := make([]stage, len(j.of.Stages))
	racks := len(s.layout.ofRack)
	for i := range list {
		t := &list[i]
		t.of, t.kind, t.output = &j.of.Stages[i], model.StageReduce, j.of.Stages[i].Output
		t.tasks = tasks{total: t.of.Tasks, state: make([]taskState, t.of.Tasks), on: make([]int, racks)}
		t.leftOn = make([]model.Bytes, racks)
		if s.params.Speculation {
			t.spare = &spares{twins: map[int]bool{}}
		}
		t.both = len(t.of.Edges) > 0 && t.of.Input() > 0
		if i == 0 || t.of.Input() > 0 {
			if t.kind = model.StageMap; len(t.of.Edges) == 0 {
				t.asked = t.total
			}
			t.in = blocks{stride: s.cluster.Replication, at: make([]int32, t.total*s.cluster.Replication), upTo: make([]model.Bytes, t.total+1)}
			for k := range t.in.at {
				t.in.at[k] = end
			}
		}
		for _, e := range t.of.Edges {
			join(&list[e.From], t, e.Kind)
		}
	}
	number(list)
	for i := range list {
		for _, e := range list[i].inputs {
			e.open(s)
		}
	}
	return list
}

// number numbers the tasks of each kind through.
func number(list []stage) {
	var count [2]int // tasks, by kind
	for i := range list {
		t := &list[i]
		k := boolean(t.kind == model.StageMap)
		if t.base = count[k]; !t.both {
			count[k] += t.total
		}
	}
}

// open opens an edge for what its tasks fetch together.
func (e *inflow) open(s *world) {
	if e.shuffle = none; !e.each() {
		e.shuffle = s.net.AddJob(e.parts())
	}
	if e.from.at == nil && (e.each() || s.faults != nil) {
		e.from.at = make([]int32, e.from.total)
	}
}

const none = -1

// parts returns into how many parts an edge's bytes are cut: every task gets one.
func (e *inflow) parts() int {
	if e.kind == model.Broadcast {
		return 1
	}
	return e.to.total
}

// join adds an edge.
func join(from, to *stage, kind model.EdgeKind) {
	e := &inflow{from: from, to: to, kind: kind}
	from.readers, to.inputs = append(from.readers, e), append(to.inputs, e)
	if kind != model.ScatterGather {
		return
	}
	to.drawn += from.output
	if to.of.Skew > 0 && to.total > 1 {
		to.upTo = append(to.upTo[:0], 0)
		for i, bytes := range to.of.Partitions(nil, weights) {
			to.upTo = append(to.upTo, to.upTo[i]+bytes)
		}
	}
}

// weights is what upTo of a skewed stage sums to: shares of any output follow
// from it.
const weights = 1 << 50

// place says where the replicas of a task's block are. Tasks are placed in order,
// and listed when all are.
func (s *source) place(task int, bytes model.Bytes, replicas []int32) {
	s.in.upTo[task+1] = s.in.upTo[task] + bytes
	copy(s.in.of(task), replicas)
}

// list lists the tasks that wait by where their blocks have replicas now, the
// last first.
func (t *stage) list(l *layout) {
	t.byNode = newLists(len(l.nodes), func(add func(place, task int)) {
		for task, replicas := range t.in.in(l, t.state, waiting) {
			for _, n := range replicas {
				if l.nodes[n].lost == 0 {
					add(int(n), task)
				}
			}
		}
	})
	t.byRack = newLists(len(l.ids), func(add func(place, task int)) {
		for task, replicas := range t.in.in(l, t.state, waiting) {
			for i, n := range replicas {
				if l.nodes[n].lost == 0 && !l.inRack(replicas[:i], l.nodes[n].rack) {
					add(l.nodes[n].rack, task)
				}
			}
		}
	})
}

// in yields the tasks in a state that have a block, the last first, with the
// replicas that are known.
func (b *blocks) in(l *layout, is []taskState, want taskState) iter.Seq2[int, []int32] {
	return func(yield func(task int, replicas []int32) bool) {
		for task, state := range slices.Backward(is) {
			if state == want && b.held(task) && !yield(task, l.known(b.of(task))) {
				return
			}
		}
	}
}

// inRack reports whether one of some nodes is in a rack, and not lost.
func (l *layout) inRack(nodes []int32, rack int) bool {
	for _, n := range nodes {
		if l.nodes[n].rack == rack && l.nodes[n].lost == 0 {
			return true
		}
	}
	return false
}

// known returns the replicas of a task's block that are known, none of no block.
func (b *blocks) known(task int, l *layout) []int32 {
	if b.at == nil {
		return nil
	}
	return l.known(b.of(task))
}

// hosts returns the hosts that a task's block is known to be on.
func (b *blocks) hosts(task int, l *layout) []string {
	var on []string
	for _, n := range b.known(task, l) {
		on = append(on, l.nodes[n].host)
	}
	return on
}

// known returns the replicas there are of a block, as the NameNode and the asks of
// the job have them: on nodes that are there, or all where none is.
func (l *layout) known(replicas []int32) []int32 {
	if at := slices.Index(replicas, end); at >= 0 {
		replicas = replicas[:at]
	}
	if l.lost == 0 {
		return replicas
	}
	live := slices.DeleteFunc(slices.Clone(replicas), func(n int32) bool { return l.nodes[n].lost > 0 })
	if len(live) == 0 {
		return replicas
	}
	return live
}

// pick takes a waiting task for a node: a node-local, a rack-local, any; -1
// without.
func (t *stage) pick(node, rack int) (task int, level model.Locality) {
	if t.in.upTo != nil {
		if task = t.byNode.first(node, t.state); task >= 0 {
			return task, model.NodeLocal
		}
		if task = t.byRack.first(rack, t.state); task >= 0 {
			return task, model.RackLocal
		}
	}
	for ; t.next < t.total; t.next++ {
		if t.state[t.next] == waiting {
			return t.next, model.OffSwitch
		}
	}
	return -1, model.OffSwitch
}

// draws returns a task's part of bytes that all tasks of its stage draw.
func (t *stage) draws(task int, bytes model.Bytes) model.Bytes {
	if t.upTo != nil {
		return share(bytes, t.upTo[task+1], weights) - share(bytes, t.upTo[task], weights)
	}
	n := model.Bytes(t.total)
	return share(bytes, model.Bytes(task)+1, n) - share(bytes, model.Bytes(task), n)
}

// fetches returns what a task reads of other stages.
func (t *stage) fetches(task int) model.Bytes {
	bytes := t.draws(task, t.drawn)
	for _, e := range t.inputs {
		switch e.kind {
		case model.Broadcast:
			bytes += e.from.output
		case model.OneToOne:
			bytes += e.from.outputOf(task)
		case model.ScatterGather:
		}
	}
	return bytes
}

// cost returns how long a task computes.
func (t *stage) cost(task int) model.Duration { return t.of.Cost.Of(t.in.size(task) + t.fetches(task)) }

// outputOf returns what a task leaves: its part of the stage's output by what it
// reads of files or draws of stages, in equal parts where that is nothing. The
// parts of all tasks sum to the output.
func (t *stage) outputOf(task int) model.Bytes {
	if in := t.in.all(); in > 0 {
		return share(t.output, t.in.upTo[task+1], in) - share(t.output, t.in.upTo[task], in)
	}
	return t.draws(task, t.output)
}

// share returns total*part/of, rounded down, for part <= of. The product may
// exceed 64 bits.
func share(total, part, of model.Bytes) model.Bytes {
	hi, lo := bits.Mul64(uint64(total), uint64(part)) //nolint:gosec // neither is below 0
	q, _ := bits.Div64(hi, lo, uint64(of))            //nolint:gosec // above 0
	return model.Bytes(q)                             //nolint:gosec // at most the total
}

// count sums the tasks of a job that the scheduler takes for one kind. Of a stage
// that reads files and stages it knows once its tasks are asked for: none of the
// job's other tasks is to wait for these.
func (j *job) count(kind model.Stage) tasks {
	var sum tasks
	for i := range j.stages {
		if t := &j.stages[i]; t.kind == kind {
			if sum.total += t.total; t.both {
				sum.total += t.asked - t.total
			}
			sum.asked += t.asked
			sum.running += t.running
			sum.completed += t.completed
			sum.extra += t.extra
		}
	}
	return sum
}

// headroom returns how many containers more the ApplicationMaster is told it may
// have: those that are free of all, as far as its user's fair share goes
// (FSAppAttempt.getHeadroom with a queue for each user; hadoop.md 5.3).
func (j *job) headroom(s *world) int {
	b := &s.book
	return max(min(s.jobs.free.sum(), s.faults.containers(&s.layout)/max(b.withJobs, 1)-j.account.running), 0)
}

// wanted returns how many tasks of a stage that reads stages the
// ApplicationMaster asks for by now, those that run or are done included.
func (j *job) wanted(t *stage, s *world) int {
	p := &s.params
	switch {
	case !j.graph() && !j.begun(p):
		return 0
	case !j.graph() && s.layout.typed():
		return t.total // they keep no map from starting: JobInProgress.scheduleReduces
	case !j.graph():
		return j.ramp(p, j.headroom(s))
	case j.yielding && !t.ready():
		return t.running + t.completed
	}
	return max(t.asked, t.due(p))
}

// begun reports whether reduces of a MapReduce job may be asked for: none is before
// slowstart of the maps are complete.
func (j *job) begun(p *Params) bool {
	m, r := &j.stages[0], &j.stages[1]
	return r.asked > 0 || m.completed >= int(math.Ceil(p.Slowstart*float64(m.total)-1e-9))
}

// ramp is what MapReduce asks for from then on.
//
// RMContainerAllocator.scheduleReduces (algorithms.md 1.5): all once no map is
// unassigned; before that as many as the smaller of the completed share and the
// ramp-up limit of what the job may have, and what its maps leave of that.
func (j *job) ramp(p *Params, headroom int) int {
	m, r := &j.stages[0], &j.stages[1]
	if m.pending() == 0 {
		return r.total
	}
	if j.yielding {
		return r.running + r.completed
	}
	running := r.running
	limit := headroom + m.running + running
	share := min(float64(m.completed)/float64(m.total), p.RampUp)
	most := int(float64(limit) * share)
	if maps := m.pending() + m.running; limit-most >= maps {
		most = limit - maps
	}
	return min(max(most, running)+r.completed, r.total)
}

// due is how many tasks of a stage Tez has scheduled by now: over scatter-gather
// edges none before the least part of a source's tasks that is done reaches
// MinSource, all from MaxSource on, and in between in proportion
// (ShuffleVertexManager, tez.shuffle-vertex-manager.min-src-fraction and
// max-src-fraction); over the other edges, and for a stage that reads files too,
// all when the source is done. InputReadyVertexManager starts a one-to-one task with its own source task:
// here it waits for all of them.
func (t *stage) due(p *Params) int {
	part := 1.0
	for _, e := range t.inputs {
		switch {
		case e.from.complete():
		case e.kind != model.ScatterGather || t.both:
			return 0
		default:
			part = min(part, float64(e.from.completed)/float64(e.from.total))
		}
	}
	switch {
	case part < p.MinSource:
		return 0
	case part >= p.MaxSource:
		return t.total
	}
	return min(int(math.Ceil(float64(t.total)*(part-p.MinSource)/(p.MaxSource-p.MinSource))), t.total)
}
