package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/reproduction"

	"github.com/spf13/cobra"
)

func newReproduce() *cobra.Command {
	var o reproduction.Options
	var format string
	cmd := &cobra.Command{
		Use:   "reproduce [PAPER...]",
		Short: "Repeat the papers' experiments, and compare every published result",
		Long: fmt.Sprintf(`Repeat the experiments of the papers that heddle implements. For every published result
it prints the paper's value, heddle's, and whether they agree. PAPER is one of
%s; the default is all of them.

All results of a paper come from the same runs with the same settings. A value that the
paper does not give is listed with the one that was used. A result is exact (from public
data), arithmetic (follows from the text), shape (sign and rough size, in a
simulation), or not reproducible (a figure without numbers, or data and hardware that
nobody else has).

NUM and NAS need the public trace %s; docs/workloads.md says
where to get it. Experiments that need the trace are skipped and listed without it.`, strings.Join(reproduction.Papers(), ", "), reproduction.FacebookTrace),
		Example: `  heddle reproduce
  heddle reproduce num --traces ~/SWIM/workloadSuite
  heddle reproduce shufflewatcher dawn --parts 10 --seeds 2
  heddle reproduce -o md --traces ~/SWIM/workloadSuite   # the page docs/reproduction.md`,
		ValidArgs: reproduction.Papers(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" && format != "md" {
				return exit.NewUsageError(fmt.Errorf("--output %q: want text, json or md", format))
			}
			o.Papers = args
			result, err := o.Run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return printReproduction(cmd.OutOrStdout(), result, format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "how to print the result: text, json, or md for a page of Markdown")
	cmd.Flags().StringVar(&o.Traces, "traces", "", "the `DIR` with the public traces (default: the environment's HEDDLE_TRACES)")
	cmd.Flags().IntVar(&o.Parts, "parts", 1, "scale experiments down by `N`; results then do not match the papers' set-up")
	cmd.Flags().IntVar(&o.Seeds, "seeds", 3, "the `number` of seeds for random draws")
	return cmd
}

func printReproduction(w io.Writer, r *reproduction.Result, format string) error {
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	case "md":
		return r.Page(w)
	}
	return r.Text(w)
}
