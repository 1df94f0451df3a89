package shuffle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
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

// denseOutput is ByRack and Total of Expect as its comment says, one rack after the other, whether or not anything is there.
func denseOutput(m *MapFacts, racks int) (byRack []float64, total float64, known bool) {
	launched, complete, bound := sum(m.Launched, racks), sum(m.Complete, racks), sum(m.Bound, racks)
	byRack = make([]float64, racks)
	if launched+bound == 0 {
		return byRack, 0, false
	}
	left := max(m.Total-complete, 0)
	each, quiet := m.Each, m.Silent
	if each <= 0 {
		each, quiet = 1, 1
	}
	running := min(max(launched-complete, 0), left)
	unseen := left - running
	pending, size := float64(unseen), each
	if done := min(max(m.Done-max(launched, complete), 0), unseen); done > 0 {
		size = (quiet*float64(done) + each*float64(unseen-done)) / pending
	}
	part := float64(running) / float64(max(launched-complete, 1))
	for r := range racks {
		done, next := at(m.Complete, r), 0.0
		runs, silent := part*float64(max(at(m.Launched, r)-done, 0)), float64(max(done-at(m.Reported, r), 0))
		switch {
		case pending == 0:
		case bound > 0:
			next = pending * (float64(at(m.Bound, r)) / float64(bound))
		default:
			next = pending * (float64(at(m.Launched, r)) / float64(launched))
		}
		byRack[r] = float64(at(m.Output, r)) + quiet*silent + each*runs + size*next
		total += byRack[r]
	}
	return byRack, total, total > 0
}

// levelDense is Level, one rack after the other, and in how many rounds reduces were moved.
func levelDense(out []float64, n int) (counts []int, rounds int) {
	counts = Apportion(out, n)
	total := 0.0
	for _, m := range out {
		total += m
	}
	for range counts {
		if !relieve(out, total, counts, n) {
			break
		}
		rounds++
	}
	return counts, rounds
}

// TestPassedOverRacks: racks that are passed over because nothing is there change no bit of a forecast, nor of how
// reduces are leveled by it.
func TestPassedOverRacks(t *testing.T) {
	t.Parallel()
	var f Forecast
	var l Leveling
	var counts []int
	pending, bound, moved := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 30).Draw(t, "racks")
		m := MapFacts{
			Each: rapid.SampledFrom([]float64{0, 0.1, 7.3}).Draw(t, "each"), Silent: rapid.SampledFrom([]float64{0, 0.3, 6.1}).Draw(t, "silent"),
			Deviation: 0.5, Done: rapid.IntRange(0, 40).Draw(t, "done"), Total: rapid.IntRange(0, 60).Draw(t, "more"),
			Local: rapid.SliceOfN(rapid.IntRange(0, 2), 0, racks).Draw(t, "local"),
		}
		few := rapid.IntRange(-3, 3)
		for range rapid.IntRange(0, racks+2).Draw(t, "known racks") { // racks may have come since they were asked for, or not be counted yet
			complete := max(few.Draw(t, "complete"), 0)
			reported := min(complete, max(few.Draw(t, "reported"), 0))
			m.Complete, m.Reported = append(m.Complete, complete), append(m.Reported, reported)
			m.Launched = append(m.Launched, complete+max(few.Draw(t, "running"), 0))
			m.Output = append(m.Output, model.Bytes(reported)*model.Bytes(rapid.IntRange(0, 9).Draw(t, "output")))
			m.Total += complete
		}
		if rapid.Bool().Draw(t, "launched less") {
			m.Launched = m.Launched[:len(m.Launched)/2]
		}
		if rapid.IntRange(0, 2).Draw(t, "bind") == 0 {
			m.Bound = rapid.SliceOfN(rapid.IntRange(0, 1), 0, racks+2).Draw(t, "bound")
		}
		want, total, known := denseOutput(&m, racks)
		for _, expect := range []func(*MapFacts, int) bool{f.ExpectOutput, f.Expect} {
			if got := expect(&m, racks); got != known || f.Total != total || !slices.Equal(f.ByRack, want) {
				t.Fatalf("%t, %v in all, %v; rack by rack %t, %v, %v", got, f.Total, f.ByRack, known, total, want)
			}
		}
		n := rapid.IntRange(0, 60).Draw(t, "reduces")
		uneven := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 0.37, 1, 2.9, 11.3}), 0, 40).Draw(t, "uneven")
		for _, out := range [][]float64{want, uneven} {
			even, rounds := levelDense(out, n)
			if counts = l.Level(counts, out, n); !slices.Equal(counts, even) {
				t.Fatalf("%d reduces by %v: %v, rack by rack %v", n, out, counts, even)
			}
			if rounds > 1 {
				moved++
			}
		}
		if known && sum(m.Bound, racks) > 0 {
			bound++
		} else if known {
			pending++
		}
	})
	if !testing.Short() && (pending == 0 || bound == 0 || moved == 0) { // short runs draw few cases
		t.Errorf("%d forecasts by launches, %d by bound maps, %d levelings of several rounds", pending, bound, moved)
	}
}
