package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/recording"
	"heddle/configs"
	"heddle/core/model"
	"heddle/core/trace"
)

func newRecord() *cobra.Command {
	var flags configFlags
	var out string
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "record --config FILE --out FILE",
		Short: "Observe a cluster and write a recording",
		Long: `Observe a cluster as 'heddle serve' does and write every observation, and in mode
advise every decision, to a recording: JSON lines in zstd, never overwritten. It ends
after --duration, or with SIGINT or SIGTERM, whichever is first.`,
		Example: "  heddle record --config heddle.yml --out cluster.jsonl.zst --duration 10m\n  heddle record --config heddle.yml --out night.jsonl.zst",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usageError{errors.New("--out: name the recording's file, such as cluster.jsonl.zst")}
			}
			if duration < 0 {
				return usageError{fmt.Errorf("--duration %v: want how long to record, or 0 until it is stopped", duration)}
			}
			ctx := cmd.Context()
			if duration > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, duration)
				defer cancel()
			}
			return record(ctx, &flags, out, cmd.ErrOrStderr())
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&out, "out", "", "the recording's `file`; its name ends in "+recording.Suffix)
	cmd.Flags().DurationVar(&duration, "duration", 0, "how long to record, such as 10m; 0 until it is stopped")
	return cmd
}

func record(ctx context.Context, flags *configFlags, out string, stderr io.Writer) error {
	loaded, err := flags.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	loaded.Config.Record.File = out
	log := newLogger(&loaded.Config.Log)
	s, err := newService(serviceOptions{loaded: loaded, log: log, now: time.Now})
	if err != nil {
		return err
	}
	rec, err := openRecorder(loaded, log)
	if err != nil {
		return err
	}
	rec.full = s.loop.notes.QueueFull
	s.loop.recorder = rec
	shown, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); rec.progress(shown, stderr) }()
	err = errors.Join(s.observe(ctx), rec.Close())
	stop()
	<-ended
	st := rec.file.Status()
	fmt.Fprintf(stderr, "%s: %d records, %s in %d files\n", out, st.Records, sizeText(float64(st.Bytes)), st.Files)
	if st.Dropped > 0 {
		return errors.Join(err, fmt.Errorf("%d records were lost, marked in the recording where", st.Dropped))
	}
	return err
}

// fileRecorder records to the configured file; without one it takes nothing.
type fileRecorder struct {
	file *recording.Recorder // nil without a file
	full func(queue string)  // told of what does not fit
}

// openRecorder begins the configured recording, if there is one.
func openRecorder(loaded *configs.Loaded, log hclog.Logger) (*fileRecorder, error) {
	c := &loaded.Config
	if c.Record.File == "" {
		return &fileRecorder{}, nil
	}
	h := trace.Header{ToolVersion: version, ConfigHash: loaded.Hash(), Seed: 1, Start: modelTime(time.Now())}
	if c.Mode != configs.ModeObserve {
		h.Policy, h.Params = c.Policy.Name, c.Policy.Params.JSON()
	}
	file, err := recording.Create(c.Record.File, recording.Options{
		Header: h, MaxBytes: int64(c.Record.MaxSize), FlushEvery: min(c.Record.FlushInterval.Std(), time.Second),
	})
	if err != nil {
		return nil, err
	}
	log.Info("recording", "file", c.Record.File)
	return &fileRecorder{file: file}, nil
}

func (r *fileRecorder) add(rec trace.Record) {
	if r.file == nil {
		return
	}
	if !r.file.Add(rec) && r.full != nil {
		r.full("recorder")
	}
}

// Observation implements recorder.
func (r *fileRecorder) Observation(o model.Observation) {
	r.add(trace.Record{At: o.At, Observation: &o})
}

// Decision implements recorder.
func (r *fileRecorder) Decision(d model.Decision) { r.add(trace.Record{At: d.At, Decision: &d}) }

// Close ends the recording and says what went wrong with it, if anything did.
func (r *fileRecorder) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// progress tells a person at a terminal how far the recording is.
func (r *fileRecorder) progress(ctx context.Context, w io.Writer) {
	if f, ok := w.(*os.File); !ok || !isTerminal(f) {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprint(w, "\r\x1b[K")
			return
		case <-tick.C:
			st := r.file.Status()
			fmt.Fprintf(w, "\r\x1b[K%d records, %s; Ctrl-C ends the recording", st.Records, sizeText(float64(st.Bytes)))
		}
	}
}
