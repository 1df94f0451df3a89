package sim

import (
	"math/rand/v2"
	"slices"

	"heddle/core/lab/workload"
)

// hdfs places blocks as the NameNode does by default: the first replica with
// the writer, the second on a node of another rack, the others on further nodes
// of the second's rack (BlockPlacementPolicyDefault; algorithms.md 1.2). What would
// be on a node that is lost is on another: the NameNode has made up for it.
type hdfs struct {
	layout      *layout
	replication int
	seed        uint64
	rand        *rand.Rand // of one job's files
}

// forJob returns what places the files that a job reads. They lie where they do under
// every policy, whatever else goes on by the time they are read.
func (h *hdfs) forJob(job int) hdfs {
	own := *h
	own.rand = rand.New(rand.NewPCG(h.seed, 1<<32+uint64(job))) //nolint:gosec // not below 0
	return own
}

// replicas appends the nodes of one block whose writer is a node.
func (h *hdfs) replicas(dst []int32, writer int) []int32 {
	dst = append(dst, int32(writer)) //nolint:gosec // of the cluster's nodes
	if h.replication == 1 {
		return dst
	}
	racks := len(h.layout.rackNodes)
	first := h.layout.nodes[writer].rack
	second := first
	if racks > 1 {
		second = h.rand.IntN(racks - 1)
		if second >= first {
			second++
		}
	}
	second = h.liveRackBeside(second, first)
	of := h.layout.rackNodes[second]
	from, left := h.rand.IntN(len(of)), h.replication-1
	for i := range of {
		n := int32(of[(from+i)%len(of)]) //nolint:gosec // of the cluster's nodes
		if int(n) == writer || h.layout.lostNodes > 0 && h.layout.nodes[n].losses > 0 {
			continue
		}
		dst = append(dst, n)
		if left--; left == 0 {
			break
		}
	}
	return dst
}

// writers returns a draw of the nodes that wrote the blocks of a file: over the
// whole cluster, over a few racks, or by shares of racks.
func (h *hdfs) writers(f *workload.File) func() int {
	racks := len(h.layout.rackNodes)
	switch f.Place {
	case workload.OnRacks:
		live := h.rand.Perm(racks)[:min(max(f.Racks, 1), racks)]
		i := 0
		return func() int { i++; return h.randomNode(live[i%len(live)]) }
	case workload.ByShares:
		upTo := make([]float64, 0, racks)
		sum := 0.0
		for r := range racks {
			if r < len(f.Shares) {
				sum += f.Shares[r]
			}
			upTo = append(upTo, sum)
		}
		return func() int {
			at := h.rand.Float64() * sum
			r, _ := slices.BinarySearch(upTo, at)
			return h.randomNode(min(r, racks-1))
		}
	case workload.OnNode:
		n := h.layout.rackNodes[f.Node.Rack-1][f.Node.Number-1]
		return func() int { return n }
	case workload.Everywhere, workload.OfParent:
	}
	return func() int { return h.liveNode(h.rand.IntN(len(h.layout.nodes))) }
}

// liveNode returns a node, or the next that is not lost.
func (h *hdfs) liveNode(n int) int {
	if h.layout.lostNodes == 0 || h.layout.lostNodes == len(h.layout.nodes) {
		return n
	}
	for h.layout.nodes[n].losses > 0 {
		n = (n + 1) % len(h.layout.nodes)
	}
	return n
}

// liveRackBeside returns a rack, or the next with a node that is not lost, beside
// another; the other if there is none.
func (h *hdfs) liveRackBeside(rack, other int) int {
	if h.layout.lostNodes == 0 {
		return rack
	}
	for range h.layout.rackNodes {
		if rack != other && slices.ContainsFunc(h.layout.rackNodes[rack], func(n int) bool { return h.layout.nodes[n].losses == 0 }) {
			return rack
		}
		rack = (rack + 1) % len(h.layout.rackNodes)
	}
	return other
}

func (h *hdfs) randomNode(rack int) int {
	of := h.layout.rackNodes[rack]
	return h.liveNode(of[h.rand.IntN(len(of))])
}
