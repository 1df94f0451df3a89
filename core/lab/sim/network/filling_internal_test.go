package network

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawAsks returns demands of a few uplinks and downlinks, and what these can carry.
// Numbers are small and whole, so that links are often just full, and levels alike.
func drawAsks(t *rapid.T) ([]queueDemand, []float64) {
	racks := rapid.IntRange(1, 5).Draw(t, "racks")
	capacity := make([]float64, 2*racks)
	for l := range capacity {
		capacity[l] = float64(rapid.IntRange(0, 60).Draw(t, "capacity") * rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "times"))
	}
	demands := make([]queueDemand, rapid.IntRange(0, 30).Draw(t, "demands"))
	for i := range demands {
		demands[i] = queueDemand{
			weight: float64(rapid.IntRange(1, 8).Draw(t, "weight")),
			limit:  float64(rapid.IntRange(1, 20).Draw(t, "limit")),
			up:     toInt32(rapid.IntRange(0, racks-1).Draw(t, "up")),
			down:   toInt32(racks + rapid.IntRange(0, racks-1).Draw(t, "down")),
		}
		demands[i].maxLevel = demands[i].limit
	}
	return demands, capacity
}

// sharesOf returns the same for the exact form.
func sharesOf(demands []queueDemand) []share {
	shares := make([]share, len(demands))
	for i, a := range demands {
		shares[i] = share{links: [4]int32{a.up, a.down, -1, -1}, weight: a.weight, limit: a.limit}
	}
	return shares
}

// Links are shared as the exact form shares them, and what is left of them is
// what was not given away.
func TestShareAsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		demands, capacity := drawAsks(t)
		s := filling{demands: demands, links: make([]linkState, len(capacity))}
		shares, rest := sharesOf(demands), make([]float64, len(capacity))
		fill(shares, capacity, rest, make([]float64, len(capacity)))
		for range 2 { // what it keeps does not matter
			s.share(capacity)
		}
		for i, a := range s.demands {
			if want := shares[i].level; math.Abs(a.level-want) > 1e-9 {
				t.Errorf("demand %d of %+v over %v has level %g, want %g", i, demands, capacity, a.level, want)
			}
		}
		for l, p := range s.links {
			if math.Abs(p.room-rest[l]) > 1e-9 {
				t.Errorf("link %d of %v, shared among %+v, has room for %g, want %g", l, capacity, demands, p.room, rest[l])
			}
		}
	})
}

// What demands with a lower limit for now leave goes to those that can use it, and
// then to themselves.
func TestShareWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := filling{links: make([]linkState, 3), demands: []queueDemand{
		{weight: 2, limit: 10, maxLevel: 100, up: 0, down: 2},
		{weight: 1, limit: 30, maxLevel: 30, up: 0, down: 2},
		{weight: 1, limit: 5, maxLevel: 100, up: 1, down: 2},
	}}
	s.share([]float64{90, 25, math.Inf(1)})
	for i, want := range []float64{30, 30, 25} {
		if got := s.demands[i].level; got != want {
			t.Errorf("demand %d has level %g, want %g", i, got, want)
		}
	}
}
