package state

import (
	"iter"
	"slices"

	"heddle/core/model"
)

// stageNumber is a stage of a live or lately ended job by number: the job's, and
// which of its stages.
type stageNumber int32

func numberOf(job, stage int) stageNumber { return stageNumber(job*stageCount + stage) } //nolint:gosec // bounded by the number of jobs

// localTasks are the pending tasks of one stage that would be node-local on a host.
type localTasks struct {
	stage stageNumber
	tasks int32 // 0 where there were some; less while a what-if assumes more than there are
}

// localIndex holds the pending tasks by the hosts they would be node-local on: an
// offer finds the jobs that want the very node without asking every job.
type localIndex struct {
	on [][]localTasks // by host number, each by stage number

	// An offer may ask for many stages on one host. From the spreadAfter-th on the
	// host's entries lie by stage as well.
	host   hostNumber // asked for last
	asked  int        // times in a row
	spread []int32    // its tasks by stage number, once asked >= spreadAfter
}

// spreadAfter is how many searches cost as much as going through a host's entries.
const spreadAfter = 8

func (l localTasks) compare(to stageNumber) int { return int(l.stage) - int(to) }

// at returns the entries of a host.
func (x *localIndex) at(host hostNumber) []localTasks {
	if int(host) < len(x.on) {
		return x.on[host]
	}
	return nil
}

// tasks returns how many tasks of a stage would be local on a host.
func (x *localIndex) tasks(host hostNumber, s stageNumber) int32 {
	if host != x.host {
		x.leave()
		x.host = host
	}
	if x.asked++; x.asked == spreadAfter {
		for _, e := range x.at(host) {
			x.spread = grown(x.spread, int(e.stage))
			x.spread[e.stage] = e.tasks
		}
	}
	if x.asked >= spreadAfter {
		return at(x.spread, int(s))
	}
	list := x.at(host)
	if i, found := slices.BinarySearchFunc(list, s, localTasks.compare); found {
		return list[i].tasks
	}
	return 0
}

// leave forgets which host was asked for last.
func (x *localIndex) leave() {
	if x.asked >= spreadAfter {
		for _, e := range x.at(x.host) {
			x.spread[e.stage] = 0
		}
	}
	x.host, x.asked = noHost, 0
}

// entry returns a stage's entry on a host, which may be changed, and whether it was made for it. It is
// valid until the next one is made or dropped.
func (x *localIndex) entry(host hostNumber, s stageNumber) (e *localTasks, isNew bool) {
	x.leave()
	x.on = grown(x.on, int(host))
	i, found := slices.BinarySearchFunc(x.on[host], s, localTasks.compare)
	if !found {
		x.on[host] = slices.Insert(x.on[host], i, localTasks{stage: s})
	}
	return &x.on[host][i], !found
}

// drop takes a stage's entry on a host out.
func (x *localIndex) drop(host hostNumber, s stageNumber) {
	x.leave()
	list := x.on[host]
	if i, found := slices.BinarySearchFunc(list, s, localTasks.compare); found {
		x.on[host] = slices.Delete(list, i, i+1)
	}
}

// wanted is where the pending tasks of one stage would be local.
type wanted struct {
	Spread int // counts how often a rack became one they would be local in

	local    *localIndex // where they are counted by host
	stage    stageNumber // there
	hosts    []hostNumber
	placesOn int   // hosts with a task: the others had one
	inRack   []int // by rack
}

// on returns how many would be node-local on a host.
func (w *wanted) on(host hostNumber) int32 { return w.local.tasks(host, w.stage) }

// clear forgets them all.
func (w *wanted) clear() {
	for _, host := range w.hosts {
		w.local.drop(host, w.stage)
	}
	w.hosts, w.placesOn = w.hosts[:0], 0
	clear(w.inRack)
}

// addOn adds so many tasks that would be node-local on a host, or takes some away.
func (w *wanted) addOn(host hostNumber, tasks int) {
	if host == noHost {
		return
	}
	e, isNew := w.local.entry(host, w.stage)
	if isNew {
		w.hosts = append(w.hosts, host)
	}
	before := max(e.tasks, 0)
	e.tasks = max(before+int32(tasks), 0) //nolint:gosec // of tasks
	w.placesOn += int(min(e.tasks, 1) - min(before, 1))
}

// assumeOn supposes a task that is node-local on a host to run, or takes that
// back. The count may pass zero and come back: Withdraw is exact.
func (w *wanted) assumeOn(host hostNumber, sign int) {
	e, _ := w.local.entry(host, w.stage) // there, or it were no node-local one
	e.tasks -= int32(sign)               //nolint:gosec // 1 or -1
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

// StagesLocalTo returns how many stages have, or had, pending tasks with a block
// on a node: what MapsLocalTo goes through.
func (r relations) StagesLocalTo(n *Node) int { return len(r.jobs.local.at(n.number)) }

// MapsLocalTo yields the live jobs that have pending maps with a block on a
// node, in no order that means anything.
func (r relations) MapsLocalTo(n *Node) iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for _, e := range r.jobs.local.at(n.number) {
			if e.tasks <= 0 || int(e.stage)%stageCount != stageIndex(model.StageMap) {
				continue
			}
			if j := r.jobs.numbers.jobs[int(e.stage)/stageCount]; !j.State.Final() && !yield(j) {
				return
			}
		}
	}
}
