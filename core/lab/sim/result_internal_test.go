package sim

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// A run below a bound is an error that names the bound and both values; rounding
// is none.
func TestVerifyNamesTheBound(t *testing.T) {
	t.Parallel()
	fair := Run{Outcome: Outcome{Makespan: 100, JCT: Distribution{Mean: 10}}, Traffic: Traffic{CrossRack: CrossRack{Shuffle: 600, MapRead: 400, Write: 5000}}}
	for _, tc := range []struct {
		name   string
		bounds Bounds
		want   []string // of the message; none is no error
	}{
		{"at the bounds", Bounds{100, 100, 10, 1000}, nil},
		{"rounded below", Bounds{100.0005, 100.0005, 10.0005, 1010}, nil},
		{"the network", Bounds{MakespanNetwork: 101}, []string{"makespan_network_s", "100 s", "101 s"}},
		{"the containers", Bounds{MakespanCompute: 100.25}, []string{"makespan_compute_s", "100 s", "100.25 s"}},
		{"the mean", Bounds{JCTMean: 10.5}, []string{"jct_mean_s", "10 s", "10.5 s"}},
		{"bytes, without copies of output", Bounds{CrossRack: 1011}, []string{"cross_rack_bytes", "1000 bytes", "1011 bytes"}},
		{"two at once", Bounds{MakespanNetwork: 200, JCTMean: 20}, []string{"makespan_network_s", "jct_mean_s"}},
	} {
		r := fair
		r.Bounds = tc.bounds
		err := r.verify(10)
		if (err != nil) != (tc.want != nil) {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for _, text := range tc.want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q says nothing of %q", tc.name, err, text)
			}
		}
	}
}

// What the maps of a stage leave sums to its output, and is within a byte of a
// map's part.
func TestMapOutputsSum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reads := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 20).Draw(t, "reads")
		m := stage{spec: &workload.Stage{}}
		m.total, m.output, m.in.cumulative = len(reads), model.Bytes(rapid.Int64Range(0, 1<<53).Draw(t, "output")), make([]model.Bytes, 1)
		for _, bytes := range reads {
			m.in.cumulative = append(m.in.cumulative, m.in.total()+model.Bytes(bytes))
		}
		var sum model.Bytes
		for task := range reads {
			out := m.outputOf(task)
			part := float64(m.output) / float64(len(reads))
			if all := m.in.total(); all > 0 {
				part = float64(m.output) * (float64(m.in.size(task)) / float64(all))
			}
			if out < 0 || float64(out) < part*(1-1e-9)-1 || float64(out) > part*(1+1e-9)+1 {
				t.Fatalf("map %d leaves %d bytes of %g", task, out, part)
			}
			sum += out
		}
		if sum != m.output {
			t.Fatalf("all maps leave %d bytes of %d", sum, m.output)
		}
	})
}

// A quantile is the smallest value that so large a part of the values does not
// exceed: of a hundred values the 99th percentile is the 99th, not the largest.
func TestQuantile(t *testing.T) {
	t.Parallel()
	upTo := func(n int) []float64 {
		var values []float64
		for i := range n {
			values = append(values, float64(i+1))
		}
		return values
	}
	for _, c := range []struct {
		n       int
		q, want float64
	}{
		{0, 0.5, 0},
		{1, 0.5, 1},
		{1, 0.99, 1},
		{2, 0.5, 1},
		{3, 0.5, 2},
		{4, 0.5, 2},
		{20, 0.95, 19},
		{21, 0.95, 20},
		{100, 0.5, 50},
		{100, 0.95, 95},
		{100, 0.99, 99},
		{101, 0.99, 100},
		{200, 0.99, 198},
		{7, 1, 7},
	} {
		if got := quantile(upTo(c.n), c.q); got != c.want {
			t.Errorf("quantile %g of 1 to %d is %g, want %g", c.q, c.n, got, c.want)
		}
	}
}
