package network

import "math"

// share is one flow, or several that share alike, to be given a rate: weight
// times its level. It crosses up to four links; -1 is none.
type share struct {
	links  [4]int32
	weight float64
	limit  float64 // of the level: rate cap over weight, +Inf for none
	level  float64 // the result
}

// fill gives every share its weighted max-min fair level: the largest such that
// raising one would lower another that is not larger (progressive filling:
// Bertsekas and Gallager, Data Networks, 6.5.2, with weights and caps). Levels
// of all shares rise together; a share stops at its limit, or when a link it
// crosses is full. capacity is by link, weights in scratch of the same length.
func fill(shares []share, capacity, rest, weight []float64) {
	copy(rest, capacity)
	open := make([]int, len(shares))
	for i := range shares {
		open[i] = i
	}
	for len(open) > 0 {
		level := next(shares, open, rest, weight)
		kept := open[:0]
		for _, i := range open {
			if s := &shares[i]; s.stops(level, rest, weight) {
				s.level = min(level, s.limit)
				continue
			}
			kept = append(kept, i)
		}
		settle(shares, capacity, rest, kept)
		open = kept
	}
}

// next returns the level at which the next share stops, with the weight of the
// open shares by link.
func next(shares []share, open []int, rest, weight []float64) float64 {
	clear(weight)
	level := math.Inf(1)
	for _, i := range open {
		level = min(level, shares[i].limit)
		for _, l := range shares[i].links {
			if l >= 0 {
				weight[l] += shares[i].weight
			}
		}
	}
	for l, w := range weight {
		if w > 0 {
			level = min(level, rest[l]/w)
		}
	}
	return level
}

// stops reports whether a share goes no higher than a level.
func (s *share) stops(level float64, rest, weight []float64) bool {
	if s.limit <= level {
		return true
	}
	for _, l := range s.links {
		if l >= 0 && rest[l]/weight[l] <= level {
			return true
		}
	}
	return false
}

// settle works out what is left of every link once the shares that are not open
// have theirs. It starts from the capacity each time, so that nothing drifts.
func settle(shares []share, capacity, rest []float64, open []int) {
	copy(rest, capacity)
	o := 0
	for i := range shares {
		if o < len(open) && open[o] == i {
			o++
			continue
		}
		for _, l := range shares[i].links {
			if l >= 0 {
				rest[l] = max(rest[l]-shares[i].level*shares[i].weight, 0)
			}
		}
	}
}
