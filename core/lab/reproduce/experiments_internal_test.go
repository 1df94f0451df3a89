package reproduce

import (
	"slices"
	"testing"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// A change comes out with its sign in every seed and a median from half to twice the paper's.
func TestClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  []float64
		want float64
		v    Verdict
		note string
	}{
		{[]float64{20, 39, 60}, 39, Yes, ""},
		{[]float64{19.5, 19.5}, 39, Yes, ""},
		{[]float64{19, 19, 70}, 39, No, "the sign, not the size"},
		{[]float64{79}, 39, No, "the sign, not the size"},
		{[]float64{-1, 39, 39}, 39, No, "not the paper's sign with every seed"},
		{[]float64{0}, -10, No, "not the paper's sign with every seed"},
		{[]float64{-12}, -10, Yes, ""},
	} {
		if v, note := (&claim{"x", c.got, c.want}).judge(); v != c.v || note != c.note {
			t.Errorf("%v for %g: %s, %q", c.got, c.want, v, note)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for want, of := range map[string][]float64{"2.0 (1.0 to 4.0)": {4, 1, 2}, "1.5 (1.0 to 2.0)": {2, 1}, "3.0": {3.01, 2.99}} {
		if got := formatRange("%.1f", of); got != want {
			t.Errorf("%v is %q, want %q", of, got, want)
		}
	}
}

// Rows say together which of their changes fail, and where to look further.
func TestClaims(t *testing.T) {
	t.Parallel()
	r := claimRow("X1", "x", claim{"a", []float64{1}, 10}, claim{"b", []float64{10}, 10}, claim{"c", []float64{-1}, 10}, claim{"d", []float64{100}, 10})
	if want := "the sign, not the size: a, d; not the paper's sign with every seed: c"; r.Verdict != No || r.Note != want || r.Paper != "a +10 %, b +10 %, c +10 %, d +10 %" {
		t.Errorf("%+v, want %q", r, want)
	}
	rows := pointToTried([]Row{r, r.withNotes("tried y"), claimRow("X2", "x", claim{"b", []float64{10}, 10})}, "X9")
	if rows[0].Note != r.Note+"; what was tried stands at X9" || rows[1].Note != r.Note+"; tried y" || rows[2].Note != "" {
		t.Errorf("%q, %q, %q", rows[0].Note, rows[1].Note, rows[2].Note)
	}
}

// A part of a cluster has that part of the nodes, and as much of an uplink for each.
func TestRacksPart(t *testing.T) {
	t.Parallel()
	whole := racks{30, 20, 1}
	for parts, want := range map[int]racks{1: whole, 10: {30, 2, 0.1}, 20: {15, 2, 0.1}, 1000: {4, 1, 0.05}} {
		got := whole.scaledDown(parts)
		if got != want || got.uplink/float64(got.nodesPerRack) != whole.uplink/float64(whole.nodesPerRack) {
			t.Errorf("1/%d: %+v, want %+v", parts, got, want)
		}
	}
	if got, want := whole.scaledDown(20).String(), "15 racks of 2 nodes, 0.1 Gbps in and out of a rack"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A job's time counts from the end of the last job it waits for, and throughput
// up to a time or to a part of the jobs.
func TestCount(t *testing.T) {
	t.Parallel()
	at := func(s int) model.Time { return model.Time(s) * model.Time(model.Second) }
	w := &workload.Workload{Jobs: []workload.Job{{Submit: at(100)}, {Submit: at(100), Parents: []int{0}}, {Submit: at(150)}, {Submit: at(160)}}}
	r := sim.Run{Outcome: sim.Outcome{Throughput: 7}, Detail: sim.Detail{Responses: []float64{20, 10, 90, 10}}}
	if got, want := endTimes(w, &r), []float64{20, 30, 140, 70}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for want, l := range map[float64]experiments{7: {}, 4.0 / 150: {window: 150}, 0.03: {window: 100}, 3.0 / 70: {steady: 0.75}} {
		got := r
		if l.countThroughput(w, &got); got.Throughput != want {
			t.Errorf("window %g, part %g: %g, want %g", l.window, l.steady, got.Throughput, want)
		}
	}
}

// Sizes are as many times smaller as brings the shuffle to Table 3's, and in a part
// of the cluster to that part of it.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, parts := range []int{1, 5} {
		z, err := swSized(&Inputs{Parts: parts}, racks{10, 10, 0.5})
		if err != nil {
			t.Fatal(err)
		}
		w, err := swWorkload(z.load(swUsers, swJobs, ""), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := float64(w.Describe().Shuffle)*swSteady*float64(parts), swShuffle; got < 0.99*want || got > 1.01*want {
			t.Errorf("1/%d: %.4g bytes of 300 jobs, want %.4g", parts, got, want)
		}
	}
}

// A claim that no policy can reach is bounded, by the file's bound or by the
// simulator's; one within reach is plainly not come out.
func TestJudgeBounds(t *testing.T) {
	t.Parallel()
	var r sim.Run
	r.Makespan, r.Bounds.MakespanCompute, r.JCT.Mean, r.Bounds.JCTMean = 150, 100, 40, 10
	l := &experiments{results: map[string][]sim.Run{"Fair": {r}}}
	reach := -4.0
	for _, c := range []struct {
		claim claimData
		want  Verdict
	}{
		{claimData{Figure: "throughput", Base: "Fair", Percent: 60}, Bounded}, // at most 50 %
		{claimData{Figure: "throughput", Base: "Fair", Percent: 40}, No},
		{claimData{Figure: "completion time", Base: "Fair", Percent: -80}, Bounded}, // at most 75 % less
		{claimData{Figure: "completion time", Base: "Fair", Percent: -70}, No},
		{claimData{Figure: "congestions", Base: "Fair", Percent: -99}, No}, // no bound is known
		{claimData{Figure: "congestions", Base: "Fair", Percent: -15, Bound: &reach, Why: "z"}, Bounded},
	} {
		if got := l.judgeBounds(Row{Verdict: No}, []claimData{c.claim}); got.Verdict != c.want || (got.Note != "") != (c.want == Bounded) {
			t.Errorf("%+v is %s, %q, want %s", c.claim, got.Verdict, got.Note, c.want)
		}
	}
}
