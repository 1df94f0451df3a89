package report

import (
	"cmp"
	"slices"
	"strconv"
)

// page is what the template shows.
type page struct {
	*Input
	Facts     []facts   // workload and cluster
	Key       []key     // the policies, as they are drawn
	Seeds     string    // how many runs stand behind a policy
	Times     *drawing  // nil where no job finished
	Frontier  *drawing  // nil without runs
	Classes   []drawing // by class of shuffle size
	Distances []drawing
	Uplinks   []drawing
	Levels    []string // of utilisation, from 0 up
	Medians   grid     // a column for every policy
	Singles   []grid   // for every policy that has several runs, a column for each of them
}

// facts is a table of names and values.
type facts struct {
	Name string
	Rows []Row
}

// key says how a policy is drawn.
type key struct {
	Policy, Color, Dash string
	Mark                string // path around (20, 7)
}

// grid is a table: a head, and groups of rows.
type grid struct {
	Name    string
	Columns []column
	Groups  []group
}

// Width is the number of columns of a grid, the names of its rows among them.
func (g grid) Width() int { return len(g.Columns) + 1 }

type column struct {
	Policy, Seed string
}

type group struct {
	Name string
	Rows []row
}

type row struct {
	Name, Unit string
	Cells      []cell
}

// cell is a value, and the least and the most of it where they differ.
type cell struct {
	Value, Spread string
}

func newPage(in *Input) *page {
	p := &page{Input: in, Facts: []facts{{"Workload", in.Workload}, {"Cluster", in.Cluster}}}
	all := seriesOf(in.Runs)
	for i := range all {
		s := &all[i]
		p.Key = append(p.Key, key{s.Policy, s.class(), s.dash(), markPath(s.mark(), 20, 7, 4)})
	}
	if len(all) == 0 {
		return p
	}
	p.Seeds = seedsText(all)
	if d, ok := completionTimes(all); ok {
		p.Times = &d
	}
	d := frontier(all)
	p.Frontier = &d
	for _, m := range classes() {
		p.Classes = append(p.Classes, m.bars(all))
	}
	for _, m := range distances() {
		p.Distances = append(p.Distances, m.bars(all))
	}
	p.heatMaps(all)
	p.Medians = medians(all)
	for i := range all {
		if len(all[i].runs) > 1 {
			p.Singles = append(p.Singles, singles(&all[i]))
		}
	}
	return p
}

func (p *page) heatMaps(all []series) {
	until := 0.0
	for i := range all {
		if r := all[i].withUplinks(); r != nil {
			until = max(until, r.Uplinks.Step*float64(steps(&r.Uplinks)))
		}
	}
	for i := range all {
		if d, ok := heatMap(&all[i], until); ok {
			p.Uplinks = append(p.Uplinks, d)
		}
	}
	for level := range levels {
		p.Levels = append(p.Levels, digits(100*level/levels)+" to "+digits(100*(level+1)/levels)+" %")
	}
}

// seedsText says what stands behind the figures of a policy.
func seedsText(all []series) string {
	least, most := len(all[0].runs), 0
	for i := range all {
		least, most = min(least, len(all[i].runs)), max(most, len(all[i].runs))
	}
	switch {
	case most == 1:
		return "One run of each policy."
	case least == most:
		return digits(most) + " runs of each policy, with different seeds: values are medians over them."
	}
	return digits(least) + " to " + digits(most) + " runs of each policy, with different seeds: values are medians over them."
}

func seedText(seed uint64) string { return strconv.FormatUint(seed, 10) }

// medians is the table of all figures by policy.
func medians(all []series) grid {
	g := grid{Name: "figures by policy"}
	for i := range all {
		g.Columns = append(g.Columns, column{Policy: all[i].Policy})
	}
	for _, f := range allFigures() {
		spreads := make([]spread, len(all))
		for i := range all {
			spreads[i] = all[i].medianAndRange(f.of)
		}
		g.add(&f, spreads)
	}
	return g
}

// singles is the table of all figures of one policy by run.
func singles(s *series) grid {
	g := grid{Name: "Every run of " + s.Policy}
	for _, r := range s.runs {
		g.Columns = append(g.Columns, column{s.Policy, seedText(r.Seed)})
	}
	for _, f := range allFigures() {
		spreads := make([]spread, len(s.runs))
		for i, r := range s.runs {
			v := f.of(r)
			spreads[i] = spread{v, v, v}
		}
		g.add(&f, spreads)
	}
	return g
}

func (g *grid) add(f *figure, values []spread) {
	if len(g.Groups) == 0 || g.Groups[len(g.Groups)-1].Name != f.group {
		g.Groups = append(g.Groups, group{Name: f.group})
	}
	in := multipleFor(slices.MaxFunc(values, func(a, b spread) int { return cmp.Compare(a.mid, b.mid) }).mid)
	r := row{Name: f.name, Unit: f.unit.symbol(in)}
	for _, v := range values {
		c := cell{Value: f.unit.text(v.mid, in)}
		if least, most := f.unit.text(v.least, in), f.unit.text(v.most, in); least != most {
			c.Spread = least + " to " + most
		}
		r.Cells = append(r.Cells, c)
	}
	last := &g.Groups[len(g.Groups)-1]
	last.Rows = append(last.Rows, r)
}
