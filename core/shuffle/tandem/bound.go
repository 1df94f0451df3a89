package tandem

import (
	"cmp"
	"math"
	"slices"
)

// LowerBound returns what the response times of all jobs sum to at least, in
// seconds, whatever the schedule: the integral of max(qA, qB), where qA and qB
// are the queue lengths of two single servers that run SRPT on the map and on
// the shuffle work alone (§5.1.2; algorithms.md 2.2.8). It takes O(n log n).
//
// Both servers have the same arrivals, so that max(qA, qB) falls for the k-th
// time when both have let k jobs go.
func LowerBound(jobs []Arrival) float64 {
	byTime := slices.SortedFunc(slices.Values(jobs), func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	maps := departures(byTime, func(a *Arrival) float64 { return a.Map })
	shuffles := departures(byTime, func(a *Arrival) float64 { return a.Shuffle })
	sum := 0.0
	for k := range byTime {
		sum += max(maps[k], shuffles[k]) - byTime[k].At
	}
	return sum
}

// departures returns when jobs leave a single server that runs SRPT, in order
// of time. The jobs must be in order of arrival.
func departures(jobs []Arrival, size func(*Arrival) float64) []float64 {
	out := make([]float64, 0, len(jobs))
	var queue remainders
	now := 0.0
	for i := 0; i < len(jobs) || len(queue) > 0; {
		next := math.Inf(1)
		if i < len(jobs) {
			next = jobs[i].At
		}
		if len(queue) > 0 && now+queue[0] <= next {
			now += queue[0]
			out = append(out, now)
			queue.pop()
			continue
		}
		if len(queue) > 0 {
			queue[0] -= next - now // it stays the least
		}
		now = next
		queue.push(size(&jobs[i]))
		i++
	}
	return out
}

// remainders is a heap of the work jobs have left, the least first. SRPT serves
// the first alone, so that no other remainder ever changes.
type remainders []float64

func (h *remainders) push(work float64) {
	q := append(*h, work)
	for i := len(q) - 1; i > 0 && q[i] < q[(i-1)/2]; i = (i - 1) / 2 {
		q[i], q[(i-1)/2] = q[(i-1)/2], q[i]
	}
	*h = q
}

func (h *remainders) pop() {
	q := *h
	last := len(q) - 1
	q[0] = q[last]
	q = q[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if q[child] < q[least] {
				least = child
			}
		}
		if least == i {
			break
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
	*h = q
}
