package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/importing"
	"heddle/cmd/heddle/internal/simulation"
	"heddle/configs"
)

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "export FORMAT WORKLOAD --out FILE",
		Short:   "Write a workload as a trace of another system",
		Long:    `Write a workload, from a file or a generator, as a trace that another system reads.`,
		Example: `  heddle export sls synth:fb2010,jobs=100,scale=0.01 --out trace.json --nodes-out nodes.json --cluster racks=6,nodes=5,containers=4,oversubscription=5,nic=1Gbps`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExportSLS())
	return cmd
}

func newExportSLS() *cobra.Command {
	var e importing.Export
	var out output
	var cluster string
	cmd := &cobra.Command{
		Use:   "sls WORKLOAD --out FILE",
		Short: "Write a workload as a trace of Hadoop's scheduler load simulator",
		Long: `Write a workload as a trace of Hadoop's scheduler load simulator (SLS), which runs a real
ResourceManager with simulated nodes: slsrun.sh --tracetype=SLS --tracelocation=FILE
--nodes=NODES.

Each task is a container that runs for as long as the task computes: maps from the job's
submission, reduces from the end of the last map. What tasks read, shuffle and write is
lost, and so is which job waits for which. Jobs that are no maps and reduces are left out.

WORKLOAD is a file or synth:NAME[,key=value...], as --workload of 'heddle simulate'. With
--nodes-out, the nodes of --cluster are written too, each with room for its containers.
The simulator needs them unless the workload says on which nodes all tasks ran.`,
		Example: `  heddle export sls synth:fb2010,jobs=100,scale=0.01 --out trace.json --nodes-out nodes.json --cluster racks=6,nodes=5,containers=4,oversubscription=5,nic=1Gbps
  heddle export sls november.jsonl.zst --out trace.json --nodes-out nodes.json --cluster cluster.yml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.NewUsageError(fmt.Errorf("%d workloads: name one", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if (e.NodesOut == "") != (cluster == "") {
				return exit.NewUsageError(errors.New("--nodes-out and --cluster: give both, or neither"))
			}
			e.Workload = args[0]
			e.Cluster = func() (*configs.Cluster, error) { return simulation.DescribedCluster(cluster) }
			res, err := e.Run()
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), res, res.Table)
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.Out, "out", "", "the `file` to write, JSON; if its name ends in .zst it is compressed, and has to be unpacked for the simulator")
	f.StringVar(&e.NodesOut, "nodes-out", "", "write the nodes of --cluster into this `file`")
	f.StringVar(&cluster, "cluster", "", "the `cluster`: a YAML file, or key=value pairs, as of 'heddle simulate'")
	f.BoolVar(&e.Lenient, "lenient", false, "skip invalid records of the workload")
	out.flag(cmd)
	return cmd
}
