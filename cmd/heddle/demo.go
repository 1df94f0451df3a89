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
	var listen, policy string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole service on a bundled recording of a real three-rack cluster",
		Long: `Run the whole service on a bundled recording of a real three-rack Hadoop cluster:
the same loop, policy, REST API and metrics as 'heddle serve', with the recording in
place of the cluster. It needs no Hadoop and no network.`,
		Example: "  heddle demo\n  heddle demo --once\n  heddle demo --policy delay --speed 20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if speed <= 0 {
				return exit.NewUsageError(errors.New("--speed: must be above 0"))
			}
			if err := settings.KnownPolicy(policy, nil); err != nil {
				return exit.NewUsageError(fmt.Errorf("--policy: %w", err))
			}
			b := build()
			d, err := demo.New(policy, listen, b.Version, b.Revision)
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
	cmd.Flags().StringVar(&policy, "policy", "shufflewatcher", "the `policy` that decides; 'heddle policies' lists them")
	cmd.Flags().StringVar(&listen, "web.listen-address", configs.DefaultListenAddress, "the `address` to listen on")
	return cmd
}
