// Package replaying runs the command `heddle replay`: it opens a recording, replays it
// under the policies that were asked for, and prints and keeps the result.
package replaying

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/policyflag"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/settings"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/trace"
)

// Options are those of the command line.
type Options struct {
	File           string // the recording's first file
	Policies       string
	Params         []string
	Since, Until   string // RFC 3339, or a time since the start of the recording
	Report         string // a directory, "" for none
	AllowTruncated bool
	AllowClock     bool            // clock steps
	Config         *configs.Loaded // settings in place of those in the recording, nil for none
	Assert         []string        // conditions that the result has to meet
}

// Result is what the command prints.
type Result struct {
	*replay.Result
	Assertions []replay.Outcome `json:"assertions,omitempty"`

	file, report string
}

// Failed returns an error that names the assertions that do not hold, nil without any.
func (r *Result) Failed() error {
	var errs []error
	for _, a := range r.Assertions {
		if !a.Holds {
			errs = append(errs, fmt.Errorf("assertion %q does not hold: %g, %g", a.Assertion, a.Left, a.Right))
		}
	}
	return errors.Join(errs...)
}

// Run replays.
func (o *Options) Run(ctx context.Context, stderr io.Writer) (*Result, error) {
	policies, err := policyflag.Parse(o.Policies, o.Params, replay.Recorded)
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	assertions, err := parseAssertions(o.Assert)
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	in, err := recording.Open(os.DirFS(filepath.Dir(o.File)), filepath.Base(o.File))
	if err != nil {
		return nil, recording.Explain(o.File, err)
	}
	defer in.Close() //nolint:errcheck // only read
	if o.AllowClock {
		in.AllowClockSteps()
	}
	header := in.Header()
	how := &replay.Options{Registry: builtin.Registry()}
	for _, p := range policies {
		how.Policies = append(how.Policies, replay.Policy{Name: p.Name, Label: p.Label, Params: p.All})
	}
	if how.Since, err = moment("--since", o.Since, header.Start); err == nil {
		how.Until, err = moment("--until", o.Until, header.Start)
	}
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	if err := o.takeConfig(how); err != nil {
		return nil, err
	}
	rep, err := newReport(o.Report, how.Policies)
	if err != nil {
		return nil, err
	}
	rep.show(how)
	res, err := replay.Run(&header, o.records(ctx, in, stderr), how)
	if errors.Is(err, replay.ErrNoSettings) {
		err = fmt.Errorf("%w; give them with --config", err)
	}
	if err = errors.Join(err, rep.end(res)); err != nil {
		return nil, fmt.Errorf("replay %s: %w", o.File, err)
	}
	result := &Result{Result: res, file: o.File, report: rep.path()}
	for _, a := range assertions {
		outcome, err := a.Evaluate(res)
		if err != nil {
			return nil, exit.NewUsageError(fmt.Errorf("--assert %w", err))
		}
		result.Assertions = append(result.Assertions, outcome)
	}
	return result, nil
}

func parseAssertions(texts []string) ([]*replay.Assertion, error) {
	var all []*replay.Assertion
	for _, text := range texts {
		a, err := replay.ParseAssertion(text)
		if err != nil {
			return nil, fmt.Errorf("--assert %w", err)
		}
		all = append(all, a)
	}
	return all, nil
}

// takeConfig replaces the settings of the recording by those of a configuration.
func (o *Options) takeConfig(how *replay.Options) error {
	if o.Config == nil {
		return nil
	}
	c := &o.Config.Config
	cluster, err := settings.State(c)
	if err != nil {
		return err
	}
	how.Settings = &replay.Settings{State: cluster, Engine: settings.EngineOptions(c)}
	return nil
}

// records returns the records of a recording until ctx ends, and shows the progress.
func (o *Options) records(ctx context.Context, in *recording.Reader, stderr io.Writer) iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		var n atomic.Int64
		start := in.Header().Start
		var at atomic.Int64
		stop := terminal.ShowProgress(ctx, stderr, func() string {
			return fmt.Sprintf("%d records, %v of the recording", n.Load(), (time.Duration(at.Load()-int64(start)) * time.Millisecond).Round(time.Second))
		})
		defer stop()
		for rec, err := range in.Records() {
			switch {
			case ctx.Err() != nil:
				yield(trace.Record{}, exit.NewInterruptedError("after %d records", n.Load()))
				return
			case o.AllowTruncated && errors.Is(err, trace.ErrTruncated):
				fmt.Fprintf(stderr, "%v; what comes before is replayed\n", err)
				return
			case err != nil:
				yield(rec, recording.Explain(o.File, err, recording.FlagTruncated, recording.FlagClockSteps))
				return
			}
			n.Add(1)
			at.Store(int64(rec.At))
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// moment reads a time, or how long after the start of the recording; "" is 0.
func moment(flag, text string, start model.Time) (model.Time, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return start.Add(model.Duration(d.Milliseconds())), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("%s %q: want a time such as 2026-11-23T09:00:00Z, or one since the start of the recording such as 90m", flag, text)
	}
	return model.Time(t.UnixMilli()), nil
}
