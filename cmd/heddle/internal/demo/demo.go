// Package demo runs the whole service on a bundled recording of a real cluster.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/service"
	"heddle/cmd/heddle/internal/servicelog"
	"heddle/cmd/heddle/internal/settings"
	"heddle/cmd/heddle/internal/sources"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs"
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

// Demo plays the recording.
type Demo struct {
	loaded            *configs.Loaded
	version, revision string
	header            trace.Header
	records           []trace.Record
	log               hclog.Logger
}

// New reads the recording. A policy decides on it, and Serve serves it at listen.
func New(policy, listen, version, revision string) (*Demo, error) {
	loaded, err := configs.Load(configs.Options{KnownPolicy: settings.KnownPolicy, Flags: map[string]string{
		"mode": "advise", "policy.name": policy, "web.listen_address": listen, "log.level": "warn",
		"resource_manager.urls": "http://recorded:8088", "hdfs.name_nodes": "http://recorded:9870",
		"uplinks.capacity": uplink,
	}})
	if err != nil {
		return nil, err
	}
	d := &Demo{loaded: loaded, version: version, revision: revision, log: servicelog.New(os.Stderr, &loaded.Config.Log)}
	in, err := recording.Open(recorded, "recording.jsonl.zst")
	if err != nil {
		return nil, fmt.Errorf("bundled recording: %w", err)
	}
	d.header = in.Header()
	for rec, err := range in.Records() {
		if err != nil {
			return nil, errors.Join(fmt.Errorf("bundled recording: %w", err), in.Close())
		}
		d.records = append(d.records, rec)
	}
	return d, in.Close()
}

// span returns how long the recording is.
func (d *Demo) span() model.Duration {
	if len(d.records) == 0 {
		return 0
	}
	return d.records[len(d.records)-1].At.Sub(d.header.Start)
}

// Once plays the recording without waiting and prints its final state.
func (d *Demo) Once(w io.Writer) error {
	stateCfg, err := settings.State(&d.loaded.Config)
	if err != nil {
		return err
	}
	cluster := state.New(stateCfg)
	eng, err := settings.Engine(&d.loaded.Config, cluster)
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
	s := cluster.Snapshot()
	eng.Log().AddTo(s)
	return writeTables(w, s)
}

// Serve plays the recording through the whole service and prints its state meanwhile.
func (d *Demo) Serve(ctx context.Context, w io.Writer, speed float64) error {
	clock := &clock{begin: time.Now(), start: d.header.Start, end: d.header.Start.Add(d.span()), speed: speed}
	s, err := service.New(service.Options{
		Loaded: d.loaded, Log: d.log, Now: clock.now, Version: d.version, Revision: d.revision, Speed: speed,
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
	fmt.Fprintf(w, "Playing a recording of a real three-rack Hadoop cluster. Open %s\n", url)
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
