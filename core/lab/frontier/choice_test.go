package frontier_test

import (
	"math"
	"testing"

	"heddle/core/lab/frontier"
)

// TestStandings: a ratio is to the least of all variants on the same workload, and a variant that did not run on one has no standing.
func TestStandings(t *testing.T) {
	t.Parallel()
	results := []frontier.Result{
		{Variants: []frontier.Variant{variant("weave", 0.05, 100), variant("fair", 1, 50), variant("nas", 1, 10)}},
		{Variants: []frontier.Variant{variant("fair", 1, 400), variant("weave", 0.05, 100)}},
	}
	got := frontier.Standings(results)
	if len(got) != 2 || got[0].Variant != "weave" || got[1].Variant != "fair 1" {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct{ mean, worst, bytes float64 }{
		{math.Sqrt(10 * 1), 10, math.Sqrt(1 * 400. / 100)}, // bytes are 500 less the mean: 400, 450 and 490, then 100 and 400
		{math.Sqrt(5 * 4), 5, math.Sqrt(450. / 400 * 1)},
	} {
		s := got[i]
		if math.Abs(s.Mean[0]-want.mean) > 1e-9 || math.Abs(s.Worst[0]-want.worst) > 1e-9 || math.Abs(s.Mean[2]-want.bytes) > 1e-9 || s.Mean[3] != 1 {
			t.Errorf("%s: %+v, want a mean of %g, %g at worst, bytes %g", s.Variant, s, want.mean, want.worst, want.bytes)
		}
	}
	if frontier.Standings(nil) != nil {
		t.Error("standings of nothing")
	}
}
