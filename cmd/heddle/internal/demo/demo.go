// Package demo runs the whole service on a recording: the bundled one of a real cluster,
// or one of the user's own.
package demo

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/cmd/heddle/internal/loop"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/service"
	"heddle/cmd/heddle/internal/servicelog"
	"heddle/cmd/heddle/internal/settings"
	"heddle/cmd/heddle/internal/sources"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/trace"
)

// recorded was made with heddle record by the integration suite: a real
// Hadoop 3.4 of three racks running wordcount and terasort.
//
//go:embed recording.jsonl.zst
var recorded embed.FS

// uplink is the rate to which the recorded cluster's uplinks were limited.
const uplink = "100Mbps"

// Demo plays a recording.
type Demo struct {
	loaded            *configs.Loaded
	version, revision string
	what              string // is played, for people
	open              func() (*recording.Reader, error)
	header            trace.Header
	state             state.Config
	records           int
	end               model.Time
	log               hclog.Logger
}

// Options say what is played, and how.
type Options struct {
	Recording         string // a file, "" for the bundled recording
	Policy            string // decides
	Listen            string // the address of Serve
	Version, Revision string
}

// New reads the recording once.
func New(o Options) (*Demo, error) {
	loaded, err := configs.Load(configs.Options{KnownPolicy: settings.KnownPolicy, Flags: map[string]string{
		"mode": "advise", "policy.name": o.Policy, "web.listen_address": o.Listen, "log.level": "warn",
		"resource_manager.urls": "http://recorded:8088", "hdfs.name_nodes": "http://recorded:9870",
		"uplinks.capacity": uplink,
	}})
	if err != nil {
		return nil, err
	}
	d := &Demo{loaded: loaded, version: o.Version, revision: o.Revision, log: servicelog.New(os.Stderr, &loaded.Config.Log)}
	d.what, d.open = "a recording of a real three-rack Hadoop cluster", func() (*recording.Reader, error) {
		return recording.Open(recorded, "recording.jsonl.zst")
	}
	if o.Recording != "" {
		d.what, d.open = o.Recording, func() (*recording.Reader, error) {
			return recording.Open(os.DirFS(filepath.Dir(o.Recording)), filepath.Base(o.Recording))
		}
	}
	if d.state, err = settings.State(&loaded.Config); err != nil {
		return nil, err
	}
	return d, d.scan()
}

// scan reads the recording for its header, its settings and its length.
func (d *Demo) scan() error {
	in, err := d.open()
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	d.header = in.Header()
	d.end = d.header.Start
	if len(d.header.Settings) > 0 {
		var s replay.Settings
		if err := json.Unmarshal(d.header.Settings, &s); err != nil {
			return fmt.Errorf("settings in the recording's header: %w", err)
		}
		d.state = s.State
	}
	for rec, err := range in.Records() {
		if err != nil {
			return err
		}
		d.end = max(d.end, rec.At)
		d.records++
	}
	return nil
}

// each calls use with every observation but those of what the recorded service did
// itself, until that returns false.
func (d *Demo) each(use func(at model.Time, o *model.Observation) bool) error {
	in, err := d.open()
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	for rec, err := range in.Records() {
		if err != nil {
			return err
		}
		if o := rec.Observation; o != nil && o.Source != model.SourceService && !use(rec.At, o) {
			return nil
		}
	}
	return nil
}

// span returns how long the recording is.
func (d *Demo) span() model.Duration { return d.end.Sub(d.header.Start) }

// Once plays the recording without waiting and prints its final state.
func (d *Demo) Once(w io.Writer) error {
	cluster := state.New(d.state)
	eng, err := settings.Engine(&d.loaded.Config, cluster)
	if err != nil {
		return err
	}
	next := d.header.Start
	account := loop.NewAccount(eng.Name(), eng, cluster.View())
	err = d.each(func(at model.Time, o *model.Observation) bool {
		if at.Sub(next) > 60*model.Minute { // the service was not running
			next = at
		}
		for ; at >= next; next = next.Add(model.Second) {
			cluster.Advance(next)
			if _, err := eng.Plan(next); err != nil {
				d.log.Debug("no plan", "error", err)
			}
		}
		cluster.Apply(*o)
		account.Observe(o.Fact)
		return true
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Played %s: %.0f s, %d records, decided by %s.\n\n", d.what, d.span().Seconds(), d.records, d.loaded.Config.Policy.Name)
	s := cluster.Snapshot()
	eng.Log().AddTo(s)
	s.Accounts = append(s.Accounts, account.Snapshot(true))
	return writeTables(w, s)
}

// Serve plays the recording through the whole service and prints its state meanwhile.
func (d *Demo) Serve(ctx context.Context, w io.Writer, speed float64) error {
	clock := &clock{begin: time.Now(), start: d.header.Start, end: d.end, speed: speed}
	s, err := service.New(service.Options{
		Loaded: d.loaded, State: &d.state, Log: d.log, Now: clock.now, Version: d.version, Revision: d.revision, Speed: speed,
		Replayed: &sources.Set{Sources: []sources.Source{{Run: d.play(clock)}}},
	})
	if err != nil {
		return err
	}
	l, err := s.Open(ctx)
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shown := make(chan struct{})
	go func() { defer close(shown); d.show(ctx, w, s, clock, url) }()
	err = s.Run(ctx, l, (*recording.Recorder)(nil))
	cancel()
	<-shown
	return err
}

// show prints the state: every second in place on a terminal, every 5 s otherwise.
func (d *Demo) show(ctx context.Context, w io.Writer, s *service.Service, at *clock, url string) {
	every, clearScreen := 5*time.Second, ""
	if terminal.IsTerminal(w) {
		every, clearScreen = time.Second, "\x1b[H\x1b[2J"
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	fmt.Fprintf(w, "Playing %s. Open %s\n", d.what, url)
	ended := false
	for !ended {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		snap := s.Snapshot()
		if snap == nil {
			continue
		}
		played := at.time().Sub(d.header.Start)
		ended = played >= d.span()
		fmt.Fprintf(w, "%sheddle demo · %s · %.0f s of %.0f s · %s · Ctrl-C ends it\n\n", clearScreen, s.Policy(), played.Seconds(), d.span().Seconds(), url)
		if err := writeTables(w, snap); err != nil {
			return
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "The recording has ended; its last state is served at %s/v1/racks, %s/v1/applications and %s/metrics.\n", url, url, url)
}
