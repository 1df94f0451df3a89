package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/shuffle"
)

// saveHistoryEvery is how much of the history a sudden death loses at most.
const saveHistoryEvery = 5 * time.Minute

// historyFile keeps the history of recurring jobs across restarts. The file is
// replaced as a whole by renaming: after a kill at any point it is the old one or
// the new one. A nil historyFile keeps nothing.
type historyFile struct {
	path  string
	log   hclog.Logger
	every time.Duration

	saved  uint64 // the version that is on disk
	failed bool   // the last save failed, and that was said
}

// openHistory reads the history of a file that may not exist yet. A file that
// cannot be read is moved aside, and the history begins empty; where it cannot be
// moved, nothing is kept.
func openHistory(path string, log hclog.Logger) (*historyFile, *shuffle.History) {
	empty := shuffle.NewHistory(shuffle.DefaultHistory)
	if path == "" {
		return nil, empty
	}
	f := &historyFile{path: path, log: log.Named("history"), every: saveHistoryEvery}
	h, err := f.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.log.Info("no history of jobs yet", "file", path)
		return f, empty
	case err == nil:
		f.saved = h.Version()
		f.log.Info("history of jobs read", "file", path, "jobs", h.Len())
		return f, h
	}
	aside := path + ".bad"
	if moved := os.Rename(path, aside); moved != nil {
		f.log.Error("the history of jobs cannot be read nor moved aside; it begins empty and is not kept", "file", path, "error", errors.Join(err, moved))
		return nil, empty
	}
	f.log.Warn("the history of jobs cannot be read; it begins empty", "file", path, "moved to", aside, "error", err)
	return f, empty
}

func (f *historyFile) read() (*shuffle.History, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return shuffle.DecodeHistory(file, shuffle.DefaultHistory)
}

// keep saves the loop's history now and then until ctx ends.
func (f *historyFile) keep(ctx context.Context, l *loop) {
	if f == nil {
		return
	}
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var h *shuffle.History
		if l.ask(ctx, func() { h = l.cluster.History().Clone() }) == nil {
			f.save(h)
		}
	}
}

// save writes a history that is not on disk yet. It says once what is wrong, and
// when it is right again.
func (f *historyFile) save(h *shuffle.History) {
	if f == nil || h.Version() == f.saved {
		return
	}
	err := f.write(h)
	switch {
	case err == nil:
		f.saved = h.Version()
		if f.failed {
			f.log.Info("the history of jobs is saved again", "file", f.path)
		}
	case !f.failed:
		f.log.Warn("the history of jobs is not saved; tried again later", "file", f.path, "error", err)
	}
	f.failed = err != nil
}

func (f *historyFile) write(h *shuffle.History) error {
	var text bytes.Buffer
	if err := h.Encode(&text); err != nil {
		return err
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make its directory: %w", err)
	}
	tmp, err := os.CreateTemp(dir, filepath.Base(f.path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text.Bytes())
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // what is wrong is said already
	}
	return err
}
