package tandem

import "math"

// Policy is one of the schedules NUM is made of.
type Policy string

// The four policies. All but Fair serve the job with the least key of each of
// their lanes, ties by position, and pass what the first cannot use down.
const (
	// MaxSRPT serves the job with the least work left in its larger phase, in both queues
	// (algorithms.md 2.2.2).
	MaxSRPT Policy = "maxsrpt"
	// SplitSRPT gives half the map capacity to the map-heavy job with the least map work left and half to the
	// shuffle-heavy job with the least shuffle work left; a class alone gets all. Its shuffle queue is SRPT. This
	// is inferred from Lin et al.'s proof and fits the paper's figures (algorithms.md 2.2.3).
	SplitSRPT Policy = "splitsrpt"
	// UOPT gives the map capacity to the job with the largest R (§4.1). The paper asks of its shuffle queue only
	// that it does not idle: here it is SRPT.
	UOPT Policy = "uopt"
	// Fair gives all jobs of a queue the same, max-min: what a job without a buffer cannot use goes to the
	// others (algorithms.md 2.2.5).
	Fair Policy = "psfair"
)

// Policies lists the policies in a fixed order.
func Policies() []Policy { return []Policy{MaxSRPT, SplitSRPT, UOPT, Fair} }

// Lanes returns into how many equal parts the policy divides the map capacity;
// the part of a lane without a job goes to the others. Fair has one, which its
// jobs share.
func (p Policy) Lanes() int {
	if p == SplitSRPT {
		return 2
	}
	return 1
}

// Shares reports whether the jobs of a lane share it, instead of the one with
// the least key having all.
func (p Policy) Shares() bool { return p == Fair }

// MapKey returns a job's key in a lane of the map queue, and whether the lane is
// for jobs like it.
func (p Policy) MapKey(lane int, j *Job) (key float64, ok bool) {
	switch p {
	case MaxSRPT:
		return j.Largest(), true
	case SplitSRPT:
		if lane == 0 {
			return j.Map, !j.ShuffleHeavy()
		}
		return j.Shuffle(), j.ShuffleHeavy()
	case UOPT:
		return -j.Ratio, true
	case Fair:
	}
	return 0, true
}

// ShuffleKey returns a job's key in the shuffle queue.
func (p Policy) ShuffleKey(j *Job) float64 {
	switch p {
	case MaxSRPT:
		return j.Largest()
	case SplitSRPT, UOPT:
		return j.Shuffle()
	case Fair:
	}
	return 0
}

// MapShares implements Scheduler.
func (p Policy) MapShares(dst []float64, jobs []Job) []float64 {
	dst = zeroed(dst, len(jobs))
	taken := 0
	for lane := range p.Lanes() {
		if n := p.fill(dst, jobs, lane); n > 0 {
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
func (p Policy) fill(shares []float64, jobs []Job, lane int) int {
	if p.Shares() {
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
		if key, ok := p.MapKey(lane, &jobs[i]); ok && jobs[i].Mapping() && (best < 0 || key < least) {
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
func (p Policy) ShuffleRates(dst []float64, jobs []Job, shares []float64) []float64 {
	dst = zeroed(dst, len(jobs))
	if p.Shares() {
		level(dst, jobs, shares)
		return dst
	}
	left := 1.0
	for last, at := math.Inf(-1), -1; left > 0; {
		next, least := -1, math.Inf(1)
		for i := range jobs { // the first job after the last one served, in order of key and position
			key := p.ShuffleKey(&jobs[i])
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
func demand(j *Job, share float64) float64 {
	if j.Ready() {
		return 1
	}
	return min(share*j.Ratio, 1)
}

// level divides a capacity of 1 max-min fairly: everyone gets what he asks for,
// or the same as all others who do not.
func level(rates []float64, jobs []Job, shares []float64) {
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
