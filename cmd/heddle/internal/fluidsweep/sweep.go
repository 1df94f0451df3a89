// Package fluidsweep runs a workload through NUM's fluid model, once for every policy
// and shuffle capacity.
package fluidsweep

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

	"golang.org/x/sync/errgroup"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/lab/fluid"
)

// Options are what a command line asks for.
type Options struct {
	Workload string
	Betas    []string // shuffle capacities, as factors on the map capacity
	Policies []string
	Span     time.Duration // in which the map capacity does all map work
	Lenient  bool
}

// Result is the object that -o json prints.
type Result struct {
	Format int   `json:"format"`
	Runs   []Run `json:"runs"`

	about string // describes the workload and the map capacity, for people
}

// Run is the result of one policy with one shuffle capacity.
type Run struct {
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

// Run runs every policy with every shuffle capacity.
func (o *Options) Run(ctx context.Context, stderr io.Writer) (*Result, error) {
	if o.Workload == "" {
		return nil, exit.NewUsageError(errors.New("--workload: name a SWIM trace, a workload of heddle's, or synth:NAME"))
	}
	if o.Span <= 0 {
		return nil, exit.NewUsageError(fmt.Errorf("--span %v: must be above 0", o.Span))
	}
	betas, policies, err := o.parseGrid()
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	l, err := openLoad(o, stderr)
	if err != nil {
		return nil, err
	}
	return l.run(ctx, betas, policies, stderr)
}

// parseGrid reads the capacities and policies to run.
func (o *Options) parseGrid() ([]float64, []fluid.Policy, error) {
	var betas []float64
	for _, text := range o.Betas {
		beta, err := strconv.ParseFloat(text, 64)
		if err != nil || !(beta > 0) || math.IsInf(beta, 1) {
			return nil, nil, fmt.Errorf("--beta %q: want numbers above 0, such as 0.1,0.3,1", text)
		}
		betas = append(betas, beta)
	}
	var policies []fluid.Policy
	for _, name := range o.Policies {
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
func (l *load) run(ctx context.Context, betas []float64, policies []fluid.Policy, stderr io.Writer) (*Result, error) {
	bounds := make([]float64, len(betas))
	runs := make([]Run, len(betas)*len(policies))
	var done atomic.Int64
	defer terminal.ShowProgress(ctx, stderr, func() string { return fmt.Sprintf("%d of %d runs", done.Load(), len(runs)) })()
	for i, beta := range betas {
		var err error
		if bounds[i], err = fluid.LowerBound(l.jobs, l.capacity(beta)); err != nil {
			return nil, l.named(err)
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range runs {
		group.Go(func() error {
			if err := groupCtx.Err(); err != nil {
				return err
			}
			var err error
			runs[i], err = l.runOne(betas[i/len(policies)], bounds[i/len(policies)], policies[i%len(policies)])
			done.Add(1)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, exit.NewInterruptedError("after %d of %d runs", done.Load(), len(runs))
		}
		return nil, err
	}
	return &Result{Format: 1, Runs: runs, about: l.description()}, nil
}

func (l *load) runOne(beta, bound float64, p fluid.Policy) (Run, error) {
	start := time.Now()
	r, err := fluid.Run(l.jobs, l.capacity(beta), p)
	if err != nil {
		return Run{}, l.named(err)
	}
	run := Run{
		Beta: beta, Policy: p.Name, Jobs: len(l.jobs), Mean: r.Mean(), Bound: bound, Ratio: 1,
		Utilization: r.Utilization, MaxBuffer: r.MaxBuffer, Wall: time.Since(start).Seconds(),
	}
	if bound > 0 {
		run.Ratio = run.Mean / bound
	}
	return run, nil
}

// Table prints the answer for people, the same for the same input.
func (a *Result) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", a.about)
	return terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "BETA\tPOLICY\tMEAN RESPONSE\tLOWER BOUND\tRATIO\tNETWORK USE\tLARGEST BUFFER")
		for i := range a.Runs {
			r := &a.Runs[i]
			fmt.Fprintf(w, "%g\t%s\t%.4f s\t%.4f s\t%.4f\t%.4f\t%.1f s\n", r.Beta, r.Policy, r.Mean, r.Bound, r.Ratio, r.Utilization, r.MaxBuffer)
		}
	})
}
