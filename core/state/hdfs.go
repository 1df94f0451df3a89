package state

import (
	"slices"

	"heddle/core/model"
)

// Input is what is known of a job's input: its blocks and where they lie.
type Input struct {
	Known     bool // the blocks of every input path have been read; else those there are come from the asks for maps
	Truncated bool // a limit was met: the blocks are a sample
	Bytes     model.Bytes
	Blocks    []InputBlock
	ByRack    []model.Bytes // bytes with a replica in the rack, by rack number

	byHost     map[hostNumber]int // blocks with a replica on the host
	rackBlocks []int              // blocks with a replica in the rack
}

// InputBlock is one block of a job's input.
type InputBlock struct {
	Length model.Bytes
	Racks  []int // distinct racks with a replica, by number, ascending
}

// hdfsState is what the NameNode says: where inputs lie, and how full racks are.
type hdfsState struct {
	inputs  map[string]*Input // by path as the job configuration spells it
	blocks  []int64           // replicas by rack number, the NameNode's racks
	weights []float64         // live DataNodes by rack number
}

func (h *hdfsState) applyDataNodes(f model.DataNodesFact, nodes *nodeIndex) {
	h.blocks, h.weights = h.blocks[:0:0], h.weights[:0:0]
	for i := range f.DataNodes {
		d := &f.DataNodes[i]
		r := nodes.rack(d.Rack).Index
		h.blocks, h.weights = grown(h.blocks, r), grown(h.weights, r)
		h.blocks[r] += d.Blocks
		if d.Live {
			h.weights[r]++
		}
	}
}

// applyBlocks takes the blocks of one path, and gives them to the live jobs that read it.
func (h *hdfsState) applyBlocks(f model.BlocksFact, nodes *nodeIndex, live []*Job) {
	in := &Input{Known: true, Truncated: f.Truncated, byHost: map[hostNumber]int{}, Blocks: make([]InputBlock, 0, len(f.Blocks))}
	for i := range f.Blocks {
		in.addBlock(&f.Blocks[i], nodes)
	}
	h.inputs[f.Path] = in
	for _, j := range live {
		if slices.Contains(j.Conf.Inputs, f.Path) {
			h.joinInput(j)
			j.seat.view = nil
		}
	}
	h.pruneInputs(live)
}

func (in *Input) addBlock(b *model.Block, nodes *nodeIndex) {
	racks := make([]int, 0, len(b.Hosts))
	for i, host := range b.Hosts {
		if n := nodes.hosts.number(host); n != noHost {
			in.byHost[n]++
		}
		r := nodes.hostRack(host, at(b.Racks, i))
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
func (h *hdfsState) joinInput(j *Job) {
	h.join(j)
	if !j.Input.Known && j.told.asks.input != nil {
		j.Input = j.told.asks.input
	}
}

func (h *hdfsState) join(j *Job) {
	switch len(j.Conf.Inputs) {
	case 0:
		j.Input = &Input{}
		return
	case 1:
		if in := h.inputs[j.Conf.Inputs[0]]; in != nil {
			j.Input = in
		}
		return
	}
	joined := &Input{Known: true, byHost: map[hostNumber]int{}}
	for _, p := range j.Conf.Inputs {
		in := h.inputs[p]
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
func (h *hdfsState) pruneInputs(live []*Job) {
	if len(h.inputs) <= maxIdleInputs {
		return
	}
	used := map[string]bool{}
	for _, j := range live {
		for _, p := range j.Conf.Inputs {
			used[p] = true
		}
	}
	for p := range h.inputs { // order-free: each entry is judged on its own
		if !used[p] {
			delete(h.inputs, p)
		}
	}
}
