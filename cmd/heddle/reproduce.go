package main

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

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"heddle/core/reproduce"
	"heddle/core/workload"
)

// facebookTrace is the name of the public trace in the folder of --traces.
const facebookTrace = "FB-2010_samples_24_times_1hr_0.tsv"

func newReproduce() *cobra.Command {
	var q reproduceQuestion
	cmd := &cobra.Command{
		Use:   "reproduce [PAPER...]",
		Short: "Run the papers' experiments again, and say of every published result what came out",
		Long: fmt.Sprintf(`Run the experiments of the papers that heddle implements, and print for every result
they publish the paper's value, ours, and whether it came out. PAPER is one of %s;
without any it is all of them.

Each paper is a setup: all its results come from the same runs, and nothing is set for
one of them alone. What a paper does not give is listed with the value that was used. A
result is exact (from public data), arithmetic (follows from the text), shape (sign and
rough size, in a simulation), or not reproducible (a figure without numbers, or data and
hardware that nobody else has).

NUM and NAS need the public trace %s; docs/workloads.md says where it is from.
Without it what needs it is not run, and said so.`, strings.Join(paperNames(), ", "), facebookTrace),
		Example: `  heddle reproduce
  heddle reproduce num --traces ~/SWIM/workloadSuite
  heddle reproduce shufflewatcher dawn --parts 10 --seeds 2
  heddle reproduce -o md --traces ~/SWIM/workloadSuite   # the page docs/reproduction.md`,
		ValidArgs: paperNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return q.answer(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVarP(&q.format, "output", "o", "text", "how to print the result: text, json, or md for a page of Markdown")
	cmd.Flags().StringVar(&q.traces, "traces", "", "the `DIR` with the public traces; without it the environment's HEDDLE_TRACES")
	cmd.Flags().IntVar(&q.parts, "parts", 1, "run the `N`th part: of the runs, of the time, or of the cluster and what it is asked for; 1 is all. Of a part neither figures nor verdicts are those of the paper's setup")
	cmd.Flags().IntVar(&q.seeds, "seeds", 3, "the `number` of seeds of what is drawn")
	return cmd
}

// paperNames are the papers as a command line names them.
func paperNames() []string {
	var names []string
	for _, p := range reproduce.Presets() {
		names = append(names, p.Name)
	}
	return names
}

// reproduceQuestion is what a command line asks.
type reproduceQuestion struct {
	format, traces string
	parts, seeds   int
}

// reproduceAnswer is the result, as -o json prints it.
type reproduceAnswer struct {
	Format int               `json:"format"`
	Parts  int               `json:"parts"`
	Seeds  int               `json:"seeds"`
	Papers []reproduce.Paper `json:"papers"`
}

func (q *reproduceQuestion) answer(ctx context.Context, names []string, stdout, stderr io.Writer) error {
	presets, err := q.check(names)
	if err != nil {
		return usageError{err}
	}
	in := reproduce.Inputs{Seeds: q.seeds, Parts: q.parts, Stopped: func() bool { return ctx.Err() != nil }}
	if in.FB2010, err = q.facebook(stderr); err != nil {
		return err
	}
	in.Each = func(n int, run func(i int) error) error {
		group, within := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i := range n {
			group.Go(func() error {
				if err := within.Err(); err != nil {
					return err
				}
				return run(i)
			})
		}
		return group.Wait()
	}
	a := reproduceAnswer{Format: 1, Parts: q.parts, Seeds: q.seeds}
	for _, p := range presets {
		paper, err := runPaper(ctx, p, in, stderr)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted in %s", p.Name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		a.Papers = append(a.Papers, paper)
	}
	return a.print(stdout, q.format)
}

// runPaper runs one paper, and shows how far it is.
func runPaper(ctx context.Context, p reproduce.Preset, in reproduce.Inputs, stderr io.Writer) (reproduce.Paper, error) {
	var done, all atomic.Int64
	start := time.Now()
	in.Begin = func(runs int) { all.Add(int64(runs)) }
	in.End = func() { done.Add(1) }
	defer showProgress(ctx, stderr, func() string {
		part := float64(done.Load()) / float64(max(all.Load(), 1))
		return fmt.Sprintf("%s: %s, %d of %d runs done", p.Name, progressBar(part, time.Since(start)), done.Load(), all.Load())
	})()
	return p.Run(&in)
}

// check reads everything of a command line but the trace.
func (q *reproduceQuestion) check(names []string) ([]reproduce.Preset, error) {
	switch {
	case q.format != "text" && q.format != "json" && q.format != "md":
		return nil, fmt.Errorf("--output %q: want text, json or md", q.format)
	case q.parts < 1:
		return nil, fmt.Errorf("--parts %d: must be 1 or more", q.parts)
	case q.seeds < 1:
		return nil, fmt.Errorf("--seeds %d: must be 1 or more", q.seeds)
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var presets []reproduce.Preset
	for _, p := range reproduce.Presets() {
		if len(names) == 0 || wanted[p.Name] {
			presets = append(presets, p)
		}
		delete(wanted, p.Name)
	}
	for _, name := range names {
		if wanted[name] {
			return nil, fmt.Errorf("no paper %q; there are %s", name, strings.Join(paperNames(), ", "))
		}
	}
	return presets, nil
}

// facebook reads the public trace, nil where nobody says where it is.
func (q *reproduceQuestion) facebook(stderr io.Writer) (*workload.Workload, error) {
	folder := cmp.Or(q.traces, os.Getenv("HEDDLE_TRACES"))
	if folder == "" {
		fmt.Fprintf(stderr, "without --traces and HEDDLE_TRACES nothing of %s is run\n", facebookTrace)
		return nil, nil
	}
	w, err := openWorkload(filepath.Join(folder, facebookTrace), false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--traces: no %s in %s; docs/workloads.md says where it is from", facebookTrace, folder)
	}
	return w, err
}
