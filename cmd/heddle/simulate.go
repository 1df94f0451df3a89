package main

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/simulation"
	"heddle/core/lab/sim"
)

func newSimulate() *cobra.Command {
	defaults := sim.DefaultParams()
	var o simulation.Options
	var out output
	cmd := &cobra.Command{
		Use:   "simulate --workload WORKLOAD --cluster CLUSTER --policies POLICIES",
		Short: "Run a workload on a simulated Hadoop cluster, and compare policies with each other and with lower bounds",
		Long: `Run a workload on a simulated Hadoop cluster, once for every policy and seed, and
compare completion times and cross-rack bytes. The policies are those of the
service, driven by the same engine; cluster, HDFS and ApplicationMasters are simulated.

--workload is a SWIM trace (.tsv), a workload in heddle's own format (.jsonl or
.jsonl.zst), or synth:NAME[,key=value...].

--cluster is a YAML file, or key=value pairs: racks, nodes (of a rack), containers (of a
node) or map_slots and reduce_slots, nic (of a node), uplink (of a rack) or
oversubscription, background (other traffic on an uplink), block, replication. Rates are
per direction, in decimal bits. In a file, groups of racks can differ.

--policies names policies of 'heddle policies'. Parameters follow a name in braces, as
JSON, or are given by --param. A policy is the cluster's scheduler, as in its paper. With
--relay it runs outside the given scheduler, as in the service: its plans restrict the
racks for which applications ask that scheduler.

The same command line gives the same result, apart from the time and memory it took. With
several seeds the table shows the median, with the minimum and maximum in brackets.`,
		Example: `  heddle simulate --workload synth:fb2010,jobs=300,scale=0.01 --cluster racks=6,nodes=5,containers=4,oversubscription=5,nic=1Gbps --policies fair,delay,nas
  heddle simulate --workload FB-2010_samples_24_times_1hr_0.tsv --jobs 2000 --cluster cluster.yml --policies fair,shufflewatcher --seed 1,2,3 --report results
  heddle simulate --workload synth:shufflewatcher --cluster cluster.yml --policies 'nas,nas{"gamma_remote":4}' --param nas.skips=count`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			collectAt(garbageOfSimulation)
			o.Command, o.Version = commandLine(cmd, simulateFlags()), version
			result, err := o.Run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), result, result.Table)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Workload, "workload", "", "the `workload`: a file, or synth:NAME[,key=value...]")
	f.StringVar(&o.Cluster, "cluster", "", "the `cluster`: a YAML file, or key=value pairs")
	f.StringVar(&o.Policies, "policies", "", "the `policies` to compare: NAME or NAME{JSON}, with commas between")
	f.StringArrayVar(&o.Params, "param", nil, "a parameter of a policy, as `POLICY.KEY=VALUE`; may be given several times")
	f.StringSliceVar(&o.Seeds, "seed", []string{"1"}, "the `seeds`: every policy runs once with each")
	f.IntVar(&o.Jobs, "jobs", 0, "run only the first `N` jobs of the workload; 0 runs all")
	f.BoolVar(&o.Lenient, "lenient", false, "skip invalid records of the workload, and print how many")
	f.Float64Var(&o.Slowstart, "slowstart", defaults.Slowstart, "the fraction of a job's maps, 0 to 1, that completes before reduces are asked for")
	f.BoolVar(&o.NoWrites, "no-writes", false, "simulate no cross-rack replication of what jobs write")
	f.DurationVar(&o.Heartbeat, "heartbeat", time.Duration(defaults.Heartbeat)*time.Millisecond, "the interval of node heartbeats; each starts at most one container, or under capacity as many as fit")
	f.DurationVar(&o.NetworkStep, "network-step", 0, "the interval at which link shares are recomputed; the default adapts from 1s to 5s, longer while transfers take minutes; a longer interval is faster and less exact for short transfers")
	f.IntVar(&o.ParallelCopies, "parallel-copies", defaults.ParallelCopies, "the parallel fetches of a reduce: its weight on a full link, where a remote read has weight 1")
	f.DurationVar(&o.AMStart, "am-start", 0, "the time from an ApplicationMaster's container to its first ask; the container stays in use; 0 simulates no ApplicationMasters")
	f.StringArrayVar(&o.Lose, "lose", nil, "nodes that are lost, as `WHAT`: rack=2,at=10m,for=5m (they return empty after 5m) or node=2/3,at=600s (the third node of the second rack, for good); may be given several times")
	f.StringVar(&o.Straggler, "straggler", "", "the fraction of attempts that straggle, 0 to 1, and the factor by which they compute longer: `PART,FACTOR`, such as 0.05,3")
	f.BoolVar(&o.Speculation, "speculation", false, "run extra attempts of stragglers by MapReduce's rules, as Hadoop does by default")
	f.StringVar(&o.Relay, "relay", "", "run each policy outside `SCHEDULER`, itself a policy: its plans restrict asks as heddle's relay does")
	f.DurationVar(&o.RelayPin, "relay-pin", simulation.RelayPin, "how long reduces wait for their planned racks")
	f.DurationVar(&o.RelayTrim, "relay-trim", simulation.RelayTrim, "how long maps wait for their planned racks")
	f.DurationVar(&o.RelayHold, "relay-hold", 0, "how long asks are held in all without a container; 0 never holds")
	f.BoolVar(&o.RelayOrder, "relay-order", false, "hold what jobs ask for until those before them by rank have what they ask for")
	f.DurationVar(&o.RelayMax, "relay-max", simulation.RelayMax, "how long they wait at most, whether or not other racks could serve them")
	f.StringVar(&o.Report, "report", "", "write a page with plots of the results, index.html, into the directory `DIR`")
	out.flag(cmd)
	return cmd
}

// How much garbage may pile up, in per cent of the live heap, before it is collected. Millions of simulated tasks need
// more than a gigabyte, which Go's default would double; of a replayed recording little is live.
const (
	garbageOfSimulation = 50
	garbageOfReplay     = 200
)

// collectAt sets how much garbage may pile up, unless GOGC is set.
func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// simulateFlags returns the flags in the order in which commandLine prints them.
func simulateFlags() []string {
	return []string{
		"workload", "cluster", "policies", "param", "seed", "jobs", "lenient", "slowstart", "no-writes", "heartbeat", "network-step", "parallel-copies", "am-start", "straggler", "speculation", "lose",
		"relay", "relay-pin", "relay-trim", "relay-max", "relay-hold", "relay-order", "report", "output",
	}
}

// commandLine returns the command, its arguments and those of the named flags that were set,
// quoted for a shell.
func commandLine(cmd *cobra.Command, flags []string) string {
	words := []string{cmd.CommandPath()}
	for _, arg := range cmd.Flags().Args() {
		words = append(words, shellWord(arg))
	}
	for _, name := range flags {
		f := cmd.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
			values = list.GetSlice()
			if f.Value.Type() == "stringSlice" { // which has commas between
				values = []string{strings.Join(values, ",")}
			}
		}
		if f.Value.Type() == "bool" && f.Value.String() == "true" {
			words, values = append(words, "--"+name), nil
		}
		for _, v := range values {
			words = append(words, "--"+name+"="+shellWord(v))
		}
	}
	return strings.Join(words, " ")
}

// shellWord quotes a text for a shell if necessary.
func shellWord(text string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./:=,+@%-]+$`).MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
