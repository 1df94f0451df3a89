package shuffle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestMayBeBusierOfAnyRack: no rack is left out that would make the plan busier by being off.
func TestMayBeBusierOfAnyRack(t *testing.T) {
	t.Parallel()
	yes, no := 0, 0
	check := func(t *rapid.T) {
		racks := rapid.SampledFrom([]int{1, 2, 3, 7, 40}).Draw(t, "racks")
		f := &Forecast{}
		var plan, other []int
		for range racks {
			out := float64(rapid.IntRange(0, 100).Draw(t, "output"))
			f.ByRack, f.Total = append(f.ByRack, out), f.Total+out
			f.Off = append(f.Off, float64(rapid.IntRange(0, 300).Draw(t, "off"))/10)
			plan = append(plan, rapid.IntRange(0, 3).Draw(t, "plan"))
			other = append(other, rapid.IntRange(0, 3).Draw(t, "other"))
		}
		// Mostly the plan is just within what it may carry, so that little makes it busier.
		than := 1.1
		if b := BusiestOf(f.ByRack, other); b > 0 && rapid.IntRange(0, 3).Draw(t, "close") > 0 {
			than = max(BusiestOf(f.ByRack, plan)/b, 0.1) * (1 + float64(rapid.IntRange(0, 20).Draw(t, "slack"))/400)
		}
		want := false
		for r, off := range f.Off {
			for _, by := range []float64{off, -off} {
				want = want || off > 0 && f.shift(r, by) && busier(f.shifted, than, plan, other)
			}
		}
		if want {
			yes++
		} else {
			no++
		}
		if got := f.MayBeBusier(than, plan, other); got != want {
			t.Fatalf("%t, want %t", got, want)
		}
	}
	for range 20 { // one case in a thousand tells
		rapid.Check(t, check)
	}
	if yes == 0 || no == 0 {
		t.Errorf("%d yes, %d no", yes, no)
	}
}

// TestEven: as Apportion divides by equal weights.
func TestEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		open, n := rapid.SliceOfN(rapid.Bool(), 0, 50).Draw(t, "open"), rapid.IntRange(0, 300).Draw(t, "tasks")
		weights := make([]float64, len(open))
		for r, is := range open {
			if is {
				weights[r] = 1
			}
		}
		if diff := cmp.Diff(Apportion(weights, n), Even(open, n)); diff != "" {
			t.Fatal(diff)
		}
	})
}
