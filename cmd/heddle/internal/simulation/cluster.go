package simulation

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs"
	"heddle/configs/strict"
	"heddle/core/lab/sim"
	"heddle/core/model"
	"heddle/core/topology"
)

// openCluster reads the cluster that a command line gives.
func openCluster(name string) (sim.Cluster, error) {
	c, err := DescribedCluster(name)
	if err != nil {
		return sim.Cluster{}, err
	}
	return newCluster(c), nil
}

// DescribedCluster reads the cluster that a command line gives: a file, or key=value pairs.
func DescribedCluster(name string) (*configs.Cluster, error) {
	ending := filepath.Ext(name)
	if strings.Contains(name, "=") && ending != ".yml" && ending != ".yaml" {
		c, err := configs.ParseCluster(name)
		if err != nil {
			return nil, exit.NewUsageError(err)
		}
		return c, nil
	}
	c, err := configs.ReadCluster(name)
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	return c, nil
}

// newCluster turns a cluster's description into one to simulate.
func newCluster(c *configs.Cluster) sim.Cluster {
	out := sim.Uniform(0, 0, 0, 0, 0)
	out.Block, out.Replication, out.BackgroundMoves = c.Block.Bytes(), c.Replication, c.BackgroundMoves.Model()
	both := func(r strict.Rate) topology.Link {
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

// ClusterSummary describes a cluster, and how Hadoop is set up on it, in a result.
type ClusterSummary struct {
	Racks       int           `json:"racks"`
	Nodes       int           `json:"nodes"`
	Containers  int           `json:"containers"` // or slots, of both kinds
	Groups      []RackSummary `json:"groups"`     // neighbouring racks that are alike
	Block       model.Bytes   `json:"block_bytes"`
	Replication int           `json:"replication"`
	Writes      bool          `json:"cross_rack_writes"`
	HeartbeatS  float64       `json:"heartbeat_s"`
	Slowstart   float64       `json:"slowstart"`
	Straggler   float64       `json:"straggler_part"`            // of all attempts
	Slower      float64       `json:"straggler_factor"`          // by which they compute longer
	Copies      int           `json:"parallel_copies,omitempty"` // 0 for Hadoop's default
	Speculation bool          `json:"speculation,omitempty"`
	Losses      []LossSummary `json:"losses,omitempty"`
	MovesS      float64       `json:"background_moves_s,omitempty"` // 0 for never
}

// LossSummary describes nodes that are lost.
type LossSummary struct {
	Rack int     `json:"rack"`
	Node int     `json:"node,omitempty"` // of the rack; 0 is all of them
	AtS  float64 `json:"at_s"`
	ForS float64 `json:"for_s,omitempty"` // 0 is for ever
}

func (l *LossSummary) String() string {
	what := fmt.Sprintf("rack %d", l.Rack)
	if l.Node > 0 {
		what = fmt.Sprintf("node %d of rack %d", l.Node, l.Rack)
	}
	if l.ForS == 0 {
		return fmt.Sprintf("%s is lost at %g s", what, l.AtS)
	}
	return fmt.Sprintf("%s is lost at %g s for %g s", what, l.AtS, l.ForS)
}

// RackSummary describes racks that are alike; rates are of each direction.
type RackSummary struct {
	Racks       int                  `json:"racks"`
	Nodes       int                  `json:"nodes"`      // of each rack
	Containers  int                  `json:"containers"` // of each node, or slots of both kinds
	MapSlots    int                  `json:"map_slots,omitempty"`
	ReduceSlots int                  `json:"reduce_slots,omitempty"`
	Uplink      model.BytesPerSecond `json:"uplink_bytes_per_s"`
	NIC         model.BytesPerSecond `json:"nic_bytes_per_s"`
	Background  model.BytesPerSecond `json:"background_bytes_per_s"`
}

func summarizeCluster(c *sim.Cluster, p *sim.Params) ClusterSummary {
	s := ClusterSummary{
		Racks: len(c.Racks), Containers: c.Containers(), Block: c.Block, Replication: c.Replication, Writes: c.CrossRackWrites,
		HeartbeatS: p.Heartbeat.Seconds(), Slowstart: p.Slowstart, Straggler: p.Straggler, Slower: p.StragglerFactor, Speculation: p.Speculation, MovesS: c.BackgroundMoves.Seconds(),
	}
	if p.ParallelCopies != sim.DefaultParams().ParallelCopies {
		s.Copies = p.ParallelCopies
	}
	for _, l := range p.Losses {
		s.Losses = append(s.Losses, LossSummary{l.Rack, l.Node, l.At.Sub(0).Seconds(), l.For.Seconds()})
	}
	for i, r := range c.Racks {
		s.Nodes += r.Nodes
		if i > 0 && r == c.Racks[i-1] {
			s.Groups[len(s.Groups)-1].Racks++
			continue
		}
		s.Groups = append(s.Groups, RackSummary{
			Racks: 1, Nodes: r.Nodes, Containers: r.Containers + r.Slots.Maps + r.Slots.Reduces, MapSlots: r.Slots.Maps, ReduceSlots: r.Slots.Reduces,
			Uplink: r.Uplink.Out, NIC: r.NIC, Background: r.Background.Out,
		})
	}
	return s
}

func (c *ClusterSummary) writesText() string {
	if c.Writes {
		return "writes replicate across racks"
	}
	return "writes replicate within their rack"
}

func (c *ClusterSummary) stragglersText() string {
	return fmt.Sprintf("%g %% of the attempts compute %g times as long", 100*c.Straggler, c.Slower)
}

func (c *ClusterSummary) copiesText() string {
	return "a reduce fetches with " + terminal.Count(c.Copies, "stream")
}

// String prints a group for people.
func (g *RackSummary) String() string {
	places := terminal.Count(g.Containers, "container")
	if g.MapSlots > 0 {
		places = fmt.Sprintf("%d map and %s", g.MapSlots, terminal.Count(g.ReduceSlots, "reduce slot"))
	}
	text := fmt.Sprintf("%s of %s of %s, uplinks %s, interfaces %s",
		terminal.Count(g.Racks, "rack"), terminal.Count(g.Nodes, "node"), places, linkSpeed(g.Uplink), linkSpeed(g.NIC))
	if g.Background > 0 {
		text += fmt.Sprintf(", %s of other traffic", linkSpeed(g.Background))
	}
	return text
}

// linkSpeed returns a rate in decimal bits per second, the unit of link speeds.
func linkSpeed(rate model.BytesPerSecond) string {
	bits := 8 * float64(rate)
	for _, u := range []struct {
		name string
		bits float64
	}{{"Tbps", 1e12}, {"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}} {
		if bits >= u.bits {
			return strconv.FormatFloat(bits/u.bits, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(bits, 'g', 4, 64) + "bps"
}
