package report

import (
	"math"
	"strconv"
)

// scale maps values from lo to hi to lengths from one side of a plot to another.
type scale struct {
	lo, hi   float64
	from, to float64
	step     float64 // between ticks; 0 is a logarithmic scale
}

// tick is a mark on an axis; not all have a label.
type tick struct {
	value float64
	label string
}

// most ticks with a label on an axis.
const maxTicks = 7

// linear returns a scale that shows values from lo to hi, widened to whole steps.
func linear(lo, hi, from, to float64) scale {
	if !(hi > lo) {
		lo, hi = lo-math.Abs(lo)/10, hi+math.Abs(hi)/10
	}
	if !(hi > lo) {
		hi = lo + 1
	}
	step := niceStep((hi - lo) / (maxTicks - 2))
	return scale{math.Floor(lo/step+1e-9) * step, math.Ceil(hi/step-1e-9) * step, from, to, step}
}

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is not below a value.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= least*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// logarithmic returns a scale of whole powers of ten around values from lo to
// hi, which are above 0.
func logarithmic(lo, hi, from, to float64) scale {
	first, last := math.Floor(math.Log10(lo)+1e-9), math.Ceil(math.Log10(hi)-1e-9)
	if last <= first {
		last = first + 1
	}
	return scale{lo: math.Pow(10, first), hi: math.Pow(10, last), from: from, to: to}
}

// at returns where a value lies, at an end of the scale if it is outside.
func (s scale) at(v float64) float64 {
	v = min(max(v, s.lo), s.hi)
	part := (v - s.lo) / (s.hi - s.lo)
	if s.step == 0 {
		part = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return s.from + part*(s.to-s.from)
}

func (s scale) ticks() []tick {
	if s.step == 0 {
		return s.decades()
	}
	n := int(math.Round((s.hi - s.lo) / s.step))
	ticks := make([]tick, 0, n+1)
	decimals := max(0, -int(math.Floor(math.Log10(s.step)+1e-9)))
	for i := 0; i <= n; i++ {
		v := s.lo + float64(i)*s.step
		ticks = append(ticks, tick{v, grouped(strconv.FormatFloat(v, 'f', decimals, 64))})
	}
	return ticks
}

// decades are the powers of ten, and between few of them 2 to 9 times each.
func (s scale) decades() []tick {
	first, last := int(math.Round(math.Log10(s.lo))), int(math.Round(math.Log10(s.hi)))
	every := (last-first)/maxTicks + 1
	var ticks []tick
	for e := first; e <= last; e++ {
		v := math.Pow(10, float64(e))
		label := ""
		if (e-first)%every == 0 {
			label = grouped(strconv.FormatFloat(v, 'f', max(0, -e), 64))
		}
		ticks = append(ticks, tick{v, label})
		for f := 2.0; f < 10 && e < last && last-first <= 5; f++ {
			ticks = append(ticks, tick{f * v, ""})
		}
	}
	return ticks
}
