package recording

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"heddle/core/trace"
)

// Reader reads a recording with all its files as one.
type Reader struct {
	path      string
	allow     bool
	number    int // of the current file
	file      *os.File
	zip       io.ReadCloser
	trace     *trace.Reader
	header    trace.Header
	read      atomic.Int64
	total     int64
	truncated bool
}

// Open opens a recording, compressed or plain, by the name of its first file.
// With allowTruncated its last file may stop short, as after a crash.
func Open(path string, allowTruncated bool) (*Reader, error) {
	r := &Reader{path: path, allow: allowTruncated}
	for n := 0; ; n++ {
		info, err := os.Stat(partName(path, n))
		if err != nil {
			if n == 0 {
				return nil, fmt.Errorf("open recording: %w", err)
			}
			break
		}
		r.total += info.Size()
	}
	if err := r.open(0); err != nil {
		return nil, err
	}
	r.header = r.trace.Header()
	return r, nil
}

// Header returns the header of the recording's first file.
func (r *Reader) Header() trace.Header { return r.header }

// Truncated reports whether the recording stopped short; it is known once the
// iteration has ended.
func (r *Reader) Truncated() bool { return r.truncated }

// Progress returns how many bytes of the files have been read, and how many
// there were when the recording was opened. It may be called at any time.
func (r *Reader) Progress() (read, total int64) { return r.read.Load(), r.total }

// Close closes the file being read.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.zip.Close(), r.file.Close())
	r.file = nil
	return err
}

// Records returns the records of all files in order. An error, which names the
// file and holds a *trace.PositionError where the content is at fault, is the
// last thing it yields.
func (r *Reader) Records() iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		for r.file != nil {
			for rec, err := range r.trace.Records() {
				if err != nil {
					err = fmt.Errorf("read %s: %w", partName(r.path, r.number), err)
				}
				if !yield(rec, err) || err != nil {
					return
				}
			}
			if err := r.advance(); err != nil {
				yield(trace.Record{}, err)
				return
			}
		}
	}
}

// advance opens the file after the current one; without one, it closes.
func (r *Reader) advance() error {
	r.truncated = r.trace.Truncated()
	if err := r.Close(); err != nil {
		return fmt.Errorf("close recording: %w", err)
	}
	if !exists(partName(r.path, r.number+1)) {
		return nil
	}
	err := r.open(r.number + 1)
	if r.allow && errors.Is(err, trace.ErrTruncated) && !exists(partName(r.path, r.number+2)) {
		r.truncated = true // the crash came before the new file had its header
		return nil
	}
	return err
}

func (r *Reader) open(number int) error {
	name := partName(r.path, number)
	f, err := os.Open(name) //nolint:gosec // the operator names the recording
	if err != nil {
		return fmt.Errorf("open recording: %w", err)
	}
	zip, err := Decompress(&counter{f, &r.read})
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", name, err), f.Close())
	}
	opts := trace.ReadOptions{AllowTruncated: r.allow && !exists(partName(r.path, number+1))}
	if r.trace != nil {
		opts.After = r.trace.Seq()
	}
	tr, err := trace.NewReader(zip, opts)
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", name, err), zip.Close(), f.Close())
	}
	r.number, r.file, r.zip, r.trace = number, f, zip, tr
	return nil
}

// Decompress returns the lines of one file of a recording, which it takes for
// zstd if it starts like zstd, and for plain text otherwise. Closing it does
// not close src.
func Decompress(src io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(src)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if !bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return io.NopCloser(buffered), nil
	}
	dec, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return dec.IOReadCloser(), nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return name != "" && !errors.Is(err, fs.ErrNotExist)
}

// counter counts what is read.
type counter struct {
	io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
