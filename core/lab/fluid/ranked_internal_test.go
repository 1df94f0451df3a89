package fluid

import (
	"math"
	"slices"
	"testing"

	"heddle/core/policy/num/schedule"

	"pgregory.net/rapid"

	"heddle/core/lab/fluid/tandem"
)

func drawArrivals(t *rapid.T) []schedule.Arrival {
	out := make([]schedule.Arrival, rapid.IntRange(1, 14).Draw(t, "jobs"))
	at := 0.0
	for i := range out {
		at += float64(rapid.IntRange(0, 4).Draw(t, "gap")) / 4
		out[i] = schedule.Arrival{
			At:      at,
			Map:     float64(rapid.IntRange(0, 10).Draw(t, "map")) / 2,
			Shuffle: float64(rapid.IntRange(0, 10).Draw(t, "shuffle")) / 2,
		}
	}
	return out
}

func drawMix(t *rapid.T) Policy {
	ranks := []schedule.Schedule{schedule.MaxSRPT, schedule.SplitSRPT, schedule.UOPT}
	p := Policy{P1: rapid.SampledFrom(ranks).Draw(t, "p1")}
	if rapid.Bool().Draw(t, "mixed") {
		p.P2, p.Theta = rapid.SampledFrom(ranks).Draw(t, "p2"), float64(rapid.IntRange(0, 10).Draw(t, "theta"))/10
	}
	return p
}

// The system with heaps does what the one that looks at every job does.
func TestRankedIsScanned(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		arrivals, p := drawArrivals(t), drawMix(t)
		want := run{arrivals: arrivals, responses: make([]float64, len(arrivals))}
		want.simulate(&scanned{by: p.scheduler()})
		got := run{arrivals: arrivals, responses: make([]float64, len(arrivals))}
		got.simulate(newRanked(p, len(arrivals)))
		for i := range arrivals {
			if math.Abs(got.responses[i]-want.responses[i]) > 1e-6 {
				t.Fatalf("%+v: job %d takes %g, want %g", p, i, got.responses[i], want.responses[i])
			}
		}
		if math.Abs(got.utilizationSum-want.utilizationSum) > 1e-6 || math.Abs(got.maxBuffer-want.maxBuffer) > 1e-6 {
			t.Fatalf("%+v: used %g, buffer %g; want %g, %g", p, got.utilizationSum, got.maxBuffer, want.utilizationSum, want.maxBuffer)
		}
	})
}

// watched stops before every interval of a ranked system.
type watched struct {
	*ranked
	in    map[int]bool
	check func(jobs []schedule.Job, buffered, utilization float64)
}

func (w *watched) arrive(number int, j schedule.Job) {
	w.in[number] = true
	w.ranked.arrive(number, j)
}

func (w *watched) takeFinished() []int {
	done := w.ranked.takeFinished()
	for _, number := range done {
		delete(w.in, number)
	}
	return done
}

func (w *watched) advance(most float64) (seconds, utilization float64) {
	var jobs []schedule.Job
	for number := range w.jobs {
		if w.in[number] {
			jobs = append(jobs, w.jobs[number])
		}
	}
	buffered := w.buffered()
	seconds, utilization = w.ranked.advance(most)
	w.check(jobs, buffered, utilization)
	return seconds, utilization
}

// Theorems 1 and 2 (§4.2; algorithms.md 2.2.8): at every event of a run, in the
// state NUM is in then, it uses the network as well as P2 would, or theta times
// as well.
func TestTheoremsAlongARun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		arrivals, p := drawArrivals(t), drawMix(t)
		if p.P2 == "" {
			p.P2, p.Theta = schedule.UOPT, 1
		}
		r := run{arrivals: arrivals, responses: make([]float64, len(arrivals))}
		w := &watched{ranked: newRanked(p, len(arrivals)), in: map[int]bool{}}
		w.check = func(jobs []schedule.Job, _, utilization float64) {
			alone := tandem.Single{Schedule: p.P2}
			shares := alone.MapShares(nil, jobs)
			second := tandem.RelativeUtilization(jobs, alone.ShuffleRates(nil, jobs, shares))
			if utilization < p.Theta*second-1e-9 {
				t.Fatalf("%+v: %g, %s alone %g, with %+v", p, utilization, p.P2, second, jobs)
			}
		}
		r.simulate(w)
	})
}

// The sum of the buffers is kept from event to event, and is exactly 0 when none
// is left: what NUM does hangs on that.
func TestBufferIsKept(t *testing.T) {
	t.Parallel()
	jobs, err := PaperSynthetic(1, 1).Generate()
	if err != nil {
		t.Fatal(err)
	}
	arrivals := Capacity{Map: 1, Shuffle: 1}.arrivals(jobs[:500], byArrival(jobs[:500]))
	w := &watched{ranked: newRanked(Policy{P1: schedule.MaxSRPT}, len(arrivals)), in: map[int]bool{}}
	empty, filled := 0, 0
	w.check = func(jobs []schedule.Job, buffered, _ float64) {
		want := tandem.Buffered(jobs)
		if math.Abs(buffered-want) > 1e-9*(1+want) || (want == 0 && buffered != 0) {
			t.Errorf("buffers of %g are summed as %g", want, buffered)
		}
		if want == 0 {
			empty++
		} else {
			filled++
		}
	}
	r := run{arrivals: arrivals, responses: make([]float64, len(arrivals))}
	if r.simulate(w); empty < 100 || filled < 100 {
		t.Errorf("%d events without buffers, %d with: nothing is shown", empty, filled)
	}
}

// The heap against a sorted list.
func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const n = 20
		o, plain := newOrder(n), map[int]float64{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			job := rapid.IntRange(0, n-1).Draw(t, "job")
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				o.remove(job)
				delete(plain, job)
			} else {
				key := float64(rapid.IntRange(0, 6).Draw(t, "key"))
				o.set(job, key)
				plain[job] = key
			}
			var all []keyed
			for job, key := range plain { // order-free: sorted below
				all = append(all, keyed{key, job})
			}
			slices.SortFunc(all, func(a, b keyed) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
			first, ok := o.first()
			if ok != (len(all) > 0) || (ok && first != all[0]) || o.heap.Len() != len(all) {
				t.Fatalf("first is %+v of %d, want the first of %+v", first, o.heap.Len(), all)
			}
		}
	})
}
