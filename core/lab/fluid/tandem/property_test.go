package tandem_test

import (
	"math"
	"testing"

	"heddle/core/policy/num/schedule"

	"pgregory.net/rapid"

	"heddle/core/lab/fluid/tandem"
)

// drawJobs draws the jobs of an instant. Small whole numbers make ties and exact
// ones; half of the instants have nothing buffered, where NUM has a choice.
func drawJobs(t *rapid.T) []schedule.Job {
	buffers := rapid.Bool().Draw(t, "buffers")
	jobs := make([]schedule.Job, rapid.IntRange(0, 6).Draw(t, "jobs"))
	for i := range jobs {
		j := &jobs[i]
		j.Map = float64(rapid.IntRange(0, 5).Draw(t, "map"))
		j.Ratio = rapid.SampledFrom([]float64{0, 0.1, 0.35, 0.5, 1, 1.5, 2, 7}).Draw(t, "ratio")
		if buffers {
			j.Buffer = float64(rapid.IntRange(0, 2).Draw(t, "buffer"))
		}
	}
	return jobs
}

func relative(s tandem.Scheduler, jobs []schedule.Job) float64 {
	shares := s.MapShares(nil, jobs)
	return tandem.RelativeUtilization(jobs, s.ShuffleRates(nil, jobs, shares))
}

func schedulers() []tandem.Scheduler {
	out := []tandem.Scheduler{
		&tandem.NUM{P1: schedule.MaxSRPT, P2: schedule.SplitSRPT, Theta: 0.85}, &tandem.NUM{P1: schedule.MaxSRPT, P2: schedule.UOPT, Theta: 1},
		&tandem.NUM{P1: schedule.Fair, P2: schedule.UOPT, Theta: 0.5},
	}
	for _, p := range schedule.All() {
		out = append(out, tandem.Single{Schedule: p})
	}
	return out
}

// What every schedule keeps: no capacity is given twice or left while there is
// work, and no job is served more than it has.
func TestSchedulesAreFeasible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		for _, s := range schedulers() {
			shares := s.MapShares(nil, jobs)
			rates := s.ShuffleRates(nil, jobs, shares)
			given, served, work := 0.0, 0.0, 0.0
			mapping := false
			for i := range jobs {
				j := &jobs[i]
				mapping = mapping || j.Mapping()
				if shares[i] < 0 || (shares[i] > 0 && !j.Mapping()) {
					t.Fatalf("%v gives %+v a share of %g", s, *j, shares[i])
				}
				if rates[i] < 0 || (!j.Ready() && rates[i] > shares[i]*j.Ratio+1e-12) {
					t.Fatalf("%v serves %+v at %g with a share of %g", s, *j, rates[i], shares[i])
				}
				given += shares[i]
				served += rates[i]
				if work += shares[i] * j.Ratio; j.Ready() {
					work = math.Inf(1)
				}
			}
			if mapping && !near(given, 1) {
				t.Fatalf("%v gives %g of the map capacity", s, given)
			}
			if !near(served, min(work, 1)) {
				t.Fatalf("%v serves %g of %g", s, served, min(work, 1))
			}
		}
	})
}

// Theorems 1 and 2 and Corollary 1 (§4.2; algorithms.md 2.2.8, A.3), in the same
// state at one instant.
func TestTheorems(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		p1 := rapid.SampledFrom(schedule.All()).Draw(t, "p1")
		p2 := rapid.SampledFrom(schedule.All()).Draw(t, "p2")
		theta := float64(rapid.IntRange(0, 20).Draw(t, "theta")) / 20
		second := relative(tandem.Single{Schedule: p2}, jobs)
		if got := relative(&tandem.NUM{P1: p1, P2: p2, Theta: 1}, jobs); got < second-1e-9 {
			t.Fatalf("theorem 1: NUM(%s, %s) has %g, %s alone %g", p1, p2, got, p2, second)
		}
		if got := relative(&tandem.NUM{P1: p1, P2: schedule.UOPT, Theta: 1}, jobs); !near(got, 1) {
			t.Fatalf("corollary 1: NUM(%s, UOPT) has %g", p1, got)
		}
		if got := relative(&tandem.NUM{P1: p1, P2: p2, Theta: theta}, jobs); got < theta*second-1e-9 {
			t.Fatalf("theorem 2: NUM(%s, %s, %g) has %g, %s alone %g", p1, p2, theta, got, p2, second)
		}
		if got := relative(tandem.Single{Schedule: p1}, jobs); got > 1+1e-9 {
			t.Fatalf("%s has %g", p1, got)
		}
	})
}

// What theorem 3 rests on at an instant: P1 keeps 1 - theta of the map capacity.
func TestFirstKeepsItsPart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		p1 := rapid.SampledFrom(schedule.All()).Draw(t, "p1")
		num := tandem.NUM{P1: p1, P2: rapid.SampledFrom(schedule.All()).Draw(t, "p2"), Theta: 0.85}
		mixed := num.MapShares(nil, jobs)
		for i, alone := range (tandem.Single{Schedule: p1}).MapShares(nil, jobs) {
			if mixed[i] < 0.15*alone-1e-12 {
				t.Fatalf("%v gives job %d %g, %s alone %g", &num, i, mixed[i], p1, alone)
			}
		}
	})
}

// SplitSRPT at speed 2 serves each class at speed 1 (2.2.3, A.3): its best job
// gets at least half, and in its own queue SRPT serves the least.
func TestSplitServesBothClasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t)
		shares := tandem.Single{Schedule: schedule.SplitSRPT}.MapShares(nil, jobs)
		for _, heavy := range []bool{false, true} {
			got, best := 0.0, math.Inf(1)
			picked := math.Inf(1)
			for i := range jobs {
				j := &jobs[i]
				if !j.Mapping() || j.ShuffleHeavy() != heavy {
					continue
				}
				key := j.Map
				if heavy {
					key = j.Shuffle()
				}
				best = min(best, key)
				if got += shares[i]; shares[i] > 0 {
					picked = key
				}
			}
			if !math.IsInf(best, 1) && (got < 0.5 || picked != best) {
				t.Fatalf("shuffle-heavy %v: gets %g, serves a job with %g left, the least is %g", heavy, got, picked, best)
			}
		}
	})
}

func drawArrivals(t *rapid.T) []schedule.Arrival {
	out := make([]schedule.Arrival, rapid.IntRange(0, 12).Draw(t, "jobs"))
	for i := range out {
		out[i] = schedule.Arrival{
			At:      float64(rapid.IntRange(0, 20).Draw(t, "at")) / 2,
			Map:     float64(rapid.IntRange(0, 8).Draw(t, "map")) / 2,
			Shuffle: float64(rapid.IntRange(0, 8).Draw(t, "shuffle")) / 2,
		}
	}
	return out
}

// The bound is below every run (2.2.8, A.3), and exact for one queue alone,
// where SRPT is optimal.
func TestBoundIsBelowEveryRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawArrivals(t)
		bound := tandem.LowerBound(jobs)
		for _, s := range schedulers() {
			if got := responses(s, jobs); got < bound-1e-6 {
				t.Fatalf("%v takes %g in all, the bound is %g", s, got, bound)
			}
		}
		for i := range jobs {
			jobs[i].Shuffle = 0
		}
		bound = tandem.LowerBound(jobs)
		if got := responses(tandem.Single{Schedule: schedule.MaxSRPT}, jobs); math.Abs(got-bound) > 1e-6 {
			t.Fatalf("maps alone: SRPT takes %g in all, the bound is %g", got, bound)
		}
	})
}

// One job alone takes the longer of its phases, whatever the schedule.
func TestLoneJob(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := schedule.Arrival{
			At: 1, Map: float64(rapid.IntRange(0, 8).Draw(t, "map")), Shuffle: float64(rapid.IntRange(0, 8).Draw(t, "shuffle")),
		}
		for _, s := range schedulers() {
			if got := responses(s, []schedule.Arrival{a}); !near(got, max(a.Map, a.Shuffle)) {
				t.Fatalf("%v takes %g for %+v", s, got, a)
			}
		}
	})
}

// An instant is looked at without an allocation once the slices are there.
func TestSchedulesAllocateNothing(t *testing.T) {
	jobs := make([]schedule.Job, 50)
	for i := range jobs {
		jobs[i] = schedule.Job{Map: float64(i), Ratio: float64(i%7) / 3}
	}
	var shares, rates []float64
	for _, s := range schedulers() {
		if n := testing.AllocsPerRun(10, func() {
			shares = s.MapShares(shares, jobs)
			rates = s.ShuffleRates(rates, jobs, shares)
		}); n > 0 {
			t.Errorf("%v: %g allocations", s, n)
		}
	}
}
