package rmmodel

import (
	"fmt"
	"slices"
	"strings"

	"heddle/core/asks"
	"heddle/core/model"
)

// Node is one NodeManager as the scheduler sees it.
type Node struct {
	Host        string // as in NodeId.host
	Rack        model.RackID
	Total, Used model.Resource
	Usable      bool // false: lost, unhealthy or decommissioned
}

// Free is what is left of the node.
func (n *Node) Free() model.Resource { return n.Total.Sub(n.Used) }

// Cluster is the nodes of a ResourceManager. It is not safe for concurrent use.
type Cluster struct {
	Nodes  []*Node // by host
	VCores bool    // the scheduler counts vcores too (DominantResourceCalculator)
}

// NewCluster returns racks /rack1, /rack2, … with hosts w11, w12, … of one size
// each, all usable and empty, named as those of the integration cluster.
func NewCluster(racks, hosts int, total model.Resource) *Cluster {
	c := &Cluster{}
	for r := 1; r <= racks; r++ {
		for h := 1; h <= hosts; h++ {
			c.Nodes = append(c.Nodes, &Node{
				Host: fmt.Sprintf("w%d%d", r, h), Rack: RackName(r), Total: total, Usable: true,
			})
		}
	}
	return c
}

// RackName is the name of the rack with a number, counted from 1.
func RackName(r int) model.RackID { return model.RackID(fmt.Sprintf("/rack%d", r)) }

// Node returns the node of a host, nil when there is none.
func (c *Cluster) Node(host string) *Node {
	i, found := slices.BinarySearchFunc(c.Nodes, host, func(n *Node, host string) int {
		return strings.Compare(n.Host, host)
	})
	if !found {
		return nil
	}
	return c.Nodes[i]
}

// RackOf returns the rack of a host, "" when the host is unknown.
func (c *Cluster) RackOf(host string) model.RackID {
	if n := c.Node(host); n != nil {
		return n.Rack
	}
	return ""
}

// Usable counts the usable nodes: getNumClusterNodes of the schedulers.
func (c *Cluster) Usable() int {
	count := 0
	for _, n := range c.Nodes {
		if n.Usable {
			count++
		}
	}
	return count
}

// Site is the cluster as a relay that has just read it would know it.
func (c *Cluster) Site() *asks.Site {
	s := &asks.Site{RackOf: map[string]model.RackID{}, VCores: c.VCores}
	for _, n := range c.Nodes {
		s.RackOf[n.Host] = n.Rack
		if !n.Usable {
			continue
		}
		if len(s.Racks) == 0 || s.Racks[len(s.Racks)-1].ID != n.Rack {
			s.Racks = append(s.Racks, asks.Rack{ID: n.Rack})
		}
		last := &s.Racks[len(s.Racks)-1]
		last.Hosts = append(last.Hosts, asks.Host{Name: n.Host, Total: n.Total, Free: n.Free(), Idle: n.Free()})
	}
	return s
}

// fits reports whether a container of a size fits into what a node has free.
func (c *Cluster) fits(n *Node, need model.Resource) bool { return need.Fits(n.Free(), c.VCores) }
