package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/service"
	"heddle/cmd/heddle/internal/servicelog"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/model"
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
after --duration, or at SIGINT or SIGTERM, whichever comes first; either way the exit
code is 0, unless records were lost or the ResourceManager never answered.`,
		Example: "  heddle record --config heddle.yml --out cluster.jsonl.zst --duration 10m\n  heddle record --config heddle.yml --out night.jsonl.zst",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return exit.NewUsageError(errors.New("--out: name the recording's file, such as cluster.jsonl.zst"))
			}
			if duration < 0 {
				return exit.NewUsageError(fmt.Errorf("--duration %v: want how long to record, or 0 to record until a signal", duration))
			}
			ctx := cmd.Context()
			if duration > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, duration)
				defer cancel()
			}
			return runRecording(ctx, &flags, out, cmd.ErrOrStderr())
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&out, "out", "", "the recording's `file`; its name ends in "+recording.Suffix)
	cmd.Flags().DurationVar(&duration, "duration", 0, "how long to record, such as 10m; 0 records until a signal")
	return cmd
}

func runRecording(ctx context.Context, flags *configFlags, out string, stderr io.Writer) error {
	loaded, err := flags.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	loaded.Config.Record.File = out
	b := build()
	s, err := service.New(service.Options{
		Loaded: loaded, Log: servicelog.New(os.Stderr, &loaded.Config.Log), Now: time.Now, Version: b.Version, Revision: b.Revision,
	})
	if err != nil {
		return err
	}
	rec, err := s.OpenRecording()
	if err != nil {
		return err
	}
	shown, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); showRecording(shown, rec, stderr) }()
	seen := &answers{Recorder: rec}
	err = errors.Join(s.Observe(ctx, seen), rec.Close())
	stop()
	<-ended
	st := rec.Status()
	fmt.Fprintf(stderr, "%s: %d records, %s in %d files\n", out, st.Records, terminal.Bytes(float64(st.Bytes)), st.Files)
	if st.Dropped > 0 {
		err = errors.Join(err, fmt.Errorf("%d records were lost; marks in the recording say where", st.Dropped))
	}
	if !seen.resourceManager {
		err = errors.Join(err, fmt.Errorf("the ResourceManager never answered: %s has nothing of the cluster; heddle check config shows the addresses, the log why", out))
	}
	return err
}

// answers records, and takes note of whether the ResourceManager answered.
type answers struct {
	*recording.Recorder
	resourceManager bool
}

// Observation implements loop.Recorder.
func (a *answers) Observation(o model.Observation) {
	if _, isPoll := o.Fact.(model.PollFact); o.Source == model.SourceRM && !isPoll {
		a.resourceManager = true
	}
	a.Recorder.Observation(o)
}

// showRecording shows the recording's progress on a terminal until ctx ends.
func showRecording(ctx context.Context, rec *recording.Recorder, w io.Writer) {
	if !terminal.IsTerminal(w) {
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
			st := rec.Status()
			fmt.Fprintf(w, "\r\x1b[K%d records, %s; Ctrl-C ends the recording", st.Records, terminal.Bytes(float64(st.Bytes)))
		}
	}
}
