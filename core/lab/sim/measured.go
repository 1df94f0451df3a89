package sim

import (
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// has reports whether the cluster has a node.
func (c *Cluster) has(n workload.Node) bool {
	return n.Rack <= len(c.Racks) && n.Number <= c.Racks[n.Rack-1].Nodes
}

// nodeAt returns the number of a node that the cluster has.
func (l *layout) nodeAt(n workload.Node) int { return l.rackNodes[n.Rack-1][n.Number-1] }

// placeMeasured places what tasks were measured to read where it lay; on nodes that HDFS
// draws where that is not known.
func (s *world) placeMeasured(t *stage, h *hdfs) {
	var drawn func() int
	if len(t.spec.Reads) > 0 {
		drawn = h.writers(&t.spec.Reads[0])
	}
	var replicas []int32
	for task := range t.total {
		m := &t.spec.Measured[task]
		replicas = replicas[:0]
		for _, n := range m.Replicas {
			replicas = append(replicas, int32(s.layout.nodeAt(n))) //nolint:gosec // of the cluster's nodes
		}
		if len(replicas) == 0 && m.Read > 0 {
			replicas = h.replicas(replicas, drawn())
		}
		t.setBlock(task, m.Read, replicas)
	}
	t.listByPlace(&s.layout)
}

// mostReplicas returns how many replicas a block of a stage has at most: as many as measured, or
// dfs.replication.
func mostReplicas(s *workload.Stage, replication int) int {
	for i := range s.Measured {
		replication = max(replication, len(s.Measured[i].Replicas))
	}
	return replication
}

// levelOn returns the locality of a task on a node.
func (s *source) levelOn(task, node int, l *layout) model.Locality {
	level := model.OffSwitch
	for _, n := range s.in.knownReplicas(task, l) {
		switch {
		case int(n) == node:
			return model.NodeLocal
		case l.nodes[n].rack == l.nodes[node].rack:
			level = model.RackLocal
		}
	}
	return level
}
