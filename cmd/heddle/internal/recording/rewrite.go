package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"heddle/core/model"
	"heddle/core/trace"
)

// Copy writes a recording made of another one, record by record and file by file. Its files
// have other names until Commit: a copy that is not finished leaves nothing behind.
type Copy struct {
	path   string
	files  []*os.File // with names that end in unfinished
	enc    *zstd.Encoder
	writer *trace.Writer
}

// unfinished ends the names of files until the copy is whole.
const unfinished = ".tmp"

// NewCopy begins a copy at path, which must end in Suffix. It refuses to touch an existing
// recording.
func NewCopy(path string) (*Copy, error) {
	if err := checkName(path); err != nil {
		return nil, err
	}
	if err := refuseExisting(path); err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, fmt.Errorf("create recording %s: %w", path, err)
	}
	return &Copy{path: path, enc: enc}, nil
}

// Begin begins the copy's next file with a header. A file that is not the first begins with
// a mark at a time, as that of the recording does.
func (c *Copy) Begin(h trace.Header, at model.Time) error {
	if err := c.end(); err != nil {
		return err
	}
	name := partName(c.path, len(c.files)) + unfinished
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a recording is for others to read; its name is the operator's
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: another heddle writes it, or one was killed and it can be removed", err)
	}
	if err != nil {
		return fmt.Errorf("create recording %s: %w", c.path, err)
	}
	c.files = append(c.files, f)
	c.enc.Reset(f)
	if c.writer == nil {
		c.writer, err = trace.NewWriter(c.enc, h)
		return err
	}
	c.writer = trace.Resume(h, c.writer.Seq())
	return c.writer.Rotate(c.enc, at)
}

// Append writes a record.
func (c *Copy) Append(r trace.Record) error {
	_, err := c.writer.Append(r)
	return err
}

// end ends the current file.
func (c *Copy) end() error {
	if len(c.files) == 0 {
		return nil
	}
	f := c.files[len(c.files)-1]
	if err := errors.Join(c.enc.Close(), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write recording %s: %w", f.Name(), err)
	}
	return nil
}

// Commit ends the copy and gives its files their names, the first one last.
func (c *Copy) Commit() error {
	err := c.end()
	if err == nil {
		err = refuseExisting(c.path)
	}
	var named []string
	for i := len(c.files) - 1; i >= 0 && err == nil; i-- {
		name := partName(c.path, i)
		if err = os.Rename(c.files[i].Name(), name); err == nil {
			named = append(named, name)
		}
	}
	if err != nil {
		for _, name := range named {
			err = errors.Join(err, os.Remove(name))
		}
		c.files = slices.Delete(c.files, len(c.files)-len(named), len(c.files))
		return errors.Join(err, c.Discard())
	}
	syncDir(filepath.Dir(c.path))
	return nil
}

// Discard ends the copy and removes its files.
func (c *Copy) Discard() error {
	var err error
	for _, f := range c.files {
		_ = f.Close() // closed already, unless it is the last
		err = errors.Join(err, os.Remove(f.Name()))
	}
	c.files = nil
	return err
}
