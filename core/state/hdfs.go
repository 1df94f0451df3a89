package state

import (
	"slices"

	"heddle/core/model"
)

// Input is what is known of a job's input: its blocks and where they lie.
type Input struct {
	Known     bool // the blocks of every input path have been read
	Truncated bool // a limit was met: the blocks are a sample
	Bytes     model.Bytes
	Blocks    []InputBlock
	ByRack    []model.Bytes // bytes with a replica in the rack, by rack number

	byHost     map[string]int // blocks with a replica on the host
	rackBlocks []int          // blocks with a replica in the rack
}

// InputBlock is one block of a job's input.
type InputBlock struct {
	Length model.Bytes
	Racks  []int // distinct racks with a replica, by number, ascending
}

// RackMismatch is a host that ResourceManager, NameNode and the site's table do
// not put in one rack. A rack is empty where that source does not know the host.
type RackMismatch struct {
	Host            string       `json:"host"`
	ResourceManager model.RackID `json:"resource_manager"`
	NameNode        model.RackID `json:"name_node,omitempty"`
	Table           model.RackID `json:"table,omitempty"`
}

type hdfsState struct {
	inputs     map[string]*Input // by path as the job configuration spells it
	dataNodes  []model.DataNode
	blocks     []int64   // replicas by rack number, the NameNode's racks
	weights    []float64 // live DataNodes by rack number
	mismatches []RackMismatch
}

func (c *Cluster) applyDataNodes(f model.DataNodesFact) {
	c.hdfs.dataNodes = f.DataNodes
	c.hdfs.blocks, c.hdfs.weights = c.hdfs.blocks[:0:0], c.hdfs.weights[:0:0]
	for i := range f.DataNodes {
		d := &f.DataNodes[i]
		r := c.tree.Index(d.Rack)
		c.rack(r)
		if _, ok := c.tree.RackOf(d.Host); !ok {
			c.tree.Place(d.Host, d.Rack)
		}
		c.hdfs.blocks, c.hdfs.weights = grown(c.hdfs.blocks, r), grown(c.hdfs.weights, r)
		c.hdfs.blocks[r] += d.Blocks
		if d.Live {
			c.hdfs.weights[r]++
		}
	}
	c.compareRacks()
}

func (c *Cluster) applyBlocks(f model.BlocksFact) {
	in := &Input{Known: true, Truncated: f.Truncated, byHost: map[string]int{}, Blocks: make([]InputBlock, 0, len(f.Blocks))}
	for i := range f.Blocks {
		c.addBlock(in, &f.Blocks[i])
	}
	c.hdfs.inputs[f.Path] = in
	for _, j := range c.jobs.live {
		if slices.Contains(j.Conf.Inputs, f.Path) {
			c.joinInput(j)
			j.view = nil
		}
	}
	c.pruneInputs()
}

func (c *Cluster) addBlock(in *Input, b *model.Block) {
	racks := make([]int, 0, len(b.Hosts))
	for i, host := range b.Hosts {
		in.byHost[host]++
		r := c.hostRack(host, at(b.Racks, i))
		if !slices.Contains(racks, r) {
			racks = append(racks, r)
		}
	}
	slices.Sort(racks)
	in.add(InputBlock{Length: b.Length, Racks: racks})
}

func (in *Input) add(b InputBlock) {
	in.Blocks = append(in.Blocks, b)
	in.Bytes += b.Length
	for _, r := range b.Racks {
		in.ByRack, in.rackBlocks = grown(in.ByRack, r), grown(in.rackBlocks, r)
		in.ByRack[r] += b.Length
		in.rackBlocks[r]++
	}
}

// joinInput puts a job's input together from its paths. One path is shared as
// it is; several are joined.
func (c *Cluster) joinInput(j *Job) {
	switch len(j.Conf.Inputs) {
	case 0:
		j.Input = &Input{}
		return
	case 1:
		if in := c.hdfs.inputs[j.Conf.Inputs[0]]; in != nil {
			j.Input = in
		}
		return
	}
	joined := &Input{Known: true, byHost: map[string]int{}}
	for _, p := range j.Conf.Inputs {
		in := c.hdfs.inputs[p]
		if in == nil {
			joined.Known = false
			continue
		}
		joined.Truncated = joined.Truncated || in.Truncated
		for _, b := range in.Blocks {
			joined.add(b)
		}
		for host, n := range in.byHost { // order-free: sums
			joined.byHost[host] += n
		}
	}
	j.Input = joined
}

// maxIdleInputs is how many paths are remembered beyond those live jobs read.
const maxIdleInputs = 1000

// pruneInputs forgets paths no live job reads once there are many.
func (c *Cluster) pruneInputs() {
	if len(c.hdfs.inputs) <= maxIdleInputs {
		return
	}
	used := map[string]bool{}
	for _, j := range c.jobs.live {
		for _, p := range j.Conf.Inputs {
			used[p] = true
		}
	}
	for p := range c.hdfs.inputs { // order-free: each entry is judged on its own
		if !used[p] {
			delete(c.hdfs.inputs, p)
		}
	}
}
