package tandem

import (
	"math"

	"heddle/core/policy/num/schedule"
)

// Single serves by one schedule alone.
type Single struct{ schedule.Schedule }

// MapShares implements Scheduler.
func (s Single) MapShares(dst []float64, jobs []schedule.Job) []float64 {
	dst = zeroed(dst, len(jobs))
	taken := 0
	for lane := range s.Lanes() {
		if n := s.fill(dst, jobs, lane); n > 0 {
			taken++
		}
	}
	for i := range dst {
		dst[i] /= float64(max(taken, 1))
	}
	return dst
}

// fill divides a capacity of 1 among the jobs of a lane and returns how many
// jobs got a part of it.
func (s Single) fill(shares []float64, jobs []schedule.Job, lane int) int {
	if s.Shares() {
		n := 0
		for i := range jobs {
			if jobs[i].Mapping() {
				n++
			}
		}
		for i := range jobs {
			if jobs[i].Mapping() {
				shares[i] = 1 / float64(n)
			}
		}
		return n
	}
	best, least := -1, math.Inf(1)
	for i := range jobs {
		if key, ok := s.MapKey(lane, &jobs[i]); ok && jobs[i].Mapping() && (best < 0 || key < least) {
			best, least = i, key
		}
	}
	if best < 0 {
		return 0
	}
	shares[best] = 1
	return 1
}

// ShuffleRates implements Scheduler.
func (s Single) ShuffleRates(dst []float64, jobs []schedule.Job, shares []float64) []float64 {
	dst = zeroed(dst, len(jobs))
	if s.Shares() {
		level(dst, jobs, shares)
		return dst
	}
	left := 1.0
	for last, at := math.Inf(-1), -1; left > 0; {
		next, least := -1, math.Inf(1)
		for i := range jobs { // the first job after the last one served, in order of key and position
			key := s.ShuffleKey(&jobs[i])
			if (key > last || (key == last && i > at)) && (next < 0 || key < least) && demand(&jobs[i], shares[i]) > 0 {
				next, least = i, key
			}
		}
		if next < 0 {
			break
		}
		dst[next] = min(demand(&jobs[next], shares[next]), left)
		left -= dst[next]
		last, at = least, next
	}
	return dst
}

// demand returns the rate a job could be served at with a share of the map
// capacity: all there is while it has a buffer, else what its maps put out.
func demand(j *schedule.Job, share float64) float64 {
	if j.Ready() {
		return 1
	}
	return min(share*j.Ratio, 1)
}

// level divides a capacity of 1 max-min fairly: everyone gets what he asks for,
// or the same as all others who do not.
func level(rates []float64, jobs []schedule.Job, shares []float64) {
	left, open := 1.0, 0
	for i := range jobs {
		if demand(&jobs[i], shares[i]) > 0 {
			rates[i] = -1 // not settled
			open++
		}
	}
	for open > 0 {
		part, settled := left/float64(open), 0
		for i := range jobs {
			if d := demand(&jobs[i], shares[i]); rates[i] < 0 && d <= part {
				rates[i] = d
				left -= d
				settled++
			}
		}
		if settled == 0 {
			for i := range jobs {
				if rates[i] < 0 {
					rates[i] = part
				}
			}
			return
		}
		open -= settled
	}
}
