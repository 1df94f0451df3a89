package report

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/core/lab/sim"
)

func TestWriteReplacesThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := small()
	for _, title := range []string{"first", "second"} {
		in.Title = title
		if err := Write(dir, in); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "index.html" {
		t.Fatalf("in the folder are %v (%v), want index.html alone", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the page has mode %v (%v), want one that others can read", info.Mode(), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !strings.Contains(string(text), "<title>second</title>") {
		t.Errorf("the page is not the second one (%v)", err)
	}
}

func TestWriteKeepsThePageOnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := small()
	if err := Write(dir, in); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	in.Runs[0].Makespan = math.NaN()
	if err := Write(dir, in); err == nil {
		t.Error("a makespan that is no number passes")
	}
	after, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the page is another one (%v)", err)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, small()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a folder that is a file: %v, want an error with its name", err)
	}
	taken := t.TempDir()
	if err := os.Mkdir(filepath.Join(taken, "index.html"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(taken, small()); err == nil {
		t.Error("a page that is a folder passes")
	}
	if entries, err := os.ReadDir(taken); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		want   string
		change func(*sim.Run)
	}{
		{"", func(*sim.Run) {}},
		{"no policy", func(r *sim.Run) { r.Policy = "" }},
		{"Jobs, makespan is NaN", func(r *sim.Run) { r.Makespan = math.NaN() }},
		{"Traffic across racks, shuffle is -1", func(r *sim.Run) { r.CrossRack.Shuffle = -1 }},
		{"makespan is +Inf", func(r *sim.Run) { r.Ratio.Makespan = math.Inf(1) }},
		{"response time of job 2 is NaN", func(r *sim.Run) { r.Responses[1] = math.NaN() }},
		{"step of the uplinks is 0 s", func(r *sim.Run) { r.Uplinks.Step = 0 }},
		{"step of the uplinks is +Inf s", func(r *sim.Run) { r.Uplinks.Step = math.Inf(1) }},
		{"1 names for 2 racks", func(r *sim.Run) { r.Uplinks.Racks = r.Uplinks.Racks[:1] }},
		{"uplink of rack 2, value 1 is -0.1", func(r *sim.Run) { r.Uplinks.Used[1][0] = -.1 }},
	} {
		in := small()
		tc.change(&in.Runs[1])
		err := in.check()
		switch {
		case tc.want == "" && err != nil:
			t.Error(err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "run 2 (policy")):
			t.Errorf("got %v, want run 2 and %q", err, tc.want)
		}
	}
	in := small()
	in.Runs[0].Makespan, in.Runs[1].Policy = -1, ""
	if err := in.check(); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want both problems", err)
	}
}
