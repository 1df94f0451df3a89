package state

import (
	"strings"

	"heddle/core/model"
)

// clockJump is how far back an observation may lie behind the newest one before
// it is taken for a clock that was set back.
const clockJump = model.Minute

// Apply takes one observation into the state. Facts about jobs that are not
// known (ended before heddle saw them, or pruned) change nothing.
func (c *Cluster) Apply(o model.Observation) {
	c.advanceClock(o.At)
	switch f := o.Fact.(type) {
	case model.PollFact:
		c.applyPoll(o.Source, o.At, f)
	case model.ClusterFact:
		c.applyCluster(f)
	case model.NodesFact:
		c.applyNodes(f)
	case model.AppsFact:
		c.applyApps(f)
	case model.DataNodesFact:
		c.applyDataNodes(f)
	case model.BlocksFact:
		c.applyBlocks(f)
	case model.UplinkFact:
		c.applyUplink(o.At, f)
	default:
		c.applyJobFact(f)
	}
}

func (c *Cluster) applyJobFact(fact model.Fact) {
	switch f := fact.(type) {
	case model.AsksFact:
		c.withJob(f.App, func(j *Job) { c.applyAsks(j, f) })
	case model.ContainersFact:
		c.withJob(f.App, func(j *Job) { c.applyContainers(j, f) })
	case model.JobFact:
		c.withJob(f.App, func(j *Job) { c.applyJob(j, f) })
	case model.JobConfFact:
		c.withJob(f.App, func(j *Job) { c.applyConf(j, f) })
	case model.TasksFact:
		c.withJob(f.App, func(j *Job) { c.applyTasks(j, f) })
	case model.CountersFact:
		c.withJob(f.App, func(j *Job) { c.applyCounters(j, f) })
	}
}

func (c *Cluster) withJob(id model.AppID, apply func(*Job)) {
	if j := c.jobs.byID[id]; j != nil {
		j.view = nil
		apply(j)
	}
}

func (c *Cluster) advanceClock(at model.Time) {
	switch {
	case at >= c.now:
		c.now = at
	case c.now.Sub(at) > clockJump:
		c.now = at
		c.counts.ClockJumps++
	}
}

func (c *Cluster) applyCluster(f model.ClusterFact) {
	if c.info.fact.Started != 0 && (f.Started != c.info.fact.Started || f.Address != c.info.fact.Address) {
		c.info.restarts++
		c.counts.Restarts++
	}
	if f.Localities == nil {
		f.Localities = c.info.fact.Localities
	} else {
		c.info.count(*f.Localities)
	}
	if f.Queues == nil {
		f.Queues = c.info.fact.Queues
	}
	if f.Scheduler == "" {
		f.Scheduler = c.info.fact.Scheduler
	}
	c.info.fact = f
}

// count adds what the scheduler allocated since the last reading. The
// ResourceManager's own counters start at zero again after a restart.
func (i *clusterInfo) count(now model.LocalityCounts) {
	i.localities.NodeLocal += increase(i.last.NodeLocal, now.NodeLocal)
	i.localities.RackLocal += increase(i.last.RackLocal, now.RackLocal)
	i.localities.OffSwitch += increase(i.last.OffSwitch, now.OffSwitch)
	i.last = now
}

// increase returns how far a counter moved, taking a fall for a restart at 0.
func increase(last, now int64) int64 {
	if now < last {
		return now
	}
	return now - last
}

func (c *Cluster) applyAsks(j *Job, f model.AsksFact) {
	if j.State.Final() {
		return
	}
	for _, s := range []*Stage{j.Map, j.Reduce} {
		if s.byTask || (s.Kind == model.StageReduce && s.Total > 0) {
			continue // the job itself says better
		}
		s.clearDemand()
		s.rows = s.Kind == model.StageMap
	}
	for i := range f.Rows {
		c.applyAskRow(j, &f.Rows[i])
	}
}

func (c *Cluster) applyAskRow(j *Job, row *model.AskRow) {
	var s *Stage
	switch model.StageOfPriority(row.Priority) {
	case model.StageMap:
		s = j.Map
	case model.StageReduce:
		s = j.Reduce
	default:
		return
	}
	if !row.Capability.IsZero() {
		s.Capability = row.Capability
	}
	if s.byTask || (s.Kind == model.StageReduce && s.Total > 0) || row.Count <= 0 {
		return
	}
	switch {
	case row.ResourceName == model.AnyName:
		s.Pending += row.Count
	case strings.HasPrefix(row.ResourceName, "/"):
		i := c.tree.Index(model.RackID(row.ResourceName))
		c.rack(i)
		s.addDemand("", i, row.Count)
	default:
		s.addDemand(row.ResourceName, -1, row.Count)
	}
}

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
	}
	return 3
}

// stageRows counts the live containers of one stage by rack.
type stageRows struct{ byRack []int }

func (c *Cluster) applyContainers(j *Job, f model.ContainersFact) {
	if j.State.Final() {
		return
	}
	j.live = [stageCount]stageRows{}
	for i := range f.Containers {
		k := &f.Containers[i]
		n := c.nodes.byID[k.Node]
		if n == nil {
			c.counts.UnknownHosts++
			continue
		}
		l := &j.live[stageIndex(model.StageOfPriority(k.Priority))]
		l.byRack = grown(l.byRack, n.Rack.Index)
		l.byRack[n.Rack.Index]++
	}
	j.Blacklist = f.Blacklist
	j.Map.relaunch(j.live[0].byRack)
	j.Reduce.relaunch(j.live[1].byRack)
}

func (c *Cluster) applyJob(j *Job, f model.JobFact) {
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
		c.demandFromBlocks(j, f.MapsPending)
	}
	if f.Done {
		c.finish(j)
	}
}

// demandFromBlocks supposes, for a job whose ask table is not known, that its
// pending maps read the blocks of its input in equal parts.
func (c *Cluster) demandFromBlocks(j *Job, pending int) {
	j.Map.clearDemand()
	j.Map.Pending = pending
	if total := len(j.Input.Blocks); total > 0 {
		for host, n := range j.Input.byHost { // order-free: each entry is set on its own
			j.Map.addDemand(host, -1, (pending*n+total-1)/total)
		}
		for r, n := range j.Input.rackBlocks {
			j.Map.addDemand("", r, (pending*n+total-1)/total)
		}
	}
}

func (c *Cluster) applyConf(j *Job, f model.JobConfFact) {
	j.Conf = JobConf{Known: true, Inputs: f.Inputs, Output: f.Output, Replication: f.Replication}
	if f.Slowstart >= 0 && f.Slowstart <= 1 {
		j.Slowstart = f.Slowstart
	}
	c.joinInput(j)
}

// applyTasks replaces what is known of the listed tasks.
func (c *Cluster) applyTasks(j *Job, f model.TasksFact) {
	for i := range f.Tasks {
		t := &f.Tasks[i]
		switch t.Stage {
		case model.StageMap:
			c.applyTask(j.Map, t)
		case model.StageReduce:
			c.applyTask(j.Reduce, t)
		default:
			c.counts.UntrackedTasks++
		}
	}
	j.Map.relaunch(j.live[0].byRack)
	j.Reduce.relaunch(j.live[1].byRack)
	c.refreshOutput(j)
}

func (c *Cluster) applyTask(s *Stage, t *model.Task) {
	if t.Index < 0 || t.Index >= c.cfg.MaxTasks || (s.Total > 0 && t.Index >= s.Total) {
		c.counts.UntrackedTasks++
		return
	}
	for len(s.tasks) <= t.Index {
		s.tasks = append(s.tasks, task{rack: noRack, input: model.Unknown, output: model.Unknown, shuffled: model.Unknown})
	}
	old := &s.tasks[t.Index]
	c.count(s, old, -1)
	next := task{
		state: t.State, rack: old.rack, progress: float32(t.Progress),
		input: known(t.Input, old.input), output: known(t.Output, old.output), shuffled: known(t.Shuffled, old.shuffled),
		host: old.host, preferred: old.preferred,
	}
	if t.Host != "" || t.Rack != "" {
		next.host = t.Host
		next.rack = int32(c.hostRack(t.Host, t.Rack)) //nolint:gosec // bounded by the number of racks
	}
	if t.State == model.TaskPending || t.State == model.TaskFailed {
		next.host, next.rack, next.output = "", noRack, model.Unknown // a map that is run again gives its output anew
	}
	if len(t.Preferred) > 0 {
		next.preferred = t.Preferred
		s.followTasks()
	}
	*old = next
	c.count(s, old, +1)
}

func known(now, before model.Bytes) model.Bytes {
	if now < 0 {
		return before
	}
	return now
}

// followTasks makes the tasks themselves the source of the stage's demand.
func (s *Stage) followTasks() {
	if !s.byTask {
		s.byTask, s.rows = true, false
		s.clearDemand()
	}
}

// count adds or takes away a task's part in the stage's indexes.
func (c *Cluster) count(s *Stage, t *task, sign int) {
	switch {
	case t.state == model.TaskSucceeded && t.rack != noRack:
		s.done.add(int(t.rack), sign, t.output)
	case t.state == model.TaskRunning && t.rack != noRack:
		s.runOn = grown(s.runOn, int(t.rack))
		s.runOn[t.rack] += sign
	case t.state == model.TaskPending && len(t.preferred) > 0:
		c.countDemand(s, t, sign)
	}
}

func (c *Cluster) countDemand(s *Stage, t *task, sign int) {
	s.Pending += sign
	for i, host := range t.preferred {
		rack := c.hostRack(host, "")
		s.addDemand(host, -1, sign)
		first := true
		for _, before := range t.preferred[:i] {
			if r := c.hostRack(before, ""); r == rack {
				first = false
				break
			}
		}
		if first {
			s.addDemand("", rack, sign)
		}
	}
}

// relaunch recomputes launched tasks by rack: completed ones, plus running ones
// by task or by live container, whichever source has seen more of them.
func (s *Stage) relaunch(live []int) {
	n := max(len(s.done.tasks), len(s.runOn), len(live))
	s.launched = grown(s.launched[:0], n-1)
	for r := range n {
		s.launched[r] = at(s.done.tasks, r) + max(at(s.runOn, r), at(live, r))
	}
}
