package jobs

import (
	"heddle/core/model"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// Assume supposes so many more tasks of a job's stage to run on a node (below zero:
// fewer), where they have a locality level.
func (x *Index) Assume(j *Job, s *Stage, n *nodes.Node, level model.Locality, sign int) {
	host, rack := n.HostNumber(), n.Rack.Index
	x.Users.assume(j, s, sign)
	x.Queues.addUsage(j, s.Capability.Times(int64(sign)))
	if s.Kind == model.StageMap {
		x.Changes.Add(j)
	} else {
		x.Changes.addOther(j)
	}
	s.Pending -= sign
	s.Running += sign
	s.launched = topology.Extend(s.launched, rack)
	s.launched[rack] += sign
	if s.Kind == model.StageMap {
		x.running.assume(host, j, sign)
	}
	if level == model.NodeLocal {
		s.demand.AssumeOnHost(host, sign)
	}
	if level != model.OffSwitch {
		s.demand.AssumeInRack(rack, sign)
	}
}

// Suppose adds a job for the length of one question. The history learns nothing of
// it. The function that is returned removes the job.
func (x *Index) Suppose(app model.App, now model.Time) (j *Job, remove func()) {
	first, history := x.firstSubmit, x.history
	j = x.add(app, now)
	x.history = nil
	return j, func() {
		x.leave(j)
		x.forget(j)
		x.firstSubmit, x.history = first, history
	}
}
