package importing

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/terminal"
)

// namedAtMost is how many jobs or files a line about what was left out names.
const namedAtMost = 3

// Table prints a result for people.
func (r *Result) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s, submitted within %g s\n\n", r.File, terminal.Count(r.Jobs, "job"), r.Spans)
	b := &r.Bytes
	err := terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "JOBS\tTASKS\tREAD\tMAP OUTPUT\tSHUFFLED\tWRITTEN")
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\n", r.Jobs, r.Tasks, terminal.Bytes(float64(b.Read)), terminal.Bytes(float64(b.Output)),
			terminal.Bytes(float64(b.Shuffled)), terminal.Bytes(float64(b.Written)))
	})
	if err != nil {
		return err
	}
	if len(r.Left) > 0 {
		fmt.Fprintln(w)
		printLeft(w, r.Left)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(w)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w, note)
	}
	cluster := "CLUSTER"
	if len(r.Racks) > 0 {
		nodes := 0
		for _, rack := range r.Racks {
			nodes += rack.Nodes
		}
		fmt.Fprintf(w, "\nThe workload names the nodes of %s with %s.\n", terminal.Count(len(r.Racks), "rack"), terminal.Count(nodes, "node"))
		if r.Cluster == "" {
			fmt.Fprintln(w, "Racks have different numbers of nodes: --cluster-out writes them as a file for --cluster.")
		} else {
			cluster = r.Cluster
		}
	}
	_, err = fmt.Fprintf(w, "\nheddle simulate --workload %s --cluster %s --policies fair,shufflewatcher,nas\n", r.File, cluster)
	return err
}

// printLeft prints what was left out, by reason.
func printLeft(w io.Writer, left []Left) {
	var reasons []string
	by := map[string][]string{}
	for _, l := range left {
		if by[l.Why] == nil {
			reasons = append(reasons, l.Why)
		}
		by[l.Why] = append(by[l.Why], l.What)
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return len(by[b]) - len(by[a]) })
	for _, why := range reasons {
		what := by[why]
		more := ""
		if n := len(what) - namedAtMost; n > 0 {
			what, more = what[:namedAtMost], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(w, "left out: %s%s: %s\n", strings.Join(what, ", "), more, why)
	}
}
