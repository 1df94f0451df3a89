package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"heddle/core/fluid"
)

func newFluid() *cobra.Command {
	var q fluidQuestion
	var out output
	cmd := &cobra.Command{
		Use:   "fluid --workload WORKLOAD",
		Short: "Run a workload through NUM's model of map and shuffle queues, and compare policies with the lower bound",
		Long: `Run a workload through the overlapping tandem queue model of the NUM paper: jobs are
map work that comes out as shuffle work, both queues have a fixed capacity, and a
policy divides them among the jobs at every instant. It prints the mean response time
of each policy, the lower bound that none gets below, how well the network was used
compared with the best in the same state, and how much shuffle work piled up.

--workload is a SWIM trace (.tsv), a workload in heddle's own format (.jsonl or
.jsonl.zst), or synth:NAME[,key=value...]. Dependencies between jobs, reduces and
racks are not part of the model.

The map capacity is what does all map work of the workload in --span, for
synth:lognormal one unit of size a second, as in the paper. The shuffle capacity is
--beta times that. A policy is one of fair, maxsrpt, splitsrpt, uopt, num (the paper's
NUM(MaxSRPT, SplitSRPT, 0.85)) and numu (NUM(MaxSRPT, UOPT, 1)), or NUM of any two:
num:P1:P2:THETA.`,
		Example: `  heddle fluid --workload FB-2010_samples_24_times_1hr_0.tsv --beta 0.1,0.3,1
  heddle fluid --workload synth:lognormal,lambda=1.25,jobs=2000 --policies maxsrpt,splitsrpt,num
  heddle fluid --workload synth:fb2010 --beta 0.3 --policies num,num:splitsrpt:uopt:0.5 -o json
  heddle fluid --workload jobs.jsonl.zst --span 10m --lenient`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return q.answer(cmd.Context(), &out, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&q.workload, "workload", "", "the `workload`: a file, or synth:NAME[,key=value...]")
	cmd.Flags().StringSliceVar(&q.betas, "beta", []string{"1"}, "shuffle capacities, as `factors` on the map capacity")
	cmd.Flags().StringSliceVar(&q.policies, "policies", []string{"fair", "maxsrpt", "splitsrpt", "num", "numu"}, "the `policies` to compare")
	cmd.Flags().DurationVar(&q.span, "span", 24*time.Hour, "in what time the map capacity does all map work of the workload")
	cmd.Flags().BoolVar(&q.lenient, "lenient", false, "leave out records of the workload that are wrong, and say how many")
	out.flag(cmd)
	return cmd
}

// fluidQuestion is what a command line asks.
type fluidQuestion struct {
	workload string
	betas    []string
	policies []string
	span     time.Duration
	lenient  bool
}

// fluidAnswer is the result, as -o json prints it.
type fluidAnswer struct {
	Format int        `json:"format"`
	Runs   []fluidRun `json:"runs"`

	about string // the workload and the map capacity, for people
}

// fluidRun is the outcome of one policy with one shuffle capacity.
type fluidRun struct {
	Beta        float64 `json:"beta"`
	Policy      string  `json:"policy"`
	Jobs        int     `json:"jobs"`
	Mean        float64 `json:"mean_response_s"`
	Bound       float64 `json:"lower_bound_s"`
	Ratio       float64 `json:"ratio"` // mean over bound, 1 where both are 0
	Utilization float64 `json:"utilization_mean"`
	MaxBuffer   float64 `json:"max_buffer_s"`
	Wall        float64 `json:"wall_s"`
}

func (q *fluidQuestion) answer(ctx context.Context, out *output, stdout, stderr io.Writer) error {
	if err := out.print(io.Discard, nil, func(io.Writer) error { return nil }); err != nil {
		return err // before hours of work, not after
	}
	if q.workload == "" {
		return usageError{errors.New("--workload: name a SWIM trace, a workload of heddle's, or synth:NAME")}
	}
	if q.span <= 0 {
		return usageError{fmt.Errorf("--span %v: must be above 0", q.span)}
	}
	betas, policies, err := q.grid()
	if err != nil {
		return usageError{err}
	}
	load, err := loadFluid(q, stderr)
	if err != nil {
		return err
	}
	answer, err := load.run(ctx, betas, policies, stderr)
	if err != nil {
		return err
	}
	return out.print(stdout, answer, answer.table)
}

// grid reads the capacities and policies to run.
func (q *fluidQuestion) grid() ([]float64, []fluid.Policy, error) {
	var betas []float64
	for _, text := range q.betas {
		beta, err := strconv.ParseFloat(text, 64)
		if err != nil || !(beta > 0) || math.IsInf(beta, 1) {
			return nil, nil, fmt.Errorf("--beta %q: want numbers above 0, such as 0.1,0.3,1", text)
		}
		betas = append(betas, beta)
	}
	var policies []fluid.Policy
	for _, name := range q.policies {
		p, err := fluid.ParsePolicy(name)
		if err != nil {
			return nil, nil, fmt.Errorf("--policies: %w", err)
		}
		policies = append(policies, p)
	}
	if len(betas) == 0 || len(policies) == 0 {
		return nil, nil, errors.New("--beta and --policies: name at least one each")
	}
	return betas, policies, nil
}

// run runs every policy with every capacity, as many at once as there are cores.
func (l *fluidLoad) run(ctx context.Context, betas []float64, policies []fluid.Policy, stderr io.Writer) (*fluidAnswer, error) {
	bounds := make([]float64, len(betas))
	runs := make([]fluidRun, len(betas)*len(policies))
	var done atomic.Int64
	defer showProgress(ctx, stderr, func() string { return fmt.Sprintf("%d of %d runs", done.Load(), len(runs)) })()
	for i, beta := range betas {
		var err error
		if bounds[i], err = fluid.LowerBound(l.jobs, l.capacity(beta)); err != nil {
			return nil, l.wrong(err)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range runs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			defer done.Add(1)
			var err error
			runs[i], err = l.one(betas[i/len(policies)], bounds[i/len(policies)], policies[i%len(policies)])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &fluidAnswer{Format: 1, Runs: runs, about: l.about()}, nil
}

func (l *fluidLoad) one(beta, bound float64, p fluid.Policy) (fluidRun, error) {
	start := time.Now()
	r, err := fluid.Run(l.jobs, l.capacity(beta), p)
	if err != nil {
		return fluidRun{}, l.wrong(err)
	}
	run := fluidRun{
		Beta: beta, Policy: p.Name, Jobs: len(l.jobs), Mean: r.Mean(), Bound: bound, Ratio: 1,
		Utilization: r.Utilization, MaxBuffer: r.MaxBuffer, Wall: time.Since(start).Seconds(),
	}
	if bound > 0 {
		run.Ratio = run.Mean / bound
	}
	return run, nil
}

// table prints the answer for people, the same for the same input.
func (a *fluidAnswer) table(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", a.about)
	return tabs(w, func(w io.Writer) {
		fmt.Fprintln(w, "BETA\tPOLICY\tMEAN RESPONSE\tLOWER BOUND\tRATIO\tNETWORK USE\tLARGEST BUFFER")
		for i := range a.Runs {
			r := &a.Runs[i]
			fmt.Fprintf(w, "%g\t%s\t%.4f s\t%.4f s\t%.4f\t%.4f\t%.1f s\n", r.Beta, r.Policy, r.Mean, r.Bound, r.Ratio, r.Utilization, r.MaxBuffer)
		}
	})
}

// showProgress rewrites a line of w every second once two have passed, if a
// person is looking at it. The function it returns ends that.
func showProgress(ctx context.Context, w io.Writer, line func() string) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for seconds := 1; ; seconds++ {
			select {
			case <-ctx.Done():
				if seconds > 2 {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
				if seconds >= 2 {
					fmt.Fprintf(w, "\r\x1b[K%s; Ctrl-C ends it", line())
				}
			}
		}
	}()
	return func() { cancel(); <-ended }
}
