package jobs

import (
	"slices"

	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// RunningMaps counts the maps of one job that run on a host.
type RunningMaps struct {
	Job   *Job
	Count int

	assumed int // of Count, those that the current what-if started
}

// runningIndex holds the running maps by host: NAS weighs what a node's maps are
// about to output (algorithms.md 2.3.3).
type runningIndex struct{ onHost [][]RunningMaps }

// taskCount counts the running tasks of a stage on one host, by source.
type taskCount struct{ tasks, live int32 }

// runningTasks are the running tasks of a stage by host.
type runningTasks struct {
	byHost  nodes.HostTable[taskCount]
	changed []nodes.Host // since runningIndex.update
}

// change adds to the tasks and live containers that are reported on a host.
func (t *runningTasks) change(host nodes.Host, by taskCount) {
	if host == nodes.NoHost {
		return
	}
	c := t.byHost.Entry(host)
	c.tasks += by.tasks
	c.live += by.live
	t.changed = append(t.changed, host)
}

// dropLive removes all live containers.
func (t *runningTasks) dropLive() {
	for host, c := range t.byHost.All() {
		if c.live > 0 {
			t.change(host, taskCount{live: -c.live})
		}
	}
}

// at returns the maps running on a host.
func (ri *runningIndex) at(host nodes.Host) []RunningMaps { return topology.At(ri.onHost, int(host)) }

// update applies what changed of one job's maps.
func (ri *runningIndex) update(j *Job) {
	t := &j.Map.runningOn
	for _, host := range t.changed {
		c := t.byHost.At(host)
		ri.set(host, j, int(max(c.tasks, c.live)))
	}
	t.changed = t.changed[:0]
}

// set changes how many maps of a job are reported to run on a host.
func (ri *runningIndex) set(host nodes.Host, j *Job, reported int) {
	i := ri.entry(host, j)
	r := &ri.onHost[host][i]
	r.Count = reported + r.assumed
	ri.removeEmpty(host, i)
}

// assume supposes so many more maps of a job to run on a host.
func (ri *runningIndex) assume(host nodes.Host, j *Job, maps int) {
	i := ri.entry(host, j)
	r := &ri.onHost[host][i]
	r.Count += maps
	r.assumed += maps
	ri.removeEmpty(host, i)
}

// entry returns the place of a job among those on a host, adding it if it is new.
func (ri *runningIndex) entry(host nodes.Host, j *Job) int {
	ri.onHost = topology.Extend(ri.onHost, int(host))
	list := ri.onHost[host]
	if i := slices.IndexFunc(list, func(r RunningMaps) bool { return r.Job == j }); i >= 0 {
		return i
	}
	ri.onHost[host] = append(list, RunningMaps{Job: j})
	return len(list)
}

// removeEmpty removes an entry that counts nothing.
func (ri *runningIndex) removeEmpty(host nodes.Host, i int) {
	if list := ri.onHost[host]; list[i].Count == 0 && list[i].assumed == 0 {
		ri.onHost[host] = slices.Delete(list, i, i+1)
	}
}

// removeJob removes a job from all hosts.
func (ri *runningIndex) removeJob(j *Job) {
	t := &j.Map.runningOn
	for host, c := range t.byHost.All() {
		if *c != (taskCount{}) {
			ri.set(host, j, 0)
		}
	}
	t.byHost.Clear()
	t.changed = t.changed[:0]
}
