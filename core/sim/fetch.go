package sim

import (
	"slices"

	"heddle/core/model"
	"heddle/core/sim/network"
)

// fetch starts the fetching of a task: over every edge with the others of its
// rack, or on its own where tasks draw unequal parts.
func (t *stage) fetch(s *world, a int32) {
	by := &s.running.list[a]
	if by.waits = int32(len(t.inputs)); by.waits == 0 { //nolint:gosec // bounded by the stages
		s.compute(t, a, s.now)
		return
	}
	by.job.fetchesFrom(s.now)
	rack := s.layout.nodes[by.node].rack
	for _, e := range t.inputs {
		shuffle, own := e.shuffle, network.JobID(none)
		if e.each() {
			shuffle = e.begin(s, int(by.task))
			own = shuffle
		}
		id := s.net.AddReduces(shuffle, rack, 1)
		i := slices.IndexFunc(t.groups, func(g *group) bool { return g.id == id })
		if i < 0 {
			i = len(t.groups)
			t.groups = append(t.groups, &group{id: id, job: by.job, stage: t, edge: e, rack: rack, task: int(by.task), shuffle: own})
			s.moving.group(id, t.groups[i])
			s.book.tally.groups++
			if own != none {
				e.alone = append(e.alone, t.groups[i])
			}
		}
		t.groups[i].tasks = append(t.groups[i].tasks, a)
	}
}

// begin opens what one task fetches over an edge on its own, with what is there
// of it already.
func (e *inflow) begin(s *world, task int) network.JobID {
	id := s.net.AddJob(1)
	sum := make([]model.Bytes, len(s.layout.ofRack))
	for from, state := range e.from.state {
		if state == done {
			sum[s.layout.nodes[e.from.at[from]].rack] += e.drawn(task, from, e.from.outputOf(from))
		}
	}
	for rack, bytes := range sum {
		if bytes > 0 {
			s.net.AddOutput(id, rack, bytes)
		}
	}
	if e.from.complete() {
		s.net.Seal(id)
	}
	return id
}

// drawn returns what a task draws of the output of a task of the source.
func (e *inflow) drawn(task, from int, output model.Bytes) model.Bytes {
	switch {
	case e.kind != model.OneToOne:
		return e.to.draws(task, output)
	case task == from:
		return output
	}
	return 0
}

// hand hands the output of a task that is done on over an edge; again, if it was
// lost before.
func (e *inflow) hand(net *network.Fast, task, rack int, output model.Bytes, again bool) {
	over := e.from.complete()
	if !e.each() {
		if again {
			net.RemakeOutput(e.shuffle, rack, output)
		} else {
			net.AddOutput(e.shuffle, rack, output)
		}
		if over {
			net.Seal(e.shuffle)
		}
		return
	}
	for _, g := range e.alone {
		switch bytes := e.drawn(g.task, task, output); {
		case slices.Contains(g.owed, task):
			net.RemakeOutput(g.shuffle, rack, bytes)
		case bytes > 0:
			net.AddOutput(g.shuffle, rack, bytes)
		}
		if over {
			net.Seal(g.shuffle)
		}
	}
}

// takeBack takes the output of a task that is lost back.
func (e *inflow) takeBack(net *network.Fast, task, rack int, output model.Bytes) {
	if !e.each() {
		net.RemoveOutput(e.shuffle, rack, output)
		return
	}
	for _, g := range e.alone {
		if bytes := e.drawn(g.task, task, output); bytes > 0 {
			g.owed = append(g.owed, task)
			net.RemoveOutput(g.shuffle, rack, bytes)
		}
	}
}

// drop takes a group that fetches no more off its stage.
func (g *group) drop(m *movers) {
	m.groups[g.id] = nil
	same := func(o *group) bool { return o == g }
	g.stage.groups = slices.DeleteFunc(g.stage.groups, same)
	if g.shuffle != none {
		g.edge.alone = slices.DeleteFunc(g.edge.alone, same)
	}
}

// stopFetching ends the fetching of a task that is killed.
func (t *stage) stopFetching(s *world, a int32) {
	for _, g := range slices.Backward(t.groups) { // backward: a group that is dropped is taken out
		at := slices.Index(g.tasks, a)
		if at < 0 {
			continue
		}
		g.tasks = slices.Delete(g.tasks, at, at+1)
		if len(g.tasks) > 0 {
			s.net.RemoveReduces(g.id, 1)
			continue
		}
		g.drop(&s.moving)
		if g.shuffle == none {
			s.net.RemoveGroup(g.id)
		} else {
			s.net.RemoveJob(g.shuffle)
		}
	}
}
