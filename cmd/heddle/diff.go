package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/replaying"
)

// errDiffer ends a comparison that found something: the exit code says so.
var errDiffer = errors.New("the decisions differ")

func newDiff() *cobra.Command {
	var o replaying.DiffOptions
	var out output
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the decisions of two recordings or replays",
		Long: `Compare two logs of decisions by what each wanted of every stage of every job, over
time, and print where they first want something else, with both reasons. A log is a
recording of 'heddle record' in mode advise, or the decisions of one policy that
'heddle replay --report' writes.

The exit code is 0 if they never differ, and 1 if they do.`,
		Example: `  heddle replay cluster.jsonl.zst --policies recorded,nas --report results
  heddle diff results/decisions-1-recorded.jsonl results/decisions-2-nas.jsonl --all
  heddle diff monday.jsonl.zst tuesday.jsonl.zst --within 2s -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.NewUsageError(fmt.Errorf("%d files: name two", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if o.Within < 0 {
				return exit.NewUsageError(fmt.Errorf("--within %v: want how long a divergence has to last, such as 2s", o.Within))
			}
			o.A, o.B = args[0], args[1]
			result, err := o.Run(cmd.Context())
			if err != nil {
				return err
			}
			if err := out.print(cmd.OutOrStdout(), result, result.Table); err != nil {
				return err
			}
			if result.Divergences > 0 {
				return errDiffer
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&o.Within, "within", 0, "ignore divergences that last less than this `time`: two services do not plan at the same instants")
	cmd.Flags().BoolVar(&o.AllowClock, recording.FlagClockSteps, false, "compare recordings in which times go back by more than a minute, or on by more than a day")
	cmd.Flags().BoolVar(&o.All, "all", false, "count all divergences by their reasons")
	out.flag(cmd)
	return cmd
}
