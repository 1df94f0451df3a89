package network_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// comparison is a cluster, a demand on it, and the steps the fast form takes.
type comparison struct {
	name  string
	size  demandSize
	racks []network.Rack
	steps []steps
}

func comparisons() []comparison {
	size := func(racks, nodes, jobs int, load float64) demandSize {
		return demandSize{racks: racks, nodes: nodes, jobs: jobs, maps: 12, reduces: 5, seconds: 200, load: load}
	}
	all := []steps{{100, 100}, {1000, 1000}, {1000, 5000}, {5000, 5000}}
	const mb = 1e6
	return []comparison{
		{"4 racks of 4, 1:1", size(4, 4, 30, .5), many(4, rack(125*mb, 31.25*mb, 4)), all},
		{"4 racks of 4, 5:1", size(4, 4, 30, .3), many(4, rack(25*mb, 31.25*mb, 4)), all},
		{"4 racks of 4, 5:1", size(4, 4, 30, .8), many(4, rack(25*mb, 31.25*mb, 4)), all},
		{"4 racks of 4, 5:1", size(4, 4, 30, 1.5), many(4, rack(25*mb, 31.25*mb, 4)), all},
		{"6 racks of 20, 5:1", demandSize{racks: 6, nodes: 20, jobs: 40, maps: 60, reduces: 10, seconds: 200, load: .8}, many(6, rack(125*mb, 31.25*mb, 20)), all},
		{"8 racks of 5, 10:1", size(8, 5, 60, .8), many(8, rack(15.625*mb, 31.25*mb, 5)), all},
		{"4 racks of 4, 5:1", size(4, 4, 30, 6), many(4, rack(25*mb, 31.25*mb, 4)), all},
	}
}

// spread is the distribution of errors.
type spread struct{ mean, p95, most float64 }

func spreadOf(errs []float64) spread {
	slices.Sort(errs)
	sum := 0.0
	for _, e := range errs {
		sum += e
	}
	if len(errs) == 0 {
		return spread{}
	}
	return spread{sum / float64(len(errs)), errs[len(errs)*95/100], errs[len(errs)-1]}
}

// difference is how far the fast form is from the exact one.
type difference struct {
	bias      float64 // mean of later minus sooner, s
	seconds   spread  // of ends
	relative  spread  // to the time from start to end, or 1 s if that was shorter
	bytes     spread  // on a link at a moment, over all bytes of the link
	transfers float64 // mean of seconds, of transfers alone
	n         int
}

func compare(t *testing.T, d *demand, exact, fast *outcome) difference {
	t.Helper()
	var out difference
	var seconds, relative, bytes, transfers []float64
	for i := range d.events {
		want, ok := exact.spans[i]
		if !ok {
			continue
		}
		got := fast.spans[i]
		if want[1] == 0 || got[1] == 0 {
			t.Fatalf("event %d is not done: exact %v, fast %v", i, want, got)
		}
		off := float64(got[1]-want[1]) / 1000
		out.bias += off
		seconds = append(seconds, math.Abs(off))
		relative = append(relative, math.Abs(off)/max(float64(want[1]-want[0])/1000, 1))
		if d.events[i].what == transferStarts {
			transfers = append(transfers, math.Abs(off))
		}
	}
	last := exact.bytes[len(exact.bytes)-1]
	for i := range exact.bytes {
		for r := range last {
			bytes = append(bytes, math.Abs(float64(sum(fast.bytes[i][r].Up)-sum(exact.bytes[i][r].Up)))/float64(sum(last[r].Up)))
			bytes = append(bytes, math.Abs(float64(sum(fast.bytes[i][r].Down)-sum(exact.bytes[i][r].Down)))/float64(sum(last[r].Down)))
		}
		if i > 100 { // 500 s: all is done
			break
		}
	}
	out.n = len(seconds)
	out.bias /= float64(out.n)
	out.seconds, out.relative, out.bytes = spreadOf(seconds), spreadOf(relative), spreadOf(bytes)
	out.transfers = spreadOf(transfers).mean
	return out
}

// update writes the tables of docs/network-model.md anew.
var update = flag.Bool("update", false, "write the table of errors in docs/network-model.md anew")

// page is the document with the table, between its two marks.
const (
	page  = "../../../../docs/network-model.md"
	begin = "<!-- errors: go test ./core/lab/sim/network -run TestError -update -->\n"
	end   = "<!-- end of errors -->\n"
)

// TestError runs both forms over the same random demand and wants the errors of
// the fast one to be those of the document, and within limits where uplinks, not
// the interfaces of single nodes, are what is short.
func TestError(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| cluster | load | step, s | ends | bias, s | error, s: mean | p95 | most | part: mean | p95 | most | bytes: mean | p95 | most |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i, c := range comparisons() {
		d := newDemand(uint64(i)+1, c.size, c.racks)
		exact := d.onExact(newExact(t, c.racks))
		for _, step := range c.steps {
			diff := compare(t, d, exact, d.onFast(newStepping(t, c.racks, step, 5)))
			fmt.Fprintf(&table, "| %s | %.1f | %s | %d | %+.1f | %.1f | %.1f | %.0f | %.2f | %.2f | %.1f | %.1f %% | %.1f %% | %.0f %% |\n",
				c.name, c.size.load, step, diff.n, diff.bias, diff.seconds.mean, diff.seconds.p95, diff.seconds.most,
				diff.relative.mean, diff.relative.p95, diff.relative.most, 100*diff.bytes.mean, 100*diff.bytes.p95, 100*diff.bytes.most)
			if hot := strings.HasSuffix(c.name, "1:1"); !hot && step.most <= model.Second && (diff.relative.mean > .25 || diff.bytes.p95 > .03) {
				t.Errorf("%s, load %.1f, step %s s: %+v", c.name, c.size.load, step, diff)
			}
		}
	}
	writeTable(t, table.String(), begin, end)
}

// writing keeps one table from being written over another.
var writing sync.Mutex

// writeTable wants a table between two marks of the document, or puts it there.
func writeTable(t *testing.T, table, begin, end string) {
	t.Helper()
	t.Log("\n" + table)
	writing.Lock()
	defer writing.Unlock()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s: no place for the table: want the lines %q and %q", page, begin, end)
	}
	if have == table {
		return
	}
	if !*update {
		t.Fatalf("%s has another table: run this test with -update and read the difference", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
