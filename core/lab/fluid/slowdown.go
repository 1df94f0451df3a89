package fluid

import (
	"cmp"
	"fmt"
	"slices"
)

// Bucket is the jobs of about one size.
type Bucket struct {
	Jobs     int
	Size     float64 // mean over the jobs of z = max(X, Y), what each takes alone, in seconds
	Slowdown float64 // mean over the jobs of response time over z, at least 1
}

// Slowdowns divides the jobs by size into buckets of equally many and returns
// the slowdown of each, the smallest jobs first (§5.3). Jobs without work are
// left out; with fewer jobs than buckets there are as many buckets as jobs.
func Slowdowns(jobs []Job, c Capacity, responses []float64, buckets int) ([]Bucket, error) {
	if len(responses) != len(jobs) || buckets < 1 {
		return nil, fmt.Errorf("slowdowns of %d jobs: want as many response times and at least one bucket, have %d and %d",
			len(jobs), len(responses), buckets)
	}
	type sized struct{ size, slowdown float64 }
	all := make([]sized, 0, len(jobs))
	for i, j := range jobs {
		if size := max(j.Map/c.Map, j.Shuffle/c.Shuffle); size > 0 {
			all = append(all, sized{size, responses[i] / size})
		}
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(a.size, b.size) })
	buckets = min(buckets, len(all))
	out := make([]Bucket, buckets)
	for k := range out {
		in := all[k*len(all)/buckets : (k+1)*len(all)/buckets]
		b := Bucket{Jobs: len(in)}
		for _, j := range in {
			b.Size += j.size / float64(len(in))
			b.Slowdown += j.slowdown / float64(len(in))
		}
		out[k] = b
	}
	return out, nil
}
