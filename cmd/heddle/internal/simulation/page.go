package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs/strict"
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
func (res *Result) writeReport(dir, command, version string) error {
	if dir == "" {
		return nil
	}
	in := report.Input{
		Title: fmt.Sprintf("%s on %s", res.Workload.Name, terminal.Count(res.Cluster.Nodes, "node")), Command: command, Version: version,
		Workload: res.workloadRows(), Cluster: res.clusterRows(),
	}
	for i := range res.policies {
		for j := range res.runsOf(i) {
			run := res.runsOf(i)[j]
			run.Policy = res.policies[i].Label
			in.Runs = append(in.Runs, run)
		}
	}
	if err := report.Write(dir, in); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	res.report = filepath.Join(dir, reportPage)
	return nil
}

func (res *Result) workloadRows() []report.Row {
	l := &res.Workload
	return []report.Row{
		{Name: "Name", Value: l.Name},
		{Name: "Jobs", Value: fmt.Sprintf("%d: %d light, %d medium, %d heavy by shuffle size; %d read the output of others", l.Jobs, l.Classes.Light, l.Classes.Medium, l.Classes.Heavy, l.Chained)},
		{Name: "Submitted", Value: fmt.Sprintf("by %s within %.0f s", terminal.Count(l.Users, "user"), l.SpanS)},
		{Name: "Tasks", Value: strconv.Itoa(l.Tasks)},
		{Name: "Input, shuffle, output", Value: fmt.Sprintf("%s, %s, %s", terminal.Bytes(float64(l.Input)), terminal.Bytes(float64(l.Shuffle)), terminal.Bytes(float64(l.Output)))},
	}
}

func (res *Result) clusterRows() []report.Row {
	c := &res.Cluster
	var rows []report.Row
	for i := range c.Groups {
		rows = append(rows, report.Row{Name: "Racks", Value: c.Groups[i].String()})
	}
	rows = append(rows, c.optionRows()...)
	return append(rows,
		report.Row{Name: "HDFS", Value: fmt.Sprintf("blocks of %s with %s; %s", strict.Size(c.Block), terminal.Count(c.Replication, "replica"), c.writesText())},
		report.Row{Name: "Heartbeat", Value: fmt.Sprintf("every %g s", c.HeartbeatS)},
		report.Row{Name: "Reduces", Value: fmt.Sprintf("start after %g %% of a job's maps", 100*c.Slowstart)})
}

// optionRows describes the options that are in use beyond the cluster itself.
func (c *ClusterSummary) optionRows() []report.Row {
	var rows []report.Row
	if c.MovesS > 0 {
		rows = append(rows, report.Row{Name: "Other traffic", Value: fmt.Sprintf("other traffic moves on to the next rack every %g s", c.MovesS)})
	}
	if c.Straggler > 0 {
		rows = append(rows, report.Row{Name: "Stragglers", Value: c.stragglersText()})
	}
	if c.Speculation {
		rows = append(rows, report.Row{Name: "Speculation", Value: "stragglers get a speculative attempt"})
	}
	if c.Copies > 0 {
		rows = append(rows, report.Row{Name: "Shuffles", Value: c.copiesText()})
	}
	for i := range c.Losses {
		rows = append(rows, report.Row{Name: "Lost", Value: c.Losses[i].String()})
	}
	return rows
}
