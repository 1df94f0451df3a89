// Package fluid runs jobs through the overlapping tandem queue model of
// MapReduce (Blanca, Shin: "Optimizing Network Usage in MapReduce Scheduling",
// §3, §5; algorithms.md 2.2): each job is map work that flows through the map
// queue and comes out as shuffle work for the second queue, both phases
// overlap, and a policy divides the two capacities among the jobs at every
// instant.
//
// What the policies do at an instant is package tandem's; here is what comes of
// it over time: response times, the lower bound no policy gets below, how well
// the network was used, and how much shuffle work piled up.
//
// Shares change at events only: an arrival, the end of a job's maps, the end of
// a buffer. That one job overtakes another in between, by work left, is not an
// event; it changes mean responses by less than 1 part in 10^4 (algorithms.md
// 2.2.1).
package fluid

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"heddle/core/policy/num/schedule"

	"heddle/core/lab/fluid/tandem"
)

// Job is one job of a run.
type Job struct {
	Arrival float64 // r, seconds, at least 0
	Map     float64 // x, map work in bytes
	Shuffle float64 // y, shuffle work in bytes
}

// Capacity is what the two queues serve.
type Capacity struct {
	Map     float64 // mu_m, bytes of map work a second
	Shuffle float64 // mu_s, bytes of shuffle work a second
}

// Result is what came of a run.
type Result struct {
	// Responses are the seconds from arrival to the end of both phases, one for each job, in the order the jobs
	// were given in. A job without any work takes 0.
	Responses []float64
	// Utilization is the mean relative network utilisation, 0..1, over the time from the first arrival to the
	// last end; without a job that could use the network it counts as 1 (§4.1; algorithms.md 2.2.7).
	Utilization float64
	// MaxBuffer is the most shuffle work, in seconds of the shuffle capacity, that was ready and not yet served,
	// over all jobs together: the paper's network congestion (§5.2.1).
	MaxBuffer float64
	Events    int // how often shares were recomputed
}

// Mean returns the mean response time in seconds, 0 without jobs.
func (r Result) Mean() float64 { return mean(r.Responses) }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// Run lets all jobs through both queues. It takes O(log n) an event with n jobs
// inside, and O(n) where Fair has a part in the policy.
func Run(jobs []Job, c Capacity, p Policy) (Result, error) {
	if err := errors.Join(p.Validate(), c.validate(jobs)); err != nil {
		return Result{}, err
	}
	order := byArrival(jobs)
	arrivals := c.arrivals(jobs, order)
	r := run{arrivals: arrivals, responses: make([]float64, len(arrivals))}
	r.simulate(p.system(len(arrivals)))
	out := Result{Responses: make([]float64, len(jobs)), Utilization: 1, MaxBuffer: r.maxBuffer, Events: r.events}
	for at, i := range order {
		out.Responses[i] = r.responses[at]
	}
	if len(jobs) > 0 && r.now > arrivals[0].At {
		out.Utilization = r.utilizationSum / (r.now - arrivals[0].At)
	}
	return out, nil
}

// LowerBound returns the mean response time in seconds that no policy gets
// below, 0 without jobs (§5.1.2; algorithms.md 2.2.8).
func LowerBound(jobs []Job, c Capacity) (float64, error) {
	if err := c.validate(jobs); err != nil {
		return 0, err
	}
	return tandem.LowerBound(c.arrivals(jobs, byArrival(jobs))) / float64(max(len(jobs), 1)), nil
}

// maxSeconds is the longest time anything may take or come at, some 30,000
// years: with more, seconds are too coarse to add up.
const maxSeconds = 1e12

// validate reports capacities that make no sense, or else the first job that
// does not.
func (c Capacity) validate(jobs []Job) error {
	var errs []error
	for _, f := range []struct {
		name  string
		value float64
	}{{"map", c.Map}, {"shuffle", c.Shuffle}} {
		if !(f.value > 0) || math.IsInf(f.value, 1) { // a NaN is refused too
			errs = append(errs, fmt.Errorf("%s capacity: must be above 0 and finite, is %g", f.name, f.value))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for i, j := range jobs {
		for _, v := range []float64{j.Arrival, j.Map / c.Map, j.Shuffle / c.Shuffle} {
			if !(v >= 0 && v <= maxSeconds) {
				return fmt.Errorf("job %d: arrival, map and shuffle must be at least 0 and at most %g s of their capacity, are %g s, %g and %g",
					i, maxSeconds, j.Arrival, j.Map, j.Shuffle)
			}
		}
	}
	return nil
}

// byArrival returns the numbers of the jobs in order of arrival, ties as given.
func byArrival(jobs []Job) []int {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(jobs[a].Arrival, jobs[b].Arrival) })
	return order
}

// arrivals returns the jobs in seconds of the capacities, X = x/mu_m and
// Y = y/mu_s.
func (c Capacity) arrivals(jobs []Job, order []int) []schedule.Arrival {
	out := make([]schedule.Arrival, len(order))
	for at, i := range order {
		out[at] = schedule.Arrival{At: jobs[i].Arrival, Map: jobs[i].Map / c.Map, Shuffle: jobs[i].Shuffle / c.Shuffle}
	}
	return out
}

// system is the jobs that are inside, under one policy. Jobs are known by their
// number in order of arrival.
type system interface {
	// arrive lets a job in.
	arrive(number int, j schedule.Job)
	// inside returns how many jobs are in.
	jobCount() int
	// advance serves the jobs up to the next event, for at most so many seconds. It returns how long that was,
	// and the relative network utilisation meanwhile. Some job must be inside.
	advance(most float64) (seconds, utilization float64)
	// leave takes out the jobs that are done, and returns their numbers until the next call.
	takeFinished() []int
	// buffered returns the shuffle work that is ready, in seconds.
	buffered() float64
}

// run is one pass of the jobs through a system.
type run struct {
	arrivals  []schedule.Arrival
	responses []float64

	now            float64
	utilizationSum float64 // integral of the relative utilisation
	maxBuffer      float64 // the largest so far
	events         int
}

func (r *run) simulate(s system) {
	next := 0
	for next < len(r.arrivals) || s.jobCount() > 0 {
		if s.jobCount() == 0 {
			r.skipToArrival(next)
		} else {
			r.advance(s, next)
		}
		for next < len(r.arrivals) && r.arrivals[next].At <= r.now {
			s.arrive(next, r.arrivals[next].Job())
			next++
		}
		r.maxBuffer = max(r.maxBuffer, s.buffered())
		for _, number := range s.takeFinished() {
			r.responses[number] = r.now - r.arrivals[number].At
		}
	}
}

// skipToArrival goes on to the next arrival. Nothing could use the network until then.
func (r *run) skipToArrival(next int) {
	at := r.arrivals[next].At
	if next > 0 {
		r.utilizationSum += at - r.now
	}
	r.now = at
}

// advance goes on to the next event, at most to the next arrival.
func (r *run) advance(s system, next int) {
	until := math.Inf(1)
	if next < len(r.arrivals) {
		until = r.arrivals[next].At
	}
	seconds, utilization := s.advance(until - r.now)
	r.utilizationSum += seconds * utilization
	r.events++
	if r.now+seconds >= until {
		r.now = until
	} else {
		r.now += seconds
	}
}
