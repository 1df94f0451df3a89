// Package schedule holds the schedules NUM is made of and the rule that mixes
// two of them: MaxSRPT, SplitSRPT, UOPT, Fair and alpha of NUM(P1, P2, theta)
// (Blanca, Shin: "Optimizing Network Usage in MapReduce Scheduling", after Lin,
// Tan, Wierman, Zhang: "Joint optimization of overlapping phases in MapReduce";
// algorithms.md 2.2).
//
// A job is map work that flows through the map queue and comes out as shuffle
// work for the second queue. Both phases overlap. All work is in seconds of the
// whole capacity of its queue, X = x/mu_m and Y = y/mu_s, so that both
// capacities are 1 and the inequalities of the paper hold as printed with
// R = Y/X in place of y/x. Reduces are not part of the model.
//
// Everything here is a function of a job's state at one instant. Nothing knows
// of clusters, tasks or time.
package schedule

import (
	"errors"
	"fmt"
	"slices"
)

// Schedule is one of the schedules NUM is made of.
type Schedule string

// The four schedules. All but Fair serve the job with the least key of each of
// their lanes, ties by position, and pass what the first cannot use down.
const (
	// MaxSRPT serves the job with the least work left in its larger phase, in both queues
	// (algorithms.md 2.2.2).
	MaxSRPT Schedule = "maxsrpt"
	// SplitSRPT gives half the map capacity to the map-heavy job with the least map work left and half to the
	// shuffle-heavy job with the least shuffle work left; a class alone gets all. Its shuffle queue is SRPT. This
	// is inferred from Lin et al.'s proof and fits the paper's figures (algorithms.md 2.2.3).
	SplitSRPT Schedule = "splitsrpt"
	// UOPT gives the map capacity to the job with the largest R (§4.1). The paper asks of its shuffle queue only
	// that it does not idle: here it is SRPT.
	UOPT Schedule = "uopt"
	// Fair gives all jobs of a queue the same, max-min: what a job without a buffer cannot use goes to the
	// others (algorithms.md 2.2.5).
	Fair Schedule = "psfair"
)

// All lists the schedules in a fixed order.
func All() []Schedule { return []Schedule{MaxSRPT, SplitSRPT, UOPT, Fair} }

// Lanes returns into how many equal parts the schedule divides the map capacity;
// the part of a lane without a job goes to the others. Fair has one, which its
// jobs share.
func (s Schedule) Lanes() int {
	if s == SplitSRPT {
		return 2
	}
	return 1
}

// Shares reports whether the jobs of a lane share it, instead of the one with
// the least key having all.
func (s Schedule) Shares() bool { return s == Fair }

// MapKey returns a job's key in a lane of the map queue, and whether the lane is
// for jobs like it.
func (s Schedule) MapKey(lane int, j *Job) (key float64, ok bool) {
	switch s {
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
func (s Schedule) ShuffleKey(j *Job) float64 {
	switch s {
	case MaxSRPT:
		return j.Largest()
	case SplitSRPT, UOPT:
		return j.Shuffle()
	case Fair:
	}
	return 0
}

// Validate reports a P1, P2 or theta of NUM(P1, P2, theta) that is out of range.
func Validate(p1, p2 Schedule, theta float64) error {
	var errs []error
	for _, p := range []struct {
		key      string
		schedule Schedule
	}{{"p1", p1}, {"p2", p2}} {
		if !slices.Contains(All(), p.schedule) {
			errs = append(errs, fmt.Errorf("%s: want one of %v, is %q", p.key, All(), p.schedule))
		}
	}
	if !(theta >= 0 && theta <= 1) { // a NaN is refused too
		errs = append(errs, fmt.Errorf("theta: must be between 0 and 1, is %g", theta))
	}
	return errors.Join(errs...)
}

// Alpha returns the part of the map capacity that NUM leaves to P1, given the
// shuffle work that is buffered over all jobs and the rates r1 and r2 at which
// the map schedules of P1 and P2 put out shuffle work (§4.2; algorithms.md
// 2.2.6):
//
//	1                    if anything is buffered or r1 >= r2: P1 keeps the network as busy as P2
//	0                    if r1 < r2 < 1: only P2 does
//	(r2 - 1)/(r2 - r1)   if r1 < 1 <= r2: the mix that puts out exactly 1
//
// and never less than 1 - theta. The paper's cases leave out 1 <= r1 < r2
// without a buffer, where P1 alone fills the network: 1 (Appendix B.10).
func Alpha(buffered, r1, r2, theta float64) float64 {
	alpha := 1.0
	switch {
	case buffered > Empty, r1 >= r2, r1 >= 1:
	case r2 < 1:
		alpha = 0
	default:
		alpha = (r2 - 1) / (r2 - r1)
	}
	return max(alpha, 1-theta)
}
