package frontier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The plot in SVG units: what is drawn in lies between these, the key on the right of it.
const (
	plotWidth, plotHeight = 760, 420
	plotLeft, plotRight   = 70, 560
	plotTop, plotBottom   = 30, 370
)

// Plot returns an SVG image of mean completion time against cross-rack traffic, with a mark for each variant of a workload.
func (r *Result) Plot() string {
	all := Metrics()
	mean, bytes := &all[0], &all[2]
	points := make([]point, len(r.Variants))
	for i := range r.Variants {
		v := &r.Variants[i]
		points[i] = point{v, v.median(bytes) / bytes.scale, v.median(mean)}
	}
	x := newAxis(points, func(p *point) float64 { return p.x }, plotLeft, plotRight)
	y := newAxis(points, func(p *point) float64 { return p.y }, plotBottom, plotTop)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", r.Name, plotWidth, plotHeight)
	drawAxes(&b, &x, &y)
	drawFront(&b, points, &x, &y)
	policies := r.policies()
	for i := range points {
		p := &points[i]
		m := newMark(policies, p.of)
		fmt.Fprintf(&b, "<g><title>%s: %s GB, %s s</title>%s</g>\n", escape(p.of.Name()), value(p.x), value(p.y), m.at(x.at(p.x), y.at(p.y)))
	}
	drawKey(&b, r, policies)
	b.WriteString("</svg>\n")
	return b.String()
}

// policies returns the labels of the policies in the order of their first variant.
func (r *Result) policies() []string {
	var out []string
	for i := range r.Variants {
		if p := r.Variants[i].Policy; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// point is a variant in the plot.
type point struct {
	of   *Variant
	x, y float64 // GB across racks, seconds
}

// axis maps values to a side of the plot, by their logarithm where the largest is several times the least.
type axis struct {
	lo, hi   float64
	from, to float64
	log      bool
}

func newAxis(points []point, of func(*point) float64, from, to float64) axis {
	lo, hi := math.Inf(1), 0.0
	for i := range points {
		lo, hi = min(lo, of(&points[i])), max(hi, of(&points[i]))
	}
	if !(hi > 0) {
		lo, hi = 0, 1
	}
	if lo > 0 && hi/lo > 3 {
		return axis{lo / 1.1, hi * 1.1, from, to, true}
	}
	room := max((hi-lo)/10, hi/100)
	return axis{max(lo-room, 0), hi + room, from, to, false}
}

func (a *axis) at(v float64) float64 {
	part := (v - a.lo) / (a.hi - a.lo)
	if a.log {
		part = math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	return a.from + part*(a.to-a.from)
}

// ticks returns round values within the axis.
func (a *axis) ticks() []float64 {
	var out []float64
	if a.log {
		for e := math.Floor(math.Log10(a.lo)); e <= math.Log10(a.hi); e++ {
			for _, f := range []float64{1, 2, 5} {
				if v := f * math.Pow(10, e); v >= a.lo && v <= a.hi {
					out = append(out, v)
				}
			}
		}
		return out
	}
	step := math.Pow(10, math.Floor(math.Log10(a.hi-a.lo)))
	for _, f := range []float64{0.5, 0.2} {
		if (a.hi-a.lo)/step < 4 {
			step = math.Pow(10, math.Floor(math.Log10(a.hi-a.lo))) * f
		}
	}
	for k := math.Ceil(a.lo / step); k*step <= a.hi; k++ {
		out = append(out, k*step)
	}
	return out
}

func drawAxes(b *strings.Builder, x, y *axis) {
	for _, v := range x.ticks() {
		at := length(x.at(v))
		fmt.Fprintf(b, `<path d="M%s %dV%d" stroke="#ddd"/><text x="%s" y="%d" text-anchor="middle">%s</text>`+"\n", at, plotBottom, plotTop, at, plotBottom+16, tick(v))
	}
	for _, v := range y.ticks() {
		at := length(y.at(v))
		fmt.Fprintf(b, `<path d="M%d %sH%d" stroke="#ddd"/><text x="%d" y="%s" text-anchor="end" dy="4">%s</text>`+"\n", plotLeft, at, plotRight, plotLeft-6, at, tick(v))
	}
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#333"/>`+"\n", plotLeft, plotTop, plotBottom, plotRight)
	fmt.Fprintf(b, `<text x="%d" y="16">mean completion time in s</text><text x="%d" y="%d" text-anchor="middle">cross-rack traffic in GB</text>`+"\n", 8, (plotLeft+plotRight)/2, plotHeight-12)
}

func tick(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// length prints a length, rounded to a tenth.
func length(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10+0, 'f', -1, 64) }

// drawFront draws a line through the points that no other one beats in both.
func drawFront(b *strings.Builder, points []point, x, y *axis) {
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.y, q.y)) })
	best := math.Inf(1)
	var path strings.Builder
	for _, p := range sorted {
		if p.y >= best {
			continue
		}
		best = p.y
		path.WriteString(map[bool]string{true: "M", false: "L"}[path.Len() == 0] + length(x.at(p.x)) + " " + length(y.at(p.y)))
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="#999" stroke-dasharray="4 3"/>`+"\n", path.String())
}

// mark is how a variant is drawn: a colour and a form for the policy, fainter for a larger slowstart.
type mark struct {
	colour  string
	form    int
	opacity float64
}

func newMark(policies []string, v *Variant) mark {
	colours := []string{"#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#ff7f0e"}
	i := slices.Index(policies, v.Policy)
	return mark{colours[i%len(colours)], i % 4, 1 - 0.7*v.Slowstart}
}

func (m mark) at(x, y float64) string {
	const r = 5
	style := fmt.Sprintf(`fill="%s" fill-opacity="%.2g" stroke="%s"`, m.colour, m.opacity, m.colour)
	switch m.form {
	case 0:
		return fmt.Sprintf(`<circle cx="%s" cy="%s" r="%d" %s/>`, length(x), length(y), r, style)
	case 1:
		return fmt.Sprintf(`<path d="M%s %sh%dv%dh-%dz" %s/>`, length(x-r), length(y-r), 2*r, 2*r, 2*r, style)
	case 2:
		return fmt.Sprintf(`<path d="M%s %sl%d %dh-%dz" %s/>`, length(x), length(y-r), r, 2*r, 2*r, style)
	}
	return fmt.Sprintf(`<path d="M%s %sl%d %dl-%d %dl-%d -%dz" %s/>`, length(x), length(y-r), r, r, r, r, r, r, style)
}

// drawKey names the marks: a line for each policy with its slowstarts.
func drawKey(b *strings.Builder, r *Result, policies []string) {
	for i, name := range policies {
		y, x := float64(plotTop+12+22*i), float64(plotRight+22)
		var of []string
		for k := range r.Variants {
			v := &r.Variants[k]
			if v.Policy != name {
				continue
			}
			b.WriteString(newMark(policies, v).at(x, y))
			x += 14
			if !v.subject {
				of = append(of, fmt.Sprintf("%g", v.Slowstart))
			}
		}
		if len(of) > 0 {
			name += " " + strings.Join(of, ", ")
		}
		fmt.Fprintf(b, `<text x="%s" y="%s" dy="4" font-size="11">%s</text>`+"\n", length(x), length(y), escape(name))
	}
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
