package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/core/sim"
	"heddle/core/workload"
)

// simulation is what is to run: each policy with each seed.
type simulation struct {
	work     *workload.Workload
	cluster  sim.Cluster
	params   sim.Params
	policies []simPolicy
	relay    *simRelay // nil without
	seeds    []uint64
}

// collectOften has garbage collected when it is half of what lives, unless the
// operator has chosen: of millions of tasks more than a gigabyte lives, and Go
// would let as much again pile up.
func collectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// run runs every policy with every seed, as many at once as there are cores.
func (s *simulation) run(ctx context.Context, stderr io.Writer) ([]sim.Run, error) {
	runs := make([]sim.Run, len(s.policies)*len(s.seeds))
	progress := simProgress{start: time.Now(), parts: make([]atomic.Uint64, len(runs))}
	defer showProgress(ctx, stderr, progress.line)()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range runs {
		p, seed := &s.policies[i/len(s.seeds)], s.seeds[i%len(s.seeds)]
		group.Go(func() error {
			if err := within.Err(); err != nil {
				return err
			}
			var err error
			runs[i], err = s.one(within, p, seed, func(part float64) { progress.set(i, part) })
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", p.label, seed, err)
			}
			progress.set(i, 1)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted after %d of %d runs", progress.over(), len(runs))
		}
		return nil, err
	}
	return runs, nil
}

// one runs one policy with one seed, and reports the part of the jobs that is done.
func (s *simulation) one(ctx context.Context, p *simPolicy, seed uint64, report func(part float64)) (sim.Run, error) {
	start := time.Now()
	pol, err := p.build(p.given)
	if err != nil {
		return sim.Run{}, err
	}
	params := s.params
	params.Seed = seed
	params.Clock = func() float64 { return time.Since(start).Seconds() }
	world, err := s.relay.world(params, s.cluster, s.work, p, pol)
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
	run.Params, run.WallS, run.PeakRSS = p.all, time.Since(start).Seconds(), peakRSS()
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

// simProgress is how far the runs have come.
type simProgress struct {
	start time.Time
	parts []atomic.Uint64 // by run: the part of its jobs that is done, math.Float64bits
}

func (p *simProgress) set(run int, part float64) { p.parts[run].Store(math.Float64bits(part)) }

// over returns how many runs have ended.
func (p *simProgress) over() int {
	n := 0
	for i := range p.parts {
		if math.Float64frombits(p.parts[i].Load()) >= 1 {
			n++
		}
	}
	return n
}

// line prints the progress and what is left at the pace so far.
func (p *simProgress) line() string {
	sum := 0.0
	for i := range p.parts {
		sum += math.Float64frombits(p.parts[i].Load())
	}
	return fmt.Sprintf("%s, %d of %d runs done", progressBar(sum/float64(len(p.parts)), time.Since(p.start)), p.over(), len(p.parts))
}

// progressBar prints the part of the work that is done, 0 to 1, as a bar, and
// from the time that took how long the rest will take.
func progressBar(part float64, took time.Duration) string {
	const width = 30
	part = min(max(part, 0), 1)
	full := int(part * width)
	bar := fmt.Sprintf("[%s%s] %.0f %%", strings.Repeat("=", full), strings.Repeat(" ", width-full), 100*part)
	if part < 0.01 { // too early to tell
		return bar
	}
	left := time.Duration((1 - part) / part * float64(took))
	return fmt.Sprintf("%s, about %v left", bar, left.Round(time.Second))
}
