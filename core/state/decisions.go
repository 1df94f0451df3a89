package state

import (
	"heddle/core/model"
	"heddle/core/topology"
)

// decisionLog keeps the newest decisions.
type decisionLog struct {
	max  int
	list []model.Decision // oldest first
	next uint64           // sequence number of the next decision
}

// add numbers decisions and keeps them.
func (l *decisionLog) add(decisions []model.Decision) {
	for i := range decisions {
		l.next++
		decisions[i].Seq = l.next
	}
	// Snapshots share the list: appending past its length and dropping from its
	// front leave what they see as it was.
	l.list = append(l.list, decisions...)
	if over := len(l.list) - l.max; over > 0 {
		l.list = l.list[over:]
	}
}

// Record takes verified decisions into the log, numbers them, and attaches
// plans to their jobs. It returns them numbered.
func (c *Cluster) Record(decisions []model.Decision) []model.Decision {
	c.log.add(decisions)
	for i := range decisions {
		d := &decisions[i]
		c.counts.DecidedByReason[d.Reason()]++
		if d.Plan == nil {
			continue
		}
		if j := c.jobs.byID[d.Plan.App]; j != nil {
			j.seat.view = nil
			j.plans.set(d.Plan)
			j.expect(d, c.nodes.tree)
		}
	}
	return decisions
}

// Reject counts a proposal the engine dropped.
func (c *Cluster) Reject(rule model.Rule) { c.counts.RejectedByRule[rule]++ }

// expect remembers where a plan made before any reduce was launched wants them:
// what the job sends across racks is held against it (traffic.settle).
func (j *Job) expect(d *model.Decision, tree *topology.Tree) {
	launched := 0
	for _, n := range j.Reduce.launched {
		launched += n
	}
	if d.Plan.Stage != model.StageReduce || launched > 0 || len(d.Plan.Racks) == 0 {
		return
	}
	j.moved.policy = d.Policy
	j.moved.planned = j.moved.planned[:0]
	for _, t := range d.Plan.Racks {
		if r, ok := tree.Lookup(t.Rack); ok {
			j.moved.planned = grown(j.moved.planned, r)
			j.moved.planned[r] = t.Count
		}
	}
}

// Attach gives a job a plan that asks for what its last one asked: its rank and
// costs are newer, but it is no decision of its own.
func (c *Cluster) Attach(p *model.Plan) {
	if j := c.jobs.byID[p.App]; j != nil {
		j.seat.view = nil
		j.plans.set(p)
	}
}
