// Package shuffle computes how many bytes a shuffle sends across racks: map
// output by rack, the traffic of a candidate placement of the reduces, the
// closed-form optima and lower bounds of algorithms.md 4.2 and 4.3, and when an
// uplink counts as saturated (NetSat of ShuffleWatcher §3.1).
//
// Slices named by rack are indexed by topology.Tree's rack numbers; a slice may
// be shorter than the number of racks, the missing racks hold nothing.
package shuffle

import (
	"slices"

	"heddle/core/model"
)

// Total returns the sum of a slice of bytes.
func Total(byRack []model.Bytes) model.Bytes {
	var sum model.Bytes
	for _, b := range byRack {
		sum += b
	}
	return sum
}

// CrossRack returns the bytes that cross racks when reduces[r] of a job's
// reduces run on rack r and keys are hash-uniform: M - sum f_r M_r
// (algorithms.md 1.4). Without reduces it is 0.
func CrossRack(mapOutput []model.Bytes, reduces []int) model.Bytes {
	n := 0
	for _, c := range reduces {
		n += c
	}
	if n == 0 {
		return 0
	}
	stay := 0.0
	for r := range min(len(mapOutput), len(reduces)) {
		stay += float64(reduces[r]) / float64(n) * float64(mapOutput[r])
	}
	return Total(mapOutput) - model.Bytes(stay+0.5)
}

// Busiest returns the larger direction of the most loaded uplink in bytes:
// max over racks of max(M_r (1 - f_r), f_r (M - M_r)) (algorithms.md 1.4).
func Busiest(mapOutput []model.Bytes, reduces []int) model.Bytes {
	return model.Bytes(BusiestOf(floats(mapOutput), reduces) + 0.5)
}

// Apportion divides n indivisible tasks in proportion to weights by largest
// remainder: each rack gets its floor, then the largest fractions get one more,
// ties to the lower index. The result sums to n, or to 0 when no weight is
// positive (algorithms.md 2.1.1c).
func Apportion(weights []float64, n int) []int {
	out := make([]int, len(weights))
	apportion(out, make([]rest, 0, len(weights)), weights, n)
	return out
}

// rest is what of a rack's exact number of tasks its whole tasks fall short by.
type rest struct {
	rack int
	frac float64
}

// apportion is Apportion into out, which is all zeros. It returns rests, whose memory it uses.
func apportion(out []int, rests []rest, weights []float64, n int) []rest {
	rests = rests[:0]
	total := 0.0
	for _, w := range weights {
		total += max(w, 0)
	}
	if total <= 0 || n <= 0 {
		return rests
	}
	given := 0
	for r, w := range weights {
		if w <= 0 {
			continue
		}
		exact := w / total * float64(n)
		out[r] = int(exact)
		// A sum of shares that is a whole number may come out a hair below it.
		if exact-float64(out[r]) > 1-1e-9 {
			out[r]++
		}
		given += out[r]
		rests = append(rests, rest{r, exact - float64(out[r])})
	}
	slices.SortFunc(rests, func(a, b rest) int {
		switch {
		case a.frac > b.frac:
			return -1
		case a.frac < b.frac:
			return 1
		}
		return a.rack - b.rack
	})
	for i := 0; given < n; i++ {
		out[rests[i%len(rests)].rack]++
		given++
	}
	return rests
}

// Proportional places n reduces in proportion to the map output of each rack:
// ShuffleWatcher's SARP, and the lowest busiest link on an idle symmetric
// network (algorithms.md 4.2b).
func Proportional(mapOutput []model.Bytes, n int) []int {
	return Apportion(floats(mapOutput), n)
}

// FewestBytes places all n reduces on the rack with most map output, the
// placement that sends the fewest bytes across racks (algorithms.md 4.2a);
// ties go to the lower index.
func FewestBytes(mapOutput []model.Bytes, n int) []int {
	out := make([]int, len(mapOutput))
	best := -1
	for r, b := range mapOutput {
		if b > 0 && (best < 0 || b > mapOutput[best]) {
			best = r
		}
	}
	if best >= 0 {
		out[best] = n
	}
	return out
}

// LowerBound returns the fewest bytes any scheduler sends across racks for one
// job with its replicas where they are (algorithms.md 4.3): the least over racks
// q of what the blocks without a replica on q cost, each the smaller of its own
// bytes and of what its map leaves. blocks[i] lists the racks of block i, least[i]
// is that smaller size. With blocks of one size it is (1 - cov_q) * min(input,
// shuffle), cov_q the part of them with a replica on q.
func LowerBound(blocks [][]int, least []model.Bytes) model.Bytes {
	var all, best model.Bytes
	covered := map[int]model.Bytes{}
	for b, racks := range blocks {
		all += least[b]
		for i, r := range racks {
			if !slices.Contains(racks[:i], r) {
				covered[r] += least[b]
			}
		}
	}
	for _, bytes := range covered { // order-free: a maximum
		best = max(best, bytes)
	}
	return all - best
}

func floats(b []model.Bytes) []float64 {
	out := make([]float64, len(b))
	for i, v := range b {
		out[i] = float64(v)
	}
	return out
}
