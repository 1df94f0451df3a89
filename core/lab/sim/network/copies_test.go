package network_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// By hand: beside one remote read on an uplink of 60 MB/s, a reduce that fetches
// from n nodes at once has n of n+1 parts, in both forms.
func TestCopiesByHand(t *testing.T) {
	t.Parallel()
	racks := []network.Rack{rack(60e6, 1e9, 30), rack(60e6, 1e9, 30)}
	const plenty = 1e12
	for _, copies := range []int{1, 2, 5, 20} {
		x, f := newExact(t, racks), newCopying(t, racks, model.Second, copies)
		to := network.Node{Rack: 1, Number: 0}
		for n := range copies {
			start(t, x, network.Flow{From: network.Node{Rack: 0, Number: n}, To: to, Bytes: plenty, Weight: 1})
		}
		start(t, x, network.Flow{Kind: network.MapRead, From: network.Node{Rack: 0, Number: 29}, To: network.Node{Rack: 1, Number: 29}, Bytes: plenty, Weight: 1})
		job := f.AddJob(1)
		f.AddOutput(job, 0, plenty)
		f.AddReduces(job, 1, 1)
		f.Seal(job)
		f.AddTransfer(network.MapRead, 0, 1, plenty)
		none := func(d network.Done) { t.Errorf("%+v is done", d) }
		x.Advance(10_000, none)
		f.Advance(10_000, none)
		want := 600e6 * float64(copies) / float64(copies+1)
		for form, got := range map[string]network.Traffic{"exact": x.Traffic(nil)[0], "fast": f.Traffic(nil)[0]} {
			if math.Abs(float64(got.Up[network.Shuffle])-want) > 20 || math.Abs(float64(got.Up[network.MapRead])-(600e6-want)) > 20 {
				t.Errorf("%d copies, %s: %d bytes fetched and %d read, want %g of 600 MB", copies, form, got.Up[network.Shuffle], got.Up[network.MapRead], want)
			}
		}
	}
}

// The table of docs/network-model.md, between its marks.
const (
	beginCopies = "<!-- copies: go test ./core/lab/sim/network -run TestCopies -update -->\n"
	endCopies   = "<!-- end of copies -->\n"
)

// TestCopiesError runs the fast form, and the exact one with reduces that fetch
// from so many nodes at once and no more, over the same random demand, and wants
// the errors to be those of the document, and within limits where nodes with map
// output are many enough for the copies.
func TestCopiesError(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| cluster | load | copies | bias, s | error, s: mean | p95 | part: mean | p95 | bytes: mean | p95 | most |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i, c := range comparisons() {
		if c.size.load != .8 || c.size.nodes > 5 {
			continue
		}
		d := newDemand(uint64(i)+1, c.size, c.racks)
		for _, copies := range []int{1, 2, 5, 10, 20} {
			diff := compare(t, d, d.onCopies(newExact(t, c.racks), copies), d.onFast(newCopying(t, c.racks, model.Second, copies)))
			fmt.Fprintf(&table, "| %s | %.1f | %d | %+.1f | %.1f | %.1f | %.2f | %.2f | %.1f %% | %.1f %% | %.0f %% |\n",
				c.name, c.size.load, copies, diff.bias, diff.seconds.mean, diff.seconds.p95,
				diff.relative.mean, diff.relative.p95, 100*diff.bytes.mean, 100*diff.bytes.p95, 100*diff.bytes.most)
			if copies == 5 && (diff.relative.mean > .3 || diff.bytes.p95 > .05) {
				t.Errorf("%s, %d copies: %+v", c.name, copies, diff)
			}
		}
	}
	writeTable(t, table.String(), beginCopies, endCopies)
}
