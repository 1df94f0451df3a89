package state

import (
	"heddle/core/model"
	"heddle/core/state/jobs"
)

// Assume supposes that a placement was carried out: the node is fuller, the
// user has more, the stage asks for one task less. The engine offers every free
// container in turn this way. The placement must have been verified; Apply must
// not be called before it is withdrawn.
func (c *Cluster) Assume(p model.Placement) { c.shift(p, +1) }

// Withdraw takes an assumed placement back. Placements may be withdrawn in any
// order; without any the cluster is exactly what it was.
func (c *Cluster) Withdraw(p model.Placement) { c.shift(p, -1) }

// shift makes (+1) or unmakes (-1) the changes of a placement.
func (c *Cluster) shift(p model.Placement, sign int) {
	j, n := c.jobs.Job(p.App), c.nodes.Node(p.Node)
	s := j.Stage(p.Stage)
	n.Free = n.Free.Sub(s.Capability.Times(int64(sign)))
	c.jobs.Assume(j, s, n, p.Locality, sign)
}

// Suppose adds an application made of facts, lets use read it through the View, and
// removes it again: the question "what if this job were here". The facts must be
// about app; use must not retain the job.
func (c *Cluster) Suppose(app model.App, facts []model.Fact, use func(*Job)) {
	forgetNames := c.nodes.Suppose()
	counts, paths := c.counts, c.inputs
	c.inputs = paths.Clone()
	j, remove := c.jobs.Suppose(app, c.now)
	for _, f := range facts {
		switch f := f.(type) {
		case model.BlocksFact:
			c.inputs.Apply(f)
			c.setInput(j)
		case model.CountersFact: // no traffic: nothing has moved
			jobs.ApplyCounters(j, f)
		default:
			c.applyJobFact(model.Observation{Source: model.SourceRM, At: c.now, Fact: f})
		}
	}
	c.nodes.AddRacks()
	use(j)
	remove()
	c.counts, c.inputs = counts, paths
	forgetNames()
}
