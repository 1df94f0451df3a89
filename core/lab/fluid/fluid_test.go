package fluid_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/core/lab/fluid"
)

// Two jobs by hand, with capacities of 10 and 2 bytes a second: in seconds,
// m has 6 of map work, s has 8 and 16 of shuffle (algorithms.md 2.2.6: its R is
// 2, m's is 0).
func TestByHand(t *testing.T) {
	t.Parallel()
	c := fluid.Capacity{Map: 10, Shuffle: 2}
	m, s := fluid.Job{Map: 60}, fluid.Job{Map: 80, Shuffle: 32}
	at := func(j fluid.Job, t float64) fluid.Job { j.Arrival = t; return j }
	for _, tc := range []struct {
		name, policy string
		jobs         []fluid.Job
		want         []float64
		buffer, used float64
	}{
		// The network idles for 6 s in which UOPT would have filled it; 16 s follow.
		{"m first", "maxsrpt", []fluid.Job{m, s}, []float64{6, 22}, 8, 16. / 22},
		// Half each: s puts out 1, which fills the network. m is done at 12, s has 2 of map work left.
		{"half each", "num:maxsrpt:uopt:1", []fluid.Job{m, s}, []float64{12, 16}, 2, 1},
		{"classes have half each", "splitsrpt", []fluid.Job{m, s}, []float64{12, 16}, 2, 1},
		{"the most shuffle first", "uopt", []fluid.Job{m, s}, []float64{14, 16}, 8, 1},
		// Half each, then s alone: 2 left in the buffer at 14.
		{"all the same", "fair", []fluid.Job{m, s}, []float64{12, 16}, 2, 1},
		// s is alone until m comes with less to do at 1; the buffer lasts until 2, and s has 7 of map work left at 7.
		{"preempted", "maxsrpt", []fluid.Job{at(s, 0), at(m, 1)}, []float64{21, 6}, 7, 16. / 21},
		{"in any order of the list", "maxsrpt", []fluid.Job{at(m, 1), at(s, 0)}, []float64{6, 21}, 7, 16. / 21},
		{"idle in between", "maxsrpt", []fluid.Job{at(m, 3), at(m, 20)}, []float64{6, 6}, 0, 1},
		{"no work", "maxsrpt", []fluid.Job{{}, at(fluid.Job{}, 7)}, []float64{0, 0}, 0, 1},
		{"shuffle alone is ready at once", "num", []fluid.Job{{Shuffle: 32}}, []float64{16}, 16, 1},
		// Of 1.5e-9 s of map work too little is left to count when the second job comes: its shuffle work is not lost.
		{"a trace of map work", "maxsrpt", []fluid.Job{{Map: 1.5e-8, Shuffle: 20}, at(fluid.Job{Map: 10}, 1e-9)}, []float64{10, 1}, 10, 1},
		{"nobody", "num", nil, []float64{}, 0, 1},
	} {
		r := play(t, tc.jobs, c, tc.policy)
		if diff := cmp.Diff(tc.want, r.Responses, cmpopts.EquateApprox(0, 1e-8)); diff != "" {
			t.Errorf("%s: responses (-want +got):\n%s", tc.name, diff)
		}
		if math.Abs(r.MaxBuffer-tc.buffer) > 1e-8 || math.Abs(r.Utilization-tc.used) > 1e-8 {
			t.Errorf("%s: buffer %g and utilisation %g, want %g and %g", tc.name, r.MaxBuffer, r.Utilization, tc.buffer, tc.used)
		}
	}
}

// algorithms.md 2.2.6: r1 = .35 and r2 = 2 give alpha = .60606, and the mix puts
// out exactly 1. low has 2 of map work, high 3: after 3 s low has had
// .60606*3 = 1.818 and high 1.182, and 3 of shuffle work have been served.
func TestNUMVector(t *testing.T) {
	t.Parallel()
	jobs := []fluid.Job{{Map: 2, Shuffle: 0.7}, {Map: 3, Shuffle: 6}}
	r := play(t, jobs, fluid.Capacity{Map: 1, Shuffle: 1}, "numu")
	// low ends at 2/.60606 = 3.3; then high alone, with 3 - 1.3 = 1.7 of map work, 3.4 of shuffle work.
	if diff := cmp.Diff([]float64{3.3, 6.7}, r.Responses, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	if math.Abs(r.MaxBuffer-1.7) > 1e-9 || math.Abs(r.Utilization-1) > 1e-9 {
		t.Errorf("buffer %g, utilisation %g: want 1.7 and 1", r.MaxBuffer, r.Utilization)
	}
}

// The paper's example (§3): x = 10, y = 5; alone the job takes the longer phase.
func TestLowerBound(t *testing.T) {
	t.Parallel()
	got := bound(t, []fluid.Job{{Map: 10, Shuffle: 5, Arrival: 100}, {Map: 20, Shuffle: 30}}, fluid.Capacity{Map: 2, Shuffle: 1})
	if want := (5. + 30) / 2; math.Abs(got-want) > 1e-9 {
		t.Errorf("bound %g, want %g", got, want)
	}
	if got := bound(t, nil, fluid.Capacity{Map: 1, Shuffle: 1}); got != 0 {
		t.Errorf("bound of no jobs %g", got)
	}
}

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	for _, p := range fluid.Policies() {
		if got := policy(t, p.Name); got != p {
			t.Errorf("%s: %+v, want %+v", p.Name, got, p)
		}
	}
	got := policy(t, "num:fair:uopt:0.25")
	if want := (fluid.Policy{Name: "num:fair:uopt:0.25", P1: "psfair", P2: "uopt", Theta: 0.25}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for name, says := range map[string]string{
		"srpt":               "want one of fair, maxsrpt, splitsrpt, uopt, num, numu, or num:P1:P2:THETA",
		"":                   "want one of fair",
		"num:maxsrpt:uopt":   "or num:P1:P2:THETA such as num:maxsrpt:uopt:0.5",
		"num:num:uopt:1":     `P1: want one of fair, maxsrpt, splitsrpt, uopt, is "num"`,
		"num:maxsrpt:x:1":    `P2: want one of fair, maxsrpt, splitsrpt, uopt, is "x"`,
		"num:maxsrpt:uopt:2": "theta: must be between 0 and 1, is 2",
		"num:fair:uopt:NaN":  "theta",
		"num:fair:uopt:half": `theta: want a number between 0 and 1, is "half"`,
	} {
		if _, err := fluid.ParsePolicy(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}
}

// What makes no sense is refused, and named.
func TestRefused(t *testing.T) {
	t.Parallel()
	one := fluid.Capacity{Map: 1, Shuffle: 1}
	fair := fluid.Policies()[0]
	for _, tc := range []struct {
		says   string
		jobs   []fluid.Job
		c      fluid.Capacity
		policy fluid.Policy
	}{
		{"map capacity", nil, fluid.Capacity{Shuffle: 1}, fair},
		{"shuffle capacity", nil, fluid.Capacity{Map: 1, Shuffle: math.NaN()}, fair},
		{"map capacity", nil, fluid.Capacity{Map: math.Inf(1), Shuffle: 1}, fair},
		{"job 1", []fluid.Job{{}, {Arrival: -1}}, one, fair},
		{"job 0", []fluid.Job{{Map: math.NaN()}}, one, fair},
		{"job 0", []fluid.Job{{Shuffle: math.Inf(1)}}, one, fair},
		{"job 0", []fluid.Job{{Map: 1e9}}, fluid.Capacity{Map: 1e-4, Shuffle: 1}, fair},
		{"p1", nil, one, fluid.Policy{}},
		{"theta", nil, one, fluid.Policy{P1: "uopt", P2: "uopt", Theta: -1}},
	} {
		if _, err := fluid.Run(tc.jobs, tc.c, tc.policy); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%v, want %q", err, tc.says)
		}
	}
	if _, err := fluid.LowerBound([]fluid.Job{{Map: -1}}, one); err == nil {
		t.Error("a bound of a negative size")
	}
	if _, err := fluid.Slowdowns([]fluid.Job{{}}, one, nil, 5); err == nil {
		t.Error("slowdowns without response times")
	}
	for _, s := range []fluid.Synthetic{{}, fluid.PaperSynthetic(math.NaN(), 1), {Lambda: 1, Jobs: 1, MapSD: -1}, {Lambda: 1, Jobs: 1, RatioSD: math.Inf(1)}, {Lambda: 1}} {
		if _, err := s.Generate(); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// One job alone takes max(X, Y) whatever the capacities, so that the factor is
// known: §5.4.
func TestGamma(t *testing.T) {
	t.Parallel()
	jobs := []fluid.Job{{Map: 12, Shuffle: 5}}
	one := fluid.Capacity{Map: 1, Shuffle: 1}
	for _, tc := range []struct {
		queue        fluid.Queue
		target, want float64
	}{
		{fluid.MapQueue, 12, 1},
		{fluid.MapQueue, 16, 0.75},
		{fluid.MapQueue, 6, 2},
		{fluid.ShuffleQueue, 12, 5. / 12},
		{fluid.ShuffleQueue, 100, 0.05},
	} {
		got, err := fluid.Gamma(jobs, one, policy(t, "num"), tc.queue, fluid.Match{Target: tc.target, Within: 1e-6})
		if err != nil || math.Abs(got-tc.want) > 1e-6 {
			t.Errorf("%s to %g s: factor %g, error %v, want %g", tc.queue, tc.target, got, err, tc.want)
		}
	}
	for _, tc := range []struct {
		queue fluid.Queue
		match fluid.Match
		says  string
	}{
		{fluid.MapQueue, fluid.Match{Target: 4, Within: 1e-3}, fluid.ErrNoMatch.Error()}, // the shuffle takes 5
		{"disk", fluid.Match{Target: 4, Within: 1e-3}, "want map or shuffle"},
		{fluid.MapQueue, fluid.Match{Target: math.NaN(), Within: 1e-3}, "must be above 0"},
		{fluid.MapQueue, fluid.Match{Target: 1}, "must be above 0"},
	} {
		if _, err := fluid.Gamma(jobs, one, policy(t, "num"), tc.queue, tc.match); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s %+v: %v, want %q", tc.queue, tc.match, err, tc.says)
		}
	}
}

func TestSlowdowns(t *testing.T) {
	t.Parallel()
	jobs := []fluid.Job{{Map: 40, Shuffle: 2}, {Map: 10, Shuffle: 1}, {}, {Shuffle: 6}, {Map: 10, Shuffle: 8}}
	got, err := fluid.Slowdowns(jobs, fluid.Capacity{Map: 10, Shuffle: 2}, []float64{6, 3, 0, 3, 8}, 2)
	want := []fluid.Bucket{{Jobs: 2, Size: 2, Slowdown: 2}, {Jobs: 2, Size: 4, Slowdown: 1.75}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if got, err := fluid.Slowdowns(jobs, fluid.Capacity{Map: 10, Shuffle: 2}, make([]float64, 5), 50); len(got) != 4 || err != nil {
		t.Errorf("%d buckets of 4 jobs, error %v", len(got), err)
	}
}
