package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/loop"
	"heddle/core/engine"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/core/trace"
	"heddle/integration/fakehadoop"
)

// TestRecordingReplays records a service through the life of the jobs, for every
// policy, and wants the recording to give each decision again and the state the
// service had, all of it (I5).
func TestRecordingReplays(t *testing.T) {
	t.Parallel()
	names := builtin.Registry().Names()
	if testing.Short() {
		names = []string{"delay", "nas", "shufflewatcher"}
	}
	for _, policy := range names {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			site := fakehadoop.Start(t)
			file := filepath.Join(t.TempDir(), "seen.jsonl.zst")
			loaded := load(t, fastConfig(site)+fmt.Sprintf("record: {file: %s}\npolicy: {name: %s}\n", file, policy))
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
			h, all := records(t, file)
			checkReplay(t, &h, all, r.Snapshot())
		})
	}
}

// TestRecordingGoesOn restarts a service with the same recording: it goes on in a new
// file, and all of it is replayed, from the restart on with nothing known.
func TestRecordingGoesOn(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "seen.jsonl.zst")
	yaml := fastConfig(site) + fmt.Sprintf("record: {file: %s}\npolicy: {name: shufflewatcher}\n", file)
	site.At(45 * time.Second)
	decided := 0
	for range 3 {
		r := startWith(t, load(t, yaml))
		eventually(t, "ready", r.ready)
		eventually(t, "TeraSort's input", func() error {
			if a := r.app(fakehadoop.TeraSort); a == nil || !a.Input.Known {
				return errors.New("not known")
			}
			return nil
		})
		r.stop()
		h, all := records(t, file)
		res, err := replay.Run(&h, each(all), &replay.Options{
			Registry: builtin.Registry(), Policies: []replay.Policy{{Name: replay.Recorded, Label: replay.Recorded}},
		})
		if err != nil {
			t.Fatal(err)
		}
		check := res.Runs[0].Check
		if check.Differs != "" || check.Equal <= decided {
			t.Errorf("%d restarts: %+v, %d before", res.Recording.Restarts, *check, decided)
		}
		decided = check.Equal
	}
	if parts, err := filepath.Glob(filepath.Join(dir, "seen*")); err != nil || len(parts) != 3 {
		t.Errorf("files %v, %v", parts, err)
	}
}

// checkReplay wants the records to give the decisions among them and a snapshot.
func checkReplay(t *testing.T, h *trace.Header, all []trace.Record, live *snapshot.Snapshot) {
	t.Helper()
	res, err := replay.Run(h, each(all), &replay.Options{
		Registry: builtin.Registry(), Policies: []replay.Policy{{Name: replay.Recorded, Label: replay.Recorded}},
	})
	if err != nil {
		t.Fatal(err)
	}
	check := res.Runs[0].Check
	want := kinds(all)["decision"]
	if check.Differs != "" || check.Equal != want || (want == 0 && h.Policy == "shufflewatcher") {
		t.Errorf("%d decisions recorded: %+v", want, *check)
	}
	if diff := cmp.Diff(encode(t, live), encode(t, again(t, h, all))); diff != "" {
		t.Errorf("the recording gives another state (-service +recording):\n%s", diff)
	}
	run := &res.Runs[0]
	if a := &live.Accounts[0]; a.Jobs > run.Jobs || a.Jobs == run.Jobs && (a.Saved != run.Regret.Saved || a.Lost != run.Regret.Lost || a.Wanted.Total != run.CrossRack.Total || a.Recorded.Total != run.Recorded.Total) {
		t.Errorf("the service counted %+v, the replay %+v", a, run.Totals)
	}
	if got := live.App(model.AppID(fakehadoop.TeraSort)); got == nil || got.MapOutput.Reported != 208000720 {
		t.Errorf("%+v", got)
	}
}

// again returns the last snapshot of a service that sees and does what is recorded.
func again(t *testing.T, h *trace.Header, all []trace.Record) *snapshot.Snapshot {
	t.Helper()
	var s replay.Settings
	if err := json.Unmarshal(h.Settings, &s); err != nil {
		t.Fatal(err)
	}
	p, err := builtin.Registry().New(h.Policy, h.Params)
	if err != nil {
		t.Fatal(err)
	}
	c := state.New(s.State)
	e := engine.New(s.Engine, p, c)
	account := loop.NewAccount(h.Policy, e, c.View())
	var last *snapshot.Snapshot
	publish := func() {
		last = c.Snapshot()
		e.Log().AddTo(last)
		last.Accounts = append(last.Accounts, account.Snapshot(true))
	}
	for i := range all {
		o := all[i].Observation
		if o == nil {
			continue
		}
		_, _ = engine.Step(c, e, *o)
		account.Observe(o.Fact)
		if f, is := o.Fact.(model.RoundFact); is && f.App == "" {
			publish()
		}
	}
	publish() // as the loop ends
	return last
}

func each(all []trace.Record) iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// encode leaves the guard out: it follows what a relay did.
func encode(t *testing.T, s *snapshot.Snapshot) string {
	t.Helper()
	state := *s
	state.Guard = snapshot.Guard{}
	data, err := json.MarshalIndent(&state, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
