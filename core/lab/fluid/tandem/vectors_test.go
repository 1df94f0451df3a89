package tandem_test

import (
	"math"
	"testing"

	"heddle/core/policy/num/schedule"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/fluid/tandem"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// algorithms.md 2.2.6, A.2: the three cases, the case the paper leaves out, and
// the bound 1 - theta.
func TestAlpha(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name                          string
		buffered, r1, r2, theta, want float64
	}{
		{"1: something is buffered", 1, 0.35, 2, 1, 1},
		{"1: P1 puts out as much", 0, 0.5, 0.5, 1, 1},
		{"1: P1 puts out more", 0, 0.5, 0.4, 1, 1},
		{"2: only P2 helps, and not enough", 0, 0.35, 0.9, 1, 0},
		{"3: the mix that puts out 1", 0, 0.35, 2, 1, 0.6060606060606061},
		{"3: P2 puts out exactly 1", 0, 0.35, 1, 1, 0},
		{"3: P1 puts out nothing", 0, 0, 4, 1, 0.75},
		{"not covered: both above 1", 0, 1.5, 2, 1, 1},
		{"a buffer below the resolution is none", schedule.Empty / 2, 0.35, 2, 1, 0.6060606060606061},
		{"theta bounds case 2", 0, 0.35, 0.9, 0.85, 0.15},
		{"theta bounds case 3", 0, 0.35, 1.1, 0.85, 0.15},
		{"theta does not touch a larger alpha", 0, 0.35, 2, 0.85, 0.6060606060606061},
		{"theta 0 is P1 alone", 0, 0, 0.5, 0, 1},
	} {
		if got := schedule.Alpha(tc.buffered, tc.r1, tc.r2, tc.theta); !near(got, tc.want) {
			t.Errorf("%s: alpha %.9g, want %.9g", tc.name, got, tc.want)
		}
	}
	alpha := schedule.Alpha(0, 0.35, 2, 1)
	if rate := alpha*0.35 + (1-alpha)*2; !near(rate, 1) {
		t.Errorf("the mix puts out %g, want exactly 1", rate)
	}
}

// The paper's example of the model (§3): x = 10, y = 5 and a share of 0.7 of the
// map capacity supply the shuffle at 0.35, and no more can be served.
func TestModelExample(t *testing.T) {
	t.Parallel()
	jobs := []schedule.Job{schedule.Arrival{Map: 10, Shuffle: 5}.Job()}
	shares := []float64{0.7}
	if got := tandem.Output(jobs, shares); !near(got, 0.35) {
		t.Errorf("output %g, want 0.35", got)
	}
	for _, p := range schedule.All() {
		if got := (tandem.Single{Schedule: p}).ShuffleRates(nil, jobs, shares); !near(got[0], 0.35) {
			t.Errorf("%s serves %g, want 0.35", p, got[0])
		}
	}
	jobs[0].Buffer = 1
	for _, p := range schedule.All() {
		if got := (tandem.Single{Schedule: p}).ShuffleRates(nil, jobs, shares); got[0] != 1 {
			t.Errorf("%s serves %g with a buffer, want 1", p, got[0])
		}
	}
}

// algorithms.md 2.2.2 to 2.2.5, on one set of jobs.
func TestSchedules(t *testing.T) {
	t.Parallel()
	jobs := []schedule.Job{
		{Map: 4, Ratio: 0.5},            // map-heavy, 4 and 2 left
		{Map: 3, Ratio: 0.2, Buffer: 9}, // map-heavy, 3 and 9.6 left
		{Map: 1, Ratio: 5},              // shuffle-heavy, 1 and 5 left
		{Map: 2, Ratio: 1.5, Buffer: 3}, // shuffle-heavy, 2 and 6 left
		{Buffer: 5.5},                   // all map work done
	}
	for _, tc := range []struct {
		policy        tandem.Scheduler
		shares, rates []float64
	}{
		// Job 0 has no buffer and puts out 0.5, the rest goes to the next job with work, 4.
		{tandem.Single{Schedule: schedule.MaxSRPT}, []float64{1, 0, 0, 0, 0}, []float64{0.5, 0, 0, 0, 0.5}},
		// Map-heavy 1 has 3 map work left, shuffle-heavy 2 has 5 shuffle work left; 2 puts out 2.5 and has the least left.
		{tandem.Single{Schedule: schedule.SplitSRPT}, []float64{0, 0.5, 0.5, 0, 0}, []float64{0, 0, 1, 0, 0}},
		{tandem.Single{Schedule: schedule.UOPT}, []float64{0, 0, 1, 0, 0}, []float64{0, 0, 1, 0, 0}},
		// A quarter each: 0 puts out 0.125, which is all it can use; the four others share the rest.
		{tandem.Single{Schedule: schedule.Fair}, []float64{0.25, 0.25, 0.25, 0.25, 0}, []float64{0.125, 0.21875, 0.21875, 0.21875, 0.21875}},
		// Something is buffered: P1.
		{&tandem.NUM{P1: schedule.MaxSRPT, P2: schedule.UOPT, Theta: 1}, []float64{1, 0, 0, 0, 0}, []float64{0.5, 0, 0, 0, 0.5}},
	} {
		shares := tc.policy.MapShares(nil, jobs)
		if diff := cmp.Diff(tc.shares, shares); diff != "" {
			t.Errorf("%v shares (-want +got):\n%s", tc.policy, diff)
		}
		if diff := cmp.Diff(tc.rates, tc.policy.ShuffleRates(nil, jobs, shares)); diff != "" {
			t.Errorf("%v rates (-want +got):\n%s", tc.policy, diff)
		}
	}
}

// NUM's three cases on jobs: the shuffle order is P1's.
func TestNUMMixes(t *testing.T) {
	t.Parallel()
	jobs := []schedule.Job{{Map: 1, Ratio: 0.35}, {Map: 3, Ratio: 2}}
	num := tandem.NUM{P1: schedule.MaxSRPT, P2: schedule.UOPT, Theta: 1}
	shares := num.MapShares(nil, jobs)
	if !near(shares[0], 0.6060606060606061) || !near(shares[0]+shares[1], 1) || !near(tandem.Output(jobs, shares), 1) {
		t.Errorf("shares %v, which put out %g", shares, tandem.Output(jobs, shares))
	}
	rates := num.ShuffleRates(nil, jobs, shares)
	if got := tandem.RelativeUtilization(jobs, rates); !near(got, 1) {
		t.Errorf("relative utilisation %g, want 1", got)
	}
	srpt := tandem.Single{Schedule: schedule.MaxSRPT}
	alone := srpt.ShuffleRates(nil, jobs, srpt.MapShares(nil, jobs))
	if got := tandem.RelativeUtilization(jobs, alone); !near(got, 0.35) {
		t.Errorf("relative utilisation of MaxSRPT alone %g, want 0.35", got)
	}
	num.Theta = 0.25
	if shares = num.MapShares(shares, jobs); !near(shares[0], 0.75) {
		t.Errorf("shares %v, want 1 - theta for the first", shares)
	}
}

// algorithms.md 2.2.7: 1 where no schedule could use the network.
func TestRelativeUtilization(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		jobs  []schedule.Job
		rates []float64
		want  float64
	}{
		{"no jobs", nil, nil, 1},
		{"maps that put out nothing", []schedule.Job{{Map: 3}}, []float64{0}, 1},
		{"UOPT would reach 0.5", []schedule.Job{{Map: 3, Ratio: 0.5}, {Map: 1, Ratio: 0.2}}, []float64{0, 0.2}, 0.4},
		{"a buffer: UOPT would reach 1", []schedule.Job{{Map: 3, Ratio: 0.5}, {Buffer: 1}}, []float64{0.5, 0}, 0.5},
		{"R above 1 is 1", []schedule.Job{{Map: 3, Ratio: 7}}, []float64{0.5}, 0.5},
	} {
		if got := tandem.RelativeUtilization(tc.jobs, tc.rates); !near(got, tc.want) {
			t.Errorf("%s: %g, want %g", tc.name, got, tc.want)
		}
	}
}

// Two jobs by hand. Maps: 2 at 0 and 1 at 1 leave at 2 and 3, or, as SRPT takes
// the one that is done first, at 2 and 3. Shuffles: 5 and 1 leave at 2 and 6.
func TestLowerBound(t *testing.T) {
	t.Parallel()
	jobs := []schedule.Arrival{{At: 1, Map: 1, Shuffle: 1}, {At: 0, Map: 2, Shuffle: 5}}
	if got := tandem.LowerBound(jobs); !near(got, 2+6-1) {
		t.Errorf("bound %g, want 7", got)
	}
	if got := tandem.LowerBound([]schedule.Arrival{{At: 3, Map: 4, Shuffle: 2}, {At: 100, Shuffle: 7}, {At: 200}}); !near(got, 4+7) {
		t.Errorf("bound of lone jobs %g, want 11", got)
	}
	if got := tandem.LowerBound(nil); got != 0 {
		t.Errorf("bound of no jobs %g", got)
	}
}

func TestValidateNamesEverything(t *testing.T) {
	t.Parallel()
	good := tandem.NUM{P1: schedule.MaxSRPT, P2: schedule.SplitSRPT, Theta: 0.85}
	if err := schedule.Validate(good.P1, good.P2, good.Theta); err != nil {
		t.Error(err)
	}
	for _, bad := range []tandem.NUM{
		{P1: "srpt", P2: schedule.UOPT}, {P1: schedule.MaxSRPT}, {P1: schedule.MaxSRPT, P2: schedule.UOPT, Theta: 1.01}, {P1: schedule.MaxSRPT, P2: schedule.UOPT, Theta: math.NaN()},
	} {
		if schedule.Validate(bad.P1, bad.P2, bad.Theta) == nil {
			t.Errorf("%+v is taken", &bad)
		}
	}
}

// Where NUM wins and where it loses, in sums of response times by hand. m has 6
// of map work and hardly any shuffle, s has 8 and puts out twice that.
func TestNUMWinsAndLoses(t *testing.T) {
	t.Parallel()
	m, s := schedule.Arrival{Map: 6}, schedule.Arrival{Map: 8, Shuffle: 16}
	num := &tandem.NUM{P1: schedule.MaxSRPT, P2: schedule.UOPT, Theta: 1}
	for _, tc := range []struct {
		name        string
		jobs        []schedule.Arrival
		srpt, mixed float64
	}{
		// SRPT: m to 6 with an idle network, then 16 of shuffle each. NUM: m and the first s half and half, the
		// network busy from the start.
		{"the network is what is short: NUM wins", []schedule.Arrival{m, s, s}, 6 + 22 + 38, 12 + 16 + 32},
		// SRPT: 6, 12, and s ends its shuffle at 28. NUM: s is done at 16, but both m are late for it.
		{"the maps are what is short: NUM loses", []schedule.Arrival{m, m, s}, 6 + 12 + 28, 12 + 20 + 16},
	} {
		if got := responses(tandem.Single{Schedule: schedule.MaxSRPT}, tc.jobs); !near(got, tc.srpt) {
			t.Errorf("%s: MaxSRPT takes %g, want %g", tc.name, got, tc.srpt)
		}
		if got := responses(num, tc.jobs); !near(got, tc.mixed) {
			t.Errorf("%s: NUM takes %g, want %g", tc.name, got, tc.mixed)
		}
	}
}
