package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/replaying"
	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/trace"
)

// stepped writes a recording with the times of its records changed.
func stepped(t *testing.T, file string, step func(i int, at model.Time) model.Time) (path string) {
	t.Helper()
	h, all := records(t, file)
	path = filepath.Join(t.TempDir(), "stepped.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := trace.NewWriter(f, h)
	for i := range all {
		rec := &all[i]
		rec.At = step(i, rec.At)
		if rec.Observation != nil {
			rec.Observation.At = step(i, rec.Observation.At)
		}
		if rec.Decision != nil {
			rec.Decision.At = step(i, rec.Decision.At)
		}
		if err == nil {
			_, err = w.Append(*rec)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestClockSteps replays recordings of a clock that was set: they are refused with the place, and
// with the flag every policy goes by the recorded times. What tasks moved does not change; nothing
// panics, hangs, or is no number.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	const hour = model.Time(60 * model.Minute)
	after := func(n int, by model.Time) func(int, model.Time) model.Time {
		return func(i int, at model.Time) model.Time {
			if i >= n {
				return at + by
			}
			return at
		}
	}
	replayed := func(file string, args ...string) (replaying.Result, string) {
		args = append([]string{"replay", file, "--policies", strings.Join(append(builtin.Registry().Names(), "recorded"), ","), "-o", "json"}, args...)
		code, out, errs := heddle(t, args...)
		if code != exit.OK {
			return replaying.Result{}, errs
		}
		var res replaying.Result
		if err := json.Unmarshal([]byte(out), &res); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return res, ""
	}
	config := replayConfig(t)
	for name, step := range map[string]func(int, model.Time) model.Time{
		"back":             after(220, -2*hour),
		"forth":            after(220, 30*hour),
		"years on":         after(220, 20_000*24*hour),
		"to the beginning": func(i int, at model.Time) model.Time { return at * model.Time(1-i/220%2) },
		"to the end": func(i int, at model.Time) model.Time {
			if i == 220 {
				return math.MaxInt64
			}
			return at
		},
		"to and fro":   func(i int, at model.Time) model.Time { return at + model.Time(i%3-1)*5*hour },
		"a day a step": func(i int, at model.Time) model.Time { return at + model.Time(i)*23*hour },
	} {
		for _, file := range []string{cluster, format1} {
			var args []string
			if file == format1 {
				args = []string{"--config", config}
			}
			want, errs := replayed(file, args...)
			if errs != "" {
				t.Fatal(errs)
			}
			path := stepped(t, file, step)
			if _, errs := replayed(path, args...); name != "a day a step" && (!strings.Contains(errs, "clock step") || !strings.Contains(errs, " at byte ") || !strings.Contains(errs, "--allow-clock-steps")) {
				t.Errorf("%s, %s: %q", name, file, errs)
			}
			got, errs := replayed(path, append(args, "--allow-clock-steps")...)
			if errs != "" {
				t.Errorf("%s, %s: %s", name, file, errs)
				continue
			}
			for i := range want.Runs {
				w, g := &want.Runs[i], &got.Runs[i]
				if g.Jobs != w.Jobs || g.Recorded != w.Recorded || g.Failures != w.Failures {
					t.Errorf("%s, %s, %s: %d jobs, recorded %+v, %d failures; without steps %d, %+v, %d", name, file, g.Policy, g.Jobs, g.Recorded, g.Failures, w.Jobs, w.Recorded, w.Failures)
				}
			}
		}
	}
	if code, _, errs := heddle(t, "demo", "--once", "--recording", stepped(t, cluster, after(220, 30*hour))); code != exit.Failed || !strings.Contains(errs, "clock step") {
		t.Errorf("demo: exit %d: %s", code, errs)
	}
	back := stepped(t, cluster, after(220, -2*hour))
	if code, _, errs := heddle(t, "diff", cluster, back); code != exit.Failed || !strings.Contains(errs, "--allow-clock-steps") {
		t.Errorf("diff: exit %d: %s", code, errs)
	}
	if code, out, errs := heddle(t, "diff", cluster, back, "--allow-clock-steps"); code != exit.Failed || !strings.Contains(out, "divergence") {
		t.Errorf("diff: exit %d: %s%s", code, out, errs)
	}
	out := filepath.Join(t.TempDir(), "out.jsonl.zst")
	if code, _, errs := heddle(t, "pseudonymize", back, "--out", out); code != exit.OK {
		t.Errorf("pseudonymize: exit %d: %s", code, errs)
	}
	if _, errs := replayed(out); !strings.Contains(errs, "clock step") {
		t.Errorf("the copy has other times: %s", errs)
	}
}
