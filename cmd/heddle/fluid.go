package main

import (
	"time"

	"heddle/cmd/heddle/internal/fluidsweep"

	"github.com/spf13/cobra"
)

func newFluid() *cobra.Command {
	var o fluidsweep.Options
	var out output
	cmd := &cobra.Command{
		Use:   "fluid --workload WORKLOAD",
		Short: "Run a workload in NUM's model of map and shuffle queues, and compare policies with the lower bound",
		Long: `Run a workload in the overlapping tandem queue model of the NUM paper: finished map
work becomes shuffle work, both queues have a fixed capacity, and a policy divides each
capacity among the jobs at every instant. For each policy it prints the mean response
time, the lower bound on it, the network's utilization compared with the best possible
in the same state, and the most shuffle work that waited.

--workload is a SWIM trace (.tsv), a workload in heddle's own format (.jsonl or
.jsonl.zst), or synth:NAME[,key=value...]. Dependencies between jobs, reduces and
racks are not part of the model.

The map capacity finishes all map work of the workload in --span; for synth:lognormal it
is one unit of size a second, as in the paper. The shuffle capacity is --beta times the
map capacity. A policy is one of fair, maxsrpt, splitsrpt, uopt, num (the paper's
NUM(MaxSRPT, SplitSRPT, 0.85)) and numu (NUM(MaxSRPT, UOPT, 1)), or NUM of any two:
num:P1:P2:THETA.`,
		Example: `  heddle fluid --workload FB-2010_samples_24_times_1hr_0.tsv --beta 0.1,0.3,1
  heddle fluid --workload synth:lognormal,lambda=1.25,jobs=2000 --policies maxsrpt,splitsrpt,num
  heddle fluid --workload synth:fb2010 --beta 0.3 --policies num,num:splitsrpt:uopt:0.5 -o json
  heddle fluid --workload jobs.jsonl.zst --span 10m --lenient`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			result, err := o.Run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), result, result.Table)
		},
	}
	cmd.Flags().StringVar(&o.Workload, "workload", "", "the `workload`: a file, or synth:NAME[,key=value...]")
	cmd.Flags().StringSliceVar(&o.Betas, "beta", []string{"1"}, "shuffle capacities, as `factors` on the map capacity")
	cmd.Flags().StringSliceVar(&o.Policies, "policies", []string{"fair", "maxsrpt", "splitsrpt", "num", "numu"}, "the `policies` to compare")
	cmd.Flags().DurationVar(&o.Span, "span", 24*time.Hour, "the time in which the map capacity finishes all map work")
	cmd.Flags().BoolVar(&o.Lenient, "lenient", false, "skip invalid records of the workload, and print how many")
	out.flag(cmd)
	return cmd
}
