package state

import (
	"heddle/core/model"
)

// decisionLog keeps the newest decisions.
type decisionLog struct {
	max  int
	list []model.Decision // oldest first
	next uint64           // sequence number of the next decision
}

// Record takes verified decisions into the log, numbers them, and attaches
// plans to their jobs. It returns them numbered.
func (c *Cluster) Record(decisions []model.Decision) []model.Decision {
	for i := range decisions {
		d := &decisions[i]
		c.log.next++
		d.Seq = c.log.next
		c.counts.DecidedByReason[d.Reason()]++
		if d.Plan != nil {
			c.attachPlan(d)
		}
	}
	// Snapshots share the list: appending past its length and dropping from its
	// front leave what they see as it was.
	c.log.list = append(c.log.list, decisions...)
	if over := len(c.log.list) - c.log.max; over > 0 {
		c.log.list = c.log.list[over:]
	}
	return decisions
}

// Reject counts a proposal the engine dropped.
func (c *Cluster) Reject(rule model.Rule) { c.counts.RejectedByRule[rule]++ }

func (c *Cluster) attachPlan(d *model.Decision) {
	j := c.jobs.byID[d.Plan.App]
	if j == nil {
		return
	}
	j.setPlan(d.Plan)
	launched := 0
	for _, n := range j.Reduce.launched {
		launched += n
	}
	if d.Plan.Stage == model.StageReduce && launched == 0 && len(d.Plan.Racks) > 0 {
		j.moved.policy = d.Policy
		j.moved.planned = j.moved.planned[:0]
		for _, t := range d.Plan.Racks {
			if r, ok := c.tree.Lookup(t.Rack); ok {
				j.moved.planned = grown(j.moved.planned, r)
				j.moved.planned[r] = t.Count
			}
		}
	}
}

// PlanOf returns the newest plan of a job's stage, nil if there is none.
func (j *Job) PlanOf(stage model.Stage) *model.Plan {
	if stage == model.StageMap {
		return j.mapPlan
	}
	return j.reducePlan
}

// Attach gives a job a plan that asks for what its last one asked: its rank and
// costs are newer, but it is no decision of its own.
func (c *Cluster) Attach(p *model.Plan) {
	if j := c.jobs.byID[p.App]; j != nil {
		j.setPlan(p)
	}
}

func (j *Job) setPlan(p *model.Plan) {
	j.view = nil
	if p.Stage == model.StageMap {
		j.mapPlan = p
	} else {
		j.reducePlan = p
	}
}
