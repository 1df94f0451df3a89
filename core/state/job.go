package state

import (
	"math"
	"slices"

	"heddle/core/model"
)

// Job is one application with its map and reduce stages. Applications that are
// not MapReduce jobs have empty stages.
type Job struct {
	model.App
	Owner       *User
	Map, Reduce *Stage
	Input       *Input // never nil; shared by jobs that read the same paths
	Output      MapOutput
	Ratio       float64 // shuffle bytes over map input bytes; Config.InitialRatio until Predicted
	Predicted   bool    // Ratio was measured on this job's own maps
	Heavy       bool    // Ratio is above 1 (ShuffleWatcher §3.1)
	Slowstart   float64 // of maps done before Hadoop asks for reduces; Hadoop's 0.05 until the configuration is known
	Conf        JobConf
	Blacklist   []string // hosts the application refuses

	told  told
	moved moved // bytes already attributed to rack pairs
	plans plans
	view  *AppView // as last published, nil when the job changed since
}

// told is what sources said last of a job as a whole.
type told struct {
	counters model.CountersFact
	counted  bool // counters has been read
	live     [stageCount]stageRows
}

// plans are the newest plans of a job's stages, nil where there is none.
type plans struct{ mapStage, reduce *model.Plan }

// JobConf is what heddle knows of a job's configuration.
type JobConf struct {
	Known       bool
	Inputs      []string
	Output      string
	Replication int // copies of the output; 0 when not known
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

// Stage returns the job's map or reduce stage, nil for any other.
func (j *Job) Stage(kind model.Stage) *Stage {
	switch kind {
	case model.StageMap:
		return j.Map
	case model.StageReduce:
		return j.Reduce
	case model.StageAM, model.StageOther:
	}
	return nil
}

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
	if stage == model.StageMap {
		return j.plans.mapStage
	}
	return j.plans.reduce
}

func (j *Job) setPlan(p *model.Plan) {
	j.view = nil
	if p.Stage == model.StageMap {
		j.plans.mapStage = p
	} else {
		j.plans.reduce = p
	}
}

// adopt takes over what was known of the job's entry before it came back.
func (j *Job) adopt(old *Job) {
	j.Map, j.Reduce, j.Input, j.Output = old.Map, old.Reduce, old.Input, old.Output
	j.Slowstart, j.Conf, j.told, j.moved = old.Slowstart, old.Conf, old.told, old.moved
	j.setRatio()
}

func (j *Job) applyAsks(f model.AsksFact, nodes *nodeIndex) {
	if j.State.Final() {
		return
	}
	for _, s := range []*Stage{j.Map, j.Reduce} {
		if s.toldByJob() {
			continue
		}
		s.clearDemand()
		s.rows = s.Kind == model.StageMap
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		if s := j.Stage(model.StageOfPriority(row.Priority)); s != nil {
			s.applyAsk(row, nodes)
		}
	}
}

// applyContainers counts the job's containers by rack. It returns how many of
// them are on a node that is not known.
func (j *Job) applyContainers(f model.ContainersFact, nodes *nodeIndex) (unknown int64) {
	if j.State.Final() {
		return 0
	}
	j.told.live = [stageCount]stageRows{}
	for i := range f.Containers {
		k := &f.Containers[i]
		n := nodes.byID[k.Node]
		if n == nil {
			unknown++
			continue
		}
		l := &j.told.live[stageIndex(model.StageOfPriority(k.Priority))]
		l.byRack = grown(l.byRack, n.Rack.Index)
		l.byRack[n.Rack.Index]++
	}
	j.Blacklist = f.Blacklist
	j.relaunch()
	return unknown
}

func (j *Job) relaunch() {
	j.Map.relaunch(j.told.live[0].byRack)
	j.Reduce.relaunch(j.told.live[1].byRack)
}

// applyProgress takes what the job itself says of its tasks.
func (j *Job) applyProgress(f model.JobFact) {
	j.Map.Total, j.Map.Completed, j.Map.Running = f.MapsTotal, f.MapsCompleted, f.MapsRunning
	j.Reduce.Total, j.Reduce.Completed, j.Reduce.Running = f.ReducesTotal, f.ReducesCompleted, f.ReducesRunning
	if !j.Reduce.byTask {
		j.Reduce.Pending = f.ReducesPending
	}
	switch {
	case j.Map.byTask:
	case f.MapsPending == 0:
		j.Map.clearDemand()
	case !j.Map.rows:
		j.Map.demandFromInput(j.Input, f.MapsPending)
	}
}

func (j *Job) applyConf(f model.JobConfFact) {
	j.Conf = JobConf{Known: true, Inputs: f.Inputs, Output: f.Output, Replication: f.Replication}
	if f.Slowstart >= 0 && f.Slowstart <= 1 {
		j.Slowstart = f.Slowstart
	}
}

// applyTasks replaces what is known of the listed tasks. It returns how many it
// does not track: those of other stages, outside their stage, or from the limit on.
func (j *Job) applyTasks(f model.TasksFact, nodes *nodeIndex, limit int) (untracked int64) {
	for i := range f.Tasks {
		t := &f.Tasks[i]
		s := j.Stage(t.Stage)
		if s == nil || t.Index < 0 || t.Index >= limit || (s.Total > 0 && t.Index >= s.Total) {
			untracked++
			continue
		}
		s.applyTask(t, nodes)
	}
	j.relaunch()
	j.refreshOutput()
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
