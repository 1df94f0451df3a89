package report

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/core/lab/sim"
	"heddle/core/model"

	"pgregory.net/rapid"
)

func TestCumulative(t *testing.T) {
	t.Parallel()
	x := scale{lo: 1, hi: 100, from: 0, to: 200} // a decade is 100 wide
	y := scale{lo: 0, hi: 100, from: 100, to: 0, step: 20}
	for _, tc := range []struct {
		times []float64
		jobs  int
		want  string
	}{
		{[]float64{10}, 1, "M100 100H100V0H200"},
		{[]float64{1, 10, 10, 100}, 4, "M0 100H0V75H100V25H200V0H200"},
		{[]float64{1, 10}, 4, "M0 100H0V75H100V50H200"}, // two did not finish
		{[]float64{10, 10.001}, 2, "M100 100H100V0H200"},
	} {
		if got := cumulative(tc.times, tc.jobs, x, y); got != tc.want {
			t.Errorf("%v of %d jobs: %s, want %s", tc.times, tc.jobs, got, tc.want)
		}
	}
}

// TestCurvesOfRunsThatDidNotEnd counts jobs that did not finish, in whichever run.
func TestCurvesOfRunsThatDidNotEnd(t *testing.T) {
	t.Parallel()
	d, ok := completionTimes(seriesOf([]sim.Run{
		responding("fair", 100, -1), responding("fair", 1, -1), responding("nas", -1),
	}))
	var curves []string
	for _, s := range d.Shapes {
		if s.Kind == "path" {
			curves = append(curves, s.Path)
		}
	}
	// 382 units for two decades, 256 for 100 %: steps to 25 % and to 50 %.
	if want := []string{"M48 286H48V222H430V158H430"}; !ok || !slices.Equal(curves, want) {
		t.Errorf("got %q, want %q", curves, want)
	}
	if !strings.Contains(d.Text, "nas: no job finished") {
		t.Errorf("the description does not say that nas finished nothing: %s", d.Text)
	}
}

func TestFrontLine(t *testing.T) {
	t.Parallel()
	x, y := linear(0, 100, 0, 100), linear(0, 100, 0, 100)
	for _, tc := range []struct {
		points [][2]float64
		want   string
	}{
		{[][2]float64{{50, 50}}, "M50 50"},
		{[][2]float64{{30, 10}, {10, 30}, {20, 20}, {25, 25}, {40, 10}}, "M10 30L20 20L30 10"},
		{[][2]float64{{10, 30}, {10, 20}}, "M10 20"},
	} {
		var points []point
		for _, p := range tc.points {
			points = append(points, point{x: p[0], y: p[1]})
		}
		if got := frontLine(points, x, y); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.points, got, tc.want)
		}
	}
}

func TestHeatMapCells(t *testing.T) {
	t.Parallel()
	got := levelPaths([][]float64{{0, 0, .05, .99, 1, 1.3}, {.5, .5}, nil}, 2)
	want := [levels]string{0: "M0 0h1", 5: "M1 0h1M0 1h1", 9: "M2 0h1"} // .05 and .99 are .52 in the mean
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := levelPaths([][]float64{{.1, .19, .2, .21}}, 1); got[1] != "M0 0h2" || got[2] != "M2 0h2" {
		t.Errorf("neighbours of a level: got %q", got)
	}
	if got := levelPaths([][]float64{{.1, .1, .1, .9}}, 3); got[1] != "M0 0h1" || got[9] != "M1 0h0.3333" {
		t.Errorf("a column that stands for less: got %q", got)
	}
	for _, tc := range []struct{ steps, rows, want int }{{1, 1, 1}, {600, 30, 1}, {601, 30, 2}, {1440, 30, 3}, {600, 600, 10}, {7, 40_000, 7}} {
		if got := binSize(tc.steps, tc.rows); got != tc.want {
			t.Errorf("%d steps of %d racks: %d in a column, want %d", tc.steps, tc.rows, got, tc.want)
		}
	}
}

// TestHeatMapsShareTheirTime wants the same second at the same place for all policies.
func TestHeatMapsShareTheirTime(t *testing.T) {
	t.Parallel()
	in := small()
	for i := range in.Runs {
		in.Runs[i].Uplinks = sim.Uplinks{Step: 10, Racks: []model.RackID{"a"}, Used: [][]float64{make([]float64, 10*(2-i/2))}}
	}
	p := newPage(&in)
	var transforms []string
	for _, d := range p.Uplinks {
		for _, s := range d.Shapes {
			if s.Transform != "" {
				transforms = append(transforms, s.Transform+" "+s.Path)
			}
			if s.Text == "2" && s.X.String() != "296" { // 120 of the 200 s
				t.Errorf("%s: minute 2 is at %s, want 296", d.Name, s.X)
			}
		}
	}
	// 200 s on 370 units: 10 s are 18.5.
	want := []string{"matrix(18.5 0 0 60 74 52) M0 0h20", "matrix(18.5 0 0 60 74 52) M0 0h10"}
	if !slices.Equal(transforms, want) {
		t.Errorf("got %q, want %q", transforms, want)
	}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	mean := func(v float64) sim.Outcome { return sim.Outcome{JCT: sim.Distribution{Mean: v}} }
	all := seriesOf([]sim.Run{
		{Policy: "nas", Outcome: mean(3)},
		{Policy: "fair", Outcome: mean(9)},
		{Policy: "nas", Outcome: mean(1)},
		{Policy: "nas", Outcome: mean(2)},
		{Policy: "fair", Outcome: mean(4)},
	})
	if len(all) != 2 || all[0].Policy != "nas" || all[1].Policy != "fair" {
		t.Fatalf("got %+v, want nas and fair", all)
	}
	of := func(r *sim.Run) float64 { return r.JCT.Mean }
	if got, want := all[0].medianAndRange(of), (spread{2, 1, 3}); got != want {
		t.Errorf("nas: %v, want %v", got, want)
	}
	if got, want := all[1].medianAndRange(of), (spread{6.5, 4, 9}); got != want {
		t.Errorf("fair: %v, want %v", got, want)
	}
	seen := map[string]int{}
	for i := range 40 {
		s := series{number: i}
		look := s.class() + " " + strconv.Itoa(s.mark())
		if before, ok := seen[look]; ok {
			t.Errorf("policies %d and %d look the same: %s", before, i, look)
		}
		seen[look] = i
	}
}

func TestScalesHoldTheirValues(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1), rapid.Float64Range(0, 1e15))
	rapid.Check(t, func(t *rapid.T) {
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		lo, hi := min(a, b), max(a, b)
		checkScale(t, linear(lo, hi, 10, 400), lo, hi)
		checkScale(t, logarithmic(max(lo, shortest), max(hi, shortest), 10, 400), max(lo, shortest), max(hi, shortest))
	})
}

func checkScale(t *rapid.T, s scale, lo, hi float64) {
	room := 1e-9 * max(hi, 1e-12)
	if s.lo > lo+room || s.hi < hi-room || !(s.hi > s.lo) {
		t.Fatalf("%+v does not hold %g to %g", s, lo, hi)
	}
	for _, v := range []float64{lo, hi} {
		if at := s.at(v); !(at >= 10-1e-6 && at <= 400+1e-6) {
			t.Fatalf("%g is at %g of %+v", v, at, s)
		}
	}
	ticks, labels, last := s.ticks(), 0, math.Inf(-1)
	for _, tick := range ticks {
		if at := s.at(tick.value); !(at > last) {
			t.Fatalf("tick %v is not to the right of the one before: %+v", tick, s)
		}
		last = s.at(tick.value)
		if tick.label != "" {
			labels++
		}
	}
	if labels < 2 || labels > maxTicks+2 {
		t.Fatalf("%d ticks with a label: %+v", labels, s)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		scale scale
		want  string
	}{
		{linear(0, 100, 0, 1), "0 20 40 60 80 100"},
		{linear(0, 2.3, 0, 1), "0.0 0.5 1.0 1.5 2.0 2.5"},
		{linear(0, 0, 0, 1), "0.0 0.2 0.4 0.6 0.8 1.0"},
		{linear(48_800, 112_900, 0, 1), "40,000 60,000 80,000 100,000 120,000"},
		{logarithmic(3, 20_000, 0, 1), "1 10 100 1,000 10,000 100,000"},
		{logarithmic(.02, .02, 0, 1), "0.01 0.1"},
		{logarithmic(10, 10, 0, 1), "10 100"},
		{logarithmic(.001, 1e12, 0, 1), "0.001 1 1,000 1,000,000 1,000,000,000 1,000,000,000,000"},
	} {
		var labels []string
		for _, tick := range tc.scale.ticks() {
			if tick.label != "" {
				labels = append(labels, tick.label)
			}
		}
		if got := strings.Join(labels, " "); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.scale, got, tc.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		unit  unit
		value float64
		want  string
	}{
		{seconds, 0, "0"},
		{seconds, 48_812.34, "48,812"},
		{seconds, 1234.5678, "1,235"},
		{seconds, 12.3456, "12.35"},
		{seconds, .000123456, "0.0001235"},
		{seconds, 100, "100"},
		{count, 24_442, "24,442"},
		{count, 2.5, "2.5"},
		{count, 1_234_567, "1,234,567"},
		{data, 182.5e12, "182.5"},
		{share, .8, "80 %"},
		{share, 1. / 3, "33.33 %"},
		{ratio, 0, "–"},
		{ratio, 1.2345, "1.234"},
		{index, .97, "0.97"},
	} {
		if got := tc.unit.text(tc.value, multiple{"TB", 1e12}); got != tc.want {
			t.Errorf("%g of unit %d: %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
	for largest, want := range map[float64]string{0: "B", 999: "B", 1000: "kB", 5e6: "MB", 1e12: "TB", 4e18: "PB"} {
		if got := multipleFor(largest).name; got != want {
			t.Errorf("%g bytes: %s, want %s", largest, got, want)
		}
	}
}

// TestEveryFigureIsInTheTable gives each number of a run a value of its own and
// wants to see each of them in exactly one row.
func TestEveryFigureIsInTheTable(t *testing.T) {
	t.Parallel()
	var r sim.Run
	want := map[float64]string{}
	var fill func(v reflect.Value, name string)
	fill = func(v reflect.Value, name string) {
		n := float64(1000 + len(want))
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i), name+"."+v.Type().Field(i).Name)
			}
			return
		case reflect.Float64:
			v.SetFloat(n)
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(n))
		default:
			t.Fatalf("%s is a %s: the test does not know it", name, v.Kind())
		}
		want[n] = name
	}
	for _, part := range []any{&r.Outcome, &r.Traffic, &r.Bounds, &r.Ratio, &r.Coflows, &r.Effort} {
		v := reflect.ValueOf(part).Elem()
		fill(v, v.Type().Name())
	}
	for _, f := range allFigures() {
		v := f.of(&r)
		if _, ok := want[v]; !ok {
			t.Errorf("%s, %s shows what another row shows, or nothing", f.group, f.name)
		}
		delete(want, v)
	}
	for _, name := range want {
		t.Errorf("%s is in no row", name)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	in := small()
	for i, v := range []float64{100, 200, 300, 300.001} { // the last two are the same in four digits
		in.Runs[i].Makespan = v
	}
	p := newPage(&in)
	find := func(g *grid, name string) []cell {
		for _, group := range g.Groups {
			for _, r := range group.Rows {
				if r.Name == name && r.Unit == "s" {
					return r.Cells
				}
			}
		}
		return nil
	}
	if got, want := find(&p.Medians, "makespan"), []cell{{"150", "100 to 200"}, {"300", ""}}; !slices.Equal(got, want) {
		t.Errorf("medians: %v, want %v", got, want)
	}
	if got, want := find(&p.Singles[0], "makespan"), []cell{{"100", ""}, {"200", ""}}; !slices.Equal(got, want) {
		t.Errorf("runs: %v, want %v", got, want)
	}
	in.Runs = []sim.Run{in.Runs[0], in.Runs[2]}
	if p := newPage(&in); len(p.Singles) > 0 {
		t.Error("there is a table of a policy's only run, which says the same as that of the policies")
	}
}

// TestNamesDoNotOverlap holds the names beside points apart as long as there is room.
func TestNamesDoNotOverlap(t *testing.T) {
	t.Parallel()
	in := sample(fivePolicies(), 1, 1)
	for i := range in.Runs { // all in one place but for a little
		in.Runs[i].CrossRack.Total, in.Runs[i].JCT.Mean = 1e12, 100+float64(i)*20
	}
	d := frontier(seriesOf(in.Runs))
	var boxes [][4]float64
	for _, s := range d.Shapes {
		if s.Class == "name" {
			boxes = append(boxes, [4]float64{float64(s.X), float64(s.Y) - 11, float64(s.X) + 7*float64(len(s.Text)), float64(s.Y) + 3})
		}
	}
	if len(boxes) != 5 {
		t.Fatalf("%d names, want 5", len(boxes))
	}
	for i := range boxes {
		for j := range i {
			if overlap(boxes[i], boxes[j]) {
				t.Errorf("names %d and %d overlap: %v, %v", j, i, boxes[j], boxes[i])
			}
		}
	}
}

func TestShortNames(t *testing.T) {
	t.Parallel()
	if got := short("shufflewatcher", 8) + short("näs", 3); got != "shuffle…näs" {
		t.Error(got)
	}
	if got := tail("/dc1/rack07", 7) + tail("rack07", 6); got != "…rack07rack07" {
		t.Error(got)
	}
}

// themes returns the colours of the style sheet in light and in dark mode, by variable.
func themes(t *testing.T) [2]map[string]string {
	t.Helper()
	sheet, err := files.ReadFile("style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(sheet), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("no dark mode in the style sheet")
	}
	var both [2]map[string]string
	for i, text := range []string{light, dark} {
		both[i] = map[string]string{}
		for _, m := range regexp.MustCompile(`--(\w+): (#[0-9a-f]+);`).FindAllStringSubmatch(text, -1) {
			both[i][m[1]] = m[2]
		}
	}
	return both
}

// responding returns a run whose jobs take these times.
func responding(policy string, seconds ...float64) sim.Run {
	return sim.Run{Policy: policy, Detail: sim.Detail{Responses: seconds}}
}
