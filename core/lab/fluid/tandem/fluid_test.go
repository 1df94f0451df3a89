package tandem_test

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/policy/num/schedule"

	"heddle/core/lab/fluid/tandem"
)

// fluid runs jobs under a schedule that is looked at anew at every arrival, end
// of a job's maps, and end of a buffer.
type fluid struct {
	jobs          []schedule.Job
	since         []float64 // when each arrived
	shares, rates []float64
}

// responses returns what the response times of all jobs sum to.
func responses(s tandem.Scheduler, arrivals []schedule.Arrival) float64 {
	arrivals = slices.SortedStableFunc(slices.Values(arrivals), func(a, b schedule.Arrival) int { return cmp.Compare(a.At, b.At) })
	var f fluid
	now, sum, next := 0.0, 0.0, 0
	for next < len(arrivals) || len(f.jobs) > 0 {
		until := math.Inf(1)
		if next < len(arrivals) {
			until = arrivals[next].At
		}
		f.shares = s.MapShares(f.shares, f.jobs)
		f.rates = s.ShuffleRates(f.rates, f.jobs, f.shares)
		now += f.pass(until - now)
		for next < len(arrivals) && arrivals[next].At <= now {
			f.jobs, f.since = append(f.jobs, arrivals[next].Job()), append(f.since, arrivals[next].At)
			next++
		}
		sum += f.leave(now)
	}
	return sum
}

// pass lets time go on to the next event, at most so long, and returns how long.
func (f *fluid) pass(most float64) float64 {
	dt := most
	for i := range f.jobs {
		j := &f.jobs[i]
		if f.shares[i] > 0 {
			dt = min(dt, j.Map/f.shares[i])
		}
		if drain := f.rates[i] - f.shares[i]*j.Ratio; j.Ready() && drain > 0 {
			dt = min(dt, j.Buffer/drain)
		}
	}
	dt = max(dt, 0)
	for i := range f.jobs {
		j := &f.jobs[i]
		j.Map = max(j.Map-f.shares[i]*dt, 0)
		j.Buffer = max(j.Buffer+(f.shares[i]*j.Ratio-f.rates[i])*dt, 0)
	}
	return dt
}

// leave takes out the jobs that are done and returns the sum of their responses.
func (f *fluid) leave(now float64) float64 {
	sum, kept := 0.0, 0
	for i := range f.jobs {
		if !f.jobs[i].Mapping() && !f.jobs[i].Ready() {
			sum += now - f.since[i]
			continue
		}
		f.jobs[kept], f.since[kept] = f.jobs[i], f.since[i]
		kept++
	}
	f.jobs, f.since = f.jobs[:kept], f.since[:kept]
	return sum
}
