package sim

import (
	"maps"
	"slices"

	"heddle/core/model"
)

// JobTraffic is what one job moved: its shuffle, what of that crossed racks by where its
// tasks ran, what its maps read from other racks, and over how many racks the
// output of its maps and its reduces lay, as many as if all of them had as much.
type JobTraffic struct {
	Shuffle, Crossed, Read model.Bytes
	Sources, Sinks         float64
}

// effectiveCount returns over how many racks something lies that is counted by rack: as
// many as it would be if all of them had as much (1 over the sum of the squares of
// the parts); 0 of nothing.
func effectiveCount[T int | model.Bytes](attempt []T) float64 {
	sum, squares := 0.0, 0.0
	for _, n := range attempt {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return ratio(sum*sum, squares)
}

// containerSeconds returns for how long containers were held, all together.
func (b *runStats) containerSeconds() float64 {
	sum := 0.0
	for _, id := range slices.Sorted(maps.Keys(b.users)) { // order-free: sorted
		sum += b.users[id].containerSeconds
	}
	return sum
}
