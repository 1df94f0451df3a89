package simulation

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs/strict"
	"heddle/core/lab/sim"
)

// column is one figure of a run in the tables for people.
type column struct {
	head   string
	digits int  // after the point
	blank  bool // 0 means that there is none
	of     func(r *sim.Run) float64
}

// Table prints the answer for people, the same for the same input.
func (res *Result) Table(w io.Writer) error {
	res.printSetup(w)
	unit, size := res.sizeUnit()
	for _, columns := range [][]column{timeColumns(), trafficColumns(unit, size), placeColumns(), boundColumns()} {
		fmt.Fprintln(w)
		if err := terminal.Table(w, func(w io.Writer) { res.printRows(w, columns) }); err != nil {
			return err
		}
	}
	res.printNotes(w)
	if res.report != "" {
		fmt.Fprintf(w, "\n%s has the plots\n", res.report)
	}
	return nil
}

// printSetup prints what was simulated.
func (res *Result) printSetup(w io.Writer) {
	l, c := &res.Workload, &res.Cluster
	fmt.Fprintf(w, "%s: %s (%d light, %d medium, %d heavy) of %s over %.0f s, %s; %s of input, %s of shuffle, %s of output\n",
		l.Name, terminal.Count(l.Jobs, "job"), l.Classes.Light, l.Classes.Medium, l.Classes.Heavy, terminal.Count(l.Users, "user"), l.SpanS, terminal.Count(l.Tasks, "task"),
		terminal.Bytes(float64(l.Input)), terminal.Bytes(float64(l.Shuffle)), terminal.Bytes(float64(l.Output)))
	for i := range c.Groups {
		fmt.Fprintln(w, c.Groups[i].String())
	}
	fmt.Fprintf(w, "blocks of %s with %s; %s; a heartbeat every %g s; reduces start after %g %% of the maps\n",
		strict.Size(c.Block), terminal.Count(c.Replication, "replica"), c.writesText(), c.HeartbeatS, 100*c.Slowstart)
	for _, row := range c.optionRows() {
		fmt.Fprintln(w, row.Value)
	}
	if len(res.seeds) > 1 {
		fmt.Fprintf(w, "median of %d seeds (least-most)\n", len(res.seeds))
	}
}

// sizeUnit returns the unit for bytes across racks in which the largest total
// has digits before the point.
func (res *Result) sizeUnit() (name string, bytes float64) {
	most := 0.0
	for i := range res.Runs {
		most = max(most, float64(res.Runs[i].CrossRack.Total))
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

// printRows prints columns, a line for every policy.
func (res *Result) printRows(w io.Writer, columns []column) {
	fmt.Fprint(w, "POLICY")
	for _, c := range columns {
		fmt.Fprintf(w, "\t%s", c.head)
	}
	fmt.Fprintln(w)
	for i := range res.policies {
		fmt.Fprint(w, res.policies[i].Label)
		for _, c := range columns {
			fmt.Fprintf(w, "\t%s", c.cell(res.runsOf(i)))
		}
		fmt.Fprintln(w)
	}
}

// runsOf returns the runs of a policy, one for every seed.
func (res *Result) runsOf(policy int) []sim.Run {
	n := len(res.seeds)
	return res.Runs[policy*n : (policy+1)*n]
}

// cell prints the median of runs, and the least and the most where they differ.
func (col *column) cell(runs []sim.Run) string {
	values := make([]float64, len(runs))
	for i := range runs {
		values[i] = col.of(&runs[i])
	}
	slices.Sort(values)
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', col.digits, 64) }
	n := len(values)
	middle := text((values[(n-1)/2] + values[n/2]) / 2)
	least, most := text(values[0]), text(values[n-1])
	switch {
	case col.blank && values[n-1] == 0:
		return "-"
	case least == most:
		return middle
	}
	return fmt.Sprintf("%s (%s-%s)", middle, least, most)
}

// printNotes prints counts of events that a reader would not expect, by policy and seed.
func (res *Result) printNotes(w io.Writer) {
	before := "\n"
	for i := range res.policies {
		for _, note := range []struct {
			text string
			of   func(res *sim.Run) int
		}{
			{"reduces preempted for maps of their own job, and restarted", func(res *sim.Run) int { return res.Preempted }},
			{"speculative attempts", func(res *sim.Run) int { return res.ExtraAttempts }},
			{"speculative attempts that finished first", func(res *sim.Run) int { return res.ExtraWon }},
			{"attempts lost with their node, and restarted", func(res *sim.Run) int { return res.Lost }},
			{"completed tasks that ran again because their output was lost", func(res *sim.Run) int { return res.Redone }},
			{"unfinished jobs: a block of their input has no replica left, or was never written", func(res *sim.Run) int { return res.Jobs - res.Finished }},
			{"placements that the engine rejected", func(res *sim.Run) int { return int(res.Rejected) }},
		} {
			var counts []string
			for j := range res.runsOf(i) {
				if run := &res.runsOf(i)[j]; note.of(run) > 0 {
					counts = append(counts, fmt.Sprintf("%d with seed %d", note.of(run), run.Seed))
				}
			}
			if len(counts) > 0 {
				fmt.Fprintf(w, "%s%s: %s: %s\n", before, res.policies[i].Label, note.text, strings.Join(counts, ", "))
				before = ""
			}
		}
	}
}
