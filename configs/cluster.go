package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Cluster is the cluster of a simulation, as a file or a line describes it.
type Cluster struct {
	Groups      []RackGroup // one at least
	Block       Size        // dfs.blocksize
	Replication int         // dfs.replication
}

// RackGroup is racks that are alike. Rates are of one rack's uplink or one
// node's interface, in each direction.
type RackGroup struct {
	Racks                 int
	Nodes                 int // of each rack
	Containers            int // of each node; 0 where it has slots
	MapSlots, ReduceSlots int // of each node, in place of containers
	Uplink                Rate
	NIC                   Rate
	Background            Rate // what other traffic takes of the uplink
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

// ReadCluster reads a cluster from a YAML file. The error is Problems, each with
// the key and its line.
func ReadCluster(file string) (*Cluster, error) {
	r := newClusterReader(Origin{Layer: LayerFile, File: file})
	data, err := readLimited(file, maxFileBytes)
	if err != nil {
		r.report("", r.origin, fmt.Sprintf("read the cluster: %v", err))
		return nil, r.problems
	}
	return r.yaml(data)
}

// ParseCluster reads a cluster of like racks from a line such as
// "racks=30,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps". The error is Problems.
func ParseCluster(line string) (*Cluster, error) {
	r := newClusterReader(Origin{Layer: LayerFlag, Name: "cluster"})
	for pair := range strings.SplitSeq(line, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		leaf, known := r.leaves[key]
		_, twice := r.given[key]
		switch {
		case !ok:
			r.report("", r.origin, fmt.Sprintf("%q: want key=value, as in racks=30,nodes=20", pair))
		case !known:
			r.report(key, r.origin, unknownKey(key, r.keys()))
		case isRows(leaf.Type()):
			r.report(key, r.origin, "can only be given in a file")
		case twice:
			r.report(key, r.origin, "given twice")
		default:
			r.set(key, r.origin, func(v reflect.Value) error { return setText(v, value) })
		}
	}
	return r.finish()
}

// clusterFile is what a file or a line says. Keys of a group win over those beside it.
type clusterFile struct {
	Racks            int         `yaml:"racks"`
	Nodes            int         `yaml:"nodes"`
	Containers       int         `yaml:"containers"`
	MapSlots         int         `yaml:"map_slots"` // with ReduceSlots in place of Containers
	ReduceSlots      int         `yaml:"reduce_slots"`
	Uplink           Rate        `yaml:"uplink"`
	Oversubscription float64     `yaml:"oversubscription"` // in place of Uplink: a rack's interfaces over its uplink
	NIC              Rate        `yaml:"nic"`
	Background       Rate        `yaml:"background"`
	Groups           []rackGroup `yaml:"groups"`
	Block            Size        `yaml:"block"`
	Replication      int         `yaml:"replication"`
}

// rackGroup is one entry of groups.
type rackGroup struct {
	Racks            int     `yaml:"racks"`
	Nodes            int     `yaml:"nodes"`
	Containers       int     `yaml:"containers"`
	MapSlots         int     `yaml:"map_slots"`
	ReduceSlots      int     `yaml:"reduce_slots"`
	Uplink           Rate    `yaml:"uplink"`
	Oversubscription float64 `yaml:"oversubscription"`
	NIC              Rate    `yaml:"nic"`
	Background       Rate    `yaml:"background"`
}

// clusterReader gathers keys and problems of one description.
type clusterReader struct {
	origin   Origin // of the whole
	file     clusterFile
	leaves   map[string]reflect.Value
	given    map[string]Origin // of keys, and of groups
	problems Problems
}

func newClusterReader(whole Origin) *clusterReader {
	r := &clusterReader{
		origin: whole, leaves: map[string]reflect.Value{}, given: map[string]Origin{},
		file: clusterFile{Block: 128 * mib, Replication: 3},
	}
	for _, f := range appendFields(nil, "", reflect.ValueOf(&r.file).Elem()) {
		r.leaves[f.path] = f.value
	}
	return r
}

func (r *clusterReader) keys() []string {
	var keys []string
	for key := range r.leaves {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (r *clusterReader) report(path string, from Origin, message string) {
	r.problems = append(r.problems, &Problem{Path: path, Origin: from, Message: message})
}

func (r *clusterReader) set(path string, from Origin, set func(reflect.Value) error) {
	r.given[path] = from
	if err := set(r.leaves[path]); err != nil {
		r.report(path, from, err.Error())
	}
}

func (r *clusterReader) yaml(data []byte) (*Cluster, error) {
	at := func(line int) Origin { return Origin{Layer: LayerFile, File: r.origin.File, Line: line} }
	node, err := parseYAML(data)
	if err != nil {
		line, message := yamlError(err)
		r.report("", at(line), message)
		return nil, r.problems
	}
	if node != nil {
		walkYAML(node, reflect.TypeFor[clusterFile](), "", sink{
			section: func(path string, line int) { r.given[path] = at(line) },
			value:   func(path string, line int, set func(reflect.Value) error) { r.set(path, at(line), set) },
			problem: func(path string, line int, message string) { r.report(path, at(line), message) },
		})
	}
	return r.finish()
}

// finish works the racks out and checks them, once every value could be read.
func (r *clusterReader) finish() (*Cluster, error) {
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	c := &Cluster{Block: r.file.Block, Replication: r.file.Replication}
	groups := r.file.Groups
	v := &validator{}
	if len(groups) == 0 {
		c.Groups = []RackGroup{r.whole("", rackGroup{}).checked(v)}
	}
	for i, g := range groups {
		c.Groups = append(c.Groups, r.whole(fmt.Sprintf("groups[%d].", i), g).checked(v))
	}
	if _, both := r.given["racks"]; both && len(groups) > 0 {
		v.add("racks", "given beside groups: each group says how many racks it has")
	}
	c.validate(v)
	said := map[string]bool{} // of a key beside groups, each group complains
	for _, p := range v.problems {
		if p.Origin = r.blame(p.Path); !said[p.Error()] {
			said[p.Error()] = true
			r.problems = append(r.problems, p)
		}
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return c, nil
}

// blame returns where a key, or the group it is missing in, was given.
func (r *clusterReader) blame(path string) Origin {
	for path != "" {
		if from, ok := r.given[path]; ok {
			return from
		}
		path = parent(path)
	}
	return r.origin
}
