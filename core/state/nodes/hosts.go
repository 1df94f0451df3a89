package nodes

import (
	"heddle/core/model"
	"heddle/core/topology"
)

// Host is a host by number: tasks, blocks and outputs are counted by it, so that
// an offer looks up nothing by name.
type Host int32

// NoHost stands for an empty name, and for names beyond the limit.
const NoHost Host = -1

// MaxHosts limits the names that applications and the NameNode can add; the
// ResourceManager's nodes always get a number.
const MaxHosts = 1 << 18

// Hosts numbers hosts and racks and knows the rack of every host. A number is
// never given twice.
type Hosts struct {
	tree    *topology.Tree
	numbers map[string]Host
	names   []string
	racks   []int32         // by host: one more than its rack's number, 0 if unknown since a host moved
	unknown map[string]bool // hosts that were put into the default rack because no source reports where they are
}

func newHosts() *Hosts {
	return &Hosts{tree: topology.New(), numbers: map[string]Host{}, unknown: map[string]bool{}}
}

// Host returns the number of a host that an application or the NameNode names;
// NoHost for an empty name, and for a new one beyond MaxHosts.
func (h *Hosts) Host(name string) Host {
	if name == "" {
		return NoHost
	}
	if n, ok := h.numbers[name]; ok {
		return n
	}
	if len(h.names) >= MaxHosts {
		return NoHost
	}
	return h.ofNode(name)
}

// ofNode returns the number of a node's host, whatever the limit.
func (h *Hosts) ofNode(name string) Host {
	n, ok := h.numbers[name]
	if !ok {
		n = Host(len(h.names)) //nolint:gosec // a cluster has fewer nodes
		h.numbers[name], h.names = n, append(h.names, name)
	}
	return n
}

// Rack returns the number of a rack, numbering it if it is new.
func (h *Hosts) Rack(id model.RackID) int { return h.tree.Index(id) }

// RackName returns the rack of a number.
func (h *Hosts) RackName(rack int) model.RackID { return h.tree.ID(rack) }

// LookupRack returns the number of a rack, and whether it has one.
func (h *Hosts) LookupRack(id model.RackID) (rack int, ok bool) { return h.tree.Lookup(id) }

// RackOf returns the rack of a host by name: where its NodeManager is, else where
// the NameNode has it, else the hint, else the default rack, which counts the host
// as unknown.
func (h *Hosts) RackOf(name string, hint model.RackID) int {
	if rack, ok := h.tree.RackOf(name); ok {
		return rack
	}
	if hint == "" || hint == model.DefaultRack {
		h.CountUnknown(name)
		hint = model.DefaultRack
	}
	return h.tree.Index(hint)
}

// KnownRack returns the rack of a host; false if nothing says where it is.
func (h *Hosts) KnownRack(n Host) (rack int, ok bool) {
	if n == NoHost {
		return 0, false
	}
	return h.tree.RackOf(h.names[n])
}

// RackOfHost is RackOf for a host by number.
func (h *Hosts) RackOfHost(n Host, hint model.RackID) int {
	if r := topology.At(h.racks, int(n)); r > 0 {
		return int(r) - 1
	}
	rack := h.RackOf(h.names[n], hint)
	if _, ok := h.KnownRack(n); ok { // the rack of another one follows the hint
		h.racks = topology.Extend(h.racks, int(n))
		h.racks[n] = int32(rack) + 1 //nolint:gosec // bounded by the number of racks
	}
	return rack
}

// CountUnknown counts a host that nothing is known of, once.
func (h *Hosts) CountUnknown(name string) {
	if name != "" && len(h.unknown) < MaxHosts {
		h.unknown[name] = true
	}
}

// place moves a host to a rack.
func (h *Hosts) place(name string, rack model.RackID) {
	clear(h.racks)
	h.tree.Place(name, rack)
}
