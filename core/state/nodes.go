package state

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
)

// Rack is one rack with its nodes and its uplink.
type Rack struct {
	ID          model.RackID
	Index       int            // number in the topology tree
	Nodes       []*Node        // by id
	Total, Used model.Resource // over running nodes
	Slots       model.Slots    // the same; see Config
	Link        topology.Link
	Load        shuffle.Meter // smoothed load of the uplink, and NetSat's flag
	Utilization float64       // of the busier direction, 0 when the capacity is not known
	Method      string        // by which Load was sampled last

	sampled model.UplinkSample // newest load of a method other than the estimate
	at      model.Time         // when it was measured
}

// Node is one NodeManager.
type Node struct {
	model.Node
	Free  model.Resource // never below zero; less what the current what-if assumes
	Rack  *Rack          // by the topology; Node.Rack is the name as reported
	Slots model.Slots    // see Config

	number hostNumber // of Host
}

// RackMismatch is a host that ResourceManager, NameNode and the site's table do
// not put in one rack. A rack is empty where that source does not know the host.
type RackMismatch struct {
	Host            string       `json:"host"`
	ResourceManager model.RackID `json:"resource_manager"`
	NameNode        model.RackID `json:"name_node,omitempty"`
	Table           model.RackID `json:"table,omitempty"`
}

// nodeIndex holds nodes and racks, and knows the rack of every host.
type nodeIndex struct {
	cfg    *Config
	counts *Counts // the cluster's: hosts in no rack or in two are counted there

	tree       *topology.Tree
	hosts      hostNumbers
	byID       map[model.NodeID]*Node
	asked      *Node                   // for last, as jobIndex.asked
	sorted     []*Node                 // by id
	racks      []*Rack                 // by rack number
	nameNode   map[string]model.RackID // by host: where the NameNode has its DataNode
	mismatches []RackMismatch
	changed    bool         // a node changed since views was made
	views      []model.Node // as last published; never written again

	capacity Capacity
	read     *reads
	rackAt   []int32 // by host number: one more than the rack's number, 0 where nobody has asked since hosts came or moved
}

// NodesMark is a state of the nodes and racks of one cluster. Marks are equal as
// long as nothing is read of them that may have changed them; what a what-if
// assumes does not count.
type NodesMark struct {
	of *reads
	n  uint64
}

// reads counts how often what is known of nodes and racks changed.
type reads struct{ n uint64 }

// Capacity is what there is to run anything on.
type Capacity struct {
	Total model.Resource // of the running nodes
	Nodes int            // how many those are
	Mark  NodesMark      // of the state of nodes and racks
	Racks uint64         // a fingerprint of which racks there are, and which of them have running nodes
}

// Runs reports whether a rack has running nodes.
func (r *Rack) Runs() bool { return r.Total.MemoryMiB > 0 }

// Room returns how many tasks of a stage a rack's running nodes hold while they
// run nothing else: its slots of that kind, or by memory as if the rack were one
// node. It is 0 where the size of a task is not known.
func (r *Rack) Room(s *Stage) int {
	switch {
	case r.Slots.Typed():
		return r.Slots.Of(s.Kind)
	case s.Capability.MemoryMiB <= 0:
		return 0
	}
	return int(r.Total.MemoryMiB / s.Capability.MemoryMiB)
}

// mixed is a bijection that scatters small numbers over all of 64 bits
// (SplitMix64's finalizer).
func mixed(n int) uint64 {
	z := uint64(n) * 0x9e3779b97f4a7c15 //nolint:gosec // any number will do
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func newNodeIndex(cfg *Config, counts *Counts) nodeIndex {
	return nodeIndex{cfg: cfg, counts: counts, tree: topology.New(), byID: map[model.NodeID]*Node{}, read: &reads{}}
}

// node returns a node, nil if there is none of that id.
func (x *nodeIndex) node(id model.NodeID) *Node {
	if x.asked == nil || x.asked.ID != id {
		x.asked = x.byID[id]
	}
	return x.asked
}

// rack returns the rack of an id, making it if needed.
func (x *nodeIndex) rack(id model.RackID) *Rack {
	i := x.tree.Index(id)
	for n := len(x.racks); n <= i; n++ {
		x.read.n++
		made := x.tree.ID(n)
		x.racks = append(x.racks, &Rack{ID: made, Index: n, Link: x.cfg.Uplinks.Of(made, 0), Method: x.cfg.UplinkMethod})
	}
	return x.racks[i]
}

// hostRack returns the rack number of a host: where its NodeManager is, else
// where the NameNode has it, else the hint, else the default rack, counted.
func (x *nodeIndex) hostRack(host string, hint model.RackID) int {
	if i, ok := x.tree.RackOf(host); ok {
		return i
	}
	if hint == "" || hint == model.DefaultRack {
		x.counts.UnknownHosts++
		hint = model.DefaultRack
	}
	return x.rack(hint).Index
}

// rackOf returns the rack number of a host by number; false if nothing is known
// of where it is.
func (x *nodeIndex) rackOf(n hostNumber) (rack int, ok bool) {
	if n == noHost {
		return 0, false
	}
	return x.tree.RackOf(x.hosts.names[n])
}

// numberedRack is hostRack of a host by number.
func (x *nodeIndex) numberedRack(n hostNumber, hint model.RackID) int {
	if r := at(x.rackAt, int(n)); r > 0 {
		return int(r) - 1
	}
	r := x.hostRack(x.hosts.names[n], hint)
	if _, ok := x.tree.RackOf(x.hosts.names[n]); ok { // else it is counted whenever it is named
		x.rackAt = grown(x.rackAt, int(n))
		x.rackAt[n] = int32(r) + 1 //nolint:gosec // bounded by the number of racks
	}
	return r
}

// place says where a host is from now on.
func (x *nodeIndex) place(host string, rack model.RackID) {
	clear(x.rackAt)
	x.tree.Place(host, rack)
}

func (x *nodeIndex) applyNodes(f *model.NodesFact) {
	regroup := !f.Partial && len(f.Nodes) != len(x.byID)
	for i := range f.Nodes {
		n := f.Nodes[i]
		if rack, ok := x.cfg.Table[n.Host]; ok && x.cfg.TableOverrides {
			n.Rack = rack
		}
		old := x.listed(i, n.ID)
		switch {
		case old == nil:
			x.byID[n.ID] = &Node{Node: n}
			regroup = true
		case old.Node != n:
			regroup = regroup || old.Node.Rack != n.Rack || old.Host != n.Host
			x.changed = true
			if regroup || !f.Partial { // all is summed below
				old.Node = n
				continue
			}
			x.sum(old, -1)
			old.Node = n
			x.sum(old, +1)
		}
	}
	x.read.n++
	if regroup {
		x.regroup(f)
	}
	if regroup || !f.Partial {
		x.sumRacks()
	}
}

// listed returns the node of an id that is listed at a place: lists come sorted.
func (x *nodeIndex) listed(place int, id model.NodeID) *Node {
	if place < len(x.sorted) && x.sorted[place].ID == id {
		return x.sorted[place]
	}
	return x.node(id)
}

// regroup drops nodes that are no longer listed and rebuilds the order of nodes
// and the membership of racks.
func (x *nodeIndex) regroup(f *model.NodesFact) {
	keep := make(map[model.NodeID]bool, len(f.Nodes))
	for i := range f.Nodes {
		keep[f.Nodes[i].ID] = true
	}
	x.sorted, x.asked = x.sorted[:0], nil
	for id, n := range x.byID { // order-free: sorted below
		if !keep[id] && !f.Partial {
			delete(x.byID, id)
			continue
		}
		x.sorted = append(x.sorted, n)
	}
	slices.SortFunc(x.sorted, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range x.racks {
		r.Nodes = r.Nodes[:0]
	}
	for _, n := range x.sorted {
		n.number, n.Slots = x.hosts.node(n.Host), x.cfg.Slots[n.ID]
		x.place(n.Host, n.Node.Rack)
		n.Rack = x.rack(n.Node.Rack)
		n.Rack.Nodes = append(n.Rack.Nodes, n)
	}
	for _, r := range x.racks {
		r.Link = x.cfg.Uplinks.Of(r.ID, len(r.Nodes))
	}
	x.changed = true
	x.compareRacks()
}

// sumRacks recomputes what depends on the nodes' load.
func (x *nodeIndex) sumRacks() {
	x.capacity = Capacity{}
	for _, r := range x.racks {
		r.Total, r.Used, r.Slots = model.Resource{}, model.Resource{}, model.Slots{}
		for _, n := range r.Nodes {
			x.sum(n, +1)
		}
	}
}

// sum adds a node to what its rack and the cluster have, or takes it off, and
// says what it has free.
func (x *nodeIndex) sum(n *Node, sign int64) {
	n.Free = model.Resource{}
	if !n.State.Usable() {
		return
	}
	n.Free = n.Node.Free()
	r, ran := n.Rack, n.Rack.Runs()
	total := n.Total.Times(sign)
	r.Total, r.Used = r.Total.Add(total), r.Used.Add(n.Used.Times(sign))
	r.Slots = r.Slots.Add(n.Slots, int(sign))
	x.capacity.Total = x.capacity.Total.Add(total)
	x.capacity.Nodes += int(sign)
	if r.Runs() != ran {
		x.capacity.Racks ^= mixed(r.Index + 1)
	}
}

// applyDataNodes takes the racks of hosts the ResourceManager does not know
// from the NameNode.
func (x *nodeIndex) applyDataNodes(f model.DataNodesFact) {
	x.nameNode = make(map[string]model.RackID, len(f.DataNodes))
	for i := range f.DataNodes {
		d := &f.DataNodes[i]
		x.nameNode[d.Host] = d.Rack
		x.rack(d.Rack)
		if _, ok := x.tree.RackOf(d.Host); !ok {
			x.place(d.Host, d.Rack)
		}
	}
	x.compareRacks()
}

// compareRacks counts hosts without a rack and hosts whose rack differs between
// ResourceManager, NameNode and the site's table. The ResourceManager's rack is
// used unless the table overrides it: it is the one its scheduler places by.
func (x *nodeIndex) compareRacks() {
	x.counts.HostsNoRack = 0
	x.mismatches = x.mismatches[:0:0]
	for _, n := range x.sorted {
		if n.Rack.ID == model.DefaultRack {
			x.counts.HostsNoRack++
		}
		m := RackMismatch{Host: n.Host, ResourceManager: n.Rack.ID, NameNode: x.nameNode[n.Host], Table: x.cfg.Table[n.Host]}
		if (m.NameNode != "" && m.NameNode != n.Rack.ID) || (m.Table != "" && m.Table != n.Rack.ID) {
			x.mismatches = append(x.mismatches, m)
		}
	}
	x.counts.RackMismatches = len(x.mismatches)
}

// nodeViews returns the nodes for a snapshot, those of the last one unless a
// node changed since.
func (x *nodeIndex) nodeViews() []model.Node {
	if x.views != nil && !x.changed {
		return x.views
	}
	x.views, x.changed = make([]model.Node, len(x.sorted)), false
	for i, n := range x.sorted {
		x.views[i] = n.Node
	}
	return x.views
}

// rackViews returns the racks for a snapshot, without what jobs have there.
func (x *nodeIndex) rackViews() []RackView {
	out := make([]RackView, len(x.racks))
	for i, r := range x.racks {
		v := &out[i]
		*v = RackView{
			ID: r.ID, Total: r.Total, Used: r.Used, Nodes: map[model.NodeState]int{}, Containers: map[model.Stage]int{},
			Uplink: UplinkView{
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
