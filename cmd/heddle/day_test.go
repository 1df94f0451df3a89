package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/replaying"
	"heddle/core/engine"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/state"
	"heddle/core/topology"
	"heddle/core/trace"
)

// recordDay records so many seconds of a generated day in mode advise, by the service's recorder and at
// its pace, and returns how many bytes and observations it has.
func recordDay(tb testing.TB, file, policy string, seconds int, seed uint64) (recording.Status, int) {
	tb.Helper()
	cfg := state.DefaultConfig()
	cfg.Uplinks = topology.Uplinks{Default: topology.Link{Out: 1.25e9, In: 1.25e9}}
	settings, err := json.Marshal(replay.Settings{State: cfg, Engine: engine.DefaultOptions("")})
	if err != nil {
		tb.Fatal(err)
	}
	rec, err := recording.Create(file, recording.Options{
		Header: trace.Header{ToolVersion: "test", Policy: policy, Params: json.RawMessage("{}"), Start: dayStart, Settings: settings}, MaxBytes: 1 << 40, Queue: 1 << 16, FlushEvery: time.Second,
	})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := builtin.Registry().New(policy, nil)
	if err != nil {
		tb.Fatal(err)
	}
	c := state.New(cfg)
	e := engine.New(engine.DefaultOptions(policy), p, c)
	observations := 0
	var d *generatedDay
	d = newGeneratedDay(seed, func(source model.Source, fact model.Fact) {
		o := model.Observation{Source: source, At: d.now, Fact: fact}
		rec.Observation(o)
		if source != model.SourceService {
			observations++
		}
		decisions, err := engine.Step(c, e, o)
		if err != nil {
			tb.Fatal(err)
		}
		for i := range decisions {
			rec.Decision(decisions[i])
		}
	})
	for n := 1; n <= seconds; n++ {
		d.second(n)
		time.Sleep(time.Second)
	}
	if err := rec.Close(); err != nil {
		tb.Fatal(err)
	}
	return rec.Status(), observations
}

// TestGeneratedDay records a cluster of 1,000 nodes with 200 applications at any time, and replays it: a
// day fits in 500 MB, and the replay's memory does not grow with the length of the recording.
// DAY_SECONDS says how many seconds; a day has 86400.
func TestGeneratedDay(t *testing.T) {
	seconds := 600
	if s := os.Getenv("DAY_SECONDS"); s != "" {
		var err error
		if seconds, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "day.jsonl.zst")
	if kept := os.Getenv("DAY_FILE"); kept != "" {
		file = kept
	}
	var status recording.Status
	var observations int
	began := time.Now()
	synctest.Test(t, func(t *testing.T) { status, observations = recordDay(t, file, "shufflewatcher", seconds, 1) })
	day := float64(status.Bytes) * 86400 / float64(seconds)
	t.Logf("%d s: %d observations, %.1f MB, %.0f MB a day; made in %v", seconds, observations, float64(status.Bytes)/1e6, day/1e6, time.Since(began).Round(time.Second))
	if day > 500e6 || status.Dropped > 0 {
		t.Errorf("%.0f MB a day, %d records dropped", day/1e6, status.Dropped)
	}
	began = time.Now()
	o := replaying.Options{File: file, Policies: "nas"}
	res, err := o.Run(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("replayed under nas in %v: %.0f observations/s, %.0f times real time, a day in %v; %d jobs, %d MB from the system",
		took.Round(time.Millisecond), float64(observations)/took.Seconds(), float64(seconds)/took.Seconds(), (took * time.Duration(86400) / time.Duration(seconds)).Round(time.Second), res.Recording.Jobs, mem.Sys>>20)
}
