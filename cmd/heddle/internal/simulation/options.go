// Package simulation runs a workload on a simulated cluster, once for every policy and
// seed, and prints the results.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"heddle/cmd/heddle/internal/policyflag"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/workloadfile"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Options are what a command line asks for, as its flags have it.
type Options struct {
	Workload string   // a file, or synth:NAME[,key=value...]
	Cluster  string   // a YAML file, or key=value pairs
	Policies string   // NAME or NAME{JSON}, with commas between
	Params   []string // POLICY.KEY=VALUE
	Seeds    []string
	Jobs     int  // the first jobs of the workload; 0 is all
	Lenient  bool // skips invalid records
	Hadoop
	Faults
	Network
	Relay string // the scheduler that a relay stands before, "" for none
	RelayWaits
	Report           string // directory of the page, "" for none
	Command, Version string // for the page
}

// Hadoop is how the simulated Hadoop is set up.
type Hadoop struct {
	Slowstart float64
	NoWrites  bool
	Heartbeat time.Duration
	AMStart   time.Duration
}

// RelayWaits is how long a relay lets tasks wait for their planned racks.
type RelayWaits struct {
	RelayPin  time.Duration // reduces, while other racks could serve them
	RelayTrim time.Duration // maps, likewise
	RelayMax  time.Duration // both, whatever others could do
	RelayHold time.Duration // how long asks are held in all without a container; 0 never holds
	// RelayOrder holds what jobs ask for by the ranks of their plans.
	RelayOrder bool
}

// Faults are stragglers and lost nodes.
type Faults struct {
	Straggler   string   // PART,FACTOR
	Lose        []string // nodes that are lost, and when
	Speculation bool
}

// Network is how the network is simulated.
type Network struct {
	NetworkStep    time.Duration // 0: a step that adapts
	ParallelCopies int
}

// Result is the object that -o json prints.
type Result struct {
	Format   int              `json:"format"`
	Workload workload.Summary `json:"workload"`
	Cluster  ClusterSummary   `json:"cluster"`
	Runs     []sim.Run        `json:"runs"` // by policy in the order asked for, and by seed

	policies []policyflag.Policy // their labels, for people
	seeds    []uint64
	report   string // the page, if one was written
}

// Given is a workload and a cluster that no flag names.
type Given struct {
	Workload *workload.Workload
	Cluster  sim.Cluster
	Params   sim.Params
}

// RunGiven runs the policies of the options on a workload and a cluster that are given. The policy
// sim.AsRan starts every task where it ran.
func (o *Options) RunGiven(ctx context.Context, g *Given, stderr io.Writer) (*Result, error) {
	s := &experiment{params: g.Params, cluster: g.Cluster, work: g.Workload}
	if err := errors.Join(o.comparison(s, sim.AsRan), makeReportDir(o.Report)); err != nil {
		return nil, err
	}
	return o.results(ctx, s, stderr)
}

// comparison parses which policies run, with which seeds, and in front of what. Names in more
// are policies beside those that are registered.
func (o *Options) comparison(s *experiment, more ...string) error {
	var err error
	if s.seeds, err = parseSeeds(o.Seeds); err != nil {
		return exit.NewUsageError(err)
	}
	if s.policies, err = policyflag.Parse(o.Policies, o.Params, more...); err != nil {
		return exit.NewUsageError(err)
	}
	if s.relay, err = o.openRelay(s.policies); err != nil {
		return exit.NewUsageError(err)
	}
	return nil
}

// Run runs the simulations and writes the page, if one is asked for.
func (o *Options) Run(ctx context.Context, stderr io.Writer) (*Result, error) {
	s, err := o.prepare()
	if err != nil {
		return nil, err
	}
	if s.work, err = workloadfile.Open(o.Workload, o.Lenient); err != nil {
		return nil, err
	}
	if err := makeReportDir(o.Report); err != nil {
		return nil, err
	}
	workloadfile.ReportSkipped(stderr, s.work)
	if o.Jobs > 0 && o.Jobs < len(s.work.Jobs) {
		s.work.Jobs = s.work.Jobs[:o.Jobs:o.Jobs] // parents stand before their children
	}
	return o.results(ctx, s, stderr)
}

// results runs an experiment and writes the page, if one is asked for.
func (o *Options) results(ctx context.Context, s *experiment, stderr io.Writer) (*Result, error) {
	runs, err := s.run(ctx, stderr)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Format: 1, Workload: s.work.Describe(), Cluster: summarizeCluster(&s.cluster, &s.params), Runs: runs, policies: s.policies, seeds: s.seeds,
	}
	return r, r.writeReport(o.Report, o.Command, o.Version)
}

// prepare checks and parses all options but the workload.
func (o *Options) prepare() (*experiment, error) {
	if o.Workload == "" {
		return nil, exit.NewUsageError(errors.New("--workload: name a SWIM trace, a workload of heddle's, or synth:NAME"))
	}
	if o.Cluster == "" {
		return nil, exit.NewUsageError(errors.New("--cluster: name a YAML file, or give racks=30,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps"))
	}
	s := &experiment{params: sim.DefaultParams()}
	if err := o.applyHadoop(&s.params); err != nil {
		return nil, exit.NewUsageError(err)
	}
	err := o.comparison(s)
	if err != nil {
		return nil, err
	}
	if s.cluster, err = openCluster(o.Cluster); err != nil {
		return nil, err
	}
	s.cluster.CrossRackWrites = !o.NoWrites
	return s, s.checkSlots()
}

// checkSlots refuses options that need containers rather than map and reduce slots.
func (s *experiment) checkSlots() error {
	switch {
	case !s.cluster.Typed():
		return nil
	case s.relay != nil:
		return exit.NewUsageError(errors.New("--relay: not with map_slots and reduce_slots: a relay stands before YARN's scheduler, and that has containers"))
	case s.params.AMStart > 0:
		return exit.NewUsageError(errors.New("--am-start: not with map_slots and reduce_slots: Hadoop 1, which has these, has no ApplicationMasters"))
	}
	return nil
}

// applyHadoop checks the options of the simulated Hadoop and applies them.
func (o *Options) applyHadoop(p *sim.Params) error {
	if o.Jobs < 0 {
		return fmt.Errorf("--jobs %d: must not be below 0", o.Jobs)
	}
	if !(o.Slowstart >= 0 && o.Slowstart <= 1) {
		return fmt.Errorf("--slowstart %g: must be from 0 to 1", o.Slowstart)
	}
	if o.Heartbeat <= 0 || o.Heartbeat > time.Minute || o.Heartbeat%time.Millisecond != 0 {
		return fmt.Errorf("--heartbeat %v: must be whole milliseconds, from 1ms to 1m", o.Heartbeat)
	}
	if o.AMStart < 0 || o.AMStart > time.Hour {
		return fmt.Errorf("--am-start %v: must be from 0 to 1h", o.AMStart)
	}
	if err := o.applyNetwork(&p.Network); err != nil {
		return err
	}
	p.AMStart = model.Duration(o.AMStart.Milliseconds())
	var err error
	if p.Straggler, p.StragglerFactor, err = parseStraggler(o.Straggler); err != nil {
		return err
	}
	p.Speculation = o.Speculation
	if p.Losses, err = parseLosses(o.Lose); err != nil {
		return err
	}
	p.Slowstart, p.Heartbeat = o.Slowstart, model.Duration(o.Heartbeat.Milliseconds())
	return nil
}

// parseStraggler reads the fraction of attempts that straggle, and the factor by which
// they take longer. An empty text means no stragglers.
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

// parseSeeds reads at least one seed, and none twice.
func parseSeeds(texts []string) ([]uint64, error) {
	var seeds []uint64
	for _, text := range texts {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--seed %q: want whole numbers, 0 or more, such as 1,2,3", text)
		}
		if slices.Contains(seeds, seed) {
			return nil, fmt.Errorf("--seed %d: given twice", seed)
		}
		seeds = append(seeds, seed)
	}
	if len(seeds) == 0 {
		return nil, errors.New("--seed: give at least one")
	}
	return seeds, nil
}

// applyNetwork checks the options of the network and applies them.
func (n *Network) applyNetwork(p *sim.Network) error {
	if n.NetworkStep < 0 || n.NetworkStep > time.Minute || n.NetworkStep%time.Millisecond != 0 {
		return fmt.Errorf("--network-step %v: must be whole milliseconds, from 1ms to 1m", n.NetworkStep)
	}
	if n.ParallelCopies < 1 || n.ParallelCopies > 1000 {
		return fmt.Errorf("--parallel-copies %d: must be from 1 to 1000", n.ParallelCopies)
	}
	if p.ParallelCopies = n.ParallelCopies; n.NetworkStep > 0 {
		p.NetworkStep = model.Duration(n.NetworkStep.Milliseconds())
		p.LongestStep = p.NetworkStep
	}
	return nil
}
