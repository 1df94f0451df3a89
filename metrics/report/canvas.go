package report

import (
	"math"
	"strconv"
	"strings"
)

// num is a length in a drawing's own units.
type num float64

// String writes a length as SVG takes it, rounded to a tenth.
func (n num) String() string {
	return strconv.FormatFloat(math.Round(float64(n)*10)/10+0, 'f', -1, 64)
}

func digits(n int) string { return strconv.Itoa(n) }

// drawing is an SVG image. All colours and fonts are in the style sheet of the
// page, by class.
type drawing struct {
	ID     string
	Name   string // what stands above it
	Title  string // the same in full, for screen readers
	Text   string // what the drawing shows, in words
	Width  num
	Height num
	Shapes []shape
}

// shape is one element of a drawing; Kind is line, rect, path or text. X2 and Y2
// are the far end of a line, and the size of a rect.
type shape struct {
	Kind, Class  string
	X, Y, X2, Y2 num
	Path         string
	Transform    string // of a path
	Text         string // of a text; of a path or a rect, what shows when it is pointed at
}

func (d *drawing) line(class string, x, y, x2, y2 float64) {
	d.Shapes = append(d.Shapes, shape{Kind: "line", Class: class, X: num(x), Y: num(y), X2: num(x2), Y2: num(y2)})
}

// rect draws a rectangle; box is x, y, width and height.
func (d *drawing) rect(class, hint string, box [4]float64) {
	d.Shapes = append(d.Shapes, shape{
		Kind: "rect", Class: class, Text: hint, X: num(box[0]), Y: num(box[1]), X2: num(box[2]), Y2: num(box[3]),
	})
}

func (d *drawing) path(class, hint, path string) {
	d.Shapes = append(d.Shapes, shape{Kind: "path", Class: class, Text: hint, Path: path})
}

// text writes from x to the right; class "mid" centres it there, "end" ends it there.
func (d *drawing) text(class, text string, x, y float64) {
	d.Shapes = append(d.Shapes, shape{Kind: "text", Class: class, Text: text, X: num(x), Y: num(y)})
}

// axes draws those of a plot: a grid line and a number at each tick. The ends of
// the scales are the sides of the plot.
func (d *drawing) axes(x, y scale) {
	for _, t := range x.ticks() {
		at := x.at(t.value)
		d.line("grid", at, y.to, at, y.from)
		if half := 4 * float64(len(t.label)); t.label != "" {
			d.text("tick mid", t.label, min(at, float64(d.Width)-half), y.from+16)
		}
	}
	for _, t := range y.ticks() {
		at := y.at(t.value)
		d.line("grid", x.from, at, x.to, at)
		if t.label != "" {
			d.text("tick end", t.label, x.from-6, at+4)
		}
	}
	d.line("axis", x.from, y.from, x.to, y.from)
	d.line("axis", x.from, y.from, x.from, y.to)
}

// markPath returns the outline of a point's mark around (x, y): a circle, a
// square, two triangles or a diamond of about the same area.
func markPath(kind int, x, y, r float64) string {
	switch kind {
	case 1:
		return polygon(x-.9*r, y-.9*r, x+.9*r, y-.9*r, x+.9*r, y+.9*r, x-.9*r, y+.9*r)
	case 2:
		return polygon(x, y-1.2*r, x+1.2*r, y+.9*r, x-1.2*r, y+.9*r)
	case 3:
		return polygon(x, y-1.25*r, x+1.25*r, y, x, y+1.25*r, x-1.25*r, y)
	case 4:
		return polygon(x, y+1.2*r, x+1.2*r, y-.9*r, x-1.2*r, y-.9*r)
	}
	var b strings.Builder
	arc := "a" + num(r).String() + " " + num(r).String() + " 0 1 0 "
	b.WriteString("M" + num(x-r).String() + " " + num(y).String())
	b.WriteString(arc + num(2*r).String() + " 0" + arc + num(-2*r).String() + " 0z")
	return b.String()
}

func polygon(xy ...float64) string {
	var b strings.Builder
	for i := 0; i+1 < len(xy); i += 2 {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		b.WriteString(num(xy[i]).String() + " " + num(xy[i+1]).String())
	}
	return b.String() + "z"
}

// short cuts the end of a name that has no room.
func short(name string, runes int) string {
	all := []rune(name)
	if len(all) <= runes {
		return name
	}
	return string(all[:runes-1]) + "…"
}

// tail cuts the start of a name that has no room: racks differ at the end.
func tail(name string, runes int) string {
	all := []rune(name)
	if len(all) <= runes {
		return name
	}
	return "…" + string(all[len(all)-runes+1:])
}
