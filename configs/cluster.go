package configs

import (
	"fmt"
	"strings"

	"heddle/configs/strict"
)

// Bounds of a simulated cluster as a whole.
const (
	maxRacks = 10_000
	maxNodes = 200_000
)

// Rates in bytes/s, as link rates are printed: decimal bits.
const (
	mbps strict.Rate = 1e6 / 8
	gbps strict.Rate = 1e9 / 8
)

// Cluster is the cluster of a simulation, as a file or a line describes it.
type Cluster struct {
	Groups      []RackGroup // one at least
	Block       strict.Size // dfs.blocksize
	Replication int         // dfs.replication
	// BackgroundMoves is how often the groups' background moves on to the next rack; 0 is never.
	BackgroundMoves strict.Duration
}

// RackGroup is racks that are alike. Rates are of one rack's uplink or one
// node's interface, in each direction.
type RackGroup struct {
	Racks                 int
	Nodes                 int // of each rack
	Containers            int // of each node; 0 where it has slots
	MapSlots, ReduceSlots int // of each node, in place of containers
	Uplink                strict.Rate
	NIC                   strict.Rate
	Background            strict.Rate // share of the uplink that other traffic uses
}

// Racks returns the number of racks.
func (c *Cluster) Racks() int {
	n := 0
	for _, g := range c.Groups {
		n += g.Racks
	}
	return n
}

// Nodes returns the number of nodes.
func (c *Cluster) Nodes() int {
	n := 0
	for _, g := range c.Groups {
		n += g.Racks * g.Nodes
	}
	return n
}

// clusterFile is the content of a file or a line. The keys of a group win over
// those beside groups.
type clusterFile struct {
	groupKeys
	Groups      []groupKeys `yaml:"groups"`
	Block       strict.Size `yaml:"block" default:"128MiB" range:"1MiB..1TiB"`
	Replication int         `yaml:"replication" default:"3" range:"1..512"` // dfs.replication.max

	BackgroundMoves strict.Duration `yaml:"background_moves" default:"0s" range:"0s..24h"`
}

// groupKeys are the keys of one entry of groups.
type groupKeys struct {
	Racks            int         `yaml:"racks" range:"1..10000"`
	Nodes            int         `yaml:"nodes" range:"1..10000"`
	Containers       int         `yaml:"containers" range:"1..1000"`
	MapSlots         int         `yaml:"map_slots" range:"1..1000"` // with ReduceSlots in place of Containers
	ReduceSlots      int         `yaml:"reduce_slots" range:"1..1000"`
	Uplink           strict.Rate `yaml:"uplink" range:"1Mbps..100Tbps"`
	Oversubscription float64     `yaml:"oversubscription" range:"0.01..10000"` // in place of Uplink: a rack's interfaces over its uplink
	NIC              strict.Rate `yaml:"nic" range:"1Mbps..100Tbps"`
	Background       strict.Rate `yaml:"background"`
}

// ReadCluster reads a cluster from a YAML file. The error is Problems, each with
// the key and its line.
func ReadCluster(file string) (*Cluster, error) {
	var f clusterFile
	d := strict.NewDocument(&f, strict.Origin{}, hints())
	strict.SetDefaults(d.Keys)
	d.ReadFile(file, "cluster")
	return f.cluster(d)
}

// ParseCluster reads a cluster of like racks from a line such as
// "racks=30,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps". The error is Problems.
func ParseCluster(line string) (*Cluster, error) {
	var f clusterFile
	from := strict.Origin{Layer: strict.LayerFlag, Name: "cluster"}
	d := strict.NewDocument(&f, from, hints())
	strict.SetDefaults(d.Keys)
	for pair := range strings.SplitSeq(line, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		k, known := d.Find(name)
		_, twice := d.Origins[name]
		switch {
		case !ok:
			d.Report("", from, fmt.Sprintf("%q: want key=value, as in racks=30,nodes=20", pair))
		case !known:
			d.Report(name, from, d.UnknownKey(name, func(path string) string { return path }))
		case strict.IsRows(k.Field.Type()):
			d.Report(name, from, "can only be given in a file")
		case twice:
			d.Report(name, from, "given twice")
		default:
			d.GiveText(name, from, value)
		}
	}
	return f.cluster(d)
}

// cluster makes a cluster of what a document has read into f.
func (f *clusterFile) cluster(d *strict.Document) (*Cluster, error) {
	var c Cluster
	if len(d.Problems) == 0 {
		c = Cluster{Block: f.Block, Replication: f.Replication, BackgroundMoves: f.BackgroundMoves}
		d.Check(func(v *strict.Validator) {
			if len(f.Groups) == 0 {
				c.Groups = []RackGroup{f.group(d, v, "", groupKeys{})}
			}
			for i, own := range f.Groups {
				c.Groups = append(c.Groups, f.group(d, v, strict.RowPath("groups", i), own))
			}
			if _, given := d.Origins["racks"]; given && len(f.Groups) > 0 {
				v.AddPath("racks", "given beside groups: give it in each group")
			}
			c.rules(v)
		})
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return &c, nil
}

// rules checks what concerns no single group.
func (c *Cluster) rules(v *strict.Validator) {
	if len(v.Problems) > 0 {
		return // the numbers of groups may be anything
	}
	if n := c.Racks(); n > maxRacks {
		v.AddPath("groups", fmt.Sprintf("%d racks: must be at most %d", n, maxRacks))
	}
	for i := range c.Groups {
		if (c.Groups[i].MapSlots > 0) != (c.Groups[0].MapSlots > 0) {
			v.AddPath(strict.RowPath("groups", i), "has slots where the first group has containers, or containers where that has slots: give all groups the same")
		}
	}
	if n := c.Nodes(); n > maxNodes {
		v.AddPath("nodes", fmt.Sprintf("%d nodes in all racks: must be at most %d", n, maxNodes))
	}
}

// group returns one group with all its values: its own and, where it has none,
// those beside groups. The group at path "" has only these.
func (f *clusterFile) group(d *strict.Document, v *strict.Validator, path string, own groupKeys) RackGroup {
	g := groupReader{v: v, path: path, keys: own, givenAt: map[string]string{}}
	shared := strict.KeysOf(&f.groupKeys)
	for i, k := range strict.KeysOf(&g.keys) {
		at := strict.Join(path, k.Path)
		_, isOwn := d.Places[at]
		_, isShared := d.Origins[k.Path]
		switch {
		case path != "" && isOwn:
			g.givenAt[k.Path] = at
		case isShared && (path == "" || k.Path != "racks" && !isReplaced(d, path, k.Path)):
			k.Field.Set(shared[i].Field)
			g.givenAt[k.Path] = k.Path
		}
	}
	if path != "" && g.givenAt["racks"] == "" {
		g.keys.Racks, g.givenAt["racks"] = 1, strict.Join(path, "racks")
	}
	return g.group()
}

// isReplaced reports whether a group itself has a key that replaces the named one.
func isReplaced(d *strict.Document, group, name string) bool {
	others := map[string][]string{
		"uplink": {"oversubscription"}, "oversubscription": {"uplink"},
		"containers": {"map_slots", "reduce_slots"}, "map_slots": {"containers"}, "reduce_slots": {"containers"},
	}
	for _, other := range others[name] {
		if _, given := d.Places[strict.Join(group, other)]; given {
			return true
		}
	}
	return false
}

// groupReader checks one group.
type groupReader struct {
	v       *strict.Validator
	path    string // "" or that of an entry of groups
	keys    groupKeys
	givenAt map[string]string // by key: the path it was given at
}

// group checks the keys against each other and computes the uplink's rate.
func (g *groupReader) group() RackGroup {
	g.needs("racks", "want a whole number above 0")
	g.needs("nodes", "want a whole number above 0")
	g.needPlaces()
	g.needs("nic", "want the rate of a node's interface, such as 250Mbps")
	k := &g.keys
	uplink := k.Uplink
	ratio := g.givenAt["oversubscription"]
	switch {
	case ratio != "" && g.givenAt["uplink"] != "":
		g.v.AddPath(ratio, "given beside uplink: give one of the two")
	case ratio != "":
		uplink = strict.Rate(float64(k.Nodes) * float64(k.NIC) / k.Oversubscription)
	default:
		g.needs("uplink", "want the rate of a rack's uplink, such as 1Gbps, or oversubscription, such as 5")
	}
	if k.Background > 0 && uplink > 0 && k.Background >= uplink {
		g.v.AddPath(g.givenAt["background"], fmt.Sprintf("%s: must be less than the uplink carries, which is %s", k.Background, uplink))
	}
	return RackGroup{
		Racks: k.Racks, Nodes: k.Nodes, Containers: k.Containers, MapSlots: k.MapSlots, ReduceSlots: k.ReduceSlots,
		Uplink: uplink, NIC: k.NIC, Background: k.Background,
	}
}

// needPlaces checks that a group has containers or slots, and not both.
func (g *groupReader) needPlaces() {
	slots := g.givenAt["map_slots"]
	if slots == "" {
		slots = g.givenAt["reduce_slots"]
	}
	switch {
	case slots != "" && g.givenAt["containers"] != "":
		g.v.AddPath(slots, "given beside containers: give containers, or map_slots and reduce_slots")
	case slots != "":
		g.needs("map_slots", "want a whole number above 0")
		g.needs("reduce_slots", "want a whole number above 0")
	default:
		g.needs("containers", "want a whole number above 0, or map_slots and reduce_slots")
	}
}

// needs adds a problem where a group has no such key.
func (g *groupReader) needs(name, want string) {
	if g.givenAt[name] == "" {
		g.v.AddPath(strict.Join(g.path, name), "not given; "+want)
	}
}
