package sim

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"heddle/core/lab/sim/network"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// job is a submitted job: its ApplicationMaster, which asks for tasks by Hadoop's
// rules or by Tez's, and its stages.
type job struct {
	spec              *workload.Job
	index             int // in the workload
	id                model.AppID
	submit            model.Time
	stages            []stage // as in the workload: each after those it reads
	openStages        int     // stages that no other reads and that are not complete
	outputNodes       []int32 // of completed tasks that write to HDFS: where the output lies
	mapsAtFirstReduce float64 // part of the maps done when a task that fetches was first launched, below 0 before
	appMaster
	jobAccount
	fetching
	preemption
	speculationTimer
	jobUpdates
}

// appMaster is a job's ApplicationMaster.
type appMaster struct {
	amNode   int32      // its node, -1 where it takes no container
	isAsking bool       // it asks for tasks
	usage    *userUsage // its user's
	amSince  model.Time // when its container was launched, or the job submitted
	amLost   bool       // its ApplicationMaster was lost, and the next has not registered
	relayed  *relayed   // its attempt, where its asks go through a relay
}

// preemption is a job's waiting for containers that its own reduces hold.
type preemption struct {
	starvedSince model.Time
	hasPreempted bool // reduces were preempted, and no task with all its input has started since
}

// jobUpdates is what is to be reported of a job.
type jobUpdates struct {
	isListed         bool // in pendingUpdates
	taskUpdates      []model.Task
	isReported       bool       // its configuration and blocks have been reported
	blocksMoved      bool       // its blocks are to be reported again
	countersAt       model.Time // when its counters were last reported
	countersComplete bool       // with all maps done
	toldFactor       float64    // see Misprediction
}

// isGraph reports whether the job is more than maps, or maps and reduces: its
// ApplicationMaster is Tez's.
func (j *job) isGraph() bool {
	if len(j.stages) != 2 {
		return len(j.stages) > 2
	}
	t := &j.stages[1]
	return len(t.inputs) != 1 || t.inputs[0].kind != model.ScatterGather || t.readsBoth
}

// stage is the tasks of one stage.
type stage struct {
	spec      *workload.Stage
	kind      model.Stage // what the scheduler takes its tasks for: StageMap where they name hosts, else StageReduce
	readsBoth bool        // it reads files and stages
	firstTask int         // number of its first task among the job's tasks of that kind; of both not before it is asked for
	source                // of a stage that reads files
	gather                // of a stage that reads stages
	stageOutput
	tasks
}

// tasks counts the tasks of a stage.
type tasks struct {
	total, asked, running, completed int               // asked counts those that run or are done, too
	extraAsked                       int               // attempts that are asked for beside those that run
	speculation                      *stageSpeculation // nil without speculation

	state        []taskState
	firstWaiting int    // every waiting task is at or after it
	ranOnNode    *lists // waiting tasks of unknown start by the node they ran on, and at last those of which nobody knows; nil until asked
	launchedOn   []int  // launched, by rack: tasks, or bytes they draw where those differ
}

// pending returns how many tasks are asked for and not launched.
func (t *tasks) pending() int { return t.asked - t.running - t.completed + t.extraAsked }

// complete reports whether all tasks are done.
func (t *tasks) complete() bool { return t.completed == t.total }

// source is what a stage reads from HDFS, by task.
type source struct {
	in             blocks
	byNode         lists
	byRack         lists
	inputDone      model.Bytes // by completed tasks
	remoteBytes    model.Bytes // from other racks
	localityCounts [3]int      // launched, by locality
}

// stageOutput is what a stage puts out.
type stageOutput struct {
	output       model.Bytes   // of all tasks
	outputDone   model.Bytes   // by completed tasks
	outputByRack []model.Bytes // the same by rack
	taskNodes    []int32       // node of each task, where a reader or a loss needs to know; else nil. ^node: lost since
	redone       map[int]bool  // tasks that were done and lost their output, be they done again since
	readers      []*edge
}

// gather is what a stage fetches from other stages.
type gather struct {
	inputs         []*edge
	groups         []*group // that fetch
	scatteredBytes model.Bytes
	cumulative     []model.Bytes // what task t and those before it draw of it is cumulative[t+1]; nil where all get the same
}

// edge is one edge.
type edge struct {
	from, to  *stage
	kind      model.EdgeKind
	shuffle   network.JobID // of all tasks; none where each has its own
	ownGroups []*group      // that fetch on their own
}

// fetchesAlone reports whether every task of the reader fetches on its own, since they
// do not all draw the same.
func (e *edge) fetchesAlone() bool {
	return e.kind == model.OneToOne || e.kind == model.ScatterGather && e.to.cumulative != nil
}

// group is tasks that fetch together: those of a rack, over one edge.
type group struct {
	id        network.ID
	job       *job
	stage     *stage
	edge      *edge
	rack      int
	task      int           // of a group that is one task's own
	shuffle   network.JobID // the same
	tasks     []int32
	lostTasks []int // on its own: tasks whose output it was given and lost, be it made again since
}

// blocks are what the tasks of a stage read, one each.
type blocks struct {
	stride     int           // most replicas of a block
	nodes      []int32       // nodes: of task t at[t*stride:][:stride], -1 for none
	cumulative []model.Bytes // what task t and those before it read is upTo[t+1]
}

// size returns what a task reads.
func (b *blocks) size(task int) model.Bytes {
	if b.cumulative == nil {
		return 0
	}
	return b.cumulative[task+1] - b.cumulative[task]
}

// total returns what all tasks read.
func (b *blocks) total() model.Bytes {
	if b.cumulative == nil {
		return 0
	}
	return b.cumulative[len(b.cumulative)-1]
}

// replicas returns the nodes with a replica of a task's block, and -1 where there are
// fewer than the most.
func (b *blocks) replicas(task int) []int32 { return b.nodes[task*b.stride : (task+1)*b.stride] }

// hasBlock reports whether a task's block is anywhere.
func (b *blocks) hasBlock(task int) bool { return b.nodes != nil && b.nodes[task*b.stride] >= 0 }

type taskState uint8

const (
	waiting taskState = iota
	running
	done
)

// lists are tasks by place, a node or a rack; a task may be at several places. They
// are read from the front, where tasks that no longer wait are dropped.
type lists struct {
	starts []int32 // by place: index in task of the rest of its list
	ends   []int32 // by place: index after its end
	task   []int32
}

const noNode = -1

// newLists returns lists of the pairs that each adds. It calls each twice, which must
// add the same both times.
func newLists(places int, each func(add func(place, task int))) lists {
	l := lists{starts: make([]int32, places), ends: make([]int32, places)}
	each(func(place, _ int) { l.ends[place]++ })
	sum := int32(0)
	for p, n := range l.ends {
		l.starts[p], l.ends[p] = sum, sum
		sum += n
	}
	l.task = make([]int32, sum)
	each(func(place, task int) {
		l.task[l.ends[place]] = int32(task) //nolint:gosec // bounded by the workload
		l.ends[place]++
	})
	return l
}

// first returns a task of a place that is waiting, -1 without.
func (l *lists) first(place int, state []taskState) int {
	for ; l.starts[place] < l.ends[place]; l.starts[place]++ {
		if t := l.task[l.starts[place]]; state[t] == waiting {
			return int(t)
		}
	}
	return -1
}

// newStages returns the stages of a job, with the files they read still to be
// placed.
func newStages(s *world, j *job) []stage {
	list := make([]stage, len(j.spec.Stages))
	racks := len(s.layout.rackNodes)
	for i := range list {
		t := &list[i]
		t.spec, t.kind, t.output = &j.spec.Stages[i], model.StageReduce, j.spec.Stages[i].Output
		t.tasks = tasks{total: t.spec.Tasks, state: make([]taskState, t.spec.Tasks), launchedOn: make([]int, racks)}
		t.outputByRack = make([]model.Bytes, racks)
		if s.params.Speculation {
			t.speculation = &stageSpeculation{doubled: map[int]bool{}}
		}
		t.readsBoth = len(t.spec.Edges) > 0 && t.spec.Input() > 0
		if i == 0 || t.spec.Input() > 0 {
			if t.kind = model.StageMap; len(t.spec.Edges) == 0 {
				t.asked = t.total
			}
			stride := mostReplicas(t.spec, s.cluster.Replication)
			t.in = blocks{stride: stride, nodes: make([]int32, t.total*stride), cumulative: make([]model.Bytes, t.total+1)}
			for k := range t.in.nodes {
				t.in.nodes[k] = noNode
			}
		}
		for _, e := range t.spec.Edges {
			connect(&list[e.From], t, e.Kind)
		}
	}
	number(list)
	for i := range list {
		for _, e := range list[i].inputs {
			e.openShuffle(s)
		}
	}
	return list
}

// number numbers the tasks of each kind through.
func number(list []stage) {
	var count [2]int // tasks, by kind
	for i := range list {
		t := &list[i]
		k := toInt(t.kind == model.StageMap)
		if t.firstTask = count[k]; !t.readsBoth {
			count[k] += t.total
		}
	}
}

// openShuffle opens an edge for what its tasks fetch together.
func (e *edge) openShuffle(s *world) {
	if e.shuffle = noID; !e.fetchesAlone() {
		e.shuffle = s.net.AddJob(e.parts())
	}
	if e.from.taskNodes == nil && (e.fetchesAlone() || s.faults != nil) {
		e.from.taskNodes = make([]int32, e.from.total)
	}
}

const noID = -1

// parts returns into how many parts an edge's bytes are cut: every task gets one.
func (e *edge) parts() int {
	if e.kind == model.Broadcast {
		return 1
	}
	return e.to.total
}

// connect adds an edge.
func connect(from, to *stage, kind model.EdgeKind) {
	e := &edge{from: from, to: to, kind: kind}
	from.readers, to.inputs = append(from.readers, e), append(to.inputs, e)
	if kind != model.ScatterGather {
		return
	}
	to.scatteredBytes += from.output
	if to.spec.Uneven() {
		to.cumulative = append(to.cumulative[:0], 0)
		for i, bytes := range to.spec.Partitions(nil, weights) {
			to.cumulative = append(to.cumulative, to.cumulative[i]+bytes)
		}
	}
}

// weights is what upTo of a skewed stage sums to: shares of any output follow
// from it.
const weights = 1 << 50

// setBlock says where the replicas of a task's block are. Tasks are placed in order,
// and listed when all are.
func (s *source) setBlock(task int, bytes model.Bytes, replicas []int32) {
	s.in.cumulative[task+1] = s.in.cumulative[task] + bytes
	copy(s.in.replicas(task), replicas)
}

// listByPlace lists the tasks that wait by where their blocks have replicas now, the
// last first.
func (t *stage) listByPlace(l *layout) {
	t.byNode = newLists(len(l.nodes), func(add func(place, task int)) {
		for task, replicas := range t.in.tasksIn(l, t.state, waiting) {
			for _, n := range replicas {
				if l.nodes[n].losses == 0 {
					add(int(n), task)
				}
			}
		}
	})
	t.byRack = newLists(len(l.rackIDs), func(add func(place, task int)) {
		for task, replicas := range t.in.tasksIn(l, t.state, waiting) {
			for i, n := range replicas {
				if l.nodes[n].losses == 0 && !l.inRack(replicas[:i], l.nodes[n].rack) {
					add(l.nodes[n].rack, task)
				}
			}
		}
	})
}

// tasksIn yields the tasks in a state that have a block, the last first, with the
// replicas that are known.
func (b *blocks) tasksIn(l *layout, is []taskState, want taskState) iter.Seq2[int, []int32] {
	return func(yield func(task int, replicas []int32) bool) {
		for task, state := range slices.Backward(is) {
			if state == want && b.hasBlock(task) && !yield(task, l.knownReplicas(b.replicas(task))) {
				return
			}
		}
	}
}

// inRack reports whether one of some nodes is in a rack, and not lost.
func (l *layout) inRack(nodes []int32, rack int) bool {
	for _, n := range nodes {
		if l.nodes[n].rack == rack && l.nodes[n].losses == 0 {
			return true
		}
	}
	return false
}

// knownReplicas returns the replicas of a task's block that are known, none of no block.
func (b *blocks) knownReplicas(task int, l *layout) []int32 {
	if b.nodes == nil {
		return nil
	}
	return l.knownReplicas(b.replicas(task))
}

// hostsOf returns the hosts that a task's block is known to be on.
func (b *blocks) hostsOf(task int, l *layout) []string {
	var on []string
	for _, n := range b.knownReplicas(task, l) {
		on = append(on, l.nodes[n].host)
	}
	return on
}

// knownReplicas returns the replicas there are of a block, as the NameNode and the asks of
// the job have them: on nodes that are there, or all where none is.
func (l *layout) knownReplicas(replicas []int32) []int32 {
	if at := slices.Index(replicas, noNode); at >= 0 {
		replicas = replicas[:at]
	}
	if l.lostNodes == 0 {
		return replicas
	}
	live := slices.DeleteFunc(slices.Clone(replicas), func(n int32) bool { return l.nodes[n].losses > 0 })
	if len(live) == 0 {
		return replicas
	}
	return live
}

// pick takes a waiting task for a node: a node-local, a rack-local, any; -1
// without.
func (t *stage) pick(node, rack int) (task int, level model.Locality) {
	if t.in.cumulative != nil {
		if task = t.byNode.first(node, t.state); task >= 0 {
			return task, model.NodeLocal
		}
		if task = t.byRack.first(rack, t.state); task >= 0 {
			return task, model.RackLocal
		}
	}
	for ; t.firstWaiting < t.total; t.firstWaiting++ {
		if t.state[t.firstWaiting] == waiting {
			return t.firstWaiting, model.OffSwitch
		}
	}
	return -1, model.OffSwitch
}

// draws returns a task's part of bytes that all tasks of its stage draw.
func (t *stage) draws(task int, bytes model.Bytes) model.Bytes {
	if t.cumulative != nil {
		return share(bytes, t.cumulative[task+1], weights) - share(bytes, t.cumulative[task], weights)
	}
	n := model.Bytes(t.total)
	return share(bytes, model.Bytes(task)+1, n) - share(bytes, model.Bytes(task), n)
}

// fetches returns what a task reads of other stages.
func (t *stage) fetches(task int) model.Bytes {
	bytes := t.draws(task, t.scatteredBytes)
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
func (t *stage) cost(task int) model.Duration {
	return t.spec.Compute(task, t.in.size(task)+t.fetches(task))
}

// outputOf returns what a task leaves: what was measured, else its part of the stage's output by what it
// reads of files or draws of stages, in equal parts where that is nothing. The
// parts of all tasks sum to the output.
func (t *stage) outputOf(task int) model.Bytes {
	if len(t.spec.Measured) > 0 {
		return t.spec.Measured[task].Output
	}
	if in := t.in.total(); in > 0 {
		return share(t.output, t.in.cumulative[task+1], in) - share(t.output, t.in.cumulative[task], in)
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

// count sums the tasks of a job that are of one kind to the scheduler. The tasks of
// a stage that reads files and stages count once they are asked for, so that no other
// task of the job waits for them.
func (j *job) count(kind model.Stage) tasks {
	var sum tasks
	for i := range j.stages {
		if t := &j.stages[i]; t.kind == kind {
			if sum.total += t.total; t.readsBoth {
				sum.total += t.asked - t.total
			}
			sum.asked += t.asked
			sum.running += t.running
			sum.completed += t.completed
			sum.extraAsked += t.extraAsked
		}
	}
	return sum
}

// headroom returns how many more containers the ApplicationMaster may have: the free
// ones of the cluster, up to its user's fair share
// (FSAppAttempt.getHeadroom with a queue for each user; hadoop.md 5.3).
func (j *job) headroom(s *world) int {
	b := &s.stats
	return max(min(s.jobs.free.sum(), s.faults.containers(&s.layout)/max(b.activeUsers, 1)-j.usage.containers), 0)
}

// tasksWanted returns how many tasks of a stage that reads stages the
// ApplicationMaster has asked for by now, with those that run or are done.
func (j *job) tasksWanted(t *stage, s *world) int {
	p := &s.params
	switch {
	case !j.isGraph() && !j.reducesAllowed(p):
		return 0
	case !j.isGraph() && s.layout.typed():
		return t.total // they keep no map from starting: JobInProgress.scheduleReduces
	case !j.isGraph():
		return j.reducesWanted(p, j.headroom(s))
	case j.hasPreempted && !t.inputComplete():
		return t.running + t.completed
	}
	return max(t.asked, t.scheduledByTez(p))
}

// reducesAllowed reports whether reduces of a MapReduce job may be asked for: none is before
// slowstart of the maps are complete.
func (j *job) reducesAllowed(p *Params) bool {
	m, r := &j.stages[0], &j.stages[1]
	return r.asked > 0 || m.completed >= int(math.Ceil(p.Slowstart*float64(m.total)-1e-9))
}

// reducesWanted returns how many reduces a MapReduce job has asked for once they are
// allowed (RMContainerAllocator.scheduleReduces, algorithms.md 1.5): all once no map is
// unassigned; before that as many as the smaller of the completed share and the
// ramp-up limit of what the job may have, and what its maps leave of that.
func (j *job) reducesWanted(p *Params, headroom int) int {
	m, r := &j.stages[0], &j.stages[1]
	if m.pending() == 0 {
		return r.total
	}
	if j.hasPreempted {
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

// scheduledByTez returns how many tasks of a stage Tez has scheduled by now: over scatter-gather
// edges none before the least part of a source's tasks that is done reaches
// MinSource, all from MaxSource on, and in between in proportion
// (ShuffleVertexManager, tez.shuffle-vertex-manager.min-src-fraction and
// max-src-fraction); over the other edges, and for a stage that reads files too,
// all when the source is done. InputReadyVertexManager starts a one-to-one task with its own source task:
// here it waits for all of them.
func (t *stage) scheduledByTez(p *Params) int {
	part := 1.0
	for _, e := range t.inputs {
		switch {
		case e.from.complete():
		case e.kind != model.ScatterGather || t.readsBoth:
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
