package sim

import (
	"math"
	"testing"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// Beside one remote read on an uplink a reduce counts for as many streams as it
// fetches with.
func TestParallelCopies(t *testing.T) {
	t.Parallel()
	c := Uniform(2, 30, 1, 60e6, 1e9)
	for _, copies := range []int{1, 5, 20} {
		net, err := newNetwork(&c, Network{NetworkStep: model.Second, LongestStep: model.Second, ParallelCopies: copies})
		if err != nil {
			t.Fatal(err)
		}
		job := net.AddJob(1)
		net.AddOutput(job, 0, 1e12)
		net.AddReduces(job, 1, 1)
		net.AddTransfer(network.MapRead, 0, 1, 1e12)
		net.Advance(10_000, func(d network.Done) { t.Errorf("%+v is done", d) })
		want := 600e6 * float64(copies) / float64(copies+1)
		if got := float64(net.Traffic(nil)[0].Up[network.Shuffle]); math.Abs(got-want) > 20 {
			t.Errorf("%d copies: %g bytes fetched, want %g", copies, got, want)
		}
	}
	for _, copies := range []int{0, mostCopies + 1} {
		p := DefaultParams()
		if p.ParallelCopies = copies; p.Validate() == nil {
			t.Errorf("%d copies are valid", copies)
		}
	}
}
