package reproduce_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"heddle/core/lab/reproduce"
)

// small returns inputs for a small part of the experiments.
func small(t *testing.T, parts int) *reproduce.Inputs {
	t.Helper()
	return &reproduce.Inputs{FB2010: facebook(t), Parts: parts, Seeds: 1}
}

// check wants rows in their order, and of each all that a reader needs: what did
// not come out says why, what was run has a figure.
func check(t *testing.T, p reproduce.Paper, prefix string, rows int) {
	t.Helper()
	if len(p.Rows) != rows {
		t.Errorf("%d rows, want %d", len(p.Rows), rows)
	}
	for i, r := range p.Rows {
		if want := fmt.Sprintf("%s%d", prefix, i+1); r.ID != want {
			t.Errorf("row %d is %s, want %s", i, r.ID, want)
		}
		if r.What == "" || r.Paper == "" || r.Status == "" || r.Verdict == "" {
			t.Errorf("%+v", r)
		}
		ran := r.Verdict == reproduce.Yes || r.Verdict == reproduce.No || r.Verdict == reproduce.Bounded
		unsaid := r.Verdict == reproduce.NotRun || r.Verdict == reproduce.NotJudged && r.Status != reproduce.Impossible
		if ran && (r.Ours == "" || r.Status == reproduce.Impossible) || unsaid && r.Note == "" {
			t.Errorf("%s is %s: %q, %q", r.ID, r.Verdict, r.Ours, r.Note)
		}
		if strings.Contains(r.Ours, "NaN") || strings.Contains(r.Ours, "Inf") {
			t.Errorf("%s: %s", r.ID, r.Ours)
		}
		if r.Status == reproduce.Arithmetic && r.Verdict == reproduce.No {
			t.Errorf("%s: %s for %s", r.ID, r.Ours, r.Paper)
		}
	}
	for _, s := range p.Settings {
		if s.Name == "" || s.Value == "" || s.Source == "" {
			t.Errorf("%+v", s)
		}
	}
}

func TestShuffleWatcher(t *testing.T) {
	t.Parallel()
	in := small(t, 100)
	runs, ended := 0, 0
	in.Begin, in.End = func(n int) { runs += n }, func() { ended++ }
	p, err := reproduce.ShuffleWatcher(in)
	if err != nil {
		t.Fatal(err)
	}
	check(t, p, "SW", 18)
	if runs == 0 || ended != runs {
		t.Errorf("%d runs were announced, %d ended", runs, ended)
	}
}

// Every paper stops when it is told to, and hands on what goes wrong in a run.
func TestStops(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, p := range reproduce.Presets() {
		if _, err := p.Run(&reproduce.Inputs{Parts: 1000, Seeds: 1, Stopped: func() bool { return true }}); err == nil || err.Error() != "stopped" {
			t.Errorf("%s: %v, want stopped", p.Name, err)
		}
		if _, err := p.Run(&reproduce.Inputs{Parts: 1000, Seeds: 1, Each: func(int, func(int) error) error { return broken }}); !errors.Is(err, broken) {
			t.Errorf("%s: %v, want broken", p.Name, err)
		}
	}
	asked := 0 // before the first run, and then by it
	_, err := reproduce.ShuffleWatcher(&reproduce.Inputs{Parts: 1000, Seeds: 1, Stopped: func() bool { asked++; return asked > 1 }})
	if err == nil || err.Error() != "Fair, seed 1: stopped" {
		t.Errorf("%v, want the first run to have stopped", err)
	}
}

func TestNAS(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]*reproduce.Inputs{"trace": small(t, 500), "synthetic": {Parts: 500, Seeds: 2}} {
		p, err := reproduce.NAS(in)
		if err != nil {
			t.Fatal(name, err)
		}
		check(t, p, "A", 22)
		if in.FB2010 != nil && p.Rows[0].Verdict != reproduce.Yes {
			t.Errorf("%+v", p.Rows[0])
		}
	}
}

func TestDawn(t *testing.T) {
	t.Parallel()
	p, err := reproduce.Dawn(small(t, 40))
	if err != nil {
		t.Fatal(err)
	}
	check(t, p, "D", 11)
}
