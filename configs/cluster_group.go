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
	instead := func(key string) bool { // whether the group has itself what stands in place of a key
		for _, other := range inPlaceOf(key) {
			if has(prefix + other) {
				return true
			}
		}
		return false
	}
	for _, f := range appendFields(nil, "", reflect.ValueOf(&g.rackGroup).Elem()) {
		inherits := prefix == "" || f.path != "racks" && !instead(f.path)
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

// inPlaceOf returns the keys that take a key's place.
func inPlaceOf(key string) []string {
	switch key {
	case "uplink":
		return []string{"oversubscription"}
	case "oversubscription":
		return []string{"uplink"}
	case "containers":
		return []string{"map_slots", "reduce_slots"}
	case "map_slots", "reduce_slots":
		return []string{"containers"}
	}
	return nil
}

// checked checks a group and works its uplink out.
func (g *wholeGroup) checked(v *validator) RackGroup {
	for _, n := range []struct {
		key   string
		value int
		most  int
	}{{"racks", g.Racks, maxRacks}, {"nodes", g.Nodes, maxNodes}} {
		g.count(v, n.key, "", n.value, n.most)
	}
	g.places(v)
	if g.needs(v, "nic", "want the rate of a node's interface, such as 250Mbps") {
		within(v, g.at["nic"], g.NIC, mbps, 100_000*gbps)
	}
	rate := g.uplink(v)
	if g.Background > 0 && rate > 0 && g.Background >= rate {
		v.add(g.at["background"], fmt.Sprintf("%s: must be less than the uplink carries, which is %s", g.Background, rate))
	}
	return RackGroup{
		Racks: g.Racks, Nodes: g.Nodes, Containers: g.Containers, MapSlots: g.MapSlots, ReduceSlots: g.ReduceSlots,
		Uplink: rate, NIC: g.NIC, Background: g.Background,
	}
}

// places checks a group's containers, or its slots.
func (g *wholeGroup) places(v *validator) {
	slots := g.at["map_slots"]
	if slots == "" {
		slots = g.at["reduce_slots"]
	}
	switch {
	case slots != "" && g.at["containers"] != "":
		v.add(slots, "given beside containers: give containers, or map_slots and reduce_slots")
	case slots != "":
		g.count(v, "map_slots", "", g.MapSlots, maxContainers)
		g.count(v, "reduce_slots", "", g.ReduceSlots, maxContainers)
	default:
		g.count(v, "containers", ", or map_slots and reduce_slots", g.Containers, maxContainers)
	}
}

// count checks a number that a group has to have.
func (g *wholeGroup) count(v *validator, key, or string, value, most int) {
	if g.needs(v, key, "want a whole number above 0"+or) {
		number(v, g.at[key], value, 1, most)
	}
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
	for i := range c.Groups {
		if g := c.Groups[i]; (g.MapSlots > 0) != (c.Groups[0].MapSlots > 0) {
			v.add(fmt.Sprintf("groups[%d]", i), "its nodes and those of the first group have not the same of containers and slots: give one of the two to all")
		}
	}
	if n := c.Nodes(); n > maxAllNodes {
		v.add("nodes", fmt.Sprintf("%d nodes in all racks: must be at most %d", n, maxAllNodes))
	}
}
