package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/exit"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/integration/fakehadoop"
)

// TestServeKeepsHistory runs a service three times: what the first measured is
// what the second expects, and the third gets a file that is spoiled.
func TestServeKeepsHistory(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	path := filepath.Join(t.TempDir(), "history.json")
	config := writeFile(t, "heddle.yml", fastConfig(site, "web: {", "state: {history_file: "+path+"}\nweb: {"))
	var body struct{ Application snapshot.App }
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
		p.ends(exit.OK)
	}
	p := spawn(t, "serve", "--config", config)
	p.serves()
	tera(p, func() bool { return app.Predicted && app.Map.Completed == 20 })
	measured := app.Ratio
	stop(p)

	site.At(6 * time.Second) // before its first map runs
	recording := filepath.Join(t.TempDir(), "second.jsonl.zst")
	p = spawn(t, "serve", "--config", writeFile(t, "recording.yml", fastConfig(site, "web: {", "state: {history_file: "+path+"}\nweb: {")+"record: {file: "+recording+"}\n"))
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
	if past, known := replay.History().Expect(shuffle.KeyOf(replay.View().Job(fakehadoop.TeraSort).User, replay.View().Job(fakehadoop.TeraSort).Name)); !known || past.Ratio != measured {
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
