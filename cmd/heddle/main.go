// Command heddle watches a Hadoop cluster from outside, decides with a published
// network-aware policy where maps and reduces should run, answers node and rack
// preferences over REST, and exports per-rack figures to Prometheus.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the check or the run failed
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot() //nolint:contextcheck // commands get theirs from cobra
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "heddle: %v\nTry '%s --help'.\n", err, cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "heddle: %v\n", err)
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "heddle",
		Short: "Shuffle-aware placement for an unmodified Hadoop",
		Long: `heddle watches an unmodified Hadoop cluster over REST, keeps one picture of its
racks, blocks, jobs and map output, lets a published network-aware policy decide
where maps and reduces should run, and tells: over REST, and to Prometheus.`,
		Example: `  heddle demo                              the whole service on a bundled recording
  heddle check config /etc/heddle.yml      what a configuration means, and what is wrong with it
  heddle serve --config /etc/heddle.yml
  heddle plan application_1763000000000_0042`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServe(), newDemo(), newRecord(), newPlan(), newExplain(), newClientConfig(), newSimulate(), newFluid(), newReproduce(), newCheck(), newPolicies(), newVersion())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	wrapArgs(root)
	return root
}

// wrapArgs makes wrong arguments of any command usage errors.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}
