package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/demo"
	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/settings"
	"heddle/configs"
)

func newDemo() *cobra.Command {
	var once bool
	var speed float64
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole service on a bundled recording of a real three-rack cluster",
		Long: `Run the whole service on a bundled recording of a real three-rack Hadoop cluster:
the same loop, policy, REST API and metrics as 'heddle serve', with the recording in
place of the cluster. It needs no Hadoop and no network. With --recording it plays one of
your own, with the settings that were recorded.`,
		Example: "  heddle demo\n  heddle demo --once\n  heddle demo --policy delay --speed 20\n  heddle demo --recording cluster.jsonl.zst --speed 60",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if speed <= 0 {
				return exit.NewUsageError(errors.New("--speed: must be above 0"))
			}
			if err := settings.KnownPolicy(o.Policy, nil); err != nil {
				return exit.NewUsageError(fmt.Errorf("--policy: %w", err))
			}
			b := build()
			o.Version, o.Revision = b.Version, b.Revision
			d, err := demo.New(o)
			if err != nil {
				return err
			}
			if once {
				return d.Once(cmd.OutOrStdout())
			}
			return d.Serve(cmd.Context(), cmd.OutOrStdout(), speed)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "play the recording without waiting, print one final table, and exit")
	cmd.Flags().Float64Var(&speed, "speed", 10, "the `factor` by which it plays faster than it was recorded")
	cmd.Flags().StringVar(&o.Recording, "recording", "", "play this recording, by its first `file`, in place of the bundled one")
	cmd.Flags().StringVar(&o.Policy, "policy", "weave", "the `policy` that decides; 'heddle policies' lists them")
	cmd.Flags().StringVar(&o.Listen, "web.listen-address", configs.DefaultListenAddress, "the `address` to listen on")
	return cmd
}
