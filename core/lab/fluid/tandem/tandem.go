// Package tandem divides the capacities of NUM's overlapping tandem queues among
// jobs as fluid: the schedules of package schedule alone, and NUM(P1, P2, theta)
// (Blanca, Shin: "Optimizing Network Usage in MapReduce Scheduling";
// algorithms.md 2.2). LowerBound is what no schedule can beat.
package tandem

import "heddle/core/policy/num/schedule"

// Scheduler divides both capacities among the jobs of an instant.
type Scheduler interface {
	// MapShares returns each job's share of the map capacity, in dst if that is long enough. The shares sum to
	// 1 if any job is in the map queue.
	MapShares(dst []float64, jobs []schedule.Job) []float64
	// ShuffleRates returns the rate at which each job's shuffle is served, in dst if that is long enough, given
	// the shares of MapShares. No job gets more than it has: one without a buffer is limited to what its maps
	// put out. The capacity of 1 is used as far as there is work for it.
	ShuffleRates(dst []float64, jobs []schedule.Job, shares []float64) []float64
}

// zeroed returns n zeros, in dst if that is long enough.
func zeroed(dst []float64, n int) []float64 {
	if cap(dst) < n {
		return make([]float64, n)
	}
	dst = dst[:n]
	clear(dst)
	return dst
}

// Output returns the rate at which maps put out shuffle work.
func Output(jobs []schedule.Job, shares []float64) float64 {
	sum := 0.0
	for i := range jobs {
		sum += shares[i] * jobs[i].Ratio
	}
	return sum
}

// Buffered returns the shuffle work that is ready, over all jobs.
func Buffered(jobs []schedule.Job) float64 {
	sum := 0.0
	for i := range jobs {
		if jobs[i].Ready() {
			sum += jobs[i].Buffer
		}
	}
	return sum
}

// BestUtilization returns the network utilisation of UOPT in this state: 1 if
// anything is buffered, else the largest R of a job in the map queue, at most 1.
func BestUtilization(jobs []schedule.Job) float64 {
	best := 0.0
	for i := range jobs {
		if jobs[i].Ready() {
			return 1
		}
		if jobs[i].Mapping() {
			best = max(best, jobs[i].Ratio)
		}
	}
	return min(best, 1)
}

// RelativeUtilization returns the network utilisation at the given shuffle
// rates over UOPT's in the same state, 1 where UOPT's is 0 (§4.1).
func RelativeUtilization(jobs []schedule.Job, rates []float64) float64 {
	best := BestUtilization(jobs)
	if best == 0 {
		return 1
	}
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum / best
}
