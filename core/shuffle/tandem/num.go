package tandem

import (
	"errors"
	"fmt"
	"slices"
)

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

// NUM is NUM(P1, P2, theta): P1, which is good for response time, with as much
// of P2, which is good for the network, as keeps the network busy. It belongs
// to one goroutine.
type NUM struct {
	P1, P2 Policy
	Theta  float64 // the most of the map capacity that P2 gets, 0..1

	second []float64
}

var (
	_ Scheduler = MaxSRPT
	_ Scheduler = (*NUM)(nil)
)

// Validate reports every setting that is out of range.
func (n *NUM) Validate() error {
	var errs []error
	for _, p := range []struct {
		key    string
		policy Policy
	}{{"p1", n.P1}, {"p2", n.P2}} {
		if !slices.Contains(Policies(), p.policy) {
			errs = append(errs, fmt.Errorf("%s: want one of %v, is %q", p.key, Policies(), p.policy))
		}
	}
	if !(n.Theta >= 0 && n.Theta <= 1) { // a NaN is refused too
		errs = append(errs, fmt.Errorf("theta: must be between 0 and 1, is %g", n.Theta))
	}
	return errors.Join(errs...)
}

// MapShares implements Scheduler: alpha S_P1 + (1 - alpha) S_P2.
func (n *NUM) MapShares(dst []float64, jobs []Job) []float64 {
	dst = n.P1.MapShares(dst, jobs)
	n.second = n.P2.MapShares(n.second, jobs)
	alpha := Alpha(Buffered(jobs), Output(jobs, dst), Output(jobs, n.second), n.Theta)
	for i := range dst {
		dst[i] = alpha*dst[i] + (1-alpha)*n.second[i]
	}
	return dst
}

// ShuffleRates implements Scheduler: the shuffle always follows P1.
func (n *NUM) ShuffleRates(dst []float64, jobs []Job, shares []float64) []float64 {
	return n.P1.ShuffleRates(dst, jobs, shares)
}
