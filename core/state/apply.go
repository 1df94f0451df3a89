package state

import "heddle/core/model"

// clockJump is how far back an observation may lie behind the newest one before
// it is taken for a clock that was set back.
const clockJump = model.Minute

// Apply takes one observation into the state. Facts about jobs that are not
// known (ended before heddle saw them, or pruned) change nothing. Facts of which
// there are millions may be given by pointer; nothing of them is kept.
func (c *Cluster) Apply(o model.Observation) {
	c.advanceClock(o.At)
	switch f := o.Fact.(type) {
	case model.PollFact:
		c.sources.applyPoll(o.Source, o.At, f)
	case model.ClusterFact:
		if c.info.apply(f) {
			c.counts.Restarts++
		}
	case model.NodesFact:
		c.applyNodes(&f)
	case *model.NodesFact:
		c.applyNodes(f)
	case model.AppsFact:
		c.jobs.applyApps(&f, c.now)
	case *model.AppsFact:
		c.jobs.applyApps(f, c.now)
	case model.DataNodesFact:
		c.nodes.applyDataNodes(f)
		c.hdfs.applyDataNodes(f, &c.nodes)
	case model.BlocksFact:
		c.hdfs.applyBlocks(f, &c.nodes, c.jobs.live)
		c.jobs.readersChanged(f.Path)
	case model.UplinkFact:
		c.nodes.applyUplink(o.At, f)
	case model.HistoryFact:
		_ = c.history.Recall(f.Jobs) // whoever read them has refused what is out of range
	default:
		c.applyJobFact(o)
	}
}

func (c *Cluster) applyNodes(f *model.NodesFact) {
	c.nodes.applyNodes(f)
	c.jobs.users.resize(c.nodes.capacity.Total)
}

func (c *Cluster) applyJobFact(o model.Observation) {
	switch f := o.Fact.(type) {
	case model.AsksFact:
		c.withJob(f.App, func(j *Job) { j.applyAsks(f, o, &c.nodes) })
	case model.ContainersFact:
		c.withJob(f.App, func(j *Job) { c.counts.UnknownHosts += j.applyContainers(f, &c.nodes) })
	case model.JobFact:
		c.applyJob(&f)
	case *model.JobFact:
		c.applyJob(f)
	case model.JobConfFact:
		c.withJob(f.App, func(j *Job) {
			j.applyConf(f)
			c.hdfs.joinInput(j)
			c.jobs.depends.link(j, c.jobs.changes.add)
		})
	case model.GraphFact:
		c.withJob(f.App, func(j *Job) { j.applyGraph(f, &c.nodes) })
	case model.TasksFact:
		c.applyTasks(&f)
	case *model.TasksFact:
		c.applyTasks(f)
	case model.CountersFact:
		c.withJob(f.App, func(j *Job) { c.traffic.applyCounters(j, f, c.now, c.hdfs.weights) })
	}
}

func (c *Cluster) applyJob(f *model.JobFact) {
	c.withJob(f.App, func(j *Job) {
		j.applyProgress(f)
		if f.Done {
			c.traffic.settle(j)
		}
	})
}

func (c *Cluster) applyTasks(f *model.TasksFact) {
	c.withJob(f.App, func(j *Job) { c.counts.UntrackedTasks += j.applyTasks(f, &c.nodes, c.cfg.MaxTasks) })
}

func (c *Cluster) withJob(id model.AppID, apply func(*Job)) {
	if j := c.jobs.job(id); j != nil {
		j.seat.view = nil
		apply(j)
		c.jobs.follow(j)
		c.jobs.remember(j, c.now)
		c.jobs.changes.add(j)
	}
}

func (c *Cluster) advanceClock(at model.Time) {
	switch {
	case at >= c.now:
		c.now = at
	case c.now.Sub(at) > clockJump:
		c.now = at
		c.counts.ClockJumps++
		c.sources.setBack(at)
	}
}
