package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/frontierrun"
	"heddle/core/lab/frontier"
)

func newFrontier() *cobra.Command {
	var o frontierrun.Options
	var format string
	var robust, ablations bool
	cmd := &cobra.Command{
		Use:   "frontier",
		Short: "Compare weave with every other policy over workloads of many kinds",
		Long: fmt.Sprintf(`Simulate workloads of many kinds under weave and under every other policy, and compare
completion times, cross-rack traffic and makespan. The other policies run with several
values of slowstart; for each metric the best of all their runs counts.

The workloads are %s.

Those from public traces are left out where these are missing; docs/workloads.md says
where to get them. With --results, the result of each run is kept in a file, and a run
whose file is there is not repeated: a command that was interrupted goes on. The name
of a file depends on jobs, cluster, policy, parameters, slowstart and seed, but not
on the version of heddle: --again repeats the runs of policies whose code has changed.

With --robust every workload runs under perturbations: sizes that are predicted wrong or
not at all, stragglers, speculation, lost nodes and racks, ApplicationMasters, skewed keys.
weave's mean completion time is compared with fair's and its cross-rack traffic with
delay's, of the same run. With --ablations weave runs with each of its parts switched off.`, strings.Join(frontierrun.WorkloadNames(), ",\n")),
		Example: `  heddle frontier --scale 0.1 --seeds 1
  heddle frontier --workloads fb2010-o5,many-racks --policies weave,fair,nas --slowstarts 0.05,1
  heddle frontier --policies 'weave{"others":0.2},fair,num' --results results
  heddle frontier --robust --scale 0.1 --seeds 1
  heddle frontier -o md --traces ~/SWIM/workloadSuite --results results --plots docs/frontier   # the page docs/frontier.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" && format != "md" {
				return exit.NewUsageError(fmt.Errorf("--output %q: want text, json or md", format))
			}
			if robust && ablations {
				return exit.NewUsageError(errors.New("--robust and --ablations: give one of the two"))
			}
			if (robust || ablations) && (o.Plots != "" || cmd.Flags().Changed("slowstarts")) {
				return exit.NewUsageError(errors.New("--plots and --slowstarts: not with --robust and --ablations"))
			}
			collectAt(garbageOfSimulation)
			show, err := runFrontier(cmd, &o, robust, ablations)
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), format)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&format, "output", "o", "text", "how to print the result: text, json, or md for a page of Markdown")
	f.StringSliceVar(&o.Workloads, "workloads", nil, "the `workloads` to run, with commas between; the default is all")
	f.StringVar(&o.Policies, "policies", "", "the `policies` to compare: NAME or NAME{JSON}, with commas between; the default is all, with --robust "+strings.Join(frontier.RobustPolicies(), ","))
	f.StringSliceVar(&o.Slowstarts, "slowstarts", frontierrun.DefaultSlowstarts(), "the `fractions` of a job's maps that complete before reduces are asked for, for policies other than weave")
	f.Float64Var(&o.Scale, "scale", 1, "the `fraction` of each workload's jobs to run: the first ones")
	f.IntVar(&o.Seeds, "seeds", 5, "the `number` of seeds for random draws")
	f.StringVar(&o.Traces, "traces", "", "the `DIR` with the public traces (default: the environment's HEDDLE_TRACES)")
	f.StringVar(&o.Results, "results", "", "keep the result of each run in the directory `DIR`, and use those that are there")
	f.StringSliceVar(&o.Again, "again", nil, "`policies` whose runs are repeated although their results are there")
	f.BoolVar(&robust, "robust", false, "run every workload under perturbations, in place of the comparison")
	f.BoolVar(&ablations, "ablations", false, "run weave with each of its parts switched off, in place of the comparison")
	f.StringVar(&o.Plots, "plots", "", "write the plots as SVG files into the directory `DIR`")
	return cmd
}

// printing prints a report in a format.
type printing func(w io.Writer, format string) error

// runFrontier runs what is asked for, and returns how its report is printed.
func runFrontier(cmd *cobra.Command, o *frontierrun.Options, robust, ablations bool) (printing, error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	switch {
	case robust:
		r, err := o.RunRobust(ctx, stderr)
		return printer(r, func(w io.Writer) error { return r.Markdown(w) }, frontierrun.RobustTable), err
	case ablations:
		r, err := o.RunAblations(ctx, stderr)
		return printer(r, func(w io.Writer) error { return r.Markdown(w) }, frontierrun.AblationTable), err
	}
	r, err := o.Run(ctx, stderr)
	return printer(r, func(w io.Writer) error { return r.Markdown(w, "frontier") }, frontierrun.Table), err
}

// printer returns what prints a report as JSON, as Markdown, or as a table.
func printer[R any](r *R, markdown func(io.Writer) error, table func(io.Writer, *R) error) printing {
	return func(w io.Writer, format string) error {
		switch format {
		case "json":
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(r)
		case "md":
			return markdown(w)
		}
		return table(w, r)
	}
}
