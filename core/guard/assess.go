package guard

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/state/snapshot"
)

// byChance is how likely a difference of slowdowns at least as large is by chance, at most, for it to count. The test is
// repeated with every application that ends. Where steering changes nothing, it turned steering off on at most 1 of
// 60 simulated days at this level, on 4 to 12 at 0.001 and on 57 to 59 at 0.05: 60 to 300 applications an hour, a tenth or a
// fifth of them unsteered, slowdowns spread log-normally with sigma 0.5 or 1. Twice the slowdowns were found after 1.4 h in
// the mean, 1.3 times with 60 an hour within the day on 35 of 60.
const byChance = 0.0001

// assess computes the figures of a window. Where there are fewer than enough of both kinds, slowdowns are not compared.
func assess(f *snapshot.GuardedQueue, window []Application, enough int) {
	*f = snapshot.GuardedQueue{Queue: f.Queue, Off: f.Off, Until: f.Until, Trips: f.Trips, Why: f.Why, Chance: 1}
	var steered, unsteered []float64 // slowdowns
	for i := range window {
		a := &window[i]
		slowdowns := &unsteered
		if a.Steered {
			slowdowns = &steered
			f.Steered++
			f.Ran += a.Took.Seconds()
			f.Uplink += a.Uplink
			f.Stock += a.Stock
			f.CrossRack += a.CrossRack
			f.StockCrossRack += a.StockCrossRack
			f.Waited += a.Waited.Seconds()
		} else {
			f.Unsteered++
		}
		if a.Reference > 0 {
			*slowdowns = append(*slowdowns, a.slowdown())
		}
	}
	if f.Ran > 0 {
		f.Predicted = (f.Uplink + f.Waited - f.Stock) / f.Ran
	}
	if min(len(steered), len(unsteered)) >= max(enough, 1) {
		f.Chance = chance(steered, unsteered)
		f.Measured = median(steered)/median(unsteered) - 1
	}
}

// chance returns the probability that values as much above others are so by chance: the one-sided test of Mann and Whitney,
// in its normal approximation with continuity correction and with ties.
func chance(values, others []float64) float64 {
	type ranked struct {
		v     float64
		first bool
	}
	all := make([]ranked, 0, len(values)+len(others))
	for _, v := range values {
		all = append(all, ranked{v, true})
	}
	for _, v := range others {
		all = append(all, ranked{v, false})
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Compare(a.v, b.v) })
	n, m := float64(len(values)), float64(len(others))
	ranks, ties := 0.0, 0.0 // the sum of the ranks of values; of t^3 - t over groups of t ties
	for i := 0; i < len(all); {
		end := i
		for end < len(all) && all[end].v == all[i].v {
			end++
		}
		mean, t := float64(i+1+end)/2, float64(end-i)
		ties += t*t*t - t
		for ; i < end; i++ {
			if all[i].first {
				ranks += mean
			}
		}
	}
	u := ranks - n*(n+1)/2
	variance := n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1)))
	if variance <= 0 {
		return 1
	}
	return math.Erfc((u-n*m/2-0.5)/math.Sqrt(2*variance)) / 2
}

// median returns the median of values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
