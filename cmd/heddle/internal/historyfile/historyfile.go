// Package historyfile keeps the history of recurring jobs in a file across restarts.
package historyfile

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

// SaveEvery bounds the part of the history that a crash loses.
const SaveEvery = 5 * time.Minute

// File is a history on disk. It is replaced as a whole by renaming: after a kill at
// any point it is the old one or the new one. A nil File saves nothing.
type File struct {
	path string
	log  hclog.Logger

	saved  uint64 // the version that is on disk
	failed bool   // the last save failed, and that was logged
}

// Open reads the history from a file that may not exist yet. An unreadable file is
// renamed, and the history begins empty. If renaming fails too, Open returns a nil File.
func Open(path string, log hclog.Logger) (*File, *shuffle.History) {
	empty := shuffle.NewHistory(shuffle.DefaultHistory)
	if path == "" {
		return nil, empty
	}
	f := &File{path: path, log: log.Named("history")}
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

func (f *File) read() (*shuffle.History, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return shuffle.DecodeHistory(file, shuffle.DefaultHistory)
}

// Keep saves the current history every so often until ctx ends.
func (f *File) Keep(ctx context.Context, every time.Duration, current func(context.Context) (*shuffle.History, error)) {
	if f == nil {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if h, err := current(ctx); err == nil { // an error is ctx's end
			f.Save(h)
		}
	}
}

// Save writes a history that is not on disk yet. It logs a failure once, and when
// saving succeeds again.
func (f *File) Save(h *shuffle.History) {
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

func (f *File) write(h *shuffle.History) error {
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
		_ = os.Remove(tmp.Name()) // the first error is the one to report
	}
	return err
}
