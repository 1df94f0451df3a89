package report

import (
	"fmt"
	"slices"
	"strings"

	"heddle/core/lab/sim"
)

const (
	maxColumns = 600   // of a heat map: more than these are binned
	maxCells   = 36000 // of a heat map with many racks, which gets fewer columns
	levels     = 10    // of utilisation, a colour each
)

// heatMap draws the utilisation of the uplinks in the first run of a policy that
// has it: a row for every rack, time to the right. until is the end of the time
// axis in seconds, the same for all policies. The second result is false where no
// run has it.
func heatMap(s *series, until float64) (drawing, bool) {
	run := s.withUplinks()
	if run == nil {
		return drawing{}, false
	}
	u := &run.Uplinks
	rows := len(u.Used)
	height := float64(min(max(9*rows, 60), 260))
	d := drawing{
		ID: "uplinks-" + digits(s.number), Name: s.Policy, Title: "Utilisation of the uplinks over time with " + s.Policy + ", seed " + seedText(run.Seed),
		Width: plotWidth, Height: num(height + 66),
	}
	in := timeUnit(until)
	x, top := linear(0, until/in.size, 74, plotWidth-16), 22.0
	x.hi = until / in.size // no empty columns at the end
	d.text("label", "rack", 4, 14)
	every := rows/int(height/12) + 1
	for i := 0; i < rows; i += every {
		d.text("tick end", tail(string(u.Racks[i]), 9), x.from-5, top+(float64(i)+.5)*height/float64(rows)+4)
	}
	per := binSize(steps(u), rows)
	wide, tall := float64(per)*u.Step*(x.to-x.from)/until, height/float64(rows)
	for level, path := range levelPaths(u.Used, per) {
		if path != "" {
			d.Shapes = append(d.Shapes, shape{
				Kind: "path", Class: "cells u" + digits(level), Path: path, Transform: matrix(wide, tall, x.from, top+tall/2),
			})
		}
	}
	for _, t := range x.ticks() {
		if t.value <= x.hi {
			d.line("axis", x.at(t.value), top+height, x.at(t.value), top+height+4)
			d.text("tick mid", t.label, x.at(t.value), top+height+17)
		}
	}
	d.line("axis", x.from, top+height, x.to, top+height)
	d.text("label mid", "time in "+in.name, (x.from+x.to)/2, top+height+36)
	d.Text = fullest(u)
	return d, true
}

// timeUnit returns the unit in which a time axis of so many seconds has short numbers.
func timeUnit(until float64) multiple {
	switch {
	case until >= 3*3600:
		return multiple{"h", 3600}
	case until >= 3*60:
		return multiple{"min", 60}
	}
	return multiple{"s", 1}
}

// matrix moves a drawing of columns and rows to its place.
func matrix(wide, tall, x, y float64) string {
	return fmt.Sprintf("matrix(%.7g 0 0 %.7g %.7g %.7g)", wide, tall, x, y)
}

func (s *series) withUplinks() *sim.Run {
	i := slices.IndexFunc(s.runs, func(r *sim.Run) bool { return steps(&r.Uplinks) > 0 })
	if i < 0 {
		return nil
	}
	return s.runs[i]
}

// binSize returns how many steps one column of a heat map stands for.
func binSize(steps, rows int) int {
	columns := max(1, min(maxColumns, maxCells/rows))
	return (steps + columns - 1) / columns
}

// levelPaths returns a path for every level of utilisation: a horizontal line
// along the cells of that level that stand next to each other, in columns and
// rows. A line one row wide fills them.
func levelPaths(used [][]float64, per int) [levels]string {
	var paths [levels]strings.Builder
	for i, row := range used {
		bins := binned(row, per)
		for from := 0; from < len(bins); {
			to := from + 1
			for to < len(bins) && bins[to] == bins[from] {
				to++
			}
			wide := float64(min(to*per, len(row)))/float64(per) - float64(from) // the last column may stand for less
			fmt.Fprintf(&paths[bins[from]], "M%d %dh%.4g", from, i, wide)
			from = to
		}
	}
	var text [levels]string
	for i := range paths {
		text[i] = paths[i].String()
	}
	return text
}

// binned returns the level of the mean of every so many values.
func binned(row []float64, per int) []int {
	var bins []int
	for part := range slices.Chunk(row, per) {
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		bins = append(bins, min(int(sum/float64(len(part))*levels), levels-1))
	}
	return bins
}

// fullest says in words what a heat map shows.
func fullest(u *sim.Uplinks) string {
	best, most, all, n := 0, 0.0, 0.0, 0
	for i, row := range u.Used {
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		if len(row) > 0 && sum/float64(len(row)) > most {
			best, most = i, sum/float64(len(row))
		}
		all, n = all+sum, n+len(row)
	}
	return "Mean over racks and time " + number(100*all/float64(n)) + " %; the fullest uplink, of " + string(u.Racks[best]) + ", " + number(100*most) + " %."
}
