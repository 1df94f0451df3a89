package historyfile_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/cmd/heddle/internal/historyfile"
	"heddle/core/model"
	"heddle/core/shuffle"
)

// logged is a logger whose lines can be looked at.
func logged() (hclog.Logger, *strings.Builder) {
	b := &strings.Builder{}
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
	f, h := historyfile.Open(path, log)
	f.Save(h) // nothing is new
	if _, err := os.Stat(dir); err == nil {
		t.Error("an empty history makes a file")
	}
	oneRun(h, "a1")
	f.Save(h)
	oneRun(h, "a2")
	f.Save(h)
	if got := holds(t, dir); got != "history.json" {
		t.Errorf("the directory holds %s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, error %v: want it readable by its owner alone", info, err)
	}
	_, again := historyfile.Open(path, log)
	if p, _ := again.Expect(shuffle.KeyOf("ann", "load 2024-01-06")); p.Runs != 2 || p.Ratio != 2.5 {
		t.Errorf("after a restart: %+v", p)
	}
	if none, h := historyfile.Open("", log); none != nil || h == nil {
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
			f, h := historyfile.Open(path, log)
			if h.Len() != 0 || strings.Count(said.String(), "[WARN]") != 1 || !strings.Contains(said.String(), path+".bad") {
				t.Errorf("%d jobs, and the log says %s", h.Len(), said)
			}
			oneRun(h, "a1")
			f.Save(h)
			if got := holds(t, filepath.Dir(path)); got != "history.json history.json.bad" {
				t.Errorf("the directory holds %s", got)
			}
			if _, h := historyfile.Open(path, log); h.Len() != 1 {
				t.Error("the new one is not kept")
			}
		})
	}
	t.Run("not to be moved either", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		log, said := logged()
		f, h := historyfile.Open(filepath.Join(file, "history.json"), log)
		if f != nil || h == nil || strings.Count(said.String(), "[ERROR]") != 1 {
			t.Errorf("%+v, and the log says %s", f, said)
		}
		f.Save(h)
	})
}

// A disk that takes nothing is said once, and when it is over.
func TestHistoryNotSaved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	log, said := logged()
	f, h := historyfile.Open(filepath.Join(dir, "history.json"), log)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in the way of the directory
		t.Fatal(err)
	}
	oneRun(h, "a1")
	f.Save(h)
	f.Save(h)
	if n := strings.Count(said.String(), "[WARN]"); n != 1 {
		t.Errorf("said %d times: %s", n, said)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	f.Save(h)
	if got := holds(t, dir); got != "history.json" || strings.Count(said.String(), "saved again") != 1 {
		t.Errorf("the directory holds %s, and the log says %s", got, said)
	}
}

// While a service runs, its history is on disk after a while.
func TestKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, _ := logged()
		path := filepath.Join(t.TempDir(), "history.json")
		f, h := historyfile.Open(path, log)
		oneRun(h, "a1")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.Keep(ctx, time.Minute, func(context.Context) (*shuffle.History, error) { return h, nil })
		}()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if _, err := os.Stat(path); err == nil {
			t.Error("saved before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		stop()
		<-ended
	})
}
