package configs

import (
	"fmt"
	"reflect"
)

// Bounds of a simulated cluster.
const (
	maxRacks      = 10_000
	maxNodes      = 10_000 // of a rack
	maxAllNodes   = 200_000
	maxContainers = 1_000 // of a node
	maxReplicas   = 512   // dfs.replication.max
)

// wholeGroup is one entry of groups with all its values: its own, and those
// beside groups where it has none.
type wholeGroup struct {
	rackGroup
	prefix string            // of its own keys, such as "groups[1]."
	at     map[string]string // by key: the path it was given at; none of a key that was not
}

// whole fills a group up. At prefix "" it is the whole description.
func (r *clusterReader) whole(prefix string, own rackGroup) *wholeGroup {
	g := &wholeGroup{rackGroup: own, prefix: prefix, at: map[string]string{}}
	has := func(path string) bool { _, ok := r.given[path]; return ok }
	ownUplink := has(prefix+"uplink") || has(prefix+"oversubscription")
	for _, f := range appendFields(nil, "", reflect.ValueOf(&g.rackGroup).Elem()) {
		inherits := prefix == "" || f.path != "racks"
		if f.path == "uplink" || f.path == "oversubscription" {
			inherits = prefix == "" || !ownUplink // one takes the place of the other
		}
		switch {
		case prefix != "" && has(prefix+f.path):
			g.at[f.path] = prefix + f.path
		case inherits && has(f.path):
			f.value.Set(r.leaves[f.path])
			g.at[f.path] = f.path
		}
	}
	if prefix != "" && g.at["racks"] == "" {
		g.Racks, g.at["racks"] = 1, prefix+"racks"
	}
	return g
}

// checked checks a group and works its uplink out.
func (g *wholeGroup) checked(v *validator) RackGroup {
	for _, n := range []struct {
		key   string
		value int
		most  int
	}{{"racks", g.Racks, maxRacks}, {"nodes", g.Nodes, maxNodes}, {"containers", g.Containers, maxContainers}} {
		if g.needs(v, n.key, "want a whole number above 0") {
			number(v, g.at[n.key], n.value, 1, n.most)
		}
	}
	if g.needs(v, "nic", "want the rate of a node's interface, such as 250Mbps") {
		within(v, g.at["nic"], g.NIC, mbps, 100_000*gbps)
	}
	rate := g.uplink(v)
	if g.Background > 0 && rate > 0 && g.Background >= rate {
		v.add(g.at["background"], fmt.Sprintf("%s: must be less than the uplink carries, which is %s", g.Background, rate))
	}
	return RackGroup{Racks: g.Racks, Nodes: g.Nodes, Containers: g.Containers, Uplink: rate, NIC: g.NIC, Background: g.Background}
}

// uplink returns the rate of a group's uplinks, given or from its oversubscription.
func (g *wholeGroup) uplink(v *validator) Rate {
	ratio := g.at["oversubscription"]
	switch {
	case ratio != "" && g.at["uplink"] != "":
		v.add(ratio, "given beside uplink: give one of the two")
	case ratio != "":
		number(v, ratio, g.Oversubscription, 0.01, 10_000)
		return Rate(float64(g.Nodes) * float64(g.NIC) / g.Oversubscription)
	case g.needs(v, "uplink", "want the rate of a rack's uplink, such as 1Gbps, or oversubscription, such as 5"):
		within(v, g.at["uplink"], g.Uplink, mbps, 100_000*gbps)
	}
	return g.Uplink
}

// needs reports whether a group has a key, and a problem where not.
func (g *wholeGroup) needs(v *validator, key, want string) bool {
	if g.at[key] == "" {
		v.add(g.prefix+key, "not given; "+want)
		return false
	}
	return true
}

// validate checks what concerns no single group.
func (c *Cluster) validate(v *validator) {
	within(v, "block", c.Block, mib, 1024*gib)
	number(v, "replication", c.Replication, 1, maxReplicas)
	if len(v.problems) > 0 {
		return // the numbers of groups may be anything
	}
	if n := c.Racks(); n > maxRacks {
		v.add("groups", fmt.Sprintf("%d racks: must be at most %d", n, maxRacks))
	}
	if n := c.Nodes(); n > maxAllNodes {
		v.add("nodes", fmt.Sprintf("%d nodes in all racks: must be at most %d", n, maxAllNodes))
	}
}
