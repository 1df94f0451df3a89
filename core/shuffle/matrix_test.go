package shuffle_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/shuffle"
)

const gb = model.Bytes(1e9)

// A.2: ShuffleWatcher's Fig. 7. Two racks hold 90 and 10 of 100 GB, ten reduces.
func TestFigure7(t *testing.T) {
	t.Parallel()
	out := []model.Bytes{90 * gb, 10 * gb}
	for _, tc := range []struct {
		name       string
		reduces    []int
		want       []int
		crosses    model.Bytes
		busiest    model.Bytes
		reductionP int // of the bytes an even placement sends
	}{
		{"proportional", shuffle.Proportional(out, 10), []int{9, 1}, 18 * gb, 9 * gb, 64},
		{"uniform", []int{5, 5}, []int{5, 5}, 50 * gb, 45 * gb, 0},
		{"fewest bytes", shuffle.FewestBytes(out, 10), []int{10, 0}, 10 * gb, 10 * gb, 80},
	} {
		if diff := cmp.Diff(tc.want, tc.reduces); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		got := shuffle.CrossRack(out, tc.reduces)
		if got != tc.crosses || shuffle.Busiest(out, tc.reduces) != tc.busiest {
			t.Errorf("%s: %d across racks, %d on the busiest uplink, want %d and %d", tc.name, got, shuffle.Busiest(out, tc.reduces), tc.crosses, tc.busiest)
		}
		if p := 100 - int(100*got/(50*gb)); p != tc.reductionP {
			t.Errorf("%s: saves %d %%, want %d", tc.name, p, tc.reductionP)
		}
	}
}

func TestEdges(t *testing.T) {
	t.Parallel()
	if got := shuffle.CrossRack([]model.Bytes{5, 7}, nil); got != 0 {
		t.Errorf("without reduces %d bytes cross", got)
	}
	if got := shuffle.CrossRack([]model.Bytes{5, 7}, []int{0, 0, 3}); got != 12 {
		t.Errorf("all reduces on a rack without output: %d cross, want 12", got)
	}
	if got := shuffle.Busiest(nil, []int{3}); got != 0 {
		t.Errorf("without map output %d on the busiest uplink", got)
	}
	if got := shuffle.Busiest([]model.Bytes{6, 6}, []int{0, 0, 1}); got != 12 {
		t.Errorf("the downlink of the third rack carries %d, want 12", got)
	}
	if diff := cmp.Diff([]int{0, 0}, shuffle.FewestBytes([]model.Bytes{0, 0}, 4)); diff != "" {
		t.Errorf("no output to follow (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 4, 0}, shuffle.FewestBytes([]model.Bytes{1, 7, 7}, 4)); diff != "" {
		t.Errorf("ties go to the lower rack (-want +got):\n%s", diff)
	}
}

func TestApportion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		weights []float64
		n       int
		want    []int
	}{
		{[]float64{.9, .1}, 10, []int{9, 1}},
		{[]float64{9e10, 1e10}, 10, []int{9, 1}},
		{[]float64{1, 1, 1}, 2, []int{1, 1, 0}}, // ties to the lower index
		{[]float64{3, 2, 1}, 4, []int{2, 1, 1}}, // 2, 1.33, 0.67
		{[]float64{0, 1, 0}, 3, []int{0, 3, 0}},
		{[]float64{-5, 1}, 3, []int{0, 3}},
		{[]float64{0, 0}, 3, []int{0, 0}},
		{[]float64{1, 2}, 0, []int{0, 0}},
		{nil, 3, []int{}},
		{[]float64{.1, .2, .7}, 10, []int{1, 2, 7}}, // whole shares that floating point misses
	} {
		if diff := cmp.Diff(tc.want, shuffle.Apportion(tc.weights, tc.n)); diff != "" {
			t.Errorf("Apportion(%v, %d) (-want +got):\n%s", tc.weights, tc.n, diff)
		}
	}
}

// Each rack gets its share rounded down or up, all tasks are given, and a rack
// with more weight never gets fewer.
func TestApportionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOfN(rapid.Float64Range(0, 1e12), 1, 12).Draw(t, "weights")
		n := rapid.IntRange(0, 500).Draw(t, "n")
		got := shuffle.Apportion(w, n)
		total, given := 0.0, 0
		for r := range w {
			total += w[r]
			given += got[r]
		}
		if total == 0 {
			if given != 0 {
				t.Fatalf("%v for no weight", got)
			}
			return
		}
		if given != n {
			t.Fatalf("%v sums to %d, want %d", got, given, n)
		}
		for r := range w {
			exact := w[r] / total * float64(n)
			if math.Abs(float64(got[r])-exact) > 1+1e-6 {
				t.Fatalf("rack %d gets %d of an exact %g", r, got[r], exact)
			}
			for q := range w {
				if w[r] > w[q] && got[r] < got[q] {
					t.Fatalf("rack %d outweighs rack %d and gets %d of %d", r, q, got[r], got[q])
				}
			}
		}
	})
}

func output(t *rapid.T) []model.Bytes {
	raw := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 8).Draw(t, "output")
	out := make([]model.Bytes, len(raw))
	for i, b := range raw {
		out[i] = model.Bytes(b)
	}
	return out
}

// exact is the bytes across racks, and those on the busiest uplink, of a
// placement in fractions.
func exact(out []model.Bytes, f []float64) (cross, busiest float64) {
	total := float64(shuffle.Total(out))
	for r, b := range out {
		up, down := float64(b)*(1-f[r]), f[r]*(total-float64(b))
		cross += up
		busiest = max(busiest, up, down)
	}
	return cross, busiest
}

// 4.2a: the fewest bytes <= proportional <= uniform, always, in fractions.
func TestBytesOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := output(t)
		total := float64(shuffle.Total(out))
		if total == 0 {
			return
		}
		n := len(out)
		best, prop, even := make([]float64, n), make([]float64, n), make([]float64, n)
		for r, c := range shuffle.FewestBytes(out, 1) {
			best[r] = float64(c)
			prop[r] = float64(out[r]) / total
			even[r] = 1 / float64(n)
		}
		a, _ := exact(out, best)
		b, _ := exact(out, prop)
		c, _ := exact(out, even)
		if slack := 1e-9 * total; a > b+slack || b > c+slack {
			t.Fatalf("fewest %g, proportional %g, uniform %g", a, b, c)
		}
		if want := total * (1 - 1/float64(n)); math.Abs(c-want) > 1e-9*total {
			t.Fatalf("uniform sends %g, want M(1 - 1/R) = %g", c, want)
		}
	})
}

// 4.2a for whole reduces: no placement of n reduces beats all on the best rack.
func TestFewestBytesIsLeast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := output(t)
		n := rapid.IntRange(1, 50).Draw(t, "reduces")
		other := shuffle.Apportion(rapid.SliceOfN(rapid.Float64Range(0.01, 1), len(out), len(out)).Draw(t, "placement"), n)
		if shuffle.Total(out) == 0 {
			return
		}
		if a, b := shuffle.CrossRack(out, shuffle.FewestBytes(out, n)), shuffle.CrossRack(out, other); a > b+1 {
			t.Fatalf("all on one rack sends %d, %v sends %d", a, other, b)
		}
	})
}

// 4.2b: on an idle symmetric network no placement has a lower busiest uplink
// than the proportional one, whose value is M max p(1-p).
func TestProportionalIsBottleneckOptimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := output(t)
		total := float64(shuffle.Total(out))
		if total == 0 {
			return
		}
		p := make([]float64, len(out))
		want := 0.0
		for r, b := range out {
			p[r] = float64(b) / total
			want = max(want, total*p[r]*(1-p[r]))
		}
		_, got := exact(out, p)
		if math.Abs(got-want) > 1e-9*total {
			t.Fatalf("busiest %g, want %g", got, want)
		}
		f := rapid.SliceOfN(rapid.Float64Range(0, 1), len(out), len(out)).Draw(t, "placement")
		sum := 0.0
		for _, v := range f {
			sum += v
		}
		if sum == 0 {
			return
		}
		for r := range f {
			f[r] /= sum
		}
		if _, other := exact(out, f); other < got-1e-9*total {
			t.Fatalf("%v has busiest uplink %g, below the proportional %g", f, other, got)
		}
	})
}

// The integer forms agree with the exact ones to within the rounding of one
// reduce.
func TestWholeReducesAreCloseToExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		out := output(t)
		n := rapid.IntRange(1, 100).Draw(t, "reduces")
		total := float64(shuffle.Total(out))
		if total == 0 {
			return
		}
		counts := shuffle.Proportional(out, n)
		p, f := make([]float64, len(out)), make([]float64, len(out))
		for r := range out {
			p[r], f[r] = float64(out[r])/total, float64(counts[r])/float64(n)
		}
		cross, busiest := exact(out, f)
		if math.Abs(cross-float64(shuffle.CrossRack(out, counts))) > 2 || math.Abs(busiest-float64(shuffle.Busiest(out, counts))) > 2 {
			t.Fatalf("CrossRack %d and Busiest %d, want %g and %g", shuffle.CrossRack(out, counts), shuffle.Busiest(out, counts), cross, busiest)
		}
		_, best := exact(out, p)
		if busiest > best+total/float64(n)+1 { // 4.2: error <= M/N per link
			t.Fatalf("busiest %g, more than one reduce above %g", busiest, best)
		}
	})
}

// A.2: one block with a replica somewhere can always be handled without
// crossing racks; and the bound of 4.3 is below what any placement sends.
func TestLowerBound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		blocks [][]int
		least  []model.Bytes
		want   model.Bytes
	}{
		{"one block", [][]int{{1, 2}}, []model.Bytes{100}, 0},
		{"no blocks", nil, nil, 0},
		{"all on one rack", [][]int{{1, 2}, {1, 3}, {1}}, []model.Bytes{100, 100, 100}, 0},
		{"half on the best rack", [][]int{{0}, {1}}, []model.Bytes{20, 20}, 20},
		{"the larger block decides", [][]int{{0}, {1}, {1}}, []model.Bytes{100, 30, 30}, 60},
		{"a rack named twice counts once", [][]int{{0, 0}, {1, 2}, {1, 2}}, []model.Bytes{100, 100, 100}, 100},
	} {
		if got := shuffle.LowerBound(tc.blocks, tc.least); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// Brute force over all racks for each map and all fractions' vertices: a fixed
// choice of map racks and one rack of all reduces.
func TestLowerBoundIsBelowEveryPlacement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 5).Draw(t, "racks")
		blocks := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, racks-1), 1, min(3, racks), rapid.ID), 1, 8).Draw(t, "blocks")
		mapped, least := make([]model.Bytes, racks), make([]model.Bytes, len(blocks))
		remote := model.Bytes(0)
		for i, b := range blocks {
			input, output := model.Bytes(rapid.IntRange(0, 2000).Draw(t, "block")), model.Bytes(rapid.IntRange(0, 3000).Draw(t, "output"))
			least[i] = min(input, output)
			r := rapid.IntRange(0, racks-1).Draw(t, "map rack")
			mapped[r] += output
			if !slices.Contains(b, r) {
				remote += input
			}
		}
		bound := shuffle.LowerBound(blocks, least)
		reduces := shuffle.Apportion(rapid.SliceOfN(rapid.Float64Range(0.001, 1), racks, racks).Draw(t, "reduces"), 12)
		if got := remote + shuffle.CrossRack(mapped, reduces); got+1 < bound {
			t.Fatalf("a placement sends %d, the bound is %d", got, bound)
		}
	})
}

// compositions calls f with every way to put n reduces on so many racks. f must
// not keep its argument.
func compositions(racks, n int, f func(reduces []int)) {
	counts := make([]int, racks)
	var fill func(r, left int)
	fill = func(r, left int) {
		if r == racks-1 {
			counts[r] = left
			f(counts)
			return
		}
		for counts[r] = 0; counts[r] <= left; counts[r]++ {
			fill(r+1, left-counts[r])
		}
	}
	fill(0, n)
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
				compositions(racks, n, func(c []int) { best = min(best, remote+shuffle.CrossRack(out, c)) })
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
