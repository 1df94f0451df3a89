// Package bounds holds what no schedule can do better than: lower bounds on the
// makespan and the mean response time of a run, from what its jobs take at least
// and what the cluster has (the bounds B1 to B5 of algorithms.md).
package bounds

import (
	"cmp"
	"slices"

	"heddle/core/policy/num/schedule"

	"heddle/core/lab/fluid/tandem"
	"heddle/core/model"
)

// Demand is the least a job takes, wherever its tasks run.
type Demand struct {
	Arrival   float64     // seconds; of a job that waits for others, the earliest it can be
	Waits     bool        // for other jobs: its response counts from when they are done
	CrossRack model.Bytes // the fewest bytes it sends across racks: LowerBound (algorithms.md 4.3)
	Work      float64     // seconds of containers, all its tasks together
	Maps      float64     // of these, its maps
	Path      float64     // seconds of its longest chain of tasks; for MapReduce the longest map and the longest reduce
}

// Supply is what a cluster has for its jobs.
type Supply struct {
	Uplinks    []model.BytesPerSecond // out of each rack, a_r; 0 is not known, and then the network bounds nothing
	Containers int                    // how many tasks can run at once; 0 is not known, and then they bound nothing
	Slots      model.Slots            // of them, by what may run there; 0 where anything may
}

// uplinks returns the capacity of all uplinks together, 0 where one is not
// known. Every byte that crosses racks takes exactly one of them.
func (s Supply) uplinks() float64 {
	sum := 0.0
	for _, c := range s.Uplinks {
		if c <= 0 {
			return 0
		}
		sum += float64(c)
	}
	return sum
}

// onNetwork returns the seconds a job keeps all uplinks busy.
func (s Supply) onNetwork(d *Demand) float64 { return over(float64(d.CrossRack), s.uplinks()) }

// onContainers returns the seconds a job keeps all containers busy.
func (s Supply) onContainers(d *Demand) float64 { return over(d.Work, float64(s.Containers)) }

// onPlaces returns what a job keeps busy for how long: all containers, and where
// slots are typed those of each kind.
func (s Supply) onPlaces() []func(*Demand) float64 {
	all := []func(*Demand) float64{s.onContainers}
	if s.Slots.Typed() {
		all = append(all,
			func(d *Demand) float64 { return over(d.Maps, float64(s.Slots.Maps)) },
			func(d *Demand) float64 { return over(d.Work-d.Maps, float64(s.Slots.Reduces)) })
	}
	return all
}

// over returns the seconds some work takes, 0 where the capacity is not known.
func over(work, capacity float64) float64 {
	if capacity <= 0 {
		return 0
	}
	return work / capacity
}

// LinkLoad is what one link has to carry, given a placement.
type LinkLoad struct {
	Bytes    model.Bytes
	Capacity model.BytesPerSecond // 0 is not known, and then the link bounds nothing
}

// NetworkMakespan returns how many seconds pass at least from the first arrival
// to the end of all jobs because of the network: what one server as fast as all
// uplinks together takes for the fewest bytes, or the busiest of the links whose
// load is known (B1 of algorithms.md 4.5). Work cannot be done before it comes,
// so that late arrivals raise the bound above sum of bytes over capacity.
func NetworkMakespan(jobs []Demand, s Supply, links []LinkLoad) float64 {
	least := makespan(jobs, s.onNetwork)
	for _, l := range links {
		least = max(least, over(float64(l.Bytes), float64(l.Capacity)))
	}
	return least
}

// ComputeMakespan returns how many seconds pass at least from the first arrival
// to the end of all jobs because of the containers: what one server as fast as
// all of them takes, or as all slots of a kind, or the chain of tasks that ends
// last (B2 of algorithms.md 4.5).
func ComputeMakespan(jobs []Demand, s Supply) float64 {
	least := 0.0
	for _, on := range s.onPlaces() {
		least = max(least, makespan(jobs, on))
	}
	if len(jobs) == 0 {
		return least
	}
	first, last := jobs[0].Arrival, 0.0
	for i := range jobs {
		first = min(first, jobs[i].Arrival)
		last = max(last, jobs[i].Arrival+jobs[i].Path)
	}
	return max(least, last-first)
}

// makespan returns the seconds from the first arrival until a single server that
// never waits while there is work has done all.
func makespan(jobs []Demand, size func(*Demand) float64) float64 {
	if len(jobs) == 0 {
		return 0
	}
	byTime := slices.SortedFunc(slices.Values(jobs), func(a, b Demand) int { return cmp.Compare(a.Arrival, b.Arrival) })
	end := byTime[0].Arrival
	for i := range byTime {
		end = max(end, byTime[i].Arrival) + size(&byTime[i])
	}
	return end - byTime[0].Arrival
}

// MeanQueue returns the mean seconds from arrival to end that no schedule gets
// below because jobs wait for each other: the integral of the longer of two
// queues under SRPT, for the uplinks and for the containers, over the number of
// jobs (B3 of algorithms.md 4.5; NUM §5.1.2 without the placement). Where slots
// are typed it is the best of what containers and slots of each kind say. 0
// without jobs.
func MeanQueue(jobs []Demand, s Supply) float64 {
	best := 0.0
	arrivals := make([]schedule.Arrival, len(jobs))
	for _, on := range s.onPlaces() {
		for i := range jobs {
			arrivals[i] = schedule.Arrival{At: jobs[i].Arrival, Map: on(&jobs[i]), Shuffle: s.onNetwork(&jobs[i])}
		}
		best = max(best, tandem.LowerBound(arrivals))
	}
	return best / float64(max(len(jobs), 1))
}

// MeanFloor returns the mean seconds the jobs would take at least each with the
// cluster to itself: its longest chain of tasks, or its bytes over all uplinks
// (B4 of algorithms.md 4.5). 0 without jobs.
func MeanFloor(jobs []Demand, s Supply) float64 {
	sum := 0.0
	for i := range jobs {
		sum += max(jobs[i].Path, s.onNetwork(&jobs[i]))
	}
	return sum / float64(max(len(jobs), 1))
}

// MeanResponse returns the better of MeanQueue and MeanFloor, which is what a
// run's mean response time is compared with (algorithms.md 4.5). How long a job
// that waits for others queues depends on when they are done, so that it adds no
// more than its floor to either.
func MeanResponse(jobs []Demand, s Supply) float64 {
	var first, later []Demand
	for i := range jobs {
		if jobs[i].Waits {
			later = append(later, jobs[i])
		} else {
			first = append(first, jobs[i])
		}
	}
	queued := MeanQueue(first, s)*float64(len(first)) + MeanFloor(later, s)*float64(len(later))
	return max(queued/float64(max(len(jobs), 1)), MeanFloor(jobs, s))
}

// Coflow is one job's transfers, given a placement.
type Coflow struct {
	Arrival float64       // seconds
	Bytes   []model.Bytes // by link
}

// Isolation returns the seconds a coflow takes with all links to itself, its
// bottleneck Gamma: the most loaded link's bytes over its capacity. Capacities
// are by link; 0 is not known, and then the link bounds nothing.
func (c *Coflow) Isolation(capacities []model.BytesPerSecond) float64 {
	worst := 0.0
	for l := range capacities {
		worst = max(worst, c.on(l, capacities))
	}
	return worst
}

// on returns the seconds of a coflow on one link.
func (c *Coflow) on(link int, capacities []model.BytesPerSecond) float64 {
	if link >= len(c.Bytes) {
		return 0
	}
	return over(float64(c.Bytes[link]), float64(capacities[link]))
}

// CoflowSum returns what the seconds from arrival to end of all coflows sum to
// at least, whatever the rates (B5 of algorithms.md 4.5, after the analyses of
// Varys and Sincronia): on the link for which that says most, those that use it
// wait for each other as under SRPT, and the others take their isolation time.
func CoflowSum(coflows []Coflow, capacities []model.BytesPerSecond) float64 {
	best, alone := 0.0, make([]float64, len(coflows))
	for i := range coflows {
		alone[i] = coflows[i].Isolation(capacities)
		best += alone[i]
	}
	var arrivals []schedule.Arrival
	for l := range capacities {
		arrivals = arrivals[:0]
		rest := 0.0
		for i := range coflows {
			c := &coflows[i]
			if seconds := c.on(l, capacities); seconds > 0 {
				arrivals = append(arrivals, schedule.Arrival{At: c.Arrival, Map: seconds})
			} else {
				rest += alone[i]
			}
		}
		best = max(best, rest+tandem.LowerBound(arrivals))
	}
	return best
}
