// Package inputs indexes where the inputs of jobs lie: the blocks of every path
// that was read from the NameNode, by host and rack.
package inputs

import (
	"cmp"
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// Input is what is known of a job's input: its blocks and where they lie.
type Input struct {
	// Known is that the blocks of every path have been read. Else they are those of some paths, or derived from the asks
	// for maps, which do not tell how long a block is: each counts one byte.
	Known     bool
	Truncated bool // a limit was met: the blocks are a sample
	Bytes     model.Bytes
	Blocks    []Block
	ByRack    []model.Bytes // bytes with a replica in the rack, by rack number

	onHost map[nodes.Host]int // blocks with a replica on the host
	inRack []int              // blocks with a replica in the rack
}

// Block is one block of a job's input.
type Block struct {
	Length model.Bytes
	Racks  []int // distinct racks with a replica, by number, ascending
}

// Size returns the bytes of the input; false while they are not known.
func (in *Input) Size() (model.Bytes, bool) { return in.Bytes, in.Known && len(in.Blocks) > 0 }

// SizeOn returns the bytes with a replica in a rack, 0 while they are not known.
func (in *Input) SizeOn(rack int) model.Bytes {
	if !in.Known {
		return 0
	}
	return topology.At(in.ByRack, rack)
}

// OnHost returns how many blocks have a replica on a host, by host.
func (in *Input) OnHost() map[nodes.Host]int { return in.onHost }

// InRack returns how many blocks have a replica in a rack, by rack number.
func (in *Input) InRack() []int { return in.inRack }

// add adds a block to the sums by rack.
func (in *Input) add(b Block) {
	in.Blocks = append(in.Blocks, b)
	in.Bytes += b.Length
	for _, r := range b.Racks {
		in.ByRack, in.inRack = topology.Extend(in.ByRack, r), topology.Extend(in.inRack, r)
		in.ByRack[r] += b.Length
		in.inRack[r]++
	}
}

// addLocated adds a block as the NameNode lists it.
func (in *Input) addLocated(b *model.Block, hosts *nodes.Hosts) {
	racks := make([]int, 0, len(b.Hosts))
	for i, name := range b.Hosts {
		if host := hosts.Host(name); host != nodes.NoHost {
			in.onHost[host]++
		}
		r := hosts.RackOf(name, topology.At(b.Racks, i))
		if !slices.Contains(racks, r) {
			racks = append(racks, r)
		}
	}
	slices.Sort(racks)
	in.add(Block{Length: b.Length, Racks: racks})
}

// Assumed returns an input of blocks whose replicas sum to byRack. SAMP and Dawn go by the blocks' relative sizes
// alone; what they sum to is not known.
func Assumed(blocks int, byRack []int) *Input {
	racks := make([][]int, blocks)
	order := make([]int, 0, len(byRack))
	for r, n := range byRack {
		if n > 0 {
			order = append(order, r)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(byRack[b], byRack[a]) })
	next := 0
	for _, r := range order {
		for range min(byRack[r], blocks) {
			racks[next] = append(racks[next], r)
			next = (next + 1) % blocks
		}
	}
	in := &Input{onHost: map[nodes.Host]int{}}
	for _, of := range racks {
		slices.Sort(of)
		in.add(Block{Length: 1, Racks: of})
	}
	return in
}

// Index holds the inputs by path as job configurations spell it.
type Index struct {
	byPath map[string]*Input
	hosts  *nodes.Hosts
}

// NewIndex returns an index without paths.
func NewIndex(hosts *nodes.Hosts) *Index { return &Index{byPath: map[string]*Input{}, hosts: hosts} }

// Clone returns an index of the same paths, to which others can be added.
func (x *Index) Clone() *Index { return &Index{byPath: maps.Clone(x.byPath), hosts: x.hosts} }

// Apply replaces the blocks of one path.
func (x *Index) Apply(f model.BlocksFact) {
	in := &Input{Known: true, Truncated: f.Truncated, onHost: map[nodes.Host]int{}, Blocks: make([]Block, 0, len(f.Blocks))}
	for i := range f.Blocks {
		in.addLocated(&f.Blocks[i], x.hosts)
	}
	x.byPath[f.Path] = in
}

// Of returns the input of a job that reads some paths. It is shared by all that
// read one path, and nil for one path that has not been read.
func (x *Index) Of(paths []string) *Input {
	switch len(paths) {
	case 0:
		return &Input{}
	case 1:
		return x.byPath[paths[0]]
	}
	joined := &Input{Known: true, onHost: map[nodes.Host]int{}}
	for _, p := range paths {
		in := x.byPath[p]
		if in == nil {
			joined.Known = false
			continue
		}
		joined.Truncated = joined.Truncated || in.Truncated
		for _, b := range in.Blocks {
			joined.add(b)
		}
		for host, n := range in.onHost { // order-free: sums
			joined.onHost[host] += n
		}
	}
	return joined
}

// maxIdle is how many paths are remembered beyond those that live jobs read.
const maxIdle = 1000

// Prune forgets the paths that are not in use once there are many.
func (x *Index) Prune(used func() map[string]bool) {
	if len(x.byPath) <= maxIdle {
		return
	}
	live := used()
	maps.DeleteFunc(x.byPath, func(path string, _ *Input) bool { return !live[path] })
}
