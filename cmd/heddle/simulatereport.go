package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"heddle/configs"
	"heddle/core/model"
	"heddle/core/sim"
	"heddle/metrics/report"
)

// reportPage is the file of a report in its directory.
const reportPage = "index.html"

// makeReportDir makes the directory of a report, before the work whose results
// are to go there.
func makeReportDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a page to be shown around
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// writeReport writes the answer as a page, if a directory for it is named.
func (a *simulateAnswer) writeReport(dir, command string) error {
	if dir == "" {
		return nil
	}
	in := report.Input{
		Title: fmt.Sprintf("%s on %s", a.Workload.Name, several(a.Cluster.Nodes, "node")), Command: command, Version: version,
		Workload: a.workloadRows(), Cluster: a.clusterRows(),
	}
	for i := range a.policies {
		for j := range a.of(i) {
			in.Runs = append(in.Runs, reportRun(a.policies[i].label, &a.of(i)[j]))
		}
	}
	if err := report.Write(dir, in); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	a.report = filepath.Join(dir, reportPage)
	return nil
}

func (a *simulateAnswer) workloadRows() []report.Row {
	l := &a.Workload
	return []report.Row{
		{Name: "Name", Value: l.Name},
		{Name: "Jobs", Value: fmt.Sprintf("%d: %d light, %d medium, %d heavy by shuffle size; %d read the output of others", l.Jobs, l.Classes.Light, l.Classes.Medium, l.Classes.Heavy, l.Chained)},
		{Name: "Submitted", Value: fmt.Sprintf("by %s within %.0f s", several(l.Users, "user"), l.SpanS)},
		{Name: "Tasks", Value: strconv.Itoa(l.Tasks)},
		{Name: "Input, shuffle, output", Value: fmt.Sprintf("%s, %s, %s", sizeText(float64(l.Input)), sizeText(float64(l.Shuffle)), sizeText(float64(l.Output)))},
	}
}

func (a *simulateAnswer) clusterRows() []report.Row {
	c := &a.Cluster
	var rows []report.Row
	for i := range c.Groups {
		rows = append(rows, report.Row{Name: "Racks", Value: c.Groups[i].String()})
	}
	if c.Straggler > 0 {
		rows = append(rows, report.Row{Name: "Stragglers", Value: c.stragglersText()})
	}
	if c.Speculation {
		rows = append(rows, report.Row{Name: "Speculation", Value: speculationText})
	}
	if c.Copies > 0 {
		rows = append(rows, report.Row{Name: "Shuffles", Value: c.copiesText()})
	}
	for i := range c.Losses {
		rows = append(rows, report.Row{Name: "Lost", Value: c.Losses[i].String()})
	}
	return append(rows,
		report.Row{Name: "HDFS", Value: fmt.Sprintf("blocks of %s with %s; %s", configs.Size(c.Block), several(c.Replication, "replica"), c.writesText())},
		report.Row{Name: "Heartbeat", Value: fmt.Sprintf("every %g s", c.HeartbeatS)},
		report.Row{Name: "Reduces", Value: fmt.Sprintf("from %g %% of a job's maps on", 100*c.Slowstart)})
}

// reportRun returns a run as the report takes it.
func reportRun(label string, r *sim.Run) report.Run {
	return report.Run{
		Policy: label, Seed: r.Seed,
		Outcome: report.Outcome{
			Jobs: r.Jobs, Finished: r.Finished, Makespan: r.Makespan, Throughput: r.Throughput,
			JCT: report.Distribution(r.JCT), JCTByClass: report.ByClass(r.JCTByClass),
		},
		Traffic: report.Traffic{
			CrossRack: report.CrossRack(r.CrossRack), ShuffleBytes: r.ShuffleBytes, ShuffleFraction: report.Fractions(r.ShuffleFraction),
			Locality: report.Locality(r.Locality), Congestion: report.Congestion(r.Congestion),
			MapProgress: r.MapProgress, OverThreshold: r.OverThreshold, Fairness: r.Fairness,
		},
		Bounds: report.Bounds(r.Bounds), Ratio: report.Ratios(r.Ratio), Effort: report.Effort(r.Effort), Responses: r.Responses, Coflows: report.Coflows(r.Coflows),
		Uplinks: report.Uplinks{Step: r.Uplinks.Step, Racks: rackNames(r.Uplinks.Racks), Used: r.Uplinks.Used},
	}
}

func rackNames(ids []model.RackID) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return names
}

// simulateFlags are the flags of the command, in the order in which a command
// line is printed.
func simulateFlags() []string {
	return []string{
		"workload", "cluster", "policies", "param", "seed", "jobs", "lenient", "slowstart", "no-writes", "heartbeat", "network-step", "parallel-copies", "am-start", "straggler", "speculation", "lose",
		"relay", "relay-pin", "relay-trim", "report", "output",
	}
}

// commandLine returns the command with the flags it was given, as a shell takes it.
func commandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	for _, name := range simulateFlags() {
		f := cmd.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
			values = list.GetSlice()
			if f.Value.Type() == "stringSlice" { // which has commas between
				values = []string{strings.Join(values, ",")}
			}
		}
		if f.Value.Type() == "bool" && f.Value.String() == "true" {
			words, values = append(words, "--"+name), nil
		}
		for _, v := range values {
			words = append(words, "--"+name+"="+shellWord(v))
		}
	}
	return strings.Join(words, " ")
}

// shellWord quotes a text for a shell, where it has to be.
func shellWord(text string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./:=,+@%-]+$`).MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
