package fluid

import (
	"math"

	"heddle/core/policy/num/schedule"

	"heddle/core/lab/fluid/tandem"
)

// scanned is a system that looks at every job at every event. It serves by any
// schedule, and is what the schedules of ranked are held to.
type scanned struct {
	by            tandem.Scheduler
	jobs          []schedule.Job // in order of arrival
	numbers       []int
	shares, rates []float64
	done          []int
}

func (s *scanned) arrive(number int, j schedule.Job) {
	s.jobs, s.numbers = append(s.jobs, j), append(s.numbers, number)
}

func (s *scanned) jobCount() int { return len(s.jobs) }

func (s *scanned) buffered() float64 { return tandem.Buffered(s.jobs) }

func (s *scanned) advance(most float64) (seconds, utilization float64) {
	s.shares = s.by.MapShares(s.shares, s.jobs)
	s.rates = s.by.ShuffleRates(s.rates, s.jobs, s.shares)
	utilization = min(tandem.RelativeUtilization(s.jobs, s.rates), 1)
	for i := range s.jobs {
		most = min(most, untilEvent(&s.jobs[i], s.shares[i], s.rates[i]))
	}
	for i := range s.jobs {
		serve(&s.jobs[i], s.shares[i], s.rates[i], most)
	}
	return most, utilization
}

func (s *scanned) takeFinished() []int {
	s.done = s.done[:0]
	kept := 0
	for i := range s.jobs {
		if finished(&s.jobs[i]) {
			s.done = append(s.done, s.numbers[i])
			continue
		}
		s.jobs[kept], s.numbers[kept] = s.jobs[i], s.numbers[i]
		kept++
	}
	s.jobs, s.numbers = s.jobs[:kept], s.numbers[:kept]
	return s.done
}

// untilEvent returns after how many seconds a job's maps or its buffer end.
func untilEvent(j *schedule.Job, share, rate float64) float64 {
	seconds := math.Inf(1)
	if share > 0 && j.Mapping() {
		seconds = j.Map / share
	}
	if drain := rate - share*j.Ratio; drain > 0 && j.Ready() {
		seconds = min(seconds, j.Buffer/drain)
	}
	return seconds
}

// serve lets a job's work pass for some seconds. Map work too small to count
// becomes shuffle work, so that none is lost.
func serve(j *schedule.Job, share, rate, seconds float64) {
	j.Map -= share * seconds
	j.Buffer = max(j.Buffer+(share*j.Ratio-rate)*seconds, 0)
	if !j.Mapping() {
		j.Buffer += max(j.Map, 0) * j.Ratio
		j.Map = 0
	}
}

func finished(j *schedule.Job) bool { return !j.Mapping() && !j.Ready() }
