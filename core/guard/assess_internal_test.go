package guard

import (
	"math"
	"testing"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"pgregory.net/rapid"
	"strconv"
)

// TestChance: the test's probability is near that of counting all ways to choose which values are the first, ties
// included.
func TestChance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(6, 8).Draw(t, "n"), rapid.IntRange(6, 8).Draw(t, "m")
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 40).Draw(t, "v")) }), n+m, n+m).Draw(t, "values")
		above := func(first func(i int) bool) (u float64) { // pairs in which the first is above, ties half
			for i, v := range all {
				for k, o := range all {
					switch {
					case !first(i) || first(k):
					case v > o:
						u++
					case v == o:
						u += 0.5
					}
				}
			}
			return u
		}
		got := above(func(i int) bool { return i < n })
		ways, as := 0, 0
		for set := range 1 << (n + m) {
			count := 0
			for i := range n + m {
				count += set >> i & 1
			}
			if count != n {
				continue
			}
			ways++
			if above(func(i int) bool { return set>>i&1 == 1 }) >= got {
				as++
			}
		}
		if exact, near := float64(as)/float64(ways), chance(all[:n], all[n:]); math.Abs(exact-near) > 0.03 {
			t.Errorf("%v beside %v: %v, exactly %v", all[:n], all[n:], near, exact)
		}
	})
}

func TestChanceOfEqualValues(t *testing.T) {
	t.Parallel()
	if p := chance([]float64{1, 1, 1}, []float64{1, 1}); p != 1 {
		t.Errorf("equal values: %v", p)
	}
	// Ten values above ten others: z = 49.5 / sqrt(175).
	var low, high []float64
	for i := range 10 {
		low, high = append(low, float64(i)), append(high, float64(10+i))
	}
	if p := chance(high, low); math.Abs(p-9.1e-5) > 1e-6 {
		t.Errorf("all above: %v", p)
	}
	if p := chance(low, high); p < 0.9999 {
		t.Errorf("all below: %v", p)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	if a, b := median([]float64{3, 1, 2}), median([]float64{4, 1, 3, 2}); a != 2 || b != 2.5 {
		t.Errorf("%v, %v", a, b)
	}
}

// Queues where steering is off are not forgotten for another, whatever their names.
func TestNoRoomBesideQueuesThatAreOff(t *testing.T) {
	t.Parallel()
	g := New(Params{Enabled: true})
	g.queues[""] = &queue{figures: snapshot.GuardedQueue{Off: true}}
	for i := range mostQueues - 1 {
		g.queues[model.QueueID(strconv.Itoa(i))] = &queue{figures: snapshot.GuardedQueue{Off: true}}
	}
	if g.queue("another") != nil || len(g.queues) != mostQueues {
		t.Errorf("%d queues are followed", len(g.queues))
	}
}
