package main

import (
	"context"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/importing"
)

func newImportRumen() *cobra.Command {
	return newImportTrace(&cobra.Command{
		Use:   "rumen TRACE... --out FILE",
		Short: "Import job traces of Rumen",
		Long: `Make a workload of job traces of Rumen, which Hadoop's TraceBuilder makes of job histories:
JSON objects of jobs, one after the other.

Each task is the attempt that succeeded. What maps put out is known before compression
only; where the reduces fetched another sum, it is scaled to that. Jobs that did not
succeed are left out.`,
		Example: `  heddle import rumen 2jobs2min-rumen-jh.json --out jobs.jsonl --cluster-out cluster.yml
  heddle import rumen monday.json.gz tuesday.json.gz --anywhere --out two-days.jsonl.zst`,
	}, func(ctx context.Context, o *importing.Options) (*importing.Result, error) { return o.Rumen(ctx) })
}

func newImportSLS() *cobra.Command {
	var nodes string
	cmd := newImportTrace(&cobra.Command{
		Use:   "sls TRACE --out FILE",
		Short: "Import a trace of Hadoop's scheduler load simulator",
		Long: `Make a workload of a trace in the JSON of Hadoop's scheduler load simulator (SLS), or of
'heddle export sls'. Such a trace says how long containers ran and on which nodes, and
nothing about bytes: the tasks of the workload compute, and read, shuffle and write
nothing.

Without --nodes, the workload's cluster has the nodes that the trace names.`,
		Example: `  heddle import sls sls-jobs.json --nodes sls-nodes.json --out jobs.jsonl --cluster-out cluster.yml`,
	}, func(ctx context.Context, o *importing.Options) (*importing.Result, error) { return o.SLS(ctx, nodes) })
	cmd.Flags().StringVar(&nodes, "nodes", "", "the `file` with the nodes of the simulator, if there is one")
	return cmd
}

func newImportCoflow() *cobra.Command {
	return newImportTrace(&cobra.Command{
		Use:   "coflow TRACE --out FILE",
		Short: "Import a trace of coflow-benchmark",
		Long: `Make a workload of a trace of coflow-benchmark, such as FB2010-1Hr-150-0.txt: shuffles between
the racks of a cluster, with no nodes below them. Each coflow is a job with a map on the
one node of each mapper's rack and a reduce on that of each reducer's. They compute for no
time, and read and write no files.

A reducer fetches as much from each mapper. Sizes of the trace are MiB, ports are numbered
from 0; port p is rack p+1.`,
		Example: `  heddle import coflow FB2010-1Hr-150-0.txt --out coflows.jsonl.zst --cluster-out ports.yml
  heddle import coflow FB2010-1Hr-150-0.txt --anywhere --out coflows.jsonl.zst`,
	}, func(ctx context.Context, o *importing.Options) (*importing.Result, error) { return o.Coflow(ctx) })
}

// newImportTrace completes a command that imports with the flags that all formats share.
func newImportTrace(cmd *cobra.Command, run func(context.Context, *importing.Options) (*importing.Result, error)) *cobra.Command {
	var o importing.Options
	var flags importFlags
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.apply(&o, args); err != nil {
			return err
		}
		res, err := run(cmd.Context(), &o)
		if err != nil {
			return err
		}
		return flags.print(cmd.OutOrStdout(), res, res.Table)
	}
	flags.register(cmd, &o, true)
	return cmd
}
