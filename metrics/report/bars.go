package report

import (
	"strings"

	"heddle/core/lab/sim"
)

// Sizes of the plots of bars, of which three stand side by side.
const (
	barsWidth = 320
	barRow    = 36
)

// measure is a figure to be drawn as a bar for every policy.
type measure struct {
	id, title string
	axis      string // what the values are, with the unit
	none      string // what 0 stands for
	bound     float64
	of        func(*sim.Run) float64
}

// classes are the mean completion times by class of shuffle size.
func classes() []measure {
	const axis, none = "mean completion time in s", "no such jobs"
	return []measure{
		{"light", "Jobs with a light shuffle", axis, none, 0, func(r *sim.Run) float64 { return r.JCTByClass.Light }},
		{"medium", "Jobs with a medium shuffle", axis, none, 0, func(r *sim.Run) float64 { return r.JCTByClass.Medium }},
		{"heavy", "Jobs with a heavy shuffle", axis, none, 0, func(r *sim.Run) float64 { return r.JCTByClass.Heavy }},
	}
}

// distances are the ratios to the lower bounds.
func distances() []measure {
	const axis, none = "times the lower bound", "no bound"
	return []measure{
		{"bound-makespan", "Makespan", axis, none, 1, func(r *sim.Run) float64 { return r.Ratio.Makespan }},
		{"bound-jct", "Mean completion time", axis, none, 1, func(r *sim.Run) float64 { return r.Ratio.JCTMean }},
		{"bound-bytes", "Shuffle and map input across racks", axis, none, 1, func(r *sim.Run) float64 { return r.Ratio.CrossRack }},
	}
}

// bars draws the median of a measure for every policy, and as a thin line what
// lies between the least and the most of its runs. All bars begin at 0.
func (m *measure) bars(all []series) drawing {
	bottom := float64(22 + barRow*len(all))
	d := drawing{ID: m.id, Name: m.title, Title: m.title + ", " + m.axis + ", by policy", Width: barsWidth, Height: num(bottom + 40)}
	spreads := make([]spread, len(all))
	most := m.bound
	for i := range all {
		spreads[i] = all[i].medianAndRange(m.of)
		most = max(most, spreads[i].most)
	}
	x := linear(0, most, 8, barsWidth-20)
	for _, t := range x.ticks() {
		d.line("grid", x.at(t.value), 22, x.at(t.value), bottom)
		d.text("tick mid", t.label, x.at(t.value), bottom+14)
	}
	var said []string
	values := make([]string, len(all))
	for i := range all {
		v, top := spreads[i], float64(22+barRow*i)
		values[i] = number(v.mid)
		if v.most == 0 {
			values[i] = m.none
		}
		said = append(said, all[i].Policy+": "+values[i])
		d.rect("bar "+all[i].class(), said[i], [4]float64{x.from, top + 18, x.at(v.mid) - x.from, 12})
		if x.at(v.most)-x.at(v.least) > 2 {
			d.line("halo", x.at(v.least)-1, top+24, x.at(v.most)+1, top+24)
			d.line("whisker", x.at(v.least), top+24, x.at(v.most), top+24)
		}
	}
	d.line("axis", x.from, 22, x.from, bottom)
	if m.bound > 0 {
		d.line("bound", x.at(m.bound), 16, x.at(m.bound), bottom)
		d.text("tick mid", "bound", max(x.at(m.bound), x.from+16), 12)
	}
	for i := range all { // on top of the lines
		base := float64(22 + barRow*i + 13)
		d.text("name", short(all[i].Policy, 28), x.from+4, base)
		d.text("name end", values[i], x.to, base)
	}
	d.text("label mid", m.axis, (x.from+x.to)/2, bottom+33)
	d.Text = strings.Join(said, "; ") + "."
	return d
}
