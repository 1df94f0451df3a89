package frontierrun

import (
	"fmt"
	"io"
	"slices"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/lab/frontier"
	"heddle/core/lab/sim"
)

// Table prints the ratios for people.
func Table(w io.Writer, r *frontier.Report) error {
	fmt.Fprintf(w, "%s by the best other policy, by metric; %s, %g of each workload's jobs; * is too high\n\n", frontier.Subject, terminal.Count(r.Seeds, "seed"), r.Scale)
	err := terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "WORKLOAD\tJOBS\tMEAN JCT\tBY\tp95\tBY\tCROSS-RACK\tBY\tMAKESPAN\tBY")
		for i := range r.Results {
			res := &r.Results[i]
			fmt.Fprintf(w, "%s\t%d", res.Name, res.Jobs)
			for _, c := range res.Comparisons {
				fmt.Fprintf(w, "\t%.3f%s\t%s", c.Ratio, star(c.Met), c.By)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, "at or below\t")
		for _, v := range r.Verdicts {
			fmt.Fprintf(w, "\t%d of %d\t", v.Met, v.Of)
		}
		fmt.Fprintln(w)
	})
	if err != nil || !slices.ContainsFunc(r.Results, func(res frontier.Result) bool { return res.Fairness != nil }) {
		return err
	}
	fmt.Fprintf(w, "\nhad of shares over ten minutes of wanting more: least, 5th percentile, windows below %g; jobs beyond %d times their time under %s: of users without more than their share, and with more\n\n", sim.ShareFloor, frontier.LongestRatio, frontier.Fair)
	return terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "WORKLOAD\tUSERS\tUNDER FAIR\tQUEUES\tUNDER FAIR\tJOBS BEYOND\tLARGEST\tWITH MORE")
		for i := range r.Results {
			if f := r.Results[i].Fairness; f != nil {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d of %d\t%.2f\t%d of %d\n", r.Results[i].Name, windows(&f.Shares.Users), windows(&f.OfFair.Users),
					windows(&f.Shares.Queues), windows(&f.OfFair.Queues), f.Jobs.Beyond, f.Jobs.Jobs, f.Jobs.Largest, f.More.Beyond, f.More.Jobs)
			}
		}
	})
}

func windows(w *sim.ShareWindows) string {
	if w.Windows == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %.2f %.1f%%", w.Least, w.P05, 100*w.WindowsBelow)
}

// RobustTable prints every workload under every perturbation for people.
func RobustTable(w io.Writer, r *frontier.Robustness) error {
	fmt.Fprintf(w, "%s beside other policies of the same run; %s, %g of each workload's jobs; * is too high\n\n", frontier.Subject, terminal.Count(r.Seeds, "seed"), r.Scale)
	err := terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "WORKLOAD\tPERTURBATION\tMEAN JCT s\tFAIR s\tRATIO\tCROSS-RACK GB\tDELAY GB\tRATIO")
		for i := range r.Results {
			res := &r.Results[i]
			fmt.Fprintf(w, "%s\t%s", res.Workload, res.Perturbation)
			for k, c := range res.Comparisons {
				unit := []float64{1, 1e9}[k]
				fmt.Fprintf(w, "\t%.1f\t%.1f\t%.3f%s", c.Subject/unit, c.Best/unit, c.Ratio, star(c.Met))
			}
			if len(res.Comparisons) == 0 {
				fmt.Fprint(w, "\tnot simulated")
			}
			fmt.Fprintln(w)
		}
	})
	if text := r.UnfinishedText(); text != "" {
		fmt.Fprintln(w, "\n"+text)
	}
	return err
}

// AblationTable prints the ratios for people.
func AblationTable(w io.Writer, r *frontier.AblationReport) error {
	fmt.Fprintf(w, "%s without a part, by the whole: geometric mean over workloads, and the largest ratio; %s, %g of each workload's jobs\n\n", frontier.Subject, terminal.Count(r.Seeds, "seed"), r.Scale)
	return terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "WITHOUT\tMEAN JCT\tLARGEST\tp95\tLARGEST\tCROSS-RACK\tLARGEST\tMAKESPAN\tLARGEST")
		for i := range r.Results {
			fmt.Fprint(w, r.Results[i].Name)
			for _, m := range r.Results[i].Metrics {
				fmt.Fprintf(w, "\t%.3f\t%.3f %s", m.Mean, m.Largest, m.LargestOn)
			}
			fmt.Fprintln(w)
		}
	})
}

func star(met bool) string {
	if met {
		return ""
	}
	return " *"
}
