package state

import "slices"

// RunningMaps counts the maps of one job that run on a host.
type RunningMaps struct {
	Job   *Job
	Count int

	assumed int // of Count, those the current what-if started
}

// runningIndex holds the running maps by host number: NAS weighs what a node's
// maps are about to put out (algorithms.md 2.3.3).
type runningIndex struct{ on [][]RunningMaps }

// hostRun counts the running tasks of a stage on one host, by who says so.
type hostRun struct{ tasks, live int32 }

// hostRuns are the running tasks of a stage by host.
type hostRuns struct {
	by    hostTable[hostRun]
	moved []hostNumber // hosts where something changed since the index followed
}

// at returns the maps running on a node.
func (x *runningIndex) at(n *Node) []RunningMaps {
	if int(n.number) < len(x.on) {
		return x.on[n.number]
	}
	return nil
}

// follow brings the index up to date with one job's maps.
func (x *runningIndex) follow(j *Job) {
	h := &j.Map.hosts
	for _, host := range h.moved {
		r := h.by.at(host)
		x.set(host, j, int(max(r.tasks, r.live)))
	}
	h.moved = h.moved[:0]
}

// set says how many maps of a job are told to run on a host.
func (x *runningIndex) set(host hostNumber, j *Job, told int) {
	i := x.entry(host, j)
	r := &x.on[host][i]
	r.Count = told + r.assumed
	x.tidy(host, i)
}

// assume supposes so many more maps of a job to run on a host.
func (x *runningIndex) assume(host hostNumber, j *Job, maps int) {
	i := x.entry(host, j)
	r := &x.on[host][i]
	r.Count += maps
	r.assumed += maps
	x.tidy(host, i)
}

// entry returns where a job's maps on a host are counted.
func (x *runningIndex) entry(host hostNumber, j *Job) int {
	x.on = grown(x.on, int(host))
	list := x.on[host]
	if i := slices.IndexFunc(list, func(r RunningMaps) bool { return r.Job == j }); i >= 0 {
		return i
	}
	x.on[host] = append(list, RunningMaps{Job: j})
	return len(list)
}

// tidy takes an entry out that counts nothing.
func (x *runningIndex) tidy(host hostNumber, i int) {
	if list := x.on[host]; list[i].Count == 0 && list[i].assumed == 0 {
		x.on[host] = slices.Delete(list, i, i+1)
	}
}

// drop takes a job out.
func (x *runningIndex) drop(j *Job) {
	h := &j.Map.hosts
	for host, r := range h.by.all() {
		if *r != (hostRun{}) {
			x.set(host, j, 0)
		}
	}
	h.by.empty()
	h.moved = h.moved[:0]
}

// change adds to what tasks and live containers are said to run on a host.
func (h *hostRuns) change(host hostNumber, by hostRun) {
	if host == noHost {
		return
	}
	r := h.by.entry(host)
	r.tasks += by.tasks
	r.live += by.live
	h.moved = append(h.moved, host)
}

// silence forgets what the live containers said.
func (h *hostRuns) silence() {
	for host, r := range h.by.all() {
		if r.live > 0 {
			h.change(host, hostRun{live: -r.live})
		}
	}
}
