package report

import (
	"slices"

	"heddle/core/lab/sim"
)

// series is the runs of one policy. Its number decides how it is drawn, in every
// plot the same.
type series struct {
	Policy string
	number int
	runs   []*sim.Run
}

// seriesOf groups runs by policy, in the order of first appearance.
func seriesOf(runs []sim.Run) []series {
	var all []series
	place := map[string]int{}
	for i := range runs {
		r := &runs[i]
		at, known := place[r.Policy]
		if !known {
			at = len(all)
			place[r.Policy] = at
			all = append(all, series{Policy: r.Policy, number: at})
		}
		all[at].runs = append(all[at].runs, r)
	}
	return all
}

// Ways of drawing. Colours alone do not distinguish series for every reader, nor on
// paper: no two of the first 40 agree in colour and mark.
const (
	colours = 8
	dashes  = 4
	marks   = 5
)

// class is the style sheet's class with the colour of a series.
func (s *series) class() string { return "s" + digits(s.number%colours) }

// dash is a class with the dashes of its lines.
func (s *series) dash() string { return "d" + digits((s.number+s.number/colours)%dashes) }

// mark is the shape of its points.
func (s *series) mark() int { return s.number % marks }

// spread is the middle of the values of a series' runs, the least and the most.
type spread struct {
	mid, least, most float64
}

// medianAndRange summarizes a figure over the runs of a series, of which there is at least one.
func (s *series) medianAndRange(of func(*sim.Run) float64) spread {
	values := make([]float64, len(s.runs))
	for i, r := range s.runs {
		values[i] = of(r)
	}
	slices.Sort(values)
	n := len(values)
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}
