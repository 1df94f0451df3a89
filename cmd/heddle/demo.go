package main

import (
	"bytes"
	"context"
	_ "embed" // the bundled recording
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"heddle/configs"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/trace"
)

// demoRecording was made with `heddle record` by the integration suite: a real
// Hadoop 3.4 of three racks running wordcount and terasort.
//
//go:embed demo/recording.jsonl.zst
var demoRecording []byte

func newDemo() *cobra.Command {
	var once bool
	var speed float64
	var listen, policy string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole service on a bundled recording of a real three-rack cluster",
		Long: `Run the whole service on a bundled recording of a real three-rack Hadoop cluster:
the same loop, policy, REST API and metrics as 'heddle serve', with the recording in
place of the cluster. It needs no Hadoop and no network.`,
		Example: "  heddle demo\n  heddle demo --once\n  heddle demo --policy delay --speed 20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if speed <= 0 {
				return usageError{errors.New("--speed: must be above 0")}
			}
			if err := knownPolicy(policy, nil); err != nil {
				return usageError{fmt.Errorf("--policy: %w", err)}
			}
			d, err := newDemoRun(policy, listen)
			if err != nil {
				return err
			}
			if once {
				return d.once(cmd.OutOrStdout())
			}
			return d.serve(cmd.Context(), cmd.OutOrStdout(), speed)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "play the recording as fast as it goes, print one final table, and end")
	cmd.Flags().Float64Var(&speed, "speed", 10, "how many times faster than it was recorded")
	cmd.Flags().StringVar(&policy, "policy", "shufflewatcher", "the `policy` that decides; 'heddle policies' lists them")
	cmd.Flags().StringVar(&listen, "web.listen-address", configs.DefaultListenAddress, "the `address` to listen on")
	return cmd
}

// demoRun is one run of the demo.
type demoRun struct {
	loaded  *configs.Loaded
	header  trace.Header
	records []trace.Record
	log     hclog.Logger
}

func newDemoRun(policy, listen string) (*demoRun, error) {
	loaded, err := configs.Load(configs.Options{KnownPolicy: knownPolicy, Flags: map[string]string{
		"mode": "advise", "policy.name": policy, "web.listen_address": listen, "log.level": "warn",
		"resource_manager.urls": "http://recorded:8088", "hdfs.name_nodes": "http://recorded:9870",
		"uplinks.capacity": demoUplink,
	}})
	if err != nil {
		return nil, err
	}
	d := &demoRun{loaded: loaded, log: newLogger(&loaded.Config.Log)}
	d.header, d.records, err = readRecording(bytes.NewReader(demoRecording))
	if err != nil {
		return nil, fmt.Errorf("bundled recording: %w", err)
	}
	return d, nil
}

// demoUplink is the rate the uplinks of the recorded cluster were shaped to.
const demoUplink = "100Mbps"

// readRecording reads a whole recording. A demo's is small.
func readRecording(r io.Reader) (trace.Header, []trace.Record, error) {
	z, err := zstd.NewReader(r)
	if err != nil {
		return trace.Header{}, nil, err
	}
	defer z.Close()
	in, err := trace.NewReader(z, trace.ReadOptions{})
	if err != nil {
		return trace.Header{}, nil, err
	}
	var out []trace.Record
	for rec, err := range in.Records() {
		if err != nil {
			return trace.Header{}, nil, err
		}
		out = append(out, rec)
	}
	return in.Header(), out, nil
}

// span returns how long the recording is.
func (d *demoRun) span() model.Duration {
	if len(d.records) == 0 {
		return 0
	}
	return d.records[len(d.records)-1].At.Sub(d.header.Start)
}

// once plays the recording without waiting: the clock is the recording's.
func (d *demoRun) once(w io.Writer) error {
	stateCfg, err := stateConfig(&d.loaded.Config)
	if err != nil {
		return err
	}
	cluster := state.New(stateCfg)
	eng, err := newEngine(&d.loaded.Config, cluster)
	if err != nil {
		return err
	}
	next := d.header.Start
	for i := range d.records {
		r := &d.records[i]
		for ; r.At >= next; next = next.Add(model.Second) {
			cluster.Advance(next)
			if _, err := eng.Plan(next); err != nil && i > 0 {
				d.log.Debug("no plan", "error", err)
			}
		}
		if r.Observation != nil {
			cluster.Apply(*r.Observation)
		}
	}
	fmt.Fprintf(w, "A recording of a real three-rack Hadoop cluster, %.0f s, %d observations, decided by %s.\n\n", d.span().Seconds(), len(d.records), d.loaded.Config.Policy.Name)
	return writeReport(w, cluster.Snapshot())
}

// replayClock is the recording's time while it is played; it stands still
// before the start and after the end.
type replayClock struct {
	mu    sync.Mutex
	begin time.Time // by the wall, when playing began
	start model.Time
	end   model.Time
	speed float64
}

func (c *replayClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.start.Add(model.Duration(float64(time.Since(c.begin).Milliseconds()) * c.speed))
	return time.UnixMilli(int64(min(at, c.end)))
}

// wait blocks until the recording's time is at.
func (c *replayClock) wait(ctx context.Context, at model.Time) error {
	t := time.NewTimer(time.Duration(float64(at-modelTime(c.now()))/c.speed) * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// play sends the recording's observations at their time, then waits.
func (d *demoRun) play(clock *replayClock) source {
	return source{run: func(ctx context.Context, out chan<- model.Observation) error {
		for i := range d.records {
			r := &d.records[i]
			if r.Observation == nil {
				continue
			}
			if err := clock.wait(ctx, r.At); err != nil {
				return err
			}
			select {
			case out <- *r.Observation:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}}
}

// serve plays the recording through the whole service and shows it.
func (d *demoRun) serve(ctx context.Context, w io.Writer, speed float64) error {
	clock := &replayClock{begin: time.Now(), start: d.header.Start, end: d.header.Start.Add(d.span()), speed: speed}
	s, err := newService(serviceOptions{
		loaded: d.loaded, log: d.log, now: clock.now, speed: speed, sources: &sources{list: []source{d.play(clock)}},
	})
	if err != nil {
		return err
	}
	l, err := s.listen(ctx)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shown := make(chan struct{})
	go func() { defer close(shown); d.show(ctx, w, s, url) }()
	err = s.run(ctx, l)
	cancel()
	<-shown
	return err
}

// show prints the state as it goes: in place on a terminal, every few seconds
// otherwise.
func (d *demoRun) show(ctx context.Context, w io.Writer, s *service, url string) {
	every, clearScreen := 5*time.Second, ""
	if isTerminal(w) {
		every, clearScreen = time.Second, "\x1b[H\x1b[2J"
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	fmt.Fprintf(w, "Playing a recording of a real three-rack Hadoop cluster. Open %s\n", url)
	ended := false
	for !ended {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		snap := s.loop.Snapshot()
		if snap == nil {
			continue
		}
		at := modelTime(s.now()).Sub(d.header.Start)
		ended = at >= d.span()
		fmt.Fprintf(w, "%sheddle demo · %s · %.0f s of %.0f s · %s · Ctrl-C ends it\n\n", clearScreen, s.policy(), at.Seconds(), d.span().Seconds(), url)
		if err := writeReport(w, snap); err != nil {
			return
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "The recording has ended; its last state stays open at %s/v1/racks, %s/v1/applications and %s/metrics.\n", url, url, url)
}
