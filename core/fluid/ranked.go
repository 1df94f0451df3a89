package fluid

import (
	"math"

	"heddle/core/shuffle/tandem"
)

// ranked is a system of policies that serve jobs one after the other, by key.
// At any instant a handful of jobs are served and all others stand still, so
// that an event costs a few moves in heaps.
type ranked struct {
	p1, p2  side
	mixed   bool // NUM: p2 counts
	theta   float64
	jobs    []tandem.Job // by number
	shuffle order        // jobs with a buffer, by P1's key
	ratios  order        // jobs in the map queue, the largest R first
	served  []service    // in this interval
	done    []int
	left    []int // done before, as leave returned them
	count   int
	ready   float64 // shuffle work in all buffers
}

// side is a policy's lanes of the map queue.
type side struct {
	policy tandem.Policy
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
		p1: newSide(p.P1, n), mixed: p.P2 != "", theta: p.Theta,
		jobs: make([]tandem.Job, n), shuffle: newOrder(n), ratios: newOrder(n),
	}
	if s.mixed {
		s.p2 = newSide(p.P2, n)
	}
	return s
}

func newSide(p tandem.Policy, n int) side {
	out := side{policy: p, lanes: make([]order, p.Lanes())}
	for i := range out.lanes {
		out.lanes[i] = newOrder(n)
	}
	return out
}

func (s *ranked) inside() int { return s.count }

func (s *ranked) buffered() float64 { return s.ready }

func (s *ranked) arrive(number int, j tandem.Job) {
	s.jobs[number] = j
	s.count++
	if j.Ready() {
		s.ready += j.Buffer
	}
	if j.Mapping() {
		s.ratios.set(number, -j.Ratio)
	}
	s.sort(number)
}

// sort puts a job whose work changed where it belongs, and lists it when it is
// done.
func (s *ranked) sort(job int) {
	j := &s.jobs[job]
	s.p1.sort(job, j)
	s.p2.sort(job, j)
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

func (p *side) sort(job int, j *tandem.Job) {
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
	if best := s.best(); best > 0 {
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
		s.sort(v.job)
	}
	if len(s.shuffle.heap) == 0 {
		s.ready = 0 // and not what rounding left
	}
	return most, utilization
}

func (s *ranked) leave() []int {
	s.done, s.left = s.left[:0], s.done
	return s.left
}

// best returns the network utilisation of UOPT in this state, as
// tandem.BestUtilization does.
func (s *ranked) best() float64 {
	if len(s.shuffle.heap) > 0 {
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
	if s.mixed {
		alpha = tandem.Alpha(s.ready, s.p1.output(s.jobs), s.p2.output(s.jobs), s.theta)
		s.give(&s.p2, 1-alpha)
	}
	s.give(&s.p1, alpha)
}

// taken returns how many lanes have a job.
func (p *side) taken() int {
	n := 0
	for lane := range p.lanes {
		if len(p.lanes[lane].heap) > 0 {
			n++
		}
	}
	return n
}

// output returns the rate at which the policy's maps would put out shuffle work.
func (p *side) output(jobs []tandem.Job) float64 {
	sum := 0.0
	for lane := range p.lanes {
		if first, ok := p.lanes[lane].first(); ok {
			sum += jobs[first.job].Ratio
		}
	}
	return sum / float64(max(p.taken(), 1))
}

// give divides a part of the map capacity by one policy.
func (s *ranked) give(p *side, part float64) {
	if part <= 0 {
		return
	}
	part /= float64(max(p.taken(), 1))
	for lane := range p.lanes {
		if first, ok := p.lanes[lane].first(); ok {
			s.service(first.job).share += part
		}
	}
}

// service returns what a job gets, to be added to.
func (s *ranked) service(job int) *service {
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
		s.service(first.job)
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
