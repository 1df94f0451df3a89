package jobs

import "heddle/core/model"

// maxCount is beyond any number of tasks or containers. What an application reports has no
// bound, and policies take time in proportion to it.
const maxCount = 1 << 24

// bounded returns a count that was reported, between 0 and maxCount.
func bounded(n int) int { return min(max(n, 0), maxCount) }

// ApplyProgress applies what a job reports of its stages.
func ApplyProgress(j *Job, f *model.JobFact) {
	j.Map.Total, j.Map.Completed, j.Map.Running = bounded(f.MapsTotal), bounded(f.MapsCompleted), bounded(f.MapsRunning)
	j.Reduce.Total, j.Reduce.Completed, j.Reduce.Running = bounded(f.ReducesTotal), bounded(f.ReducesCompleted), bounded(f.ReducesRunning)
	if j.Reduce.demandSource != fromTasks {
		j.Reduce.Pending = bounded(f.ReducesPending)
	}
	switch {
	case j.Map.demandSource == fromTasks:
	case f.MapsPending == 0:
		j.Map.clearDemand()
	case j.Map.demandSource == fromInput:
		demandFromInput(j.Map, j.Input, bounded(f.MapsPending))
	}
}

// ApplyConf applies a job's configuration. The sizes of tasks count until an ask
// shows them.
func ApplyConf(j *Job, f model.JobConfFact) {
	j.Conf = Conf{Inputs: f.Inputs, Output: f.Output, Replication: f.Replication, Workflow: f.Workflow, Slowstart: j.Conf.Slowstart}
	if f.Slowstart >= 0 && f.Slowstart <= 1 {
		j.Conf.Slowstart = f.Slowstart
	}
	for s, task := range map[*Stage]model.Resource{j.Map: f.MapTask, j.Reduce: f.ReduceTask} { // order-free: each on its own
		if !s.capabilityAsked && !task.IsZero() {
			s.Capability = task
		}
	}
}

// ApplyCounters applies a reading of a job's counters.
func ApplyCounters(j *Job, f model.CountersFact) {
	j.reported.counters, j.reported.hasCounters = f, true
	j.updateOutput()
}

// updateOutput recomputes the job's map output by rack, and its ratio.
func (j *Job) updateOutput() {
	j.Output.Update(&j.Map.completed, max(j.reported.counters.MapOutput, 0))
	updateRatio(j)
}

// updateRatio recomputes the shuffle/input ratio from the job's own counters, both
// of one moment: what attempts have reported since is left out.
func updateRatio(j *Job) {
	in, out := j.reported.counters.MapInput, j.reported.counters.MapOutput
	if j.Map.Completed == 0 || in <= 0 || out < 0 {
		return
	}
	j.Ratio, j.Predicted = float64(out)/float64(in), true
	j.Heavy = j.Ratio > 1
}
