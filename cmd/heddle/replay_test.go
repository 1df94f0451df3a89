package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/settings"
	"heddle/configs"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/core/trace"
	"heddle/integration/fakehadoop"
)

// replayed applies the observations of a recording to a fresh cluster.
func replayed(t *testing.T, loaded *configs.Loaded, all []trace.Record) *snapshot.Snapshot {
	t.Helper()
	cfg, err := settings.State(&loaded.Config)
	if err != nil {
		t.Fatal(err)
	}
	c := state.New(cfg)
	for i := range all {
		if o := all[i].Observation; o != nil {
			c.Apply(*o)
		}
	}
	return c.Snapshot()
}

// asJSON returns what of a snapshot follows from observations alone: not the
// plans, and not what is sampled by the clock.
func asJSON(t *testing.T, s *snapshot.Snapshot) map[string]any {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "seq")
	delete(m, "at_ms")
	delete(m, "decisions")
	delete(m, "plans")
	delete(m, "traffic")
	delete(m["counts"].(map[string]any), "decided_by_reason")
	for _, a := range m["applications"].([]any) {
		delete(a.(map[string]any), "cross_rack_bytes")
	}
	for _, r := range m["racks"].([]any) {
		delete(r.(map[string]any), "uplink")
	}
	return m
}

// TestRecordingReplays records a service through the life of the jobs, and
// wants the recording to give the state the service had (I5).
func TestRecordingReplays(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	file := filepath.Join(t.TempDir(), "seen.jsonl.zst")
	loaded := load(t, fastConfig(site)+"record: {file: "+file+"}\n")
	r := startWith(t, loaded)
	eventually(t, "ready", r.ready)
	site.At(45 * time.Second)
	eventually(t, "TeraSort's input", func() error {
		if a := r.app(fakehadoop.TeraSort); a == nil || !a.Input.Known {
			return errors.New("not known")
		}
		return nil
	})
	site.At(66 * time.Second)
	r.settled()
	site.At(site.Span())
	eventually(t, "its end", func() error { return cmpError(6, r.app(fakehadoop.TeraSort).Reduce.Completed) })
	r.stop()
	_, all := records(t, file)
	first, second := replayed(t, loaded, all), replayed(t, loaded, all)
	if diff := cmp.Diff(encode(t, first), encode(t, second)); diff != "" {
		t.Errorf("two replays differ:\n%s", diff)
	}
	if diff := cmp.Diff(asJSON(t, r.Snapshot()), asJSON(t, first)); diff != "" {
		t.Errorf("the recording gives another state (-service +recording):\n%s", diff)
	}
	if got := first.App(model.AppID(fakehadoop.TeraSort)); got == nil || got.MapOutput.Reported != 208000720 {
		t.Errorf("%+v", got)
	}
}

func encode(t *testing.T, s *snapshot.Snapshot) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
