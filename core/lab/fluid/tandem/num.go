package tandem

import "heddle/core/policy/num/schedule"

// NUM is NUM(P1, P2, theta): P1, which is good for response time, with as much
// of P2, which is good for the network, as keeps the network busy. It belongs
// to one goroutine.
type NUM struct {
	P1, P2 schedule.Schedule
	Theta  float64 // the most of the map capacity that P2 gets, 0..1

	second []float64
}

var (
	_ Scheduler = Single{}
	_ Scheduler = (*NUM)(nil)
)

// MapShares implements Scheduler: alpha S_P1 + (1 - alpha) S_P2.
func (n *NUM) MapShares(dst []float64, jobs []schedule.Job) []float64 {
	dst = Single{n.P1}.MapShares(dst, jobs)
	n.second = Single{n.P2}.MapShares(n.second, jobs)
	alpha := schedule.Alpha(Buffered(jobs), Output(jobs, dst), Output(jobs, n.second), n.Theta)
	for i := range dst {
		dst[i] = alpha*dst[i] + (1-alpha)*n.second[i]
	}
	return dst
}

// ShuffleRates implements Scheduler: the shuffle always follows P1.
func (n *NUM) ShuffleRates(dst []float64, jobs []schedule.Job, shares []float64) []float64 {
	return Single{n.P1}.ShuffleRates(dst, jobs, shares)
}
