package frontierrun

import (
	"fmt"
	"io"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/lab/frontier"
)

// Table prints the ratios for people.
func Table(w io.Writer, r *frontier.Report) error {
	fmt.Fprintf(w, "%s by the best other policy, by metric; %s, %g of each workload's jobs; * is too high\n\n", frontier.Subject, terminal.Count(r.Seeds, "seed"), r.Scale)
	return terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "WORKLOAD\tJOBS\tMEAN JCT\tBY\tp95\tBY\tCROSS-RACK\tBY\tMAKESPAN\tBY")
		for i := range r.Results {
			res := &r.Results[i]
			fmt.Fprintf(w, "%s\t%d", res.Name, res.Jobs)
			for _, c := range res.Comparisons {
				star := ""
				if !c.Met {
					star = " *"
				}
				fmt.Fprintf(w, "\t%.3f%s\t%s", c.Ratio, star, c.By)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, "at or below\t")
		for _, v := range r.Verdicts {
			fmt.Fprintf(w, "\t%d of %d\t", v.Met, v.Of)
		}
		fmt.Fprintln(w)
	})
}
