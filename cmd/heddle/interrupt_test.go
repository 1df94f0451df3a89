package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/exit"
)

// endless writes a recording that has no end into a pipe, until nobody reads it any more. A
// slow one brings a record now and then.
func endless(t *testing.T, slow bool) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "in.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return // the folder of the test is gone
		}
		defer pipe.Close()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		writeRecords(pipe, func(int) bool {
			if !slow {
				return true
			}
			select {
			case <-done:
				return false
			case <-tick.C:
				return true
			}
		})
	}()
	return path
}

// long returns a recording that takes some time to read.
func long(t *testing.T, _ bool) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "in.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	defer out.Flush()
	writeRecords(out, func(n int) bool { return n < 300_000 })
	return path
}

// writeRecords writes a recording for as long as there is more, or the writer takes it.
func writeRecords(w io.Writer, more func(n int) bool) {
	_, err := fmt.Fprintln(w, `{"format":2,"tool_version":"","config_hash":"","policy":"fifo","seed":1,"start_ms":1,"pseudonymized":false,"settings":{}}`)
	for seq := 1; err == nil && more(seq); seq++ {
		_, err = fmt.Fprintf(w, `{"seq":%d,"t_ms":%d,"kind":"observation","body":{"source":"rm","at_ms":%d,"fact":"apps","body":{"apps":[]}}}`+"\n", seq, seq, seq)
	}
}

// files returns the names in a folder, none if there is no such folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestInterrupted ends commands that write files while they run: they end at once, with 130,
// and leave no file.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		of    func(t *testing.T, slow bool) string // makes the recording
		slow  bool
		args  []string // before the recording; OUT is a folder
		until string   // there is this file in OUT
	}{
		{"replay, slow", endless, true, []string{"replay", "--policies", "fifo,nas", "--report", "OUT"}, "applications.jsonl.tmp"},
		{"replay", endless, false, []string{"replay", "--policies", "fifo", "--report", "OUT"}, "applications.jsonl.tmp"},
		{"pseudonymize, names", endless, false, []string{"pseudonymize", "--out", "OUT/o.jsonl.zst"}, ""},
		{"pseudonymize, copy", long, false, []string{"pseudonymize", "--out", "OUT/o.jsonl.zst"}, "o.jsonl.zst.tmp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			var args []string
			for _, a := range tt.args {
				args = append(args, strings.Replace(a, "OUT", out, 1))
			}
			p := spawn(t, append(args, tt.of(t, tt.slow))...)
			eventually(t, "it reads", func() error {
				names := files(t, out)
				if strings.Contains(strings.Join(names, " "), tt.until) {
					return nil
				}
				return fmt.Errorf("%v: %s", names, p.log)
			})
			pause := time.NewTimer(200 * time.Millisecond)
			defer pause.Stop()
			select {
			case <-p.ended:
				t.Fatal("it ended by itself")
			case <-pause.C:
			}
			at := time.Now()
			p.signal(os.Interrupt)
			p.ends(exit.Interrupted)
			if took := time.Since(at); took > 5*time.Second { // a second, on a machine that is not busy
				t.Errorf("it took %v", took)
			}
			if !strings.Contains(p.log.String(), "interrupted after") {
				t.Errorf("it says %s", p.log)
			}
			if left := files(t, out); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
