// Package nodes indexes the nodes and racks of a cluster: what they have and use,
// which rack every host is in, and how loaded the racks' uplinks are.
package nodes

import (
	"cmp"
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/snapshot"
	"heddle/core/topology"
)

// Config is what an Index needs besides observations. The fields mean what they
// mean in state.Config.
type Config struct {
	Uplinks        topology.Uplinks
	UplinkMethod   string
	Slots          map[model.NodeID]model.Slots
	Table          map[string]model.RackID
	TableOverrides bool
}

// Rack is one rack with its nodes and its uplink.
type Rack struct {
	ID          model.RackID
	Index       int            // number in the topology tree
	Nodes       []*Node        // by id
	Total, Used model.Resource // over running nodes
	Slots       model.Slots    // over running nodes, where nodes have typed slots
	Link        topology.Link
	Load        shuffle.Meter // smoothed load of the uplink, and NetSat's flag
	Utilization float64       // of the busier direction, 0 if the capacity is unknown
	Method      string        // by which Load was sampled last

	reported   model.UplinkSample // newest load of a method other than the estimate
	reportedAt model.Time
}

// Runs reports whether a rack has running nodes.
func (r *Rack) Runs() bool { return r.Total.MemoryMiB > 0 }

// Node is one NodeManager.
type Node struct {
	model.Node
	Free  model.Resource // never below zero; less what the current what-if assumes
	Rack  *Rack          // by the topology; Node.Rack is the name as reported
	Slots model.Slots    // typed slots of the node, where the cluster has them

	host Host
}

// HostNumber returns the number of the node's host.
func (n *Node) HostNumber() Host { return n.host }

// Index holds the nodes and racks.
type Index struct {
	cfg      Config
	hosts    *Hosts
	byID     map[model.NodeID]*Node
	last     *Node   // asked for last: the policy, the engine's rules and Assume ask for the same one
	sorted   []*Node // by id
	racks    []*Rack // by rack number
	capacity Capacity
	changes  *counter

	reported  dataNodes
	conflicts conflicts
	published published
}

// dataNodes is what the NameNode reports of its DataNodes.
type dataNodes struct {
	rackOf map[string]model.RackID // by host
	blocks []int64                 // replicas by rack number
	live   []float64               // live DataNodes by rack number
}

// conflicts are the hosts whose rack is unknown or differs between sources.
type conflicts struct {
	noRack     int // nodes in the default rack
	mismatches []snapshot.RackMismatch
}

// published is the list of nodes that the last snapshot got; it is never written
// again.
type published struct {
	nodes []model.Node
	stale bool
}

// Revision is a state of the nodes and racks of one cluster. Two revisions are
// equal if nothing was read between them that may have changed nodes or racks;
// what a what-if assumes does not count.
type Revision struct {
	of *counter
	n  uint64
}

// counter counts the changes of one cluster's nodes and racks.
type counter struct{ n uint64 }

// Capacity is what there is to run anything on.
type Capacity struct {
	Total    model.Resource // of the running nodes
	Nodes    int            // running
	Revision Revision       // of nodes and racks
	Racks    uint64         // hash of which racks there are, and which of them have running nodes
}

// hash is a bijection that scatters small numbers over all of 64 bits
// (SplitMix64's finalizer).
func hash(n int) uint64 {
	z := uint64(n) * 0x9e3779b97f4a7c15 //nolint:gosec // any number will do
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// NewIndex returns an index without nodes.
func NewIndex(cfg Config) *Index {
	return &Index{cfg: cfg, hosts: newHosts(), byID: map[model.NodeID]*Node{}, changes: &counter{}}
}

// Hosts returns the numbers and racks of hosts.
func (x *Index) Hosts() *Hosts { return x.hosts }

// Node returns a node, nil if there is none of that id.
func (x *Index) Node(id model.NodeID) *Node {
	if x.last == nil || x.last.ID != id {
		x.last = x.byID[id]
	}
	return x.last
}

// Nodes returns every node in the order of their ids.
func (x *Index) Nodes() []*Node { return x.sorted }

// Racks returns every rack by number.
func (x *Index) Racks() []*Rack { return x.racks }

// AddRacks adds the racks that blocks and tasks have named since the last call.
func (x *Index) AddRacks() {
	for n := len(x.racks); n < x.hosts.tree.Len(); n++ {
		x.changes.n++
		id := x.hosts.tree.ID(n)
		x.racks = append(x.racks, &Rack{ID: id, Index: n, Link: x.cfg.Uplinks.Of(id, 0), Method: x.cfg.UplinkMethod})
	}
}

// Rack returns the rack of an id, nil if nothing has named it.
func (x *Index) Rack(id model.RackID) *Rack {
	if n, ok := x.hosts.LookupRack(id); ok {
		return x.racks[n]
	}
	return nil
}

// rack returns the rack of an id, adding it if it is new.
func (x *Index) rack(id model.RackID) *Rack {
	n := x.hosts.Rack(id)
	x.AddRacks()
	return x.racks[n]
}

// Capacity returns what the running nodes have in all.
func (x *Index) Capacity() Capacity {
	c := x.capacity
	c.Racks ^= hash(-len(x.racks))
	c.Revision = Revision{x.changes, x.changes.n}
	return c
}

// Suppose returns a function that forgets the hosts and racks that facts about jobs
// have named since.
func (x *Index) Suppose() (forget func()) {
	h := x.hosts
	names, racks, unknown := len(h.names), len(x.racks), maps.Clone(h.unknown)
	return func() {
		for _, name := range h.names[names:] {
			delete(h.numbers, name)
		}
		h.names, h.unknown = h.names[:names], unknown
		h.racks = h.racks[:min(len(h.racks), names)]
		h.tree.Truncate(racks)
		x.racks = x.racks[:racks]
	}
}

// LiveDataNodes returns the live DataNodes by rack number.
func (x *Index) LiveDataNodes() []float64 { return x.reported.live }

// ApplyNodes applies a list of NodeManagers.
func (x *Index) ApplyNodes(f *model.NodesFact) {
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
			x.published.stale = true
			if regroup || !f.Partial { // sumRacks follows
				old.Node = n
				continue
			}
			x.sum(old, -1)
			old.Node = n
			x.sum(old, +1)
		}
	}
	x.changes.n++
	if regroup {
		x.regroup(f)
	}
	if regroup || !f.Partial {
		x.sumRacks()
	}
}

// listed returns the node of an id that is listed at a place: most lists come
// sorted by id.
func (x *Index) listed(place int, id model.NodeID) *Node {
	if place < len(x.sorted) && x.sorted[place].ID == id {
		return x.sorted[place]
	}
	return x.Node(id)
}

// regroup drops nodes that are no longer listed and rebuilds the order of nodes
// and the members of racks.
func (x *Index) regroup(f *model.NodesFact) {
	listed := make(map[model.NodeID]bool, len(f.Nodes))
	for i := range f.Nodes {
		listed[f.Nodes[i].ID] = true
	}
	x.sorted, x.last = x.sorted[:0], nil
	for id, n := range x.byID { // order-free: sorted below
		if !listed[id] && !f.Partial {
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
		n.host, n.Slots = x.hosts.ofNode(n.Host), x.cfg.Slots[n.ID]
		x.hosts.place(n.Host, n.Node.Rack)
		n.Rack = x.rack(n.Node.Rack)
		n.Rack.Nodes = append(n.Rack.Nodes, n)
	}
	for _, r := range x.racks {
		r.Link = x.cfg.Uplinks.Of(r.ID, len(r.Nodes))
	}
	x.published.stale = true
	x.findConflicts()
}

// sumRacks recomputes the sums of all racks and of the cluster.
func (x *Index) sumRacks() {
	x.capacity = Capacity{}
	for _, r := range x.racks {
		r.Total, r.Used, r.Slots = model.Resource{}, model.Resource{}, model.Slots{}
		for _, n := range r.Nodes {
			x.sum(n, +1)
		}
	}
}

// sum adds a node to the sums of its rack and of the cluster (sign +1) or
// subtracts it (-1), and sets what it has free.
func (x *Index) sum(n *Node, sign int64) {
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
		x.capacity.Racks ^= hash(r.Index + 1)
	}
}

// ApplyDataNodes applies a list of DataNodes, whose racks count for hosts that the
// ResourceManager does not know.
func (x *Index) ApplyDataNodes(f model.DataNodesFact) {
	d := dataNodes{rackOf: make(map[string]model.RackID, len(f.DataNodes))}
	for i := range f.DataNodes {
		n := &f.DataNodes[i]
		d.rackOf[n.Host] = n.Rack
		r := x.rack(n.Rack).Index
		if _, ok := x.hosts.tree.RackOf(n.Host); !ok {
			x.hosts.place(n.Host, n.Rack)
		}
		d.blocks, d.live = topology.Extend(d.blocks, r), topology.Extend(d.live, r)
		d.blocks[r] += n.Blocks
		if n.Live {
			d.live[r]++
		}
	}
	x.reported = d
	x.findConflicts()
}

// findConflicts lists the nodes in the default rack and those whose rack differs
// between ResourceManager, NameNode and the site's table. The ResourceManager's
// counts, since its scheduler places by it, unless the table overrides it.
func (x *Index) findConflicts() {
	x.conflicts = conflicts{}
	for _, n := range x.sorted {
		if n.Rack.ID == model.DefaultRack {
			x.conflicts.noRack++
		}
		m := snapshot.RackMismatch{Host: n.Host, ResourceManager: n.Rack.ID, NameNode: x.reported.rackOf[n.Host], Table: x.cfg.Table[n.Host]}
		if (m.NameNode != "" && m.NameNode != n.Rack.ID) || (m.Table != "" && m.Table != n.Rack.ID) {
			x.conflicts.mismatches = append(x.conflicts.mismatches, m)
		}
	}
}
