package report

import (
	"math"
	"slices"
	"strings"
)

// Sizes of the two plots that stand side by side, in their own units.
const (
	plotWidth  = 460
	plotHeight = 330
)

// shortest is the lower end of the axis of completion times: a millisecond,
// the resolution of model.Time.
const shortest = 0.001

// completionTimes draws for every policy which share of the jobs, over all its
// runs, had completed after which time. Jobs that did not finish count as
// jobs: a curve with some of them ends below 100 %. The second result is false
// where no job finished.
func completionTimes(all []series) (drawing, bool) {
	d := drawing{ID: "cdf", Title: "Completion times of jobs, cumulative, by policy", Width: plotWidth, Height: plotHeight}
	times := make([][]float64, len(all))
	lo, hi := math.Inf(1), 0.0
	for i := range all {
		times[i] = all[i].finished()
		if n := len(times[i]); n > 0 {
			lo, hi = min(lo, times[i][0]), max(hi, times[i][n-1])
		}
	}
	if math.IsInf(lo, 1) {
		return d, false
	}
	x := logarithmic(max(lo, shortest), max(hi, shortest), 48, plotWidth-30)
	y := linear(0, 100, plotHeight-44, 30)
	d.text("label", "% of jobs", 4, 14)
	d.axes(x, y)
	d.text("label mid", "completion time in s, logarithmic", (x.from+x.to)/2, plotHeight-8)
	var said []string
	for i := range all {
		s, jobs := &all[i], all[i].jobs()
		if len(times[i]) == 0 {
			said = append(said, s.Policy+": no job finished")
			continue
		}
		d.path("line "+s.class()+" "+s.dash(), s.Policy, cumulative(times[i], jobs, x, y))
		said = append(said, s.Policy+": half of the jobs that finished took at most "+number(times[i][(len(times[i])-1)/2])+
			" s, 95 % at most "+number(times[i][(len(times[i])-1)*95/100])+" s")
	}
	d.Text = strings.Join(said, "; ") + "."
	return d, true
}

// finished returns the completion times of a series' jobs in order.
func (s *series) finished() []float64 {
	var times []float64
	for _, r := range s.runs {
		for _, t := range r.Responses {
			if t >= 0 {
				times = append(times, t)
			}
		}
	}
	slices.Sort(times)
	return times
}

// jobs returns how many jobs the runs of a series had.
func (s *series) jobs() int {
	n := 0
	for _, r := range s.runs {
		n += len(r.Responses)
	}
	return n
}

// cumulative returns the path of a step function: a step for every half unit of
// the drawing in which jobs complete, so that it is as short for many jobs as
// for some hundred.
func cumulative(times []float64, jobs int, x, y scale) string {
	var b strings.Builder
	at := func(i int) float64 { return math.Round(2*x.at(times[i])) / 2 }
	b.WriteString("M" + num(at(0)).String() + " " + num(y.at(0)).String())
	for i := range times {
		if i+1 < len(times) && at(i+1) == at(i) {
			continue
		}
		b.WriteString("H" + num(at(i)).String() + "V" + num(y.at(100*float64(i+1)/float64(jobs))).String())
	}
	b.WriteString("H" + num(x.to).String())
	return b.String()
}
