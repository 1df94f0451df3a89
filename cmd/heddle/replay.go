package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/replaying"
	"heddle/core/lab/replay"
)

func newReplay() *cobra.Command {
	var o replaying.Options
	var out output
	var config configFlags
	var simulated replaying.Counterfactual
	var counterfactual bool
	cmd := &cobra.Command{
		Use:   "replay FILE --policies POLICIES",
		Short: "Run a recording again under any policy, without the cluster",
		Long: `Run a recording of 'heddle record' again, and compare where each policy wanted the
containers that the recorded cluster allocated: the bytes that crossed racks, and would
have, by kind and by pair of racks, for every application and in total, beside the least
there is. A plan that would have sent more counts against its policy.

FILE is the recording's first file; those that continue it are read with it. The observations
go through the same state and engine as in 'heddle serve', at the recorded instants.

--policies names policies of 'heddle policies', with parameters in braces as JSON, or by
--param. The policy 'recorded' is the one that the recorded service ran: its decisions are
compared with those in the recording, and should all be equal.

--assert gates a change: FIGURE OPERATOR FIGURE, where a figure is a number, the name of a
policy with the keys of a number in its run of the JSON result, 'actual' for the recorded
counterpart of the figure before it or 'least' for the least there is, or a number times
one of these; operators are <, <=, > and >=.

A replay cannot know how long tasks would have run elsewhere: it compares placements,
not completion times. With --counterfactual the recorded jobs are simulated instead, on
the recorded racks and uplinks, with the sizes and times their tasks were measured at, and
every policy is the cluster's scheduler. The policy 'recorded' then starts every task
where it ran: how far its times are from those recorded says how far to believe the
others.`,
		Example: `  heddle replay cluster.jsonl.zst --policies recorded,shufflewatcher,nas
  heddle replay night.jsonl.zst --policies 'nas,nas{"wait_for_targets_s":0}' --since 1h --until 5h -o json
  heddle replay cluster.jsonl.zst --policies nas --assert 'nas.cross_rack_bytes.total < 0.9*actual' --assert 'nas.regret_bytes.lost < 1e9'
  heddle replay old.jsonl.zst --policies dawn --config heddle.yml --report results
  heddle replay cluster.jsonl.zst --counterfactual --policies recorded,fair,shufflewatcher --uplink 1Gbps`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.NewUsageError(fmt.Errorf("%d files: name one recording by its first file", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if o.Policies == "" {
				return exit.NewUsageError(errors.New("--policies: name at least one, or 'recorded' for the one that was recorded"))
			}
			o.File = args[0]
			if err := errors.Join(checkCounterfactual(cmd, counterfactual), loadConfig(&o, &config)); err != nil {
				return err
			}
			if counterfactual {
				return simulateRecording(cmd, &o, &simulated, &out)
			}
			collectAt(garbageOfReplay)
			result, err := o.Run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return errors.Join(out.print(cmd.OutOrStdout(), result, result.Table), result.Failed())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Policies, "policies", replay.Recorded, "the `policies` to compare: NAME or NAME{JSON}, with commas between")
	f.StringArrayVar(&o.Params, "param", nil, "a parameter of a policy, as `POLICY.KEY=VALUE`; may be given several times")
	f.StringVar(&o.Since, "since", "", "count only jobs that end from this `time` on: RFC 3339, or a duration since the recording's start")
	f.StringVar(&o.Until, "until", "", "stop at this `time`")
	f.StringVar(&o.Report, "report", "", "write the result and the accounts of all applications into the directory `DIR`")
	f.StringArrayVar(&o.Assert, "assert", nil, "exit with 1 unless this `CONDITION` holds, such as 'nas.cross_rack_bytes.total < 0.9*actual'; may be given several times")
	f.BoolVar(&o.AllowClock, recording.FlagClockSteps, false, "replay a recording in which times go back by more than a minute, or on by more than a day")
	f.BoolVar(&o.AllowTruncated, recording.FlagTruncated, false, "replay what there is of a recording that stops within a line, as after a crash")
	f.StringVar(&config.file, "config", "", "take the settings of this configuration `file`, in place of those in the recording")
	counterfactualFlags(cmd, &counterfactual, &simulated)
	out.flag(cmd)
	return cmd
}

// simulateRecording runs the counterfactual and prints it.
func simulateRecording(cmd *cobra.Command, o *replaying.Options, simulated *replaying.Counterfactual, out *output) error {
	collectAt(garbageOfSimulation)
	simulated.Command, simulated.Version = commandLine(cmd, []string{"counterfactual", "policies", "param", "seed", "since", "until", "uplink", "nic", "relay", "config", "report", "output"}), version
	result, err := simulated.Run(cmd.Context(), o, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	return out.print(cmd.OutOrStdout(), result, result.Table)
}

// loadConfig loads the configuration in place of the settings in the recording, if one is named.
func loadConfig(o *replaying.Options, config *configFlags) error {
	if config.file == "" {
		return nil
	}
	loaded, err := config.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	o.Config = loaded
	return nil
}

// counterfactualFlags adds the flags of --counterfactual.
func counterfactualFlags(cmd *cobra.Command, on *bool, simulated *replaying.Counterfactual) {
	f := cmd.Flags()
	f.BoolVar(on, "counterfactual", false, "simulate the recorded jobs under each policy, rather than compare placements; those submitted between --since and --until")
	f.StringVar(&simulated.Uplink, "uplink", "", "with --counterfactual, the `rate` of racks' uplinks in each direction, such as 10Gbps, where the recording does not say it")
	f.StringVar(&simulated.NIC, "nic", "10Gbps", "with --counterfactual, the `rate` of a node's interface in each direction")
	f.StringSliceVar(&simulated.Seeds, "seed", []string{"1"}, "with --counterfactual, the `seeds`: every policy runs once with each")
	f.StringVar(&simulated.Relay, "relay", "", "with --counterfactual, run each policy outside `SCHEDULER`, as 'heddle simulate --relay' does")
}

// checkCounterfactual refuses flags that belong to the other kind of replay.
func checkCounterfactual(cmd *cobra.Command, on bool) error {
	flags, why := []string{"uplink", "nic", "seed", "relay"}, "only with --counterfactual"
	if on {
		flags, why = []string{"assert"}, "not with --counterfactual, which does not compare placements with those recorded"
	}
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return exit.NewUsageError(fmt.Errorf("--%s: %s", name, why))
		}
	}
	return nil
}
