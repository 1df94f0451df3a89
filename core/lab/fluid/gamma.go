package fluid

import (
	"errors"
	"fmt"
)

// Queue names one of the two queues.
type Queue string

// The queues.
const (
	MapQueue     Queue = "map"
	ShuffleQueue Queue = "shuffle"
)

// ErrNoMatch says that no factor on a capacity leads to the wanted response time.
var ErrNoMatch = errors.New("no capacity factor between 1/1024 and 1024 leads to the mean response time")

// Gamma returns the factor on the capacity of one queue with which the policy's
// mean response time comes down to target seconds: below 1 where it needs less
// than c to be as good (§5.4, "more for less"). It halves the interval until
// that is narrower than within, or ends with ErrNoMatch.
func Gamma(jobs []Job, c Capacity, p Policy, q Queue, m Match) (float64, error) {
	if q != MapQueue && q != ShuffleQueue {
		return 0, fmt.Errorf("queue %q: want %s or %s", q, MapQueue, ShuffleQueue)
	}
	if !(m.Target > 0) || !(m.Within > 0) {
		return 0, fmt.Errorf("target and width of the interval must be above 0, are %g s and %g", m.Target, m.Within)
	}
	enough := func(factor float64) (bool, error) {
		scaled := c
		if q == MapQueue {
			scaled.Map *= factor
		} else {
			scaled.Shuffle *= factor
		}
		r, err := Run(jobs, scaled, p)
		return r.Mean() <= m.Target, err
	}
	low, high, err := bracket(enough)
	for err == nil && high-low > m.Within {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break // as narrow as numbers get
		}
		var ok bool
		if ok, err = enough(middle); ok {
			high = middle
		} else {
			low = middle
		}
	}
	return high, err
}

// Match is what Gamma looks for.
type Match struct {
	Target float64 // mean response time in seconds
	Within float64 // width of the interval the factor is known to lie in
}

// bracket returns a factor that is not enough and one that is, the second at
// most twice the first.
func bracket(enough func(float64) (bool, error)) (low, high float64, err error) {
	const most = 1024
	ok, err := enough(1)
	if err != nil {
		return 0, 0, err
	}
	for factor := 1.0; factor < most && factor > 1.0/most; {
		next := factor * 2
		if ok {
			next = factor / 2
		}
		then, err := enough(next)
		if err != nil {
			return 0, 0, err
		}
		if then != ok {
			return min(factor, next), max(factor, next), nil
		}
		factor = next
	}
	return 0, 0, ErrNoMatch
}
