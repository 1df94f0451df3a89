package shuffle_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// symmetric makes sites of map output alone: an idle network of equal links.
func symmetric(out []model.Bytes, capacity model.BytesPerSecond) []shuffle.Site {
	sites := make([]shuffle.Site, len(out))
	for r := range out {
		sites[r] = shuffle.Site{MapOutput: out[r], Out: capacity, In: capacity, Room: shuffle.Unlimited}
	}
	return sites
}

func outputs(sites []shuffle.Site) []model.Bytes {
	out := make([]model.Bytes, len(sites))
	for r := range sites {
		out[r] = sites[r].MapOutput
	}
	return out
}

func TestPlace(t *testing.T) {
	t.Parallel()
	skewed := symmetric([]model.Bytes{90 * gb, 10 * gb}, 1e9)
	with := func(base []shuffle.Site, change func(s []shuffle.Site)) []shuffle.Site {
		s := slices.Clone(base)
		change(s)
		return s
	}
	even := symmetric([]model.Bytes{10 * gb, 10 * gb, 10 * gb}, 1e9)
	for _, tc := range []struct {
		name    string
		sites   []shuffle.Site
		n       int
		eps     float64
		want    []int
		seconds float64
	}{
		{"90/10 (A.2): the lowest busiest link is proportional", skewed, 10, 0, []int{9, 1}, 9},
		{"4.2d: eps .12 already allows all on one rack", skewed, 10, 0.12, []int{10, 0}, 10},
		{"eps .1 does not", skewed, 10, 0.1, []int{9, 1}, 9},
		{"as few bytes as can be", even, 6, math.Inf(1), []int{6, 0, 0}, 20},
		{"even output spreads evenly", even, 6, 0, []int{2, 2, 2}, 20.0 / 3},
		{"a slow downlink gets less", with(even, func(s []shuffle.Site) { s[0].In = 0.5e9 }), 12, 0, []int{2, 5, 5}, 25.0 / 3},
		{"what is queued on a downlink counts", with(even, func(s []shuffle.Site) { s[2].QueuedIn = 10 * gb }), 12, 0, []int{6, 6, 0}, 10},
		{"a slow uplink is spared", with(even, func(s []shuffle.Site) { s[1].Out = 0.2e9 }), 10, 0, []int{3, 7, 0}, 15},
		{"a jam that nothing has to pass is no excuse", with(even, func(s []shuffle.Site) { s[2].MapOutput, s[2].QueuedIn, s[2].QueuedOut = 0, 900*gb, 900*gb }), 10, 0, []int{5, 5, 0}, 5},
		{"a jammed uplink keeps the reduces", with(even, func(s []shuffle.Site) { s[2].QueuedOut = 900 * gb }), 10, 0, []int{0, 0, 10}, 20},
		{"room", with(even, func(s []shuffle.Site) { s[0].Room, s[1].Room = 1, 2 }), 10, math.Inf(1), []int{1, 2, 7}, 14},
		{"room bounds", with(skewed, func(s []shuffle.Site) { s[0].Room = 4 }), 10, math.Inf(1), []int{4, 6}, 54},
		{"too little room: in waves, by room", with(skewed, func(s []shuffle.Site) { s[0].Room, s[1].Room = 1, 3 }), 8, 0, []int{2, 6}, 67.5},
		{"no room", with(skewed, func(s []shuffle.Site) { s[0].Room, s[1].Room = 0, 0 }), 8, 0, []int{0, 0}, 0},
		{"no output", symmetric([]model.Bytes{0, 0}, 1e9), 8, 0, []int{0, 0}, 0},
		{"no reduces", skewed, 0, 0, []int{0, 0}, 0},
		{"no sites", nil, 3, 0, nil, 0},
		{"output on one rack", symmetric([]model.Bytes{0, 7 * gb}, 1e9), 3, 0, []int{0, 3}, 0},
		{"what comes later decides among equals", with(even, func(s []shuffle.Site) { s[1].Later = 1 }), 6, math.Inf(1), []int{0, 6, 0}, 20},
		{"a capacity that is not known is the largest known", with(even, func(s []shuffle.Site) { s[0].In, s[1].Out = 0, 0 }), 6, 0, []int{2, 2, 2}, 20.0 / 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var p shuffle.Placer
			got, seconds := p.Place(tc.sites, tc.n, tc.eps, nil)
			if diff := cmp.Diff(tc.want, got); diff != "" || math.Abs(seconds-tc.seconds) > 1e-9 {
				t.Errorf("busiest link %g s, want %g (-want +got):\n%s", seconds, tc.seconds, diff)
			}
		})
	}
	// Without any capacity the order is that of equal links, in seconds at 1 byte/s.
	var p shuffle.Placer
	if got, seconds := p.Place(symmetric([]model.Bytes{900, 100}, 0), 10, 0, nil); !slices.Equal(got, []int{9, 1}) || seconds != 90 {
		t.Errorf("without capacities: %v in %g s", got, seconds)
	}
}

// drawSites draws racks with everything that may differ; capacities may be
// unknown, links jammed, room short.
func drawSites(t *rapid.T, racks int) []shuffle.Site {
	sites := make([]shuffle.Site, racks)
	for r := range sites {
		sites[r] = shuffle.Site{
			MapOutput: model.Bytes(rapid.Int64Range(0, 1000).Draw(t, "output")) * model.MiB,
			Later:     model.Bytes(rapid.SampledFrom([]int64{0, 0, 50, 500}).Draw(t, "later")) * model.MiB,
			Out:       model.BytesPerSecond(rapid.SampledFrom([]float64{0, 1e7, 1e8, 1.25e8}).Draw(t, "out")),
			In:        model.BytesPerSecond(rapid.SampledFrom([]float64{0, 1e7, 1e8, 1.25e8}).Draw(t, "in")),
			QueuedOut: model.Bytes(rapid.SampledFrom([]int64{0, 0, 100, 1000}).Draw(t, "queued out")) * model.MiB,
			QueuedIn:  model.Bytes(rapid.SampledFrom([]int64{0, 0, 100, 1000}).Draw(t, "queued in")) * model.MiB,
			Room:      rapid.SampledFrom([]int{-1, -1, 0, 1, 3, 20}).Draw(t, "room"),
		}
	}
	return sites
}

// compositions calls f with every way to put n reduces on the sites within
// their room, which it must not keep.
func compositions(sites []shuffle.Site, n int, f func([]int)) {
	counts := make([]int, len(sites))
	var fill func(r, left int)
	fill = func(r, left int) {
		if r == len(sites) {
			if left == 0 {
				f(counts)
			}
			return
		}
		most := left
		if sites[r].Room >= 0 {
			most = min(most, sites[r].Room)
		}
		for counts[r] = 0; counts[r] <= most; counts[r]++ {
			fill(r+1, left-counts[r])
		}
		counts[r] = 0
	}
	fill(0, n)
}

// moved is what Place makes least: the bytes across racks, less what is saved later.
func moved(sites []shuffle.Site, counts []int, n int) float64 {
	sum := 0.0
	for r, k := range counts {
		sum += float64(sites[r].MapOutput) - float64(k)/float64(n)*float64(sites[r].MapOutput+sites[r].Later)
	}
	return sum
}

// 4.2c and 4.2d against every placement of a few reduces: none has a lower
// busiest link than eps 0 gives, and none within (1+eps) of it moves less.
func TestPlaceIsBestOfAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sites := drawSites(t, rapid.IntRange(1, 4).Draw(t, "racks"))
		n := rapid.IntRange(1, 7).Draw(t, "reduces")
		eps := rapid.SampledFrom([]float64{0, 0.1, 1, 10, math.Inf(1)}).Draw(t, "eps")
		var p shuffle.Placer
		first, least := p.Place(sites, n, 0, nil)
		first = slices.Clone(first)
		got, seconds := p.Place(sites, n, eps, nil)
		if shuffle.Total(outputs(sites)) == 0 {
			return
		}
		best, fits := math.Inf(1), false
		compositions(sites, n, func(c []int) { best, fits = min(best, shuffle.BusiestSeconds(sites, c)), true })
		if !fits { // too little room: in waves
			return
		}
		if least > best*(1+1e-9) || shuffle.BusiestSeconds(sites, first) != least {
			t.Fatalf("%v takes %g s (told %g), the best placement %g", first, shuffle.BusiestSeconds(sites, first), least, best)
		}
		limit := math.Inf(1)
		if !math.IsInf(eps, 1) {
			limit = (1 + eps) * least
		}
		if seconds > limit || shuffle.BusiestSeconds(sites, got) != seconds {
			t.Fatalf("%v takes %g s (told %g), at most %g is allowed", got, shuffle.BusiestSeconds(sites, got), seconds, limit)
		}
		bytes := moved(sites, got, n)
		compositions(sites, n, func(c []int) {
			if shuffle.BusiestSeconds(sites, c) <= limit && moved(sites, c, n) < bytes-1 {
				t.Fatalf("%v moves %g, %v moves %g within %g s", got, bytes, c, moved(sites, c, n), limit)
			}
		})
		given := 0
		for _, k := range got {
			given += k
		}
		if given != n {
			t.Fatalf("%v places %d of %d", got, given, n)
		}
	})
}

// 4.2c as printed, in fractions of reduces and on idle links: the bound of the
// bisection is what a fine grid finds, and whole reduces are above it by no more
// than one reduce's share of a link, M/N.
func TestPlaceAgainstFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sites := drawSites(t, rapid.IntRange(2, 8).Draw(t, "racks"))
		slowest := math.Inf(1)
		for r := range sites {
			s := &sites[r]
			s.Out, s.In, s.Room = max(s.Out, 1e7), max(s.In, 1e7), shuffle.Unlimited
			s.QueuedOut, s.QueuedIn, s.Later = 0, 0, 0
			slowest = min(slowest, float64(s.Out), float64(s.In))
		}
		total := float64(shuffle.Total(outputs(sites)))
		if total == 0 {
			return
		}
		n := rapid.IntRange(1, 200).Draw(t, "reduces")
		var p shuffle.Placer
		reduces, seconds := p.Place(sites, n, 0, nil)
		low, high := 0.0, total/slowest
		for range 100 {
			if t := (low + high) / 2; feasible(sites, total, t) {
				high = t
			} else {
				low = t
			}
		}
		if seconds < high*(1-1e-9)-1e-9 || seconds > high+total/float64(n)/slowest*(1+1e-9) {
			t.Fatalf("%v takes %g s; fractions take %g, one reduce more %g", reduces, seconds, high, high+total/float64(n)/slowest)
		}
	})
}

// feasible is 4.2c's test of a time.
func feasible(sites []shuffle.Site, total, t float64) bool {
	lows, highs := 0.0, 0.0
	for i := range sites {
		m := float64(sites[i].MapOutput)
		lo, hi := 0.0, 1.0
		if m > 0 {
			lo = max(0, 1-t*float64(sites[i].Out)/m)
		}
		if total > m {
			hi = min(1, t*float64(sites[i].In)/(total-m))
		}
		if lo > hi {
			return false
		}
		lows, highs = lows+lo, highs+hi
	}
	return lows <= 1 && 1 <= highs
}

// 4.2c in three racks against a grid of 1/60 reduces.
func TestFractionsAgainstGrid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sites := drawSites(t, 3)
		total := float64(shuffle.Total(outputs(sites)))
		const n = 60
		var p shuffle.Placer
		sites[0].Room = shuffle.Unlimited // room for all
		got, seconds := p.Place(sites, n, 0, nil)
		if total == 0 {
			return
		}
		best, where := math.Inf(1), ""
		compositions(sites, n, func(c []int) {
			if s := shuffle.BusiestSeconds(sites, c); s < best {
				best, where = s, fmt.Sprint(c)
			}
		})
		if seconds > best*(1+1e-9) {
			t.Fatalf("%v takes %g s, %s takes %g", got, seconds, where, best)
		}
	})
}

// 4.2b: on an idle symmetric network the lowest busiest link is that of the
// proportional placement, M max p(1-p), up to one reduce's share.
func TestPlaceIsProportionalOnSymmetricLinks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := output(t)
		total := float64(shuffle.Total(out))
		n := rapid.IntRange(1, 300).Draw(t, "reduces")
		if total == 0 {
			return
		}
		var p shuffle.Placer
		got, seconds := p.Place(symmetric(out, 1), n, 0, nil)
		want := 0.0
		for _, b := range out {
			want = max(want, float64(b)*(1-float64(b)/total))
		}
		if seconds < want*(1-1e-9)-1 || seconds > want+total/float64(n)*(1+1e-9) {
			t.Fatalf("%v: busiest %g, want %g and at most %g more", got, seconds, want, total/float64(n))
		}
		if rounded := shuffle.Busiest(out, shuffle.Proportional(out, n)); seconds > float64(rounded)+1 {
			t.Fatalf("%v: busiest %g, the rounded proportional placement has %d", got, seconds, rounded)
		}
		if math.Abs(float64(shuffle.Busiest(out, got))-seconds) > 1 {
			t.Fatalf("%v: busiest %g, Busiest says %d", got, seconds, shuffle.Busiest(out, got))
		}
	})
}

// 4.2d: bytes never rise and the busiest link never falls with eps, up to 4.2a.
func TestEpsTradesTimeForBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sites := drawSites(t, rapid.IntRange(1, 8).Draw(t, "racks"))
		n := rapid.IntRange(1, 60).Draw(t, "reduces")
		var p shuffle.Placer
		var dst []int
		bytes, seconds := math.Inf(1), 0.0
		for _, eps := range []float64{0, 0.01, 0.1, 0.3, 1, 3, 10, 1000, math.Inf(1)} {
			var s float64
			dst, s = p.Place(sites, n, eps, dst)
			if b := moved(sites, dst, n); b > bytes+1e-6*math.Abs(bytes) || s < seconds {
				t.Fatalf("eps %g: %v moves %g in %g s; before %g in %g s", eps, dst, b, s, bytes, seconds)
			} else {
				bytes, seconds = b, s
			}
		}
		for r := range sites { // with room for all and nothing to come, (a)
			sites[r].Room, sites[r].Later = shuffle.Unlimited, 0
		}
		dst, _ = p.Place(sites, n, math.Inf(1), dst)
		if shuffle.Total(outputs(sites)) > 0 {
			if diff := cmp.Diff(shuffle.FewestBytes(outputs(sites), n), dst); diff != "" {
				t.Fatalf("eps inf (-fewest +got):\n%s", diff)
			}
		}
	})
}

// 4.3 by brute force over every rack of every map and every placement of the
// reduces: the bound is met, and nothing is below it.
func TestLowerBoundIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 3).Draw(t, "racks")
		blocks := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, racks-1), 1, racks, rapid.ID), 1, 4).Draw(t, "blocks")
		perMap := model.Bytes(rapid.IntRange(0, 2500).Draw(t, "output of a map"))
		const read, n = 1000, 3
		bound := shuffle.LowerBound(blocks, slices.Repeat([]model.Bytes{min(read, perMap)}, len(blocks)))
		if len(blocks) == 1 && bound != 0 {
			t.Fatalf("one block: %d", bound)
		}
		best := model.Bytes(math.MaxInt64)
		out := make([]model.Bytes, racks)
		var place func(b int, remote model.Bytes)
		place = func(b int, remote model.Bytes) {
			if b == len(blocks) {
				compositions(symmetric(out, 1), n, func(c []int) { best = min(best, remote+shuffle.CrossRack(out, c)) })
				return
			}
			for r := range racks {
				out[r] += perMap
				cost := model.Bytes(read)
				if slices.Contains(blocks[b], r) {
					cost = 0
				}
				place(b+1, remote+cost)
				out[r] -= perMap
			}
		}
		place(0, 0)
		if math.Abs(float64(best-bound)) > 1 { // both are rounded
			t.Fatalf("the best placement sends %d, the bound is %d", best, bound)
		}
	})
}

func TestPlaceAllocatesNothing(t *testing.T) {
	if raced {
		t.Skip("the race detector moves variables to the heap")
	}
	sites, p, dst := manySites(30), shuffle.Placer{}, make([]int, 30)
	if n := testing.AllocsPerRun(20, func() { dst, _ = p.Place(sites, 400, 0.1, dst) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// manySites makes racks with skewed output, unequal links and some load.
func manySites(racks int) []shuffle.Site {
	sites := make([]shuffle.Site, racks)
	for r := range sites {
		sites[r] = shuffle.Site{
			MapOutput: model.Bytes(r%7+1) * model.Bytes(r%11) * model.GiB, Out: 1.25e9, In: 1.25e9 / model.BytesPerSecond(r%2+1),
			QueuedIn: model.Bytes(r%3) * model.GiB, Room: r%5*10 + 5,
		}
	}
	return sites
}

func BenchmarkPlace(b *testing.B) {
	for _, racks := range []int{10, 30, 200} {
		b.Run(fmt.Sprintf("racks=%d", racks), func(b *testing.B) {
			sites := manySites(racks)
			var p shuffle.Placer
			var dst []int
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = p.Place(sites, 400, 0.1, dst)
			}
		})
	}
}
