package reproduce

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
)

// papers holds a file for each paper: its settings, its rows with what the paper
// publishes, and the notes. Braces in a text name a figure that the runs give.
//
//go:embed papers/*.json
var papers embed.FS

// paperData is a paper's file.
type paperData struct {
	Title    string            `json:"title"`
	Settings []Setting         `json:"settings"`
	Rows     []rowData         `json:"rows"`
	Texts    map[string]string `json:"texts"`    // notes that hang on what came out
	TriedAt  string            `json:"tried_at"` // the rows whose notes say what was tried
}

// rowData is a row as the paper has it. With claims it needs no code.
type rowData struct {
	ID     string      `json:"id"`
	What   string      `json:"what"`
	Paper  string      `json:"paper"` // of a row without claims
	Status Status      `json:"status"`
	Claims []claimData `json:"claims"`
	Notes  []string    `json:"notes"`
}

// claimData is a change that a paper publishes: by how much a figure of a variant is
// above that of another.
type claimData struct {
	What    string  `json:"what"`
	Figure  string  `json:"figure"`
	Variant string  `json:"variant"`
	Base    string  `json:"base"`
	Percent float64 `json:"percent"`
	// Bound is the most that any policy can reach in this setup, in percent, where it is known from elsewhere
	// than the simulator's bounds; why says where from.
	Bound *float64 `json:"bound"`
	Why   string   `json:"why"`
}

// readPaper reads the file of a paper.
func readPaper(name string) (paperData, error) {
	var d paperData
	text, err := papers.ReadFile("papers/" + name + ".json")
	if err != nil {
		return d, fmt.Errorf("paper %s: %w", name, err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return d, fmt.Errorf("paper %s: %w", name, err)
	}
	return d, nil
}

// settings returns the settings with values filled in.
func (d *paperData) settings(values map[string]string) []Setting {
	out := slices.Clone(d.Settings)
	for i := range out {
		out[i].Value = expand(out[i].Value, func(name string) string { return values[name] })
	}
	return out
}

// outcome is what came of a row without claims, or is to be added to one with.
type outcome struct {
	ours    string
	verdict Verdict
	notes   []string
}

// rows returns the rows with what came out: claims are measured in the experiments,
// other rows have their outcome by ID.
func (d *paperData) rows(l *experiments, outcomes map[string]outcome) []Row {
	var out []Row
	for i := range d.Rows {
		data := &d.Rows[i]
		row := Row{ID: data.ID, What: data.What, Paper: data.Paper, Status: data.Status, Verdict: NotJudged}
		if len(data.Claims) > 0 {
			var of []claim
			for _, c := range data.Claims {
				of = append(of, claim{c.What, l.measure(c.Figure, c.Variant, c.Base), c.Percent})
			}
			row = claimRow(data.ID, data.What, of...)
		}
		came := outcomes[data.ID]
		row.Ours += came.ours
		if came.verdict != "" && (row.Verdict != No || came.verdict == NotRun || came.verdict == NotJudged) {
			row.Verdict = came.verdict
		}
		if came.verdict == NotRun {
			row.Ours, row.Note = "", ""
		} else {
			for _, note := range data.Notes {
				row = row.withNotes(expand(note, l.figure))
			}
		}
		if row.Verdict == No {
			row = l.judgeBounds(row, data.Claims)
		}
		out = append(out, row.withNotes(came.notes...))
	}
	return pointToTried(out, d.TriedAt)
}

// judgeBounds changes the verdict on a row of claims that did not come out if a bound
// forbids one of them, whatever the policy.
func (l *experiments) judgeBounds(row Row, claims []claimData) Row {
	for i := range claims {
		c := &claims[i]
		reach, why, known := l.reachOf(c)
		if known && (c.Percent > 0 && reach < c.Percent || c.Percent < 0 && reach > c.Percent) {
			row.Verdict = Bounded
			row = row.withNotes(fmt.Sprintf("%s: no policy gets beyond %+.1f %%, by %s", c.What, reach, why))
		}
	}
	return row
}

// reachOf returns the change that no policy gets beyond, in percent, and by what:
// the bound of the paper's file, or the simulator's lower bounds over what the base
// took, the median of the seeds.
func (l *experiments) reachOf(c *claimData) (percent float64, why string, known bool) {
	if c.Bound != nil {
		return *c.Bound, c.Why, true
	}
	runs := l.results[c.Base]
	changes := make([]float64, len(runs))
	for i := range runs {
		r := &runs[i]
		shortest := max(r.Bounds.MakespanCompute, r.Bounds.MakespanNetwork)
		switch {
		case c.Figure == "throughput" && l.window == 0 && l.steady == 0:
			changes[i] = gain(r.Makespan, shortest)
		case c.Figure == "makespan":
			changes[i] = 100 * (ratio(shortest, r.Makespan) - 1)
		case c.Figure == "completion time":
			changes[i] = 100 * (ratio(r.Bounds.JCTMean, r.JCT.Mean) - 1)
		case c.Figure == "cross-rack bytes":
			changes[i] = 100 * (ratio(float64(r.Bounds.CrossRack), crossRack(r)) - 1)
		default:
			return 0, "", false
		}
	}
	return median(changes), "the simulator's bounds", len(runs) > 0
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

// expand replaces every name in braces.
func expand(text string, value func(name string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		out.WriteString(value(name))
		text = after
	}
}

// figureOf returns the figure of a run that a file names.
func figureOf(name string) figure {
	switch name {
	case "throughput":
		return throughput
	case "completion time":
		return meanJCT
	case "cross-rack bytes":
		return crossRack
	case "cross-rack shuffle":
		return crossShuffle
	case "congestions":
		return onsets
	case "congested time":
		return congested
	case "makespan":
		return makespan
	case "light completion time":
		return lightJCT
	case "medium completion time":
		return mediumJCT
	case "heavy completion time":
		return heavyJCT
	case "sources":
		return sources
	case "sinks":
		return sinks
	case "shuffle that crosses":
		return func(r *sim.Run) float64 { return 100 * r.ShuffleFraction.ByBytes }
	case "read terabytes":
		return func(r *sim.Run) float64 { return crossRead(r) / 1e12 }
	case "read of crossing bytes":
		return func(r *sim.Run) float64 { return 100 * crossRead(r) / max(crossRack(r), 1) }
	case "shuffled gigabytes":
		return func(r *sim.Run) float64 { return float64(r.ShuffleBytes) / 1e9 }
	case "computing part":
		return func(r *sim.Run) float64 { return 100 * r.Bounds.MakespanCompute / r.Makespan }
	}
	panic("reproduce: no figure is called " + name)
}

// measure returns by how many percent a figure of a variant is above that of another,
// seed by seed.
func (l *experiments) measure(name, variant, base string) []float64 {
	classes := map[string]workload.Class{"light": workload.Light, "medium": workload.Medium, "heavy": workload.Heavy}
	class, what, _ := strings.Cut(name, " jobs' ")
	switch c, ofClass := classes[class]; {
	case ofClass && what == "shuffle":
		return l.changeOfClass(variant, base, c, crossedShuffle)
	case ofClass:
		return l.changeOfClass(variant, base, c, crossedAndRead)
	case name == "added reads":
		return l.addedReads(variant, base)
	}
	return l.change(variant, base, figureOf(name))
}

// figure returns the text of a name in a note: what is to be shown, a colon, and the
// variants it is of.
func (l *experiments) figure(name string) string {
	what, of, _ := strings.Cut(name, ": ")
	names := strings.Split(of, " | ")
	switch what {
	case "trio":
		return l.mainChanges(names[0], names[1])
	case "moved":
		return describeTraffic(l, names[0], names[1])
	case "nodes":
		return describeNodeTraffic(l, names[0], names[1])
	case "kinds":
		return l.changeByKind(names[0], names[1])
	case "racks of output":
		return describeOutputSpread(l, names...)
	case "limits":
		return describeLimits(l, names[0])
	case "largest":
		return describeLargest(l, names[0])
	case "held":
		return describeHeld(l, names[0])
	case "busy":
		return describeComputing(l, names[0])
	case "until 19 of 20":
		return formatRange("%+.1f %%", l.changeUpTo(names[0], names[1], 0.95))
	case "read terabytes":
		return formatRange("%.2f TB", l.values(names[0], figureOf(what)))
	case "shuffled gigabytes":
		return formatRange("%.0f GB", l.values(names[0], figureOf(what)))
	case "read of crossing bytes":
		return formatRange("%.1f %%", l.values(names[0], figureOf(what)))
	case "shuffle that crosses", "computing part":
		return formatRange("%.0f %%", l.values(names[0], figureOf(what)))
	}
	return formatRange("%+.1f %%", l.measure(what, names[0], names[1]))
}
