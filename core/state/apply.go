package state

import (
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/jobs"
)

// clockJump is how far back an observation may lie behind the newest one before
// it is taken for a clock that was set back.
const clockJump = model.Minute

// Apply applies one observation. Facts about jobs that are not known (ended before
// heddle saw them, or forgotten) change nothing. Facts of which there are millions
// may be given by pointer; the cluster does not retain them.
func (c *Cluster) Apply(o model.Observation) {
	c.advanceClock(o.At)
	switch f := byPointer(o.Fact).(type) {
	case model.PollFact:
		c.sources.Apply(o.Source, o.At, f)
	case model.ClusterFact:
		if c.resourceManager.apply(f) {
			c.counts.Restarts++
		}
	case *model.NodesFact:
		c.nodes.ApplyNodes(f)
		c.jobs.Users.Resize(c.nodes.Capacity().Total)
	case *model.AppsFact:
		c.jobs.ApplyApps(f, c.now)
	case model.DataNodesFact:
		c.nodes.ApplyDataNodes(f)
	case model.BlocksFact:
		c.applyBlocks(f)
	case model.UplinkFact:
		c.nodes.ApplyUplink(o.At, f)
	case model.HistoryFact:
		_ = c.history.Recall(f.Jobs) // the reader of the file has refused what is out of range
	case model.SampleFact:
		c.sample()
	case model.PolicyFact:
		c.cfg.Saturation = shuffle.SaturationParams(f.Saturation)
	default:
		c.applyJobFact(o)
	}
	c.nodes.AddRacks()
}

// byPointer returns a fact that may be given by value or by pointer as a pointer.
func byPointer(f model.Fact) model.Fact {
	switch f := f.(type) {
	case model.NodesFact:
		return &f
	case model.AppsFact:
		return &f
	case model.JobFact:
		return &f
	case model.TasksFact:
		return &f
	}
	return f
}

// applyBlocks stores the blocks of one path and gives them to the live jobs that
// read it.
func (c *Cluster) applyBlocks(f model.BlocksFact) {
	c.inputs.Apply(f)
	for _, j := range c.jobs.Live() {
		if slices.Contains(j.Conf.Inputs, f.Path) {
			c.setInput(j)
			c.jobs.Changes.Add(j)
		}
	}
	c.inputs.Prune(func() map[string]bool {
		used := map[string]bool{}
		for _, j := range c.jobs.Live() {
			for _, p := range j.Conf.Inputs {
				used[p] = true
			}
		}
		return used
	})
}

// setInput gives a job the input that its paths have.
func (c *Cluster) setInput(j *Job) { jobs.SetInput(j, c.inputs.Of(j.Conf.Inputs)) }

// applyJobFact applies a fact about one job.
func (c *Cluster) applyJobFact(o model.Observation) {
	switch f := byPointer(o.Fact).(type) {
	case model.AsksFact:
		c.changeJob(f.App, func(j *Job) { jobs.ApplyAsks(j, f, o.Source, o.At, c.nodes.Hosts()) })
	case model.ContainersFact:
		c.changeJob(f.App, func(j *Job) { jobs.ApplyContainers(j, f, c.nodes) })
	case *model.JobFact:
		c.changeJob(f.App, func(j *Job) { jobs.ApplyProgress(j, f) })
	case model.JobConfFact:
		c.changeJob(f.App, func(j *Job) {
			jobs.ApplyConf(j, f)
			c.setInput(j)
			c.dependencies.Set(j)
		})
	case model.GraphFact:
		c.changeJob(f.App, func(j *Job) { jobs.ApplyGraph(j, f, c.nodes.Hosts()) })
	case *model.TasksFact:
		c.changeJob(f.App, func(j *Job) { c.counts.UntrackedTasks += jobs.ApplyTasks(j, f, c.nodes.Hosts(), c.cfg.MaxTasks) })
	case model.CountersFact:
		c.changeJob(f.App, func(j *Job) {
			_, before := j.Counters()
			jobs.ApplyCounters(j, f)
			if !c.cfg.NoTraffic {
				c.traffic.Add(j, before, c.now, c.nodes.LiveDataNodes())
			}
		})
	}
}

// changeJob applies a change to a job that is known, and updates what follows from
// it.
func (c *Cluster) changeJob(id model.AppID, apply func(*Job)) {
	if j := c.jobs.Job(id); j != nil {
		apply(j)
		c.jobs.Update(j, c.now)
	}
}

// advanceClock moves the cluster's time forward, and back where the clock itself
// was set back.
func (c *Cluster) advanceClock(at model.Time) {
	switch {
	case at >= c.now:
		c.now = at
	case c.now.Sub(at) > clockJump:
		c.now = at
		c.counts.ClockJumps++
		c.sources.SetBack(at)
	}
}
