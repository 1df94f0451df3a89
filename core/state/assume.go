package state

import "heddle/core/model"

// assumption is what one Assume changed.
type assumption struct {
	job      *Job
	stage    *Stage
	node     *Node
	locality model.Locality
	task     model.Resource
}

// Mark is a point the assumptions can be rolled back to.
type Mark int

// Mark returns the current point. Assumptions nest.
func (c *Cluster) Mark() Mark { return Mark(len(c.undo)) }

// Assume supposes that a placement was carried out: the node is fuller, the
// user has more, the stage asks for one task less. It is how the engine offers
// every free container to a policy in turn. The placement must have been
// verified; Apply must not be called before Rollback.
func (c *Cluster) Assume(p model.Placement) {
	j, n := c.jobs.byID[p.App], c.nodes.byID[p.Node]
	s := j.Map
	if p.Stage == model.StageReduce {
		s = j.Reduce
	}
	a := assumption{job: j, stage: s, node: n, locality: p.Locality, task: s.Capability}
	c.undo = append(c.undo, a)
	a.shift(&c.jobs.users, +1)
}

// Rollback undoes every assumption made since the mark, newest first.
func (c *Cluster) Rollback(m Mark) {
	for len(c.undo) > int(m) {
		last := len(c.undo) - 1
		c.undo[last].shift(&c.jobs.users, -1)
		c.undo = c.undo[:last]
	}
}

// shift makes (+1) or unmakes (-1) the change.
func (a *assumption) shift(users *userIndex, sign int) {
	rack := a.node.Rack.Index
	a.node.Free = a.node.Free.Sub(a.task.Times(int64(sign)))
	a.job.Owner.Usage = a.job.Owner.Usage.Add(a.task.Times(int64(sign)))
	users.move(a.job.Owner)
	s := a.stage
	s.Pending -= sign
	s.Running += sign
	s.launched = grown(s.launched, rack)
	s.launched[rack] += sign
	if a.locality == model.NodeLocal {
		s.onHost[a.node.Host] -= sign // may pass zero and come back: Rollback is exact
	}
	if a.locality != model.OffSwitch {
		s.inRack = grown(s.inRack, rack)
		s.inRack[rack] -= sign
	}
}
