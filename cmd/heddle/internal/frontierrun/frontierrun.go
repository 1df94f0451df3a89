// Package frontierrun runs the workloads of package frontier under all policies, and keeps the result of each run in a file, so
// that a command that was interrupted goes on where it stopped.
package frontierrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/policyflag"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/cmd/heddle/internal/workloadfile"
	"heddle/core/lab/frontier"
	"heddle/core/lab/workload"
)

// Options are what a command line asks for.
type Options struct {
	Workloads  []string // none: all
	Policies   string   // NAME or NAME{JSON}, with commas between; "" is all of them, or those that RunRobust and RunAblations compare
	Slowstarts []string // of the policies beside frontier.Subject; Run alone reads them
	Scale      float64  // part of each workload's jobs
	Seeds      int
	Traces     string   // folder of the public traces; "" takes the environment's HEDDLE_TRACES
	Results    string   // folder of the files of results; "" keeps none
	Again      []string // policies whose runs are run again where there is a file
	Plots      string   // folder that the plots are written to; "" writes none
}

// DefaultPolicies returns the list of all policies that are compared.
func DefaultPolicies() string {
	return strings.Join(append([]string{frontier.Subject}, frontier.Baselines()...), ",")
}

// DefaultSlowstarts returns the values that --slowstarts has by default.
func DefaultSlowstarts() []string {
	var out []string
	for _, v := range frontier.Slowstarts() {
		out = append(out, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return out
}

// WorkloadNames returns the names of all workloads.
func WorkloadNames() []string {
	var names []string
	for _, w := range frontier.Workloads() {
		names = append(names, w.Name)
	}
	return names
}

// job is a run to do.
type job struct {
	setup  *frontier.Setup
	policy *frontier.Policy
	spec   frontier.Spec
	into   *frontier.Run
}

// Run runs what is not in a file yet, and compares all results.
func (o *Options) Run(ctx context.Context, stderr io.Writer) (*frontier.Report, error) {
	policies, slowstarts, err := o.parse(DefaultPolicies())
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	setups, missing, err := o.open(stderr)
	if err != nil {
		return nil, err
	}
	variants, err := o.runVariants(ctx, setups, policies, slowstarts, stderr)
	if err != nil {
		return nil, err
	}
	var results []frontier.Result
	for i, s := range setups {
		results = append(results, frontier.NewResult(s, variants[i]))
	}
	report := frontier.NewReport(results, o.Scale, o.Seeds)
	report.Missing = missing
	return report, o.writePlots(report)
}

// runVariants runs every policy with each of its slowstarts on every setup, and returns the variants by setup.
func (o *Options) runVariants(ctx context.Context, setups []*frontier.Setup, policies []frontier.Policy, slowstarts []float64, stderr io.Writer) ([][]frontier.Variant, error) {
	for _, dir := range []string{o.Results, o.Plots} {
		if dir != "" {
			if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pages and results to be shown around
				return nil, err
			}
		}
	}
	variants := make([][]frontier.Variant, len(setups))
	var jobs []job
	for i := range setups {
		variants[i] = newVariants(policies, slowstarts, o.Seeds)
		jobs = append(jobs, jobsOf(setups[i], policies, variants[i])...)
	}
	// One seed of all workloads comes before the next one.
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.spec.Seed, b.spec.Seed) })
	return variants, o.runAll(ctx, jobs, stderr)
}

// parse checks the options and reads the policies, those given if none are asked for, and their slowstarts.
func (o *Options) parse(defaults string) ([]frontier.Policy, []float64, error) {
	if !(o.Scale > 0 && o.Scale <= 1) {
		return nil, nil, fmt.Errorf("--scale %g: must be above 0 and at most 1", o.Scale)
	}
	if o.Seeds < 1 {
		return nil, nil, fmt.Errorf("--seeds %d: must be 1 or more", o.Seeds)
	}
	for _, name := range o.Workloads {
		if !slices.Contains(WorkloadNames(), name) {
			return nil, nil, fmt.Errorf("--workloads: no workload %q; there are %s", name, strings.Join(WorkloadNames(), ", "))
		}
	}
	var slowstarts []float64
	for _, text := range o.Slowstarts {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return nil, nil, fmt.Errorf("--slowstarts: %s: want numbers from 0 to 1", text)
		}
		slowstarts = append(slowstarts, v)
	}
	parsed, err := policyflag.Parse(cmp.Or(o.Policies, defaults), nil)
	if err != nil {
		return nil, nil, err
	}
	var policies []frontier.Policy
	var names []string
	for _, p := range parsed {
		policies = append(policies, frontier.Policy{Name: p.Name, Label: p.Label, Params: p.All, New: p.Build})
		names = append(names, p.Name)
	}
	for _, name := range o.Again {
		if !slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("--again: %s is not among the policies", name)
		}
	}
	return policies, slowstarts, nil
}

// open returns the workloads that are asked for, and the names of those whose trace is missing.
func (o *Options) open(stderr io.Writer) (setups []*frontier.Setup, missing []string, err error) {
	folder := cmp.Or(o.Traces, os.Getenv("HEDDLE_TRACES"))
	traces := map[string]*workload.Workload{}
	all := frontier.Workloads()
	for i := range all {
		w := &all[i]
		if len(o.Workloads) > 0 && !slices.Contains(o.Workloads, w.Name) {
			continue
		}
		name := w.Trace()
		if name != "" && folder == "" {
			missing = append(missing, w.Name)
			continue
		}
		if name != "" && traces[name] == nil {
			if traces[name], err = openTrace(folder, name); err != nil {
				return nil, nil, err
			}
		}
		s, err := newSetup(w, traces[name], o.Scale)
		if err != nil {
			return nil, nil, err
		}
		setups = append(setups, s)
	}
	if len(missing) > 0 {
		fmt.Fprintf(stderr, "without --traces or HEDDLE_TRACES, workloads from public traces are left out: %s\n", strings.Join(missing, ", "))
	}
	return setups, missing, nil
}

// openTrace reads a public trace.
func openTrace(folder, name string) (*workload.Workload, error) {
	w, err := workloadfile.Open(filepath.Join(folder, name), false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--traces: no %s in %s; docs/workloads.md says where it is from", name, folder)
	}
	return w, err
}

// newSetup returns a workload with its jobs, which come from a trace or, where that is nil, from a generator.
func newSetup(w *frontier.Workload, trace *workload.Workload, scale float64) (*frontier.Setup, error) {
	work, err := w.Select(trace, scale)
	if err != nil {
		return nil, err
	}
	return frontier.NewSetup(w, work)
}

// newVariants returns every policy with each of its slowstarts, with room for a run of every seed.
func newVariants(policies []frontier.Policy, slowstarts []float64, seeds int) []frontier.Variant {
	var out []frontier.Variant
	for i := range policies {
		for _, slowstart := range policies[i].Slowstarts(slowstarts) {
			v := frontier.NewVariant(&policies[i], slowstart)
			v.Runs = make([]frontier.Run, seeds)
			out = append(out, v)
		}
	}
	return out
}

// jobsOf returns the runs of a workload's variants, the seeds counted from 1.
func jobsOf(s *frontier.Setup, policies []frontier.Policy, variants []frontier.Variant) []job {
	var jobs []job
	for i := range variants {
		v := &variants[i]
		p := &policies[slices.IndexFunc(policies, func(p frontier.Policy) bool { return p.Label == v.Policy })]
		for k := range v.Runs {
			jobs = append(jobs, job{s, p, s.Spec(p, v.Slowstart, uint64(k+1)), &v.Runs[k]})
		}
	}
	return jobs
}

// runAll does all runs, as many at once as there are cores. One that fails keeps no other from its run.
func (o *Options) runAll(ctx context.Context, jobs []job, stderr io.Writer) error {
	var mu sync.Mutex
	var failed []error
	done := 0
	start := time.Now()
	defer terminal.ShowProgress(ctx, stderr, func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("%s, %d of %d runs done", terminal.ProgressBar(float64(done)/float64(max(len(jobs), 1)), time.Since(start)), done, len(jobs))
	})()
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range jobs {
		group.Go(func() error {
			j := &jobs[i]
			if ctx.Err() != nil {
				return nil
			}
			err := o.runOne(ctx, j)
			mu.Lock()
			defer mu.Unlock()
			done++
			if err != nil {
				failed = append(failed, fmt.Errorf("%s, %s, slowstart %g, seed %d: %w", strings.TrimRight(j.spec.Workload+" "+j.spec.Perturbation, " "), j.policy.Label, j.spec.Slowstart, j.spec.Seed, err))
			}
			return nil
		})
	}
	_ = group.Wait() // no run returns an error
	if ctx.Err() != nil {
		return exit.NewInterruptedError("after %d of %d runs", done, len(jobs))
	}
	return errors.Join(failed...)
}

// runOne reads the result of a run from its file, or runs it and writes the file.
func (o *Options) runOne(ctx context.Context, j *job) error {
	name, err := j.spec.FileName()
	if err != nil {
		return err
	}
	name = filepath.Join(o.Results, name)
	if o.Results != "" && !slices.Contains(o.Again, j.policy.Name) {
		text, err := os.ReadFile(name) //nolint:gosec // the operator names the folder
		if err == nil {
			if *j.into, err = frontier.Decode(text, &j.spec); err != nil {
				return fmt.Errorf("%s: %w; remove the file to run this again", name, err)
			}
			return nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	r, err := j.setup.Run(&j.spec, j.policy, func() bool { return ctx.Err() == nil })
	if err != nil {
		return err
	}
	*j.into = r
	if o.Results == "" {
		return nil
	}
	text, err := r.Encode()
	if err != nil {
		return err
	}
	return writeFile(name, text)
}

// writeFile writes a file: all of it, or none.
func writeFile(name string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error is returned
	}
	return err
}

// writePlots writes an image of each workload.
func (o *Options) writePlots(r *frontier.Report) error {
	if o.Plots == "" {
		return nil
	}
	for i := range r.Results {
		if err := writeFile(filepath.Join(o.Plots, r.Results[i].Name+".svg"), []byte(r.Results[i].Plot())); err != nil {
			return err
		}
	}
	return nil
}
