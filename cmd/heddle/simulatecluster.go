package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"heddle/configs"
	"heddle/core/model"
	"heddle/core/sim"
	"heddle/core/topology"
)

// openCluster reads a cluster by its name on a command line: a file, or
// key=value pairs.
func openCluster(name string) (sim.Cluster, error) {
	ending := filepath.Ext(name)
	if strings.Contains(name, "=") && ending != ".yml" && ending != ".yaml" {
		c, err := configs.ParseCluster(name)
		if err != nil {
			return sim.Cluster{}, usageError{err}
		}
		return simCluster(c), nil
	}
	c, err := configs.ReadCluster(name)
	if err != nil {
		return sim.Cluster{}, fmt.Errorf("--cluster: %w", err)
	}
	return simCluster(c), nil
}

// simCluster returns the cluster to simulate: a described one with the
// simulator's containers.
func simCluster(c *configs.Cluster) sim.Cluster {
	out := sim.Uniform(0, 0, 0, 0, 0)
	out.Block, out.Replication = c.Block.Bytes(), c.Replication
	both := func(r configs.Rate) topology.Link {
		return topology.Link{Out: r.BytesPerSecond(), In: r.BytesPerSecond()}
	}
	for _, g := range c.Groups {
		for range g.Racks {
			out.Racks = append(out.Racks, sim.Rack{
				Nodes: g.Nodes, Containers: g.Containers, Slots: model.Slots{Maps: g.MapSlots, Reduces: g.ReduceSlots},
				Uplink: both(g.Uplink), NIC: g.NIC.BytesPerSecond(), Background: both(g.Background),
			})
		}
	}
	return out
}

// clusterSummary describes a cluster, and how Hadoop is set up on it, in a result.
type clusterSummary struct {
	Racks       int           `json:"racks"`
	Nodes       int           `json:"nodes"`
	Containers  int           `json:"containers"` // or slots, of both kinds
	Groups      []rackSummary `json:"groups"`     // neighbouring racks that are alike
	Block       model.Bytes   `json:"block_bytes"`
	Replication int           `json:"replication"`
	Writes      bool          `json:"cross_rack_writes"`
	HeartbeatS  float64       `json:"heartbeat_s"`
	Slowstart   float64       `json:"slowstart"`
	Straggler   float64       `json:"straggler_part"`            // of all attempts
	Slower      float64       `json:"straggler_factor"`          // times as long these compute
	Copies      int           `json:"parallel_copies,omitempty"` // where they are not Hadoop's
	Speculation bool          `json:"speculation,omitempty"`
	Losses      []lossSummary `json:"losses,omitempty"`
}

// lossSummary is nodes that leave the cluster.
type lossSummary struct {
	Rack int     `json:"rack"`
	Node int     `json:"node,omitempty"` // of the rack; 0 is all of them
	AtS  float64 `json:"at_s"`
	ForS float64 `json:"for_s,omitempty"` // 0 is for ever
}

func (l *lossSummary) String() string {
	what := fmt.Sprintf("rack %d", l.Rack)
	if l.Node > 0 {
		what = fmt.Sprintf("node %d of rack %d", l.Node, l.Rack)
	}
	if l.ForS == 0 {
		return fmt.Sprintf("%s is lost at %g s", what, l.AtS)
	}
	return fmt.Sprintf("%s is lost at %g s for %g s", what, l.AtS, l.ForS)
}

// rackSummary describes racks that are alike; rates are of each direction.
type rackSummary struct {
	Racks       int                  `json:"racks"`
	Nodes       int                  `json:"nodes"`      // of each rack
	Containers  int                  `json:"containers"` // of each node, or slots of both kinds
	MapSlots    int                  `json:"map_slots,omitempty"`
	ReduceSlots int                  `json:"reduce_slots,omitempty"`
	Uplink      model.BytesPerSecond `json:"uplink_bytes_per_s"`
	NIC         model.BytesPerSecond `json:"nic_bytes_per_s"`
	Background  model.BytesPerSecond `json:"background_bytes_per_s"`
}

func summarizeCluster(c *sim.Cluster, p *sim.Params) clusterSummary {
	s := clusterSummary{
		Racks: len(c.Racks), Containers: c.Containers(), Block: c.Block, Replication: c.Replication, Writes: c.CrossRackWrites,
		HeartbeatS: p.Heartbeat.Seconds(), Slowstart: p.Slowstart, Straggler: p.Straggler, Slower: p.StragglerFactor, Speculation: p.Speculation,
	}
	if p.ParallelCopies != sim.DefaultParams().ParallelCopies {
		s.Copies = p.ParallelCopies
	}
	for _, l := range p.Losses {
		s.Losses = append(s.Losses, lossSummary{l.Rack, l.Node, l.At.Sub(0).Seconds(), l.For.Seconds()})
	}
	for i, r := range c.Racks {
		s.Nodes += r.Nodes
		if i > 0 && r == c.Racks[i-1] {
			s.Groups[len(s.Groups)-1].Racks++
			continue
		}
		s.Groups = append(s.Groups, rackSummary{
			Racks: 1, Nodes: r.Nodes, Containers: r.Containers + r.Slots.Maps + r.Slots.Reduces, MapSlots: r.Slots.Maps, ReduceSlots: r.Slots.Reduces,
			Uplink: r.Uplink.Out, NIC: r.NIC, Background: r.Background.Out,
		})
	}
	return s
}

func (c *clusterSummary) writesText() string {
	if c.Writes {
		return "copies of what is written cross racks"
	}
	return "copies of what is written do not cross racks"
}

const speculationText = "tasks that are late get an extra attempt"

func (c *clusterSummary) stragglersText() string {
	return fmt.Sprintf("%g %% of the attempts compute %g times as long", 100*c.Straggler, c.Slower)
}

func (c *clusterSummary) copiesText() string {
	return "a reduce fetches with " + several(c.Copies, "stream")
}

// several prints a number of things.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// String prints a group for people.
func (r *rackSummary) String() string {
	places := several(r.Containers, "container")
	if r.MapSlots > 0 {
		places = fmt.Sprintf("%d map and %s", r.MapSlots, several(r.ReduceSlots, "reduce slot"))
	}
	text := fmt.Sprintf("%s of %s of %s, uplinks %s, interfaces %s",
		several(r.Racks, "rack"), several(r.Nodes, "node"), places, configs.Rate(r.Uplink), configs.Rate(r.NIC))
	if r.Background > 0 {
		text += fmt.Sprintf(", %s of other traffic", configs.Rate(r.Background))
	}
	return text
}
