package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"heddle/core/lab/sim"
)

// point is the median of a policy's runs in the plot of both costs.
type point struct {
	series *series
	x, y   float64 // bytes across racks, seconds
}

// frontier draws what the policies cost the network against what they cost the
// jobs: a small mark for every run, a large one with a name for the median of
// each policy, and a line through the medians that no other beats in both.
func frontier(all []series) drawing {
	d := drawing{ID: "frontier", Title: "Bytes across racks against mean completion time, by policy", Width: plotWidth, Height: plotHeight}
	crossed := func(r *sim.Run) float64 { return float64(r.CrossRack.Total) }
	mean := func(r *sim.Run) float64 { return r.JCT.Mean }
	points := make([]point, len(all))
	bx, by := spread{least: math.Inf(1)}, spread{least: math.Inf(1)}
	for i := range all {
		sx, sy := all[i].medianAndRange(crossed), all[i].medianAndRange(mean)
		points[i] = point{&all[i], sx.mid, sy.mid}
		bx.least, bx.most = min(bx.least, sx.least), max(bx.most, sx.most)
		by.least, by.most = min(by.least, sy.least), max(by.most, sy.most)
	}
	in := multipleFor(bx.most)
	x := around(bx.least/in.size, bx.most/in.size, 64, plotWidth-30)
	y := around(by.least, by.most, plotHeight-44, 30)
	d.text("label", "mean completion time in s", 4, 14)
	d.axes(x, y)
	d.text("label mid", "bytes across racks in "+in.name, (x.from+x.to)/2, plotHeight-8)
	for i := range points {
		points[i].x /= in.size
	}
	d.path("front", "", frontLine(points, x, y))
	for _, p := range points {
		for _, r := range p.series.runs {
			if len(p.series.runs) > 1 {
				d.path("seed "+p.series.class(), r.Policy+", seed "+seedText(r.Seed),
					markPath(p.series.mark(), x.at(crossed(r)/in.size), y.at(mean(r)), 3))
			}
		}
	}
	var said []string
	for _, p := range points {
		said = append(said, p.series.Policy+": "+number(p.x)+" "+in.name+", "+number(p.y)+" s")
		d.path("mark "+p.series.class(), said[len(said)-1], markPath(p.series.mark(), x.at(p.x), y.at(p.y), 6))
	}
	d.names(points, x, y)
	d.Text = strings.Join(said, "; ") + "."
	return d
}

// around returns a scale with some room on both sides of the values, not below 0.
func around(lo, hi, from, to float64) scale {
	room := (hi - lo) / 12
	return linear(max(0, lo-room), hi+room, from, to)
}

// frontLine returns a path through the points that no other one beats in both.
func frontLine(points []point, x, y scale) string {
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	var b strings.Builder
	best := math.Inf(1)
	for _, p := range sorted {
		if p.y < best {
			best = p.y
			b.WriteString(map[bool]string{true: "M", false: "L"}[b.Len() == 0])
			b.WriteString(num(x.at(p.x)).String() + " " + num(y.at(p.y)).String())
		}
	}
	return b.String()
}

// names writes the policies beside their points, where there is room. The key of
// the plot beside this one has all of them.
func (d *drawing) names(points []point, x, y scale) {
	var taken [][4]float64 // left, top, right, bottom
	for _, p := range points {
		taken = append(taken, [4]float64{x.at(p.x) - 7, y.at(p.y) - 7, x.at(p.x) + 7, y.at(p.y) + 7})
	}
	for _, p := range points {
		name := short(p.series.Policy, 24)
		width := 7.2 * float64(len([]rune(name)))
		px, py := x.at(p.x), y.at(p.y)
		left := min(max(px-width/2, x.from+2), x.to-width)
		spots := [][2]float64{{px + 11, py + 4}, {px - 11 - width, py + 4}, {left, py - 12}, {left, py + 20}, {left, py - 26}, {left, py + 34}}
		for _, s := range spots {
			box := [4]float64{s[0], s[1] - 11, s[0] + width, s[1] + 3}
			inside := box[0] >= x.from && box[2] <= plotWidth && box[1] >= y.to-14 && box[3] <= y.from
			if inside && !slices.ContainsFunc(taken, func(t [4]float64) bool { return overlap(box, t) }) {
				taken = append(taken, box)
				d.text("name", name, s[0], s[1])
				break
			}
		}
	}
}

func overlap(a, b [4]float64) bool {
	return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}
