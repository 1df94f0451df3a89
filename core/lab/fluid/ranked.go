package fluid

import (
	"math"

	"heddle/core/policy/num/schedule"
)

// ranked is a system of policies that serve jobs one after the other, by key.
// At any instant a handful of jobs are served and all others stand still, so
// that an event costs a few moves in heaps.
type ranked struct {
	p1, p2    laneSet
	hasSecond bool // NUM: p2 counts
	theta     float64
	jobs      []schedule.Job // by number
	shuffle   order          // jobs with a buffer, by P1's key
	ratios    order          // jobs in the map queue, the largest R first
	served    []service      // in this interval
	done      []int
	reported  []int // done before, as leave returned them
	count     int
	ready     float64 // shuffle work in all buffers
}

// laneSet is a policy's lanes of the map queue.
type laneSet struct {
	policy schedule.Schedule
	lanes  []order
}

// service is what a job gets in an interval.
type service struct {
	job         int
	key         float64 // in the shuffle queue
	share, rate float64
}

func newRanked(p Policy, n int) *ranked {
	s := &ranked{
		p1: newLaneSet(p.P1, n), hasSecond: p.P2 != "", theta: p.Theta,
		jobs: make([]schedule.Job, n), shuffle: newOrder(n), ratios: newOrder(n),
	}
	if s.hasSecond {
		s.p2 = newLaneSet(p.P2, n)
	}
	return s
}

func newLaneSet(p schedule.Schedule, n int) laneSet {
	out := laneSet{policy: p, lanes: make([]order, p.Lanes())}
	for i := range out.lanes {
		out.lanes[i] = newOrder(n)
	}
	return out
}

func (s *ranked) jobCount() int { return s.count }

func (s *ranked) buffered() float64 { return s.ready }

func (s *ranked) arrive(number int, j schedule.Job) {
	s.jobs[number] = j
	s.count++
	if j.Ready() {
		s.ready += j.Buffer
	}
	if j.Mapping() {
		s.ratios.set(number, -j.Ratio)
	}
	s.updateOrders(number)
}

// updateOrders puts a job whose work changed where it belongs, and lists it when it is
// done.
func (s *ranked) updateOrders(job int) {
	j := &s.jobs[job]
	s.p1.updateLanes(job, j)
	s.p2.updateLanes(job, j)
	if !j.Mapping() {
		s.ratios.remove(job)
	}
	if j.Ready() {
		s.shuffle.set(job, s.p1.policy.ShuffleKey(j))
		return
	}
	s.shuffle.remove(job)
	if !j.Mapping() {
		s.done = append(s.done, job)
		s.count--
	}
}

func (p *laneSet) updateLanes(job int, j *schedule.Job) {
	for lane := range p.lanes {
		key, ok := p.policy.MapKey(lane, j)
		if ok && j.Mapping() {
			p.lanes[lane].set(job, key)
		} else {
			p.lanes[lane].remove(job)
		}
	}
}

// advance implements system.
func (s *ranked) advance(most float64) (seconds, utilization float64) {
	s.divideMaps()
	used := s.divideShuffle()
	utilization = 1.0
	if best := s.bestUtilization(); best > 0 {
		utilization = min(used/best, 1)
	}
	for _, v := range s.served {
		most = min(most, untilEvent(&s.jobs[v.job], v.share, v.rate))
	}
	for _, v := range s.served {
		j := &s.jobs[v.job]
		if j.Ready() {
			s.ready -= j.Buffer
		}
		serve(j, v.share, v.rate, most)
		if j.Ready() {
			s.ready += j.Buffer
		}
		s.updateOrders(v.job)
	}
	if s.shuffle.heap.Len() == 0 {
		s.ready = 0 // and not what rounding left
	}
	return most, utilization
}

func (s *ranked) takeFinished() []int {
	s.done, s.reported = s.reported[:0], s.done
	return s.reported
}

// bestUtilization returns the network utilisation of UOPT in this state, as
// tandem.BestUtilization does.
func (s *ranked) bestUtilization() float64 {
	if s.shuffle.heap.Len() > 0 {
		return 1
	}
	largest, ok := s.ratios.first()
	if !ok {
		return 0
	}
	return min(-largest.key, 1)
}

// divideMaps gives the map capacity to the first jobs of the lanes (algorithms.md
// 2.2.2 to 2.2.4, 2.2.6).
func (s *ranked) divideMaps() {
	s.served = s.served[:0]
	alpha := 1.0
	if s.hasSecond {
		alpha = schedule.Alpha(s.ready, s.p1.output(s.jobs), s.p2.output(s.jobs), s.theta)
		s.divideByPolicy(&s.p2, 1-alpha)
	}
	s.divideByPolicy(&s.p1, alpha)
}

// busyLanes returns how many lanes have a job.
func (p *laneSet) busyLanes() int {
	n := 0
	for lane := range p.lanes {
		if p.lanes[lane].heap.Len() > 0 {
			n++
		}
	}
	return n
}

// output returns the rate at which the policy's maps would put out shuffle work.
func (p *laneSet) output(jobs []schedule.Job) float64 {
	sum := 0.0
	for lane := range p.lanes {
		if first, ok := p.lanes[lane].first(); ok {
			sum += jobs[first.job].Ratio
		}
	}
	return sum / float64(max(p.busyLanes(), 1))
}

// divideByPolicy divides a part of the map capacity by one policy.
func (s *ranked) divideByPolicy(p *laneSet, part float64) {
	if part <= 0 {
		return
	}
	part /= float64(max(p.busyLanes(), 1))
	for lane := range p.lanes {
		if first, ok := p.lanes[lane].first(); ok {
			s.shareOf(first.job).share += part
		}
	}
}

// shareOf returns what a job gets, to be added to.
func (s *ranked) shareOf(job int) *service {
	for i := range s.served {
		if s.served[i].job == job {
			return &s.served[i]
		}
	}
	s.served = append(s.served, service{job: job, key: s.p1.policy.ShuffleKey(&s.jobs[job])})
	return &s.served[len(s.served)-1]
}

// divideShuffle gives the shuffle capacity to the jobs in order of P1's key. The
// first with a buffer takes all that those before it, who are limited to what
// their maps put out, leave. It returns the rate of all.
func (s *ranked) divideShuffle() float64 {
	if first, ok := s.shuffle.first(); ok {
		s.shareOf(first.job)
	}
	s.sortServed()
	left := 1.0
	for i := range s.served {
		v := &s.served[i]
		j := &s.jobs[v.job]
		demand := math.Inf(1)
		if !j.Ready() {
			demand = v.share * j.Ratio
		}
		v.rate = min(demand, left)
		left -= v.rate
	}
	return 1 - left
}

// sortServed sorts by key, ties by number. There are five at most.
func (s *ranked) sortServed() {
	for i := 1; i < len(s.served); i++ {
		for k := i; k > 0 && (keyed{s.served[k].key, s.served[k].job}).before(keyed{s.served[k-1].key, s.served[k-1].job}); k-- {
			s.served[k], s.served[k-1] = s.served[k-1], s.served[k]
		}
	}
}
