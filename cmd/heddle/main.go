// Command heddle watches a Hadoop cluster from outside, decides with a published
// network-aware policy where maps and reduces should run, answers node and rack
// preferences over REST, and exports per-rack figures to Prometheus.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"heddle/cmd/heddle/internal/exit"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	begun := false                           // an error before it is true is a usage error
	root := newRoot(func() { begun = true }) //nolint:contextcheck // commands get theirs from cobra
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !begun {
		err = exit.NewUsageError(err)
	}
	code := exit.Code(err, ctx.Err() != nil)
	if err != nil {
		fmt.Fprintf(stderr, "heddle: %v\n", err)
	}
	if code == exit.Usage {
		fmt.Fprintf(stderr, "Try '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// newRoot builds all commands. It calls begun when a command line is valid and its
// command is about to run.
func newRoot(begun func()) *cobra.Command {
	root := &cobra.Command{
		Use:   "heddle",
		Short: "Shuffle-aware placement for an unmodified Hadoop",
		Long: `heddle watches an unmodified Hadoop cluster over REST, keeps one picture of its
racks, blocks, jobs and map output, lets a published network-aware policy decide
where maps and reduces should run, and serves the answer over REST and as metrics.`,
		Example: `  heddle demo                              the whole service on a bundled recording
  heddle check config /etc/heddle.yml      check a configuration and print every key
  heddle serve --config /etc/heddle.yml
  heddle relay --config /etc/heddle.yml    puts the plans into what applications ask for
  heddle plan application_1763000000000_0042`,
		SilenceErrors:    true,
		SilenceUsage:     true,
		Args:             cobra.NoArgs,
		PersistentPreRun: func(*cobra.Command, []string) { begun() },
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServe(), newRelay(), newDemo(), newRecord(), newPlan(), newExplain(), newClientConfig(), newReplay(), newDiff(), newPseudonymize(), newImport(), newExport(), newSimulate(), newFluid(), newReproduce(), newFrontier(), newCheck(), newPolicies(), newVersion())
	return root
}
