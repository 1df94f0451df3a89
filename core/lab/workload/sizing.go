package workload

import (
	"errors"
	"fmt"
	"math"

	"heddle/core/model"
)

// Sizing says what a trace of bytes leaves open: how jobs are cut into tasks,
// what a task costs, and where inputs lie.
type Sizing struct {
	Block model.Bytes // a map for every block of input
	// PerReduce is the shuffle and output bytes of one reduce.
	PerReduce model.Bytes
	// SWIMNodes, where it is not 0, bounds reduces as SWIM's replay does on a
	// cluster of so many nodes: see Reduces.
	SWIMNodes   int
	Racks       int     // that hold a job's input; 0 is all
	Skew        float64 // Zipf exponent of reduce partitions
	Map, Reduce Cost
	Container   model.Resource
}

// What no published trace says. NAS took task times from a run nobody can
// repeat (algorithms 3.3); these are plain numbers of the right size.
const (
	defaultPerReduce = model.GiB        // the reading under which algorithms 6 counts reduces
	taskStart        = 4 * model.Second // start of a container and its JVM, commit
	// mapPerGiB makes a map of 128 MiB take 20 s with its start, the task time
	// with which algorithms 3.3 reckons: 8 MiB/s on a core.
	mapPerGiB = 128 * model.Second
	// reducePerGiB is half of it: a reduce merges and writes what maps have parsed.
	reducePerGiB = 64 * model.Second
)

// minBlock is the smallest block HDFS admits (dfs.namenode.fs-limits.min-block-size).
const minBlock = model.MiB

// DefaultSizing returns 128 MiB a map, 1 GiB a reduce, inputs all over the
// cluster, even partitions, and containers of 1 GiB and one core, as the
// sample configuration of Hadoop's load simulator has them.
func DefaultSizing() Sizing {
	return Sizing{
		Block:     DefaultBlock,
		PerReduce: defaultPerReduce,
		Map:       Cost{Fixed: taskStart, PerGiB: mapPerGiB},
		Reduce:    Cost{Fixed: taskStart, PerGiB: reducePerGiB},
		Container: model.Resource{MemoryMiB: 1024, VCores: 1},
	}
}

// Validate checks the values that would make no tasks or too many.
func (z *Sizing) Validate() error {
	switch {
	case z.Block < minBlock || z.Block > MaxBytes:
		return fmt.Errorf("block size: want 1 MiB or more, is %d bytes", z.Block)
	case z.PerReduce < minBlock || z.PerReduce > MaxBytes:
		return fmt.Errorf("bytes per reduce: want 1 MiB or more, is %d", z.PerReduce)
	case z.SWIMNodes < 0 || z.Racks < 0:
		return errors.New("number of nodes and of racks: want 0 or more")
	}
	return nil
}

// Maps returns the number of maps that read so many bytes: one for every
// block, and one at least.
func (z *Sizing) Maps(input model.Bytes) int { return max(1, Blocks(input, z.Block)) }

// Reduces returns the number of reduces of a job, 0 if it shuffles nothing: the
// nearest whole number of PerReduce bytes in shuffle and output together, at
// least 1 (SWIM's rule, algorithms 3.3; output counts because a reduce that
// writes hundreds of GiB alone takes days). With SWIMNodes it is a fifth of the
// nodes where that exceeds the nodes, as SWIM has it. SWIM's floors under sizes
// are not part of it.
func (z *Sizing) Reduces(shuffle, output model.Bytes) int {
	if shuffle <= 0 {
		return 0
	}
	n := max(1, int(math.Round(float64(addCapped(shuffle, output))/float64(z.PerReduce))))
	if z.SWIMNodes > 0 && n > z.SWIMNodes {
		n = max(1, z.SWIMNodes/5)
	}
	return n
}

// Input returns the one file of a job, none if it is empty.
func (z *Sizing) Input(bytes model.Bytes) []File {
	switch {
	case bytes == 0:
		return nil
	case z.Racks > 0:
		return []File{{Bytes: bytes, Place: OnRacks, Racks: z.Racks}}
	}
	return []File{{Bytes: bytes}}
}

// MapReduce returns the stages of a MapReduce job: maps and reduces with one
// scatter-gather edge, or maps alone where nothing is shuffled. With shuffle 0
// the maps write the output.
func (z *Sizing) MapReduce(input []File, shuffle, output model.Bytes) []Stage {
	maps := Stage{Name: model.StageMap, Reads: input, Output: shuffle, Cost: z.Map, Container: z.Container}
	for i := range input {
		maps.Tasks += Blocks(input[i].Bytes, z.Block)
	}
	maps.Tasks = max(1, maps.Tasks)
	reduces := z.Reduces(shuffle, output)
	if reduces == 0 {
		maps.Output = output
		return []Stage{maps}
	}
	return []Stage{maps, {
		Name:      model.StageReduce,
		Tasks:     reduces,
		Edges:     []Edge{{From: 0, Kind: model.ScatterGather}},
		Output:    output,
		Cost:      z.Reduce,
		Container: z.Container,
		Skew:      z.Skew,
	}}
}
