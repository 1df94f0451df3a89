package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/core/model"
	"heddle/core/sim"
	"heddle/core/workload"
)

func newSimulate() *cobra.Command {
	defaults := sim.DefaultParams()
	var q simulateQuestion
	var out output
	cmd := &cobra.Command{
		Use:   "simulate --workload WORKLOAD --cluster CLUSTER --policies POLICIES",
		Short: "Run a workload on a simulated Hadoop cluster, and compare policies with each other and with lower bounds",
		Long: `Run a workload on a simulated Hadoop cluster, once for every policy and seed, and
compare how long jobs take and what crosses racks. The policies are those of the
service, driven by the same engine; cluster, HDFS and ApplicationMasters are simulated.

--workload is a SWIM trace (.tsv), a workload in heddle's own format (.jsonl or
.jsonl.zst), or synth:NAME[,key=value...].

--cluster is a YAML file, or key=value pairs: racks, nodes (of a rack), containers (of a
node) or in their place map_slots and reduce_slots, nic (of a node), uplink (of a rack) or
oversubscription in its place, background (other traffic on an uplink), block,
replication. Rates are of each direction, in decimal bits. In a file, groups of racks can
differ.

--policies names policies of 'heddle policies'. Parameters follow a name in braces, as
JSON, or come by --param. A policy is the cluster's scheduler, as in its paper; with
--relay it is what an outside service can make of it: its plans say on which racks
applications ask the given scheduler for their tasks.

The same question has the same answer, but for the time and memory it took. With several
seeds the table shows the median, with the least and the most in brackets.`,
		Example: `  heddle simulate --workload synth:fb2010,jobs=300,scale=0.01 --cluster racks=6,nodes=5,containers=4,oversubscription=5,nic=1Gbps --policies fair,delay,nas
  heddle simulate --workload FB-2010_samples_24_times_1hr_0.tsv --jobs 2000 --cluster cluster.yml --policies fair,shufflewatcher --seed 1,2,3 --report results
  heddle simulate --workload synth:shufflewatcher --cluster cluster.yml --policies 'nas,nas{"gamma_remote":4}' --param nas.skips=count`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.command = commandLine(cmd)
			collectOften()
			return q.answer(cmd.Context(), &out, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.workload, "workload", "", "the `workload`: a file, or synth:NAME[,key=value...]")
	f.StringVar(&q.cluster, "cluster", "", "the `cluster`: a YAML file, or key=value pairs")
	f.StringVar(&q.policies, "policies", "", "the `policies` to compare: NAME or NAME{JSON}, with commas between")
	f.StringArrayVar(&q.params, "param", nil, "a parameter of a policy, as `POLICY.KEY=VALUE`; may be given several times")
	f.StringSliceVar(&q.seeds, "seed", []string{"1"}, "the `seeds`: every policy runs once with each")
	f.IntVar(&q.jobs, "jobs", 0, "run the first `N` jobs of the workload only; 0, or more than there are, is all")
	f.BoolVar(&q.lenient, "lenient", false, "leave out records of the workload that are wrong, and say how many")
	f.Float64Var(&q.slowstart, "slowstart", defaults.Slowstart, "the part of a job's maps, 0 to 1, that is done before reduces are asked for")
	f.BoolVar(&q.noWrites, "no-writes", false, "keep the copies of what jobs write off the uplinks")
	f.DurationVar(&q.heartbeat, "heartbeat", time.Duration(defaults.Heartbeat)*time.Millisecond, "how often a node has a heartbeat, which starts at most one container; under capacity as many as fit")
	f.DurationVar(&q.network.step, "network-step", 0, "how often links are shared out anew: without it every second, and down to every five where what is on its way takes minutes; a longer step is faster, and less exact where transfers are short")
	f.IntVar(&q.network.copies, "parallel-copies", defaults.ParallelCopies, "the streams a reduce fetches with: its weight on a full link, where a remote read is one")
	f.DurationVar(&q.amStart, "am-start", 0, "how long an ApplicationMaster takes to ask for tasks once it has a container, which it keeps; 0: none is simulated")
	f.StringArrayVar(&q.lose, "lose", nil, "nodes that leave the cluster, and come back free if they do, as `WHAT`: rack=2,at=10m,for=5m or node=2/3,at=600s, the third node of the second rack; may be given several times")
	f.StringVar(&q.straggler, "straggler", "", "the part of all attempts that straggle, 0 to 1, and how many times as long these compute: `PART,FACTOR`, as in 0.05,3")
	f.BoolVar(&q.speculation, "speculation", false, "give tasks that are late an extra attempt by the rules of MapReduce, which is Hadoop's default; only stragglers are late")
	f.StringVar(&q.relay.scheduler, "relay", "", "put the plans of each policy into what `SCHEDULER`, a policy too, is asked for, as heddle's relay does")
	f.DurationVar(&q.relay.pin, "relay-pin", 30*time.Second, "how long reduces wait for the racks that were planned for them")
	f.DurationVar(&q.relay.trim, "relay-trim", 10*time.Second, "the same for maps")
	f.StringVar(&q.report, "report", "", "write a page with plots of the results, index.html, into the directory `DIR`")
	out.flag(cmd)
	return cmd
}

// simulateQuestion is what a command line asks.
type simulateQuestion struct {
	workload, cluster string
	policies          string
	params, seeds     []string
	jobs              int
	lenient, noWrites bool
	slowstart         float64
	heartbeat         time.Duration
	amStart           time.Duration
	faultFlags
	network networkFlags
	relay   relayFlags
	report  string // directory
	command string // all of it, for the report
}

// faultFlags are the flags of what goes wrong.
type faultFlags struct {
	straggler   string
	lose        []string
	speculation bool
}

// networkFlags are the flags of the simulated network.
type networkFlags struct {
	step   time.Duration
	copies int
}

// set checks them.
func (f *networkFlags) set(p *sim.Network) error {
	if f.step < 0 || f.step > time.Minute || f.step%time.Millisecond != 0 {
		return fmt.Errorf("--network-step %v: must be whole milliseconds, from 1ms to 1m", f.step)
	}
	if f.copies < 1 || f.copies > 1000 {
		return fmt.Errorf("--parallel-copies %d: must be from 1 to 1000", f.copies)
	}
	if p.ParallelCopies = f.copies; f.step > 0 {
		p.NetworkStep = model.Duration(f.step.Milliseconds())
		p.LongestStep = p.NetworkStep
	}
	return nil
}

// simulateAnswer is the result, as -o json prints it.
type simulateAnswer struct {
	Format   int              `json:"format"`
	Workload workload.Summary `json:"workload"`
	Cluster  clusterSummary   `json:"cluster"`
	Runs     []sim.Run        `json:"runs"` // by policy in the order asked for, and by seed

	policies []simPolicy // for people
	seeds    []uint64
	report   string // the page, if one was written
}

func (q *simulateQuestion) answer(ctx context.Context, out *output, stdout, stderr io.Writer) error {
	if err := out.print(io.Discard, nil, func(io.Writer) error { return nil }); err != nil {
		return err // before hours of work, not after
	}
	s, err := q.plan()
	if err != nil {
		return err
	}
	if s.work, err = openWorkload(q.workload, q.lenient); err != nil {
		return err
	}
	if err := makeReportDir(q.report); err != nil {
		return err
	}
	sayLeftOut(stderr, s.work)
	if q.jobs > 0 && q.jobs < len(s.work.Jobs) {
		s.work.Jobs = s.work.Jobs[:q.jobs:q.jobs] // parents stand before their children
	}
	runs, err := s.run(ctx, stderr)
	if err != nil {
		return err
	}
	answer := simulateAnswer{
		Format: 1, Workload: s.work.Describe(), Cluster: summarizeCluster(&s.cluster, &s.params), Runs: runs, policies: s.policies, seeds: s.seeds,
	}
	if err := answer.writeReport(q.report, q.command); err != nil {
		return err
	}
	return out.print(stdout, &answer, answer.table)
}

// plan reads everything of a command line but the workload.
func (q *simulateQuestion) plan() (*simulation, error) {
	if q.workload == "" {
		return nil, usageError{errors.New("--workload: name a SWIM trace, a workload of heddle's, or synth:NAME")}
	}
	if q.cluster == "" {
		return nil, usageError{errors.New("--cluster: name a YAML file, or give racks=30,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps")}
	}
	s := &simulation{params: sim.DefaultParams()}
	if err := q.hadoop(&s.params); err != nil {
		return nil, usageError{err}
	}
	var err error
	if s.seeds, err = parseSeeds(q.seeds); err != nil {
		return nil, usageError{err}
	}
	if s.policies, err = parsePolicies(q.policies, q.params); err != nil {
		return nil, usageError{err}
	}
	if s.relay, err = q.relay.open(s.policies); err != nil {
		return nil, usageError{err}
	}
	if s.cluster, err = openCluster(q.cluster); err != nil {
		return nil, err
	}
	s.cluster.CrossRackWrites = !q.noWrites
	return s, s.slots()
}

// slots reports what a cluster of map and reduce slots cannot have.
func (s *simulation) slots() error {
	switch {
	case !s.cluster.Typed():
		return nil
	case s.relay != nil:
		return usageError{errors.New("--relay: not with map_slots and reduce_slots: a relay stands before YARN's scheduler, and that has containers")}
	case s.params.AMStart > 0:
		return usageError{errors.New("--am-start: not with map_slots and reduce_slots: Hadoop 1, which has these, has no ApplicationMasters")}
	}
	return nil
}

// hadoop sets the rules of the simulated Hadoop.
func (q *simulateQuestion) hadoop(p *sim.Params) error {
	if q.jobs < 0 {
		return fmt.Errorf("--jobs %d: must not be below 0", q.jobs)
	}
	if !(q.slowstart >= 0 && q.slowstart <= 1) {
		return fmt.Errorf("--slowstart %g: must be from 0 to 1", q.slowstart)
	}
	if q.heartbeat <= 0 || q.heartbeat > time.Minute || q.heartbeat%time.Millisecond != 0 {
		return fmt.Errorf("--heartbeat %v: must be whole milliseconds, from 1ms to 1m", q.heartbeat)
	}
	if q.amStart < 0 || q.amStart > time.Hour {
		return fmt.Errorf("--am-start %v: must be from 0 to 1h", q.amStart)
	}
	if err := q.network.set(&p.Network); err != nil {
		return err
	}
	p.AMStart = model.Duration(q.amStart.Milliseconds())
	var err error
	if p.Straggler, p.StragglerFactor, err = parseStraggler(q.straggler); err != nil {
		return err
	}
	p.Speculation = q.speculation
	if p.Losses, err = parseLosses(q.lose); err != nil {
		return err
	}
	p.Slowstart, p.Heartbeat = q.slowstart, model.Duration(q.heartbeat.Milliseconds())
	return nil
}

// parseStraggler reads which part of the attempts takes how many times as long;
// none without a text.
func parseStraggler(text string) (part, factor float64, err error) {
	if text == "" {
		return 0, 1, nil
	}
	first, second, _ := strings.Cut(text, ",")
	part, err = strconv.ParseFloat(first, 64)
	if err == nil {
		factor, err = strconv.ParseFloat(second, 64)
	}
	if err != nil || !(part >= 0 && part <= 1) || !(factor >= 1 && factor <= 1000) {
		return 0, 0, fmt.Errorf("--straggler %q: want a part from 0 to 1 and a factor from 1 to 1000, such as 0.05,3", text)
	}
	return part, factor, nil
}

// parseSeeds reads the seeds, of which there is one at least and none twice.
func parseSeeds(texts []string) ([]uint64, error) {
	var seeds []uint64
	for _, text := range texts {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--seed %q: want whole numbers, 0 or more, such as 1,2,3", text)
		}
		if slices.Contains(seeds, seed) {
			return nil, fmt.Errorf("--seed %d: given twice, and would give the same twice", seed)
		}
		seeds = append(seeds, seed)
	}
	if len(seeds) == 0 {
		return nil, errors.New("--seed: give at least one")
	}
	return seeds, nil
}
