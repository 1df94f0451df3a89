package nodes

import (
	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/core/topology"
)

// AddTo puts nodes and racks into a snapshot, without what jobs have there.
func (x *Index) AddTo(s *snapshot.Snapshot) {
	s.Nodes, s.Racks, s.Mismatch = x.publishNodes(), publishRacks(x.racks, x.reported.blocks), x.conflicts.mismatches
	s.Counts.HostsNoRack, s.Counts.RackMismatches = x.conflicts.noRack, len(x.conflicts.mismatches)
	s.Counts.UnknownHosts = int64(len(x.hosts.unknown))
}

// publishNodes returns the nodes for a snapshot: the list of the last one unless a
// node changed since.
func (x *Index) publishNodes() []model.Node {
	if x.published.nodes != nil && !x.published.stale {
		return x.published.nodes
	}
	x.published = published{nodes: make([]model.Node, len(x.sorted))}
	for i, n := range x.sorted {
		x.published.nodes[i] = n.Node
	}
	return x.published.nodes
}

func publishRacks(racks []*Rack, blocks []int64) []snapshot.Rack {
	out := make([]snapshot.Rack, len(racks))
	for i, r := range racks {
		v := &out[i]
		*v = snapshot.Rack{
			ID: r.ID, Total: r.Total, Used: r.Used, Nodes: map[model.NodeState]int{}, Containers: map[model.Stage]int{},
			HDFSBlocks: topology.At(blocks, i),
			Uplink: snapshot.Uplink{
				CapacityOut: r.Link.Out, CapacityIn: r.Link.In, Out: r.Load.Out, In: r.Load.In,
				Utilization: r.Utilization, Saturated: r.Load.Saturated, Method: r.Method,
			},
		}
		for _, n := range r.Nodes {
			v.Nodes[n.State]++
			v.Containers[model.StageOther] += n.Containers
		}
	}
	return out
}
