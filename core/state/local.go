package state

import (
	"iter"

	"heddle/core/model"
)

// stageNumber is a stage of a live or lately ended job by number: the job's, and
// which of its stages.
type stageNumber int32

func numberOf(job, stage int) stageNumber { return stageNumber(job*stageCount + stage) } //nolint:gosec // bounded by the number of jobs

// localTasks says that a stage has pending tasks that would be node-local on a host.
type localTasks struct {
	stage stageNumber
	taken bool // the current what-if assumes all of them to run
}

// localIndex holds the pending tasks by the hosts they would be node-local on: an
// offer finds the jobs that want the very node without asking every job.
type localIndex struct {
	on [][]localTasks // by host number, in no order: looked at by offers, and touched only where a stage comes or goes
	of []*wanted      // by stage number: what has the places of its entries

	// An offer may ask for many stages on one host. From the spreadAfter-th on the
	// host's entries lie by stage as well.
	host   hostNumber // asked for last
	asked  int        // times in a row
	spread []bool     // whether it is entered by stage number, once asked >= spreadAfter
}

// spreadAfter is how many looks into stages' own tables cost as much as going
// through a host's entries.
const spreadAfter = 8

// has reports whether a stage has tasks on a host.
func (x *localIndex) has(host hostNumber, w *wanted) bool {
	if host != x.host {
		x.leave(x.host)
		x.host = host
	}
	if x.asked++; x.asked == spreadAfter {
		for _, e := range x.at(host) {
			x.spread = grown(x.spread, int(e.stage))
			x.spread[e.stage] = !e.taken
		}
	}
	if x.asked >= spreadAfter {
		return at(x.spread, int(w.stage))
	}
	return w.on(host) > 0
}

// leave forgets that a host was asked for last: something changes there, or
// another one is asked for.
func (x *localIndex) leave(host hostNumber) {
	if host != x.host {
		return
	}
	if x.asked >= spreadAfter {
		for _, e := range x.at(host) {
			x.spread[e.stage] = false
		}
	}
	x.host, x.asked = noHost, 0
}

// register takes in whose the entries of a stage are.
func (x *localIndex) register(w *wanted) {
	x.of = grown(x.of, int(w.stage))
	x.of[w.stage] = w
}

// at returns the entries of a host.
func (x *localIndex) at(host hostNumber) []localTasks {
	if int(host) < len(x.on) {
		return x.on[host]
	}
	return nil
}

// add puts an entry of a stage on a host in.
func (x *localIndex) add(host hostNumber, s stageNumber, c *localCount) {
	x.leave(host)
	x.on = grown(x.on, int(host))
	x.on[host] = append(x.on[host], localTasks{stage: s})
	c.place = int32(len(x.on[host])) //nolint:gosec // bounded by the number of jobs
}

// drop takes the entry of a stage on a host out: the last takes its place.
func (x *localIndex) drop(host hostNumber, c *localCount) {
	x.leave(host)
	list := x.on[host]
	last := len(list) - 1
	if at := int(c.place) - 1; at < last {
		list[at] = list[last]
		x.of[list[at].stage].byHost.find(host).place = c.place
	}
	x.on[host] = list[:last]
	c.place = 0
}

// localCount counts the pending tasks of one stage on one host.
type localCount struct {
	tasks int32
	place int32 // one more than where in the index, 0 when it is not there
}

// wanted is where the pending tasks of one stage would be local.
type wanted struct {
	Spread int // counts how often a rack became one they would be local in

	local    *localIndex // where they are listed by host
	stage    stageNumber // there
	byHost   hostTable[localCount]
	placesOn int   // hosts with a task: the others had one
	inRack   []int // by rack
}

// on returns how many would be node-local on a host.
func (w *wanted) on(host hostNumber) int32 { return w.byHost.at(host).tasks }

// Local reports whether a task would be node-local on a node. It is made for
// asking many stages about one node in a row.
func (w *wanted) Local(n *Node) bool { return w.local.has(n.number, w) }

// clear forgets them all.
func (w *wanted) clear() {
	for host, c := range w.byHost.all() {
		if c.place > 0 {
			w.local.drop(host, c)
		}
	}
	w.byHost.empty()
	w.placesOn = 0
	clear(w.inRack)
}

// addOn adds so many tasks that would be node-local on a host, or takes some away.
func (w *wanted) addOn(host hostNumber, tasks int) {
	if host == noHost {
		return
	}
	c := w.byHost.entry(host)
	before := c.tasks
	c.tasks = max(before+int32(tasks), 0) //nolint:gosec // of tasks
	switch {
	case before == 0 && c.tasks > 0:
		w.placesOn++
		w.local.add(host, w.stage, c)
	case before > 0 && c.tasks == 0:
		w.placesOn--
		w.local.drop(host, c)
	}
}

// assumeOn supposes a task that is node-local on a host to run, or takes that
// back. The count may pass zero and come back: Withdraw is exact.
func (w *wanted) assumeOn(host hostNumber, sign int) {
	c := w.byHost.find(host) // there, and listed, or it were no node-local one
	c.tasks -= int32(sign)   //nolint:gosec // 1 or -1
	w.local.leave(host)
	w.local.on[host][c.place-1].taken = c.tasks <= 0
}

// addIn adds so many tasks that would be rack-local in a rack, or takes some away.
func (w *wanted) addIn(rack, tasks int) {
	if rack >= 0 {
		w.change(rack, max(tasks, -at(w.inRack, rack)))
	}
}

// change is addIn of a what-if, whose counts may pass zero.
func (w *wanted) change(rack, tasks int) {
	w.inRack = grown(w.inRack, rack)
	before := w.inRack[rack]
	w.inRack[rack] += tasks
	if before <= 0 && w.inRack[rack] > 0 {
		w.Spread++
	}
}

// StagesLocalTo returns how many stages have pending tasks with a block on a
// node: what MapsLocalTo goes through.
func (r relations) StagesLocalTo(n *Node) int { return len(r.jobs.local.at(n.number)) }

// MapsLocalTo yields the live jobs that have pending maps with a block on a
// node, in no order that means anything.
func (r relations) MapsLocalTo(n *Node) iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for _, e := range r.jobs.local.at(n.number) {
			if e.taken || int(e.stage)%stageCount != stageIndex(model.StageMap) {
				continue
			}
			if j := r.jobs.numbers.of[int(e.stage)/stageCount]; !j.State.Final() && !yield(j) {
				return
			}
		}
	}
}
