package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/integration/fakehadoop"
)

// logged is a logger whose lines can be looked at.
func logged() (hclog.Logger, *buffer) {
	b := &buffer{}
	return hclog.New(&hclog.LoggerOptions{Output: b, DisableTime: true}), b
}

// oneRun records a run of a job in a history.
func oneRun(h *shuffle.History, app model.AppID) {
	h.Record(shuffle.KeyOf("ann", "load 2024-01-05"), model.Run{App: app, Input: 100, Shuffle: 250, Output: model.Unknown})
}

func holds(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestHistoryFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "heddle")
	path := filepath.Join(dir, "history.json")
	log, _ := logged()
	f, h := openHistory(path, log)
	f.save(h) // nothing is new
	if _, err := os.Stat(dir); err == nil {
		t.Error("an empty history makes a file")
	}
	oneRun(h, "a1")
	f.save(h)
	oneRun(h, "a2")
	f.save(h)
	if got := holds(t, dir); got != "history.json" {
		t.Errorf("the directory holds %s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, error %v: want it readable by its owner alone", info, err)
	}
	_, again := openHistory(path, log)
	if p, _ := again.Expect(shuffle.KeyOf("ann", "load 2024-01-06")); p.Runs != 2 || p.Ratio != 2.5 {
		t.Errorf("after a restart: %+v", p)
	}
	if none, h := openHistory("", log); none != nil || h == nil {
		t.Error("without a file")
	}
}

// What cannot be read is moved aside, said, and does not stop a start.
func TestHistoryFileOutOfOrder(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"cut short":   func(path string) error { return os.WriteFile(path, []byte(`{"format":1,"jobs":[{"us`), 0o600) },
		"a later one": func(path string) error { return os.WriteFile(path, []byte(`{"format":2,"jobs":[]}`), 0o600) },
		"empty":       func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "history.json")
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			log, said := logged()
			f, h := openHistory(path, log)
			if h.Len() != 0 || len(said.lines("[WARN]")) != 1 || !strings.Contains(said.String(), path+".bad") {
				t.Errorf("%d jobs, and the log says %s", h.Len(), said)
			}
			oneRun(h, "a1")
			f.save(h)
			if got := holds(t, filepath.Dir(path)); got != "history.json history.json.bad" {
				t.Errorf("the directory holds %s", got)
			}
			if _, h := openHistory(path, log); h.Len() != 1 {
				t.Error("the new one is not kept")
			}
		})
	}
	t.Run("not to be moved either", func(t *testing.T) {
		t.Parallel()
		log, said := logged()
		f, h := openHistory(filepath.Join(writeFile(t, "file", ""), "history.json"), log)
		if f != nil || h == nil || len(said.lines("[ERROR]")) != 1 {
			t.Errorf("%+v, and the log says %s", f, said)
		}
		f.save(h)
	})
}

// A disk that takes nothing is said once, and when it is over.
func TestHistoryNotSaved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	log, said := logged()
	f, h := openHistory(filepath.Join(dir, "history.json"), log)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in the way of the directory
		t.Fatal(err)
	}
	oneRun(h, "a1")
	f.save(h)
	f.save(h)
	if n := len(said.lines("[WARN]")); n != 1 {
		t.Errorf("said %d times: %s", n, said)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	f.save(h)
	if got := holds(t, dir); got != "history.json" || len(said.lines("saved again")) != 1 {
		t.Errorf("the directory holds %s, and the log says %s", got, said)
	}
}

// While it runs, the history is on disk after a while.
func TestHistoryIsSavedNowAndThen(t *testing.T) {
	t.Parallel()
	log, _ := logged()
	path := filepath.Join(t.TempDir(), "history.json")
	f, h := openHistory(path, log)
	f.every = 5 * time.Millisecond
	if h.Len() != 0 {
		t.Fatalf("%d jobs before the first", h.Len())
	}
	l := &loop{cluster: state.New(state.DefaultConfig()), questions: make(chan func())}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.keep(ctx, l) }()
	(<-l.questions)() // the loop answers
	oneRun(l.cluster.History(), "a1")
	eventually(t, "a file", func() error {
		select {
		case ask := <-l.questions:
			ask()
		default:
		}
		_, err := os.Stat(path)
		return err
	})
	stop()
	<-ended
}

// TestServeKeepsHistory runs a service three times: what the first measured is
// what the second expects, and the third gets a file that is spoiled.
func TestServeKeepsHistory(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	path := filepath.Join(t.TempDir(), "history.json")
	config := writeFile(t, "heddle.yml", fastConfig(site, "publish_interval: 20ms", "publish_interval: 20ms, history_file: "+path))
	var body struct{ Application state.AppView }
	app := &body.Application
	tera := func(p *process, want func() bool) {
		t.Helper()
		eventually(t, "TeraSort", func() error {
			if err := p.read("/v1/applications/"+fakehadoop.TeraSort, &body); err != nil || !want() {
				return errors.Join(err, fmt.Errorf("%+v", app))
			}
			return nil
		})
	}
	stop := func(p *process) {
		t.Helper()
		p.signal(syscall.SIGTERM)
		p.ends(exitOK)
	}
	p := spawn(t, "serve", "--config", config)
	p.serves()
	tera(p, func() bool { return app.Predicted && app.Map.Completed == 20 })
	measured := app.Ratio
	stop(p)

	site.At(6 * time.Second) // before its first map runs
	recording := filepath.Join(t.TempDir(), "second.jsonl.zst")
	p = spawn(t, "serve", "--config", writeFile(t, "recording.yml", fastConfig(site, "publish_interval: 20ms", "publish_interval: 20ms, history_file: "+path)+"record: {file: "+recording+"}\n"))
	p.serves()
	tera(p, func() bool { return !app.Predicted && app.Ratio > 0 })
	if app.Ratio < measured*0.99 || app.Ratio > measured*1.01 || app.Ratio == 1 {
		t.Errorf("expected %g, measured before %g", app.Ratio, measured)
	}
	stop(p)
	_, all := records(t, recording)
	replay := state.New(state.DefaultConfig())
	for i := range all {
		if o := all[i].Observation; o != nil {
			replay.Apply(*o)
		}
	}
	if past, known := replay.View().Past(replay.View().Job(fakehadoop.TeraSort)); !known || past.Ratio != measured {
		t.Errorf("a replay expects %+v (%t), want the ratio %g (I5)", past, known, measured)
	}

	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	p = spawn(t, "serve", "--config", config)
	p.serves()
	tera(p, func() bool { return !app.Predicted && app.Ratio == 1 })
	if len(p.log.lines("cannot be read")) != 1 {
		t.Error(p.log)
	}
	stop(p)
	if _, err := os.Stat(path + ".bad"); err != nil {
		t.Error(err)
	}
}
