package state

import (
	"math"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// Job is one application with its stages. A MapReduce job has maps and reduces;
// what other applications ask for is put into a stage by the relay's rules, and
// into Other (executors, and whatever else) where no rule knows better.
type Job struct {
	model.App
	Stages
	Owner     *User
	Input     *Input // never nil; shared by jobs that read the same paths
	Output    MapOutput
	Ratio     float64 // shuffle bytes over map input bytes; Config.InitialRatio until Predicted
	Predicted bool    // Ratio was measured on this job's own maps
	Earlier   bool    // Ratio is that of an earlier job of the same user and name
	Heavy     bool    // Ratio is above 1 (ShuffleWatcher §3.1)
	Slowstart float64 // of maps done before Hadoop asks for reduces; Hadoop's 0.05 until the configuration is known
	Conf      JobConf
	Blacklist []string // hosts the application refuses

	told  told
	moved moved // bytes already attributed to rack pairs
	plans plans
	seat  seat
}

// Stages are what a job's tasks are put into, none of the three ever nil, and
// the graph of stages of a job that is no MapReduce job.
type Stages struct {
	Map, Reduce, Other *Stage
	Graph              *shuffle.StageGraph // nil for a job that told none
	GraphCycle         string              // why the graph it told last is not used, "" without
}

// told is what sources said last of a job as a whole.
type told struct {
	key      shuffle.JobKey // what its runs are remembered by
	counters model.CountersFact
	counted  bool // counters has been read
	live     [stageCount]stageRows
	asks     toldAsks
}

// toldAsks is where a job's demand comes from.
type toldAsks struct {
	relayed model.Time          // when the relay last told of the job's own asks; 0 never
	stages  map[int]model.Stage // of priorities, as the relay's rules say; nil without
	held    []model.AskRow      // as the ResourceManager last showed them
	heldAt  model.Time
	known   bool   // the ResourceManager has been asked
	input   *Input // supposed from the asks for maps, nil without
}

// relayFresh is how long what the relay told of a job's asks counts for more than
// the ResourceManager's table, which shows what was made of them.
const relayFresh = 15 * model.Second

// plans are the newest plans of a job's stages, nil where there is none.
type plans struct{ mapStage, reduce, other *model.Plan }

// JobConf is what heddle knows of a job's configuration.
type JobConf struct {
	Known       bool
	Inputs      []string
	Output      string
	Replication int // copies of the output; 0 when not known
	Workflow    *model.Workflow
}

// DefaultSlowstart is Hadoop's mapreduce.job.reduce.slowstart.completedmaps.
const DefaultSlowstart = 0.05

// stageCount is how many stages a container can belong to, with stageIndex
// their order.
const stageCount = 4

func stageIndex(s model.Stage) int {
	switch s {
	case model.StageMap:
		return 0
	case model.StageReduce:
		return 1
	case model.StageAM:
		return 2
	case model.StageOther:
	}
	return 3
}

// stageRows counts the live containers of one stage by rack.
type stageRows struct{ byRack []int }

func (r *stageRows) total() int {
	n := 0
	for _, k := range r.byRack {
		n += k
	}
	return n
}

// Stage returns a stage of the job, nil for the ApplicationMaster's.
func (s Stages) Stage(kind model.Stage) *Stage {
	switch kind {
	case model.StageMap:
		return s.Map
	case model.StageReduce:
		return s.Reduce
	case model.StageOther:
		return s.Other
	case model.StageAM:
	}
	return nil
}

// Usage returns what the job has, with what the current what-if assumes.
func (j *Job) Usage() model.Resource { return j.Allocated.Add(j.seat.assumed) }

// Blacklisted reports whether the application refuses a host.
func (j *Job) Blacklisted(host string) bool { return slices.Contains(j.Blacklist, host) }

// ReducesDue reports whether enough maps are complete for Hadoop's
// ApplicationMaster to ask for reduces: completed >= ceil(slowstart x total)
// (RMContainerAllocator.scheduleReduces; algorithms.md 1.5). It is true for a
// job whose number of maps is not known: what it asks for is due.
func (j *Job) ReducesDue() bool {
	// A product that is a whole number may come out a hair above it.
	return j.Map.Completed >= int(math.Ceil(j.Slowstart*float64(j.Map.Total)-1e-9))
}

// PlanOf returns the newest plan of a job's stage, nil if there is none.
func (j *Job) PlanOf(stage model.Stage) *model.Plan {
	switch stage {
	case model.StageMap:
		return j.plans.mapStage
	case model.StageReduce:
		return j.plans.reduce
	case model.StageOther:
		return j.plans.other
	case model.StageAM:
	}
	return nil
}

func (p *plans) set(plan *model.Plan) {
	switch plan.Stage {
	case model.StageMap:
		p.mapStage = plan
	case model.StageReduce:
		p.reduce = plan
	case model.StageOther:
		p.other = plan
	case model.StageAM:
	}
}

// adopt gives a job what was known of its entry before it came back.
func adopt(j, old *Job, stages Stages) {
	j.Stages, j.Input, j.Output = stages, old.Input, old.Output
	j.Slowstart, j.Conf, j.told, j.moved = old.Slowstart, old.Conf, old.told, old.moved
	j.setRatio()
}

// applyContainers counts the job's containers by rack. It returns how many of
// them are on a node that is not known.
func (j *Job) applyContainers(f model.ContainersFact, nodes *nodeIndex) (unknown int64) {
	if j.State.Final() {
		return 0
	}
	j.told.live = [stageCount]stageRows{}
	j.Map.hosts.silence()
	for i := range f.Containers {
		k := &f.Containers[i]
		n := nodes.byID[k.Node]
		if n == nil {
			unknown++
			continue
		}
		stage := j.stageOf(k.Priority)
		if strings.HasSuffix(k.ID, firstContainer) {
			stage = model.StageAM
		}
		l := &j.told.live[stageIndex(stage)]
		l.byRack = grown(l.byRack, n.Rack.Index)
		l.byRack[n.Rack.Index]++
		if stage == model.StageMap {
			j.Map.hosts.change(n.number, hostRun{live: 1})
		}
	}
	j.Blacklist = f.Blacklist
	j.relaunch()
	return unknown
}

// firstContainer ends the id of an attempt's first container, which is the
// ApplicationMaster's own (ContainerId: the sixth part is a count from 1).
const firstContainer = "_000001"

func (j *Job) relaunch() {
	j.Map.relaunch(j.told.live[0].byRack)
	j.Reduce.relaunch(j.told.live[1].byRack)
	j.Other.relaunch(j.told.live[3].byRack)
	runUntold(j)
}

// runUntold counts what runs of stages of which nobody says how many tasks they
// have, by their live containers.
func runUntold(j *Job) {
	for i, s := range []*Stage{j.Map, j.Reduce, nil, j.Other} {
		if s != nil && s.Total == 0 {
			s.Running = j.told.live[i].total()
		}
	}
}

// applyProgress takes what the job itself says of its tasks.
func (j *Job) applyProgress(f *model.JobFact) {
	j.Map.Total, j.Map.Completed, j.Map.Running = f.MapsTotal, f.MapsCompleted, f.MapsRunning
	j.Reduce.Total, j.Reduce.Completed, j.Reduce.Running = f.ReducesTotal, f.ReducesCompleted, f.ReducesRunning
	if j.Reduce.demand != fromTasks {
		j.Reduce.Pending = f.ReducesPending
	}
	switch {
	case j.Map.demand == fromTasks:
	case f.MapsPending == 0:
		j.Map.clearDemand()
	case j.Map.demand == fromInput:
		j.Map.demandFromInput(j.Input, f.MapsPending)
	}
}

func (j *Job) applyConf(f model.JobConfFact) {
	j.Conf = JobConf{Known: true, Inputs: f.Inputs, Output: f.Output, Replication: f.Replication, Workflow: f.Workflow}
	if f.Slowstart >= 0 && f.Slowstart <= 1 {
		j.Slowstart = f.Slowstart
	}
	size(j.Map, f.MapTask)
	size(j.Reduce, f.ReduceTask)
}

// applyTasks replaces what is known of the listed tasks. It returns how many it
// does not track: those of other stages, outside their stage, or from the limit on.
func (j *Job) applyTasks(f *model.TasksFact, nodes *nodeIndex, limit int) (untracked int64) {
	for i := range f.Tasks {
		t := &f.Tasks[i]
		s := j.Stage(t.Stage)
		if s == nil || t.Index < 0 || t.Index >= limit || (s.Total > 0 && t.Index >= s.Total) {
			untracked++
			continue
		}
		if more := min(s.Total, limit) - len(s.tasks); more > 0 {
			s.tasks = slices.Grow(s.tasks, more) // as many as will come, and no more
		}
		s.applyTask(t, j.told.live[stageIndex(t.Stage)].byRack, nodes)
	}
	runUntold(j)
	if j.Map.done.moved {
		j.refreshOutput()
	} else {
		j.Output.Version++ // who keeps what follows from a job's tasks asks for it
		j.setRatio()
	}
	return untracked
}

func (j *Job) setCounters(f model.CountersFact) {
	j.told.counters, j.told.counted = f, true
	j.refreshOutput()
}

// setRatio recomputes the shuffle/input ratio from the job's own counters, both
// of one moment: what attempts have reported since is left out.
func (j *Job) setRatio() {
	in, out := j.told.counters.MapInput, j.told.counters.MapOutput
	if j.Map.Completed == 0 || in <= 0 || out < 0 {
		return
	}
	j.Ratio, j.Predicted = float64(out)/float64(in), true
	if heavy := j.Ratio > 1; heavy != j.Heavy {
		j.Heavy = heavy
		if !j.State.Final() {
			j.Owner.classify(j)
		}
	}
}
