package validation_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"heddle/core/lab/reproduce/validation"
)

var update = flag.Bool("update", false, "write the table of docs/validation.md")

const (
	seeds = 20
	begin = "<!-- written by go test ./core/lab/reproduce/validation -update: from here -->\n"
	stop  = "<!-- to here -->\n"
)

// measured is one arm of a scenario as a real Hadoop ran it.
type measured struct {
	Scenario  string              `json:"scenario"`
	Arm       string              `json:"arm"` // "" is Hadoop alone
	Runs      int                 `json:"runs"`
	Source    string              `json:"source"`
	Seconds   []validation.Spread `json:"seconds"`       // by the scenario's columns
	CrossRack *validation.Spread  `json:"cross_rack_mb"` // nil if it was not taken by arm
}

func readMeasured(t *testing.T) []measured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "measured.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var all []measured
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// The table of docs/validation.md is what the simulator says.
func TestPage(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "docs", "validation.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	old, after, closed := strings.Cut(rest, stop)
	if !ok || !closed {
		t.Fatalf("%s lacks the lines around its table", path)
	}
	table := compare(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+table+stop+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := gocmp.Diff(old, table); diff != "" {
		t.Errorf("%s is not what the simulator says; -update writes it, and the text below it has to fit (-page +simulator):\n%s", path, diff)
	}
}

// compare runs everything and sets it beside what was measured.
func compare(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| scenario | arm | what | measured: median (least to most) | simulated: median (least to most) | error % | |\n|:--|:--|:--|--:|--:|--:|:--|\n")
	all := readMeasured(t)
	rows := 0
	var times, traffic []float64
	for _, s := range validation.Scenarios() {
		for _, arm := range s.Arms {
			i := slices.IndexFunc(all, func(m measured) bool { return m.Scenario == s.Name && m.Arm == arm })
			if i < 0 || len(all[i].Seconds) != len(s.Columns) {
				t.Fatalf("%s, %s: not measured", s.Name, arm)
			}
			rows++
			got, err := s.Runs(arm, seeds)
			if err != nil {
				t.Fatal(err)
			}
			for k, c := range s.Columns {
				times = append(times, row(&b, s.Name+" | "+cmp.Or(arm, "stock")+" | "+c.Name+", s", all[i].Seconds[k], got[k]))
			}
			if all[i].CrossRack != nil {
				traffic = append(traffic, row(&b, s.Name+" | "+cmp.Or(arm, "stock")+" | cross-rack MB", *all[i].CrossRack, got[len(s.Columns)]))
			}
		}
	}
	if rows != len(all) {
		t.Errorf("%d arms were measured and %d are simulated", len(all), rows)
	}
	summary(&b, "times", times)
	summary(&b, "figures of cross-rack bytes", traffic)
	b.WriteString("\n")
	return b.String()
}

// large is the error in percent from which on the page has to explain it.
const large = 25

// row prints one comparison, whose first columns what has, and returns the error in percent.
func row(b *strings.Builder, what string, m, s validation.Spread) float64 {
	off := 100 * (s.Median - m.Median) / m.Median
	note := ""
	if math.Abs(math.Round(off)) > large {
		note = "large"
	}
	spread := func(v validation.Spread) string {
		if v.Least == v.Most {
			return fmt.Sprintf("%.1f", v.Median)
		}
		return fmt.Sprintf("%.1f (%.1f to %.1f)", v.Median, v.Least, v.Most)
	}
	fmt.Fprintf(b, "| %s | %s | %s | %+.0f | %s |\n", what, spread(m), spread(s), off, note)
	return off
}

// summary prints how far all rows are off.
func summary(b *strings.Builder, what string, off []float64) {
	within := 0
	sizes := make([]float64, 0, len(off))
	for _, e := range off {
		sizes = append(sizes, math.Abs(e))
		if math.Abs(math.Round(e)) <= large {
			within++
		}
	}
	slices.Sort(sizes)
	n := len(sizes)
	fmt.Fprintf(b, "\nOf %d %s, %d are within %d %%; the median error is %.0f %%, the largest %.0f %%.\n", n, what, within, large, (sizes[(n-1)/2]+sizes[n/2])/2, sizes[n-1])
}

// What the arms of the experiment are there to show comes out whatever the figures.
func TestOrder(t *testing.T) {
	t.Parallel()
	median := map[string][]validation.Spread{}
	for _, s := range validation.Scenarios() {
		for _, arm := range s.Arms {
			got, err := s.Runs(arm, seeds)
			if err != nil {
				t.Fatal(err)
			}
			median[s.Name+" "+arm] = got
		}
	}
	bytesOf := func(name string) float64 { return median[name][len(median[name])-1].Median }
	for _, c := range []struct {
		less, more string
		factor     float64 // at least, as measured less a third
	}{
		{"concentrated shufflewatcher", "concentrated ", 6.8},
		{"concentrated dawn", "concentrated ", 6.4},
		{"chain dawn", "chain shufflewatcher", 6},
		{"chain shufflewatcher", "chain ", 2},
		{"pair shufflewatcher", "pair ", 5.7},
	} {
		if bytesOf(c.less)*c.factor > bytesOf(c.more) || median[c.less][0].Median >= median[c.more][0].Median {
			t.Errorf("%s: %v, and %s: %v", c.less, median[c.less], c.more, median[c.more])
		}
	}
	// As measured, Dawn lost time here, with plans that put all reduces on one rack. Its plans now stay within what an even
	// spread sends over the busiest uplink.
	if median["even dawn"][0].Median > median["even "][0].Median {
		t.Errorf("Dawn loses time where the input is even: %v, stock %v", median["even dawn"], median["even "])
	}
}
