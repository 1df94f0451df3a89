package state

import "slices"

// RunningMaps counts the maps of one job that run on a host.
type RunningMaps struct {
	Job   *Job
	Count int
}

// runningIndex holds the running maps by host: NAS weighs what a node's maps are
// about to put out (algorithms.md 2.3.3).
type runningIndex map[string][]RunningMaps

// hostRun counts the running tasks of a stage on one host, by who says so.
type hostRun struct{ tasks, live, assumed int }

func (r hostRun) total() int { return max(r.tasks, r.live) + r.assumed }

// hostRuns are the running tasks of a stage by host.
type hostRuns struct {
	by    map[string]hostRun
	moved []string // hosts where something changed since the index followed
}

// follow brings the index up to date with one job's maps.
func (x runningIndex) follow(j *Job) {
	h := &j.Map.hosts
	for _, host := range h.moved {
		x.set(host, j, h.by[host].total())
	}
	h.moved = h.moved[:0]
}

func (x runningIndex) set(host string, j *Job, n int) {
	list := x[host]
	i := slices.IndexFunc(list, func(r RunningMaps) bool { return r.Job == j })
	switch {
	case i >= 0 && n > 0:
		list[i].Count = n
	case i >= 0:
		x[host] = slices.Delete(list, i, i+1)
	case n > 0:
		x[host] = append(list, RunningMaps{j, n})
	}
}

// drop takes a job out.
func (x runningIndex) drop(j *Job) {
	h := &j.Map.hosts
	for host := range h.by { // order-free: each host is on its own
		x.set(host, j, 0)
	}
	clear(h.by)
	h.moved = h.moved[:0]
}

// change makes a change of what is said to run on a host.
func (h *hostRuns) change(host string, by func(*hostRun)) {
	if host == "" {
		return
	}
	if h.by == nil {
		h.by = map[string]hostRun{}
	}
	r := h.by[host]
	by(&r)
	if r == (hostRun{}) {
		delete(h.by, host)
	} else {
		h.by[host] = r
	}
	h.moved = append(h.moved, host)
}

// silence forgets what the live containers said.
func (h *hostRuns) silence() {
	for host, r := range h.by { // order-free: each host is on its own
		if r.live > 0 {
			h.change(host, func(r *hostRun) { r.live = 0 })
		}
	}
}
