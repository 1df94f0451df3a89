package recording

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/core/trace"
)

// TestContinue goes on with a recording: one that was closed, one that a crash cut
// anywhere, and one that another process writes.
func TestContinue(t *testing.T) {
	t.Parallel()
	closed := func(t *testing.T) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "a"+Suffix)
		r, err := Continue(path, Options{Header: header()})
		if err != nil {
			t.Fatal(err)
		}
		r.add(note(1, "x"))
		r.add(note(2, strings.Repeat("long ", 100_000)))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, err := os.ReadFile(closed(t))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		path := filepath.Join(t.TempDir(), "a"+Suffix)
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Continue(path, Options{Header: header()})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		r.add(note(3, "after"))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		got, _, err := readAll(t, path, false)
		if err != nil || len(got) == 0 || got[len(got)-1].Mark.Text != "after" {
			t.Fatalf("cut at %d of %d: %d records, %v", cut, len(whole), len(got), err)
		}
		restarted := slices.ContainsFunc(got, func(r trace.Record) bool { return r.Mark.Name == trace.MarkRestarted && r.Mark.Header != nil })
		if restarted != (len(got) > 1) {
			t.Fatalf("cut at %d: %d records, restarted %t", cut, len(got), restarted)
		}
	}
	path := closed(t)
	first, err := Continue(path, Options{Header: header()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Continue(path, Options{Header: header()}); !errors.Is(err, errInUse) {
		t.Errorf("a recording that is being written: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
}
