package sim

import (
	"errors"
	"fmt"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
	"heddle/core/topology"
)

// Cluster describes the simulated cluster: racks of like nodes, and how HDFS
// lays files out on them.
type Cluster struct {
	Racks       []Rack
	Container   model.Resource // of one container or slot
	Block       model.Bytes    // dfs.blocksize
	Replication int            // dfs.replication
	// CrossRackWrites says whether the copies of what jobs write take their way over the uplinks (algorithms.md 0.6).
	CrossRackWrites bool
	// BackgroundMoves is how often each rack's load of other traffic moves on to the next rack, in whole heartbeats; 0 is never.
	BackgroundMoves model.Duration
}

// Rack is one rack.
type Rack struct {
	Nodes      int
	Containers int         // of each node; a task takes any of them
	Slots      model.Slots // of each node, in place of containers; on all racks or on none
	Uplink     topology.Link
	NIC        model.BytesPerSecond // of each node, in each direction
	Background topology.Link        // of other traffic on the uplink
}

// Uniform returns a cluster of like racks with Hadoop's block size and
// replication: nodes per rack, containers per node, and the rates of every
// uplink and interface in each direction in bytes per second.
func Uniform(racks, nodes, containers int, uplink, nic model.BytesPerSecond) Cluster {
	c := Cluster{
		Container: model.Resource{MemoryMiB: 1024, VCores: 1}, Block: 128 * model.MiB, Replication: 3, CrossRackWrites: true,
	}
	for range racks {
		c.Racks = append(c.Racks, Rack{Nodes: nodes, Containers: containers, Uplink: topology.Link{Out: uplink, In: uplink}, NIC: nic})
	}
	return c
}

// Validate reports everything that cannot be simulated.
func (c *Cluster) Validate() error {
	var errs []error
	if len(c.Racks) == 0 {
		errs = append(errs, errors.New("cluster: no racks; give at least one"))
	}
	for i, r := range c.Racks {
		if err := c.validatePlaces(i); err != nil {
			errs = append(errs, err)
		}
		if !(r.Uplink.Out > 0) || !(r.Uplink.In > 0) || !(r.NIC > 0) {
			errs = append(errs, fmt.Errorf("cluster: rack %d: uplink %g and %g, interfaces %g bytes/s: give rates above 0", i+1, r.Uplink.Out, r.Uplink.In, r.NIC))
		}
		if r.Background.Out < 0 || r.Background.In < 0 || r.Background.Out >= r.Uplink.Out || r.Background.In >= r.Uplink.In {
			errs = append(errs, fmt.Errorf("cluster: rack %d: background %g and %g bytes/s: give less than the uplink carries", i+1, r.Background.Out, r.Background.In))
		}
	}
	errs = append(errs, c.validateMoves()...)
	if c.Container.MemoryMiB <= 0 || c.Container.VCores <= 0 {
		errs = append(errs, errors.New("cluster: container: give memory and vcores above 0"))
	}
	if c.Block <= 0 || c.Replication <= 0 {
		errs = append(errs, errors.New("cluster: block size and replication: give values above 0"))
	}
	return errors.Join(errs...)
}

// Containers returns how many tasks can run at once.
func (c *Cluster) Containers() int { return c.places().sum() }

// places returns how many can, by kind.
func (c *Cluster) places() pools {
	var sum pools
	for i := range c.Racks {
		for pool, n := range c.Racks[i].places() {
			sum[pool] += n * c.Racks[i].Nodes
		}
	}
	return sum
}

// uplinks returns the capacity of each rack's uplink, out of the rack, that
// other traffic leaves: at any time at most so much.
func (c *Cluster) uplinks() []model.BytesPerSecond {
	out := make([]model.BytesPerSecond, len(c.Racks))
	for i := range c.Racks {
		out[i] = c.Racks[i].Uplink.Out - c.leastBackground(i).Out
	}
	return out
}

func rackID(i int) model.RackID { return model.RackID(fmt.Sprintf("/rack%03d", i+1)) }

// node is one simulated NodeManager with its DataNode.
type node struct {
	id            model.NodeID
	host          string
	rack          int
	total         pools // containers or slots
	used          pools
	runningOutput model.Bytes // of the maps that run on it, as they will be
	isListed      bool        // in pendingUpdates
	losses        int         // how many losses it is part of; above 0 it is lost
}

// layout is the cluster as a run uses it.
type layout struct {
	nodes      []node
	byID       map[model.NodeID]int
	rackNodes  [][]int // nodes by rack
	rackIDs    []model.RackID
	offerKinds []model.Stage // see Cluster
	lostNodes  int           // nodes that are not there
	background background

	containers int // or slots, on all nodes
}

func newLayout(c *Cluster) layout {
	l := layout{byID: map[model.NodeID]int{}, offerKinds: c.kinds(), containers: c.Containers()}
	for r := range c.Racks {
		l.rackIDs = append(l.rackIDs, rackID(r))
		var of []int
		for i := range c.Racks[r].Nodes {
			host := fmt.Sprintf("r%03dn%04d", r+1, i+1)
			id := model.NodeID(host + ":8041")
			of = append(of, len(l.nodes))
			l.byID[id] = len(l.nodes)
			l.nodes = append(l.nodes, node{id: id, host: host, rack: r, total: c.Racks[r].places()})
		}
		l.rackNodes = append(l.rackNodes, of)
	}
	return l
}

// newNetwork returns the cluster's links.
func newNetwork(c *Cluster, of Network) (*network.Fast, error) {
	racks := make([]network.Rack, len(c.Racks))
	for i, r := range c.Racks {
		racks[i] = network.Rack{Uplink: r.Uplink, NIC: r.NIC, Nodes: r.Nodes}
	}
	cfg := network.DefaultConfig(racks)
	cfg.Step, cfg.MaxStep = of.NetworkStep, of.LongestStep
	cfg.Streams[network.Shuffle] = float64(of.ParallelCopies)
	f, err := network.NewFast(cfg)
	if err != nil {
		return nil, err
	}
	return f, nil
}
