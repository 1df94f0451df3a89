package tandem

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/heap"
	"heddle/core/policy/num/schedule"
)

// LowerBound returns what the response times of all jobs sum to at least, in
// seconds, whatever the schedule: the integral of max(qA, qB), where qA and qB
// are the queue lengths of two single servers that run SRPT on the map and on
// the shuffle work alone (§5.1.2; algorithms.md 2.2.8). It takes O(n log n).
//
// Both servers have the same arrivals, so that max(qA, qB) falls for the k-th
// time when both have let k jobs go.
func LowerBound(jobs []schedule.Arrival) float64 {
	byTime := slices.SortedFunc(slices.Values(jobs), func(a, b schedule.Arrival) int { return cmp.Compare(a.At, b.At) })
	maps := departures(byTime, func(a *schedule.Arrival) float64 { return a.Map })
	shuffles := departures(byTime, func(a *schedule.Arrival) float64 { return a.Shuffle })
	sum := 0.0
	for k := range byTime {
		sum += max(maps[k], shuffles[k]) - byTime[k].At
	}
	return sum
}

// departures returns when jobs leave a single server that runs SRPT, in order
// of time. The jobs must be in order of arrival. SRPT serves the job with the least
// work left alone, so that no other remainder ever changes.
func departures(jobs []schedule.Arrival, size func(*schedule.Arrival) float64) []float64 {
	out := make([]float64, 0, len(jobs))
	queue := heap.New(func(a, b float64) bool { return a < b }) // the work jobs have left
	now := 0.0
	for i := 0; i < len(jobs) || queue.Len() > 0; {
		next := math.Inf(1)
		if i < len(jobs) {
			next = jobs[i].At
		}
		if queue.Len() > 0 && now+queue.First() <= next {
			now += queue.Pop()
			out = append(out, now)
			continue
		}
		if queue.Len() > 0 {
			queue.Set(0, queue.First()-(next-now)) // it stays the least
		}
		now = next
		queue.Push(size(&jobs[i]))
		i++
	}
	return out
}
