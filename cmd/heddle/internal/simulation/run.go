package simulation

import (
	"context"
	"fmt"
	"heddle/cmd/heddle/internal/policyflag"
	"io"
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
)

// experiment runs each policy with each seed.
type experiment struct {
	work     *workload.Workload
	cluster  sim.Cluster
	params   sim.Params
	policies []policyflag.Policy
	relay    *relay // nil without
	seeds    []uint64
}

// run runs every policy with every seed, as many at once as there are cores.
func (s *experiment) run(ctx context.Context, stderr io.Writer) ([]sim.Run, error) {
	runs := make([]sim.Run, len(s.policies)*len(s.seeds))
	progress := progress{start: time.Now(), parts: make([]atomic.Uint64, len(runs))}
	defer terminal.ShowProgress(ctx, stderr, progress.line)()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range runs {
		p, seed := &s.policies[i/len(s.seeds)], s.seeds[i%len(s.seeds)]
		group.Go(func() error {
			if err := groupCtx.Err(); err != nil {
				return err
			}
			var err error
			runs[i], err = s.runOne(groupCtx, p, seed, func(part float64) { progress.set(i, part) })
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", p.Label, seed, err)
			}
			progress.set(i, 1)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, exit.NewInterruptedError("after %d of %d runs", progress.ended(), len(runs))
		}
		return nil, err
	}
	return runs, nil
}

// runOne runs one policy with one seed, and reports the part of the jobs that is done.
func (s *experiment) runOne(ctx context.Context, p *policyflag.Policy, seed uint64, report func(part float64)) (sim.Run, error) {
	start := time.Now()
	params := s.params
	params.Seed = seed
	params.Clock = func() float64 { return time.Since(start).Seconds() }
	world, err := s.relay.newSim(params, s.cluster, s.work, p)
	if err != nil {
		return sim.Run{}, err
	}
	run, err := world.Run(func(at sim.Progress) bool {
		report(float64(at.Finished) / float64(max(at.Jobs, 1)))
		return ctx.Err() == nil
	})
	if err != nil {
		return sim.Run{}, err
	}
	run.Params, run.WallS, run.PeakRSS = p.All, time.Since(start).Seconds(), peakRSS()
	return run, nil
}

// peakRSS returns the most memory this process has held so far, in bytes; 0
// where the system does not say.
func peakRSS() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // bytes there, KiB elsewhere
		return u.Maxrss
	}
	return u.Maxrss * 1024
}

// progress is the state of all runs, for the progress line.
type progress struct {
	start time.Time
	parts []atomic.Uint64 // by run: the part of its jobs that is done, math.Float64bits
}

func (p *progress) set(run int, part float64) { p.parts[run].Store(math.Float64bits(part)) }

// ended returns how many runs have ended.
func (p *progress) ended() int {
	n := 0
	for i := range p.parts {
		if math.Float64frombits(p.parts[i].Load()) >= 1 {
			n++
		}
	}
	return n
}

// line returns the progress line.
func (p *progress) line() string {
	sum := 0.0
	for i := range p.parts {
		sum += math.Float64frombits(p.parts[i].Load())
	}
	return fmt.Sprintf("%s, %d of %d runs done", terminal.ProgressBar(sum/float64(len(p.parts)), time.Since(p.start)), p.ended(), len(p.parts))
}
