// Package reproduction runs the papers' experiments and compares their published
// results with heddle's.
package reproduction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/cmd/heddle/internal/workloadfile"
	"heddle/core/lab/reproduce"
	"heddle/core/lab/workload"
)

// FacebookTrace is the name of the public trace in the folder of --traces.
const FacebookTrace = "FB-2010_samples_24_times_1hr_0.tsv"

// Papers returns the papers as a command line names them.
func Papers() []string {
	var names []string
	for _, p := range reproduce.Presets() {
		names = append(names, p.Name)
	}
	return names
}

// Options are what a command line asks for.
type Options struct {
	Papers []string // none: all
	Traces string   // folder of the public traces; "" takes the environment's HEDDLE_TRACES
	Parts  int      // scales the experiments down
	Seeds  int
}

// Result is the object that -o json prints.
type Result struct {
	Format int               `json:"format"`
	Parts  int               `json:"parts"`
	Seeds  int               `json:"seeds"`
	Papers []reproduce.Paper `json:"papers"`
}

// Run runs the experiments of the papers.
func (o *Options) Run(ctx context.Context, stderr io.Writer) (*Result, error) {
	presets, err := o.presets()
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	in := reproduce.Inputs{Seeds: o.Seeds, Parts: o.Parts, Stopped: func() bool { return ctx.Err() != nil }}
	if in.FB2010, err = o.facebook(stderr); err != nil {
		return nil, err
	}
	in.Each = func(n int, run func(i int) error) error {
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i := range n {
			group.Go(func() error {
				if err := groupCtx.Err(); err != nil {
					return err
				}
				return run(i)
			})
		}
		return group.Wait()
	}
	r := &Result{Format: 1, Parts: o.Parts, Seeds: o.Seeds}
	for _, p := range presets {
		paper, err := runPaper(ctx, p, in, stderr)
		if ctx.Err() != nil {
			return nil, exit.NewInterruptedError("in %s", p.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		r.Papers = append(r.Papers, paper)
	}
	return r, nil
}

// runPaper runs one paper's experiments and shows their progress.
func runPaper(ctx context.Context, p reproduce.Preset, in reproduce.Inputs, stderr io.Writer) (reproduce.Paper, error) {
	var done, all atomic.Int64
	start := time.Now()
	in.Begin = func(runs int) { all.Add(int64(runs)) }
	in.End = func() { done.Add(1) }
	defer terminal.ShowProgress(ctx, stderr, func() string {
		part := float64(done.Load()) / float64(max(all.Load(), 1))
		return fmt.Sprintf("%s: %s, %d of %d runs done", p.Name, terminal.ProgressBar(part, time.Since(start)), done.Load(), all.Load())
	})()
	return p.Run(&in)
}

// presets returns the experiments of the papers that are asked for.
func (o *Options) presets() ([]reproduce.Preset, error) {
	switch {
	case o.Parts < 1:
		return nil, fmt.Errorf("--parts %d: must be 1 or more", o.Parts)
	case o.Seeds < 1:
		return nil, fmt.Errorf("--seeds %d: must be 1 or more", o.Seeds)
	}
	wanted := map[string]bool{}
	for _, name := range o.Papers {
		wanted[name] = true
	}
	var presets []reproduce.Preset
	for _, p := range reproduce.Presets() {
		if len(o.Papers) == 0 || wanted[p.Name] {
			presets = append(presets, p)
		}
		delete(wanted, p.Name)
	}
	for _, name := range o.Papers {
		if wanted[name] {
			return nil, fmt.Errorf("no paper %q; there are %s", name, strings.Join(Papers(), ", "))
		}
	}
	return presets, nil
}

// facebook reads the public trace; it returns nil without a folder of traces.
func (o *Options) facebook(stderr io.Writer) (*workload.Workload, error) {
	folder := cmp.Or(o.Traces, os.Getenv("HEDDLE_TRACES"))
	if folder == "" {
		fmt.Fprintf(stderr, "without --traces or HEDDLE_TRACES, experiments that need %s are skipped\n", FacebookTrace)
		return nil, nil
	}
	w, err := workloadfile.Open(filepath.Join(folder, FacebookTrace), false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--traces: no %s in %s; docs/workloads.md says where it is from", FacebookTrace, folder)
	}
	return w, err
}
