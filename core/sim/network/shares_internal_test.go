package network

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawAsks returns asks of a few uplinks and downlinks, and what these can carry.
// Numbers are small and whole, so that links are often just full, and levels alike.
func drawAsks(t *rapid.T) ([]ask, []float64) {
	racks := rapid.IntRange(1, 5).Draw(t, "racks")
	capacity := make([]float64, 2*racks)
	for l := range capacity {
		capacity[l] = float64(rapid.IntRange(0, 60).Draw(t, "capacity") * rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "times"))
	}
	asks := make([]ask, rapid.IntRange(0, 30).Draw(t, "asks"))
	for i := range asks {
		asks[i] = ask{
			weight: float64(rapid.IntRange(1, 8).Draw(t, "weight")),
			limit:  float64(rapid.IntRange(1, 20).Draw(t, "limit")),
			up:     small(rapid.IntRange(0, racks-1).Draw(t, "up")),
			down:   small(racks + rapid.IntRange(0, racks-1).Draw(t, "down")),
		}
		asks[i].most = asks[i].limit
	}
	return asks, capacity
}

// sharesOf returns the same for the exact form.
func sharesOf(asks []ask) []share {
	shares := make([]share, len(asks))
	for i, a := range asks {
		shares[i] = share{links: [4]int32{a.up, a.down, -1, -1}, weight: a.weight, limit: a.limit}
	}
	return shares
}

// Links are shared as the exact form shares them, and what is left of them is
// what was not given away.
func TestShareAsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		asks, capacity := drawAsks(t)
		s := filling{asks: asks, pipes: make([]pipe, len(capacity))}
		shares, rest := sharesOf(asks), make([]float64, len(capacity))
		fill(shares, capacity, rest, make([]float64, len(capacity)))
		for range 2 { // what it keeps does not matter
			s.share(capacity)
		}
		for i, a := range s.asks {
			if want := shares[i].level; math.Abs(a.level-want) > 1e-9 {
				t.Errorf("ask %d of %+v over %v has level %g, want %g", i, asks, capacity, a.level, want)
			}
		}
		for l, p := range s.pipes {
			if math.Abs(p.room-rest[l]) > 1e-9 {
				t.Errorf("link %d of %v, shared among %+v, has room for %g, want %g", l, capacity, asks, p.room, rest[l])
			}
		}
	})
}

// What asks with a lower limit for now leave goes to those that can use it, and
// then to themselves.
func TestShareWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := filling{pipes: make([]pipe, 3), asks: []ask{
		{weight: 2, limit: 10, most: 100, up: 0, down: 2},
		{weight: 1, limit: 30, most: 30, up: 0, down: 2},
		{weight: 1, limit: 5, most: 100, up: 1, down: 2},
	}}
	s.share([]float64{90, 25, math.Inf(1)})
	for i, want := range []float64{30, 30, 25} {
		if got := s.asks[i].level; got != want {
			t.Errorf("ask %d has level %g, want %g", i, got, want)
		}
	}
}
