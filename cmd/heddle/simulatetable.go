package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"heddle/configs"
	"heddle/core/sim"
)

// column is one figure of a run in the tables for people.
type column struct {
	head   string
	digits int  // after the point
	blank  bool // 0 means that there is none
	of     func(r *sim.Run) float64
}

// table prints the answer for people, the same for the same input.
func (a *simulateAnswer) table(w io.Writer) error {
	a.about(w)
	unit, size := a.sizeUnit()
	for _, columns := range [][]column{timeColumns(), trafficColumns(unit, size), placeColumns(), boundColumns()} {
		fmt.Fprintln(w)
		if err := tabs(w, func(w io.Writer) { a.rows(w, columns) }); err != nil {
			return err
		}
	}
	a.notes(w)
	if a.report != "" {
		fmt.Fprintf(w, "\n%s has the plots\n", a.report)
	}
	return nil
}

// about says what was simulated.
func (a *simulateAnswer) about(w io.Writer) {
	l, c := &a.Workload, &a.Cluster
	fmt.Fprintf(w, "%s: %s (%d light, %d medium, %d heavy) of %s over %.0f s, %s; %s of input, %s of shuffle, %s of output\n",
		l.Name, several(l.Jobs, "job"), l.Classes.Light, l.Classes.Medium, l.Classes.Heavy, several(l.Users, "user"), l.SpanS, several(l.Tasks, "task"),
		sizeText(float64(l.Input)), sizeText(float64(l.Shuffle)), sizeText(float64(l.Output)))
	for i := range c.Groups {
		fmt.Fprintln(w, c.Groups[i].String())
	}
	fmt.Fprintf(w, "blocks of %s with %s; %s; a heartbeat every %g s; reduces from %g %% of the maps on\n",
		configs.Size(c.Block), several(c.Replication, "replica"), c.writesText(), c.HeartbeatS, 100*c.Slowstart)
	if c.Straggler > 0 {
		fmt.Fprintln(w, c.stragglersText())
	}
	if c.Speculation {
		fmt.Fprintln(w, speculationText)
	}
	if c.Copies > 0 {
		fmt.Fprintln(w, c.copiesText())
	}
	for i := range c.Losses {
		fmt.Fprintln(w, c.Losses[i].String())
	}
	if len(a.seeds) > 1 {
		fmt.Fprintf(w, "median of %d seeds (least-most)\n", len(a.seeds))
	}
}

// sizeUnit returns the unit for bytes across racks in which the largest total
// has digits before the point.
func (a *simulateAnswer) sizeUnit() (name string, bytes float64) {
	most := 0.0
	for i := range a.Runs {
		most = max(most, float64(a.Runs[i].CrossRack.Total))
	}
	switch {
	case most >= 1e12:
		return "TB", 1e12
	case most >= 1e9:
		return "GB", 1e9
	}
	return "MB", 1e6
}

func timeColumns() []column {
	return []column{
		{"MAKESPAN s", 0, false, func(r *sim.Run) float64 { return r.Makespan }},
		{"MEAN JCT s", 1, false, func(r *sim.Run) float64 { return r.JCT.Mean }},
		{"p95 s", 1, false, func(r *sim.Run) float64 { return r.JCT.P95 }},
		{"LIGHT s", 1, true, func(r *sim.Run) float64 { return r.JCTByClass.Light }},
		{"MEDIUM s", 1, true, func(r *sim.Run) float64 { return r.JCTByClass.Medium }},
		{"HEAVY s", 1, true, func(r *sim.Run) float64 { return r.JCTByClass.Heavy }},
	}
}

func trafficColumns(unit string, size float64) []column {
	return []column{
		{"CROSS-RACK " + unit, 2, false, func(r *sim.Run) float64 { return float64(r.CrossRack.Total) / size }},
		{"SHUFFLE " + unit, 2, false, func(r *sim.Run) float64 { return float64(r.CrossRack.Shuffle) / size }},
		{"MAP READ " + unit, 2, false, func(r *sim.Run) float64 { return float64(r.CrossRack.MapRead) / size }},
		{"WRITE " + unit, 2, false, func(r *sim.Run) float64 { return float64(r.CrossRack.Write) / size }},
		{"OF SHUFFLE %", 1, false, func(r *sim.Run) float64 { return 100 * r.ShuffleFraction.ByBytes }},
		{"BY JOB %", 1, false, func(r *sim.Run) float64 { return 100 * r.ShuffleFraction.ByJob }},
	}
}

func placeColumns() []column {
	return []column{
		{"NODE-LOCAL %", 1, false, func(r *sim.Run) float64 { return 100 * r.Locality.Node }},
		{"RACK %", 1, false, func(r *sim.Run) float64 { return 100 * r.Locality.Rack }},
		{"OFF %", 1, false, func(r *sim.Run) float64 { return 100 * r.Locality.Off }},
		{"CONGESTED", 0, false, func(r *sim.Run) float64 { return float64(r.Congestion.Samples) }},
		{"ONSETS", 0, false, func(r *sim.Run) float64 { return float64(r.Congestion.Onsets) }},
		{"1st REDUCE AT %", 1, false, func(r *sim.Run) float64 { return 100 * r.MapProgress }},
	}
}

func boundColumns() []column {
	return []column{
		{"MAKESPAN/BOUND", 3, true, func(r *sim.Run) float64 { return r.Ratio.Makespan }},
		{"JCT/BOUND", 3, true, func(r *sim.Run) float64 { return r.Ratio.JCTMean }},
		{"CROSS-RACK/BOUND", 3, true, func(r *sim.Run) float64 { return r.Ratio.CrossRack }},
		{"COFLOW/BOUND", 3, true, func(r *sim.Run) float64 { return r.Coflows.Ratio }},
		{"JOBS/h", 1, false, func(r *sim.Run) float64 { return 3600 * r.Throughput }},
		{"FAIRNESS", 3, false, func(r *sim.Run) float64 { return r.Fairness }},
		{"NODES OVER %", 1, false, func(r *sim.Run) float64 { return 100 * r.OverThreshold }},
	}
}

// rows prints columns, a line for every policy.
func (a *simulateAnswer) rows(w io.Writer, columns []column) {
	fmt.Fprint(w, "POLICY")
	for _, c := range columns {
		fmt.Fprintf(w, "\t%s", c.head)
	}
	fmt.Fprintln(w)
	for i := range a.policies {
		fmt.Fprint(w, a.policies[i].label)
		for _, c := range columns {
			fmt.Fprintf(w, "\t%s", c.cell(a.of(i)))
		}
		fmt.Fprintln(w)
	}
}

// of returns the runs of a policy, one for every seed.
func (a *simulateAnswer) of(policy int) []sim.Run {
	n := len(a.seeds)
	return a.Runs[policy*n : (policy+1)*n]
}

// cell prints the median of runs, and the least and the most where they differ.
func (c *column) cell(runs []sim.Run) string {
	values := make([]float64, len(runs))
	for i := range runs {
		values[i] = c.of(&runs[i])
	}
	slices.Sort(values)
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', c.digits, 64) }
	n := len(values)
	middle := text((values[(n-1)/2] + values[n/2]) / 2)
	least, most := text(values[0]), text(values[n-1])
	switch {
	case c.blank && values[n-1] == 0:
		return "-"
	case least == most:
		return middle
	}
	return fmt.Sprintf("%s (%s-%s)", middle, least, most)
}

// notes says of which runs a reader should know more.
func (a *simulateAnswer) notes(w io.Writer) {
	before := "\n"
	for i := range a.policies {
		for _, note := range []struct {
			text string
			of   func(r *sim.Run) int
		}{
			{"reduces that gave their container up to maps of their own job, and began anew", func(r *sim.Run) int { return r.Preempted }},
			{"extra attempts of tasks that were late", func(r *sim.Run) int { return r.Spares }},
			{"extra attempts that were done before the first", func(r *sim.Run) int { return r.Won }},
			{"attempts that ended with a lost node, and began anew", func(r *sim.Run) int { return r.Lost }},
			{"tasks that were done and ran again, since what they left was lost", func(r *sim.Run) int { return r.Redone }},
			{"jobs that did not come to their end: no replica of a block was left, or they read what such a job was to write", func(r *sim.Run) int { return r.Jobs - r.Finished }},
			{"placements that broke a rule of the engine, and were dropped", func(r *sim.Run) int { return int(r.Rejected) }},
		} {
			var counts []string
			for j := range a.of(i) {
				if r := &a.of(i)[j]; note.of(r) > 0 {
					counts = append(counts, fmt.Sprintf("%d with seed %d", note.of(r), r.Seed))
				}
			}
			if len(counts) > 0 {
				fmt.Fprintf(w, "%s%s: %s: %s\n", before, a.policies[i].label, note.text, strings.Join(counts, ", "))
				before = ""
			}
		}
	}
}
