package state

import "heddle/core/model"

// Assume supposes that a placement was carried out: the node is fuller, the
// user has more, the stage asks for one task less. It is how the engine offers
// every free container to a policy in turn. The placement must have been
// verified; Apply must not be called before it is withdrawn.
func (c *Cluster) Assume(p model.Placement) { c.shift(p, +1) }

// Withdraw takes an assumed placement back. Placements may be withdrawn in any
// order; without any the cluster is exactly what it was.
func (c *Cluster) Withdraw(p model.Placement) { c.shift(p, -1) }

// shift makes (+1) or unmakes (-1) the changes of a placement.
func (c *Cluster) shift(p model.Placement, sign int) {
	j, n := c.jobs.job(p.App), c.nodes.node(p.Node)
	s, rack := j.Stage(p.Stage), n.Rack.Index
	task := s.Capability.Times(int64(sign))
	n.Free = n.Free.Sub(task)
	c.jobs.users.use(j, s, sign)
	c.jobs.root.use(j, task)
	c.jobs.changes.add(j)
	s.Pending -= sign
	s.Running += sign
	s.launched = grown(s.launched, rack)
	s.launched[rack] += sign
	if s.Kind == model.StageMap {
		c.jobs.running.assume(n.number, j, sign)
	}
	if p.Locality == model.NodeLocal {
		s.Wanted.assumeOn(n.number, sign)
	}
	if p.Locality != model.OffSwitch {
		s.Wanted.change(rack, -sign)
	}
}
