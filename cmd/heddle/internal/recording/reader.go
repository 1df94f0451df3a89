package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"heddle/core/trace"
)

// Reader reads a recording with all its files as one.
type Reader struct {
	fsys   fs.FS
	name   string
	number int // of the current file
	file   fs.File
	zip    io.ReadCloser
	trace  *trace.Reader
	seq    uint64 // of the last record returned
	header trace.Header
	whole  continuity
}

// Open opens a recording, compressed or plain, by the name of its first file.
func Open(fsys fs.FS, name string) (*Reader, error) {
	r := &Reader{fsys: fsys, name: name}
	if err := r.open(0); err != nil {
		return nil, err
	}
	r.header = r.trace.Header()
	return r, nil
}

// Header returns the header of the recording's first file.
func (r *Reader) Header() trace.Header { return r.header }

// FileHeader returns the header of the file that is read, which is another one after a
// restart of the service.
func (r *Reader) FileHeader() trace.Header { return r.trace.Header() }

// AllowClockSteps has the reader accept records whose times are not those of a clock that
// runs on. Without it such a record is an error, trace.ErrClock.
func (r *Reader) AllowClockSteps() { r.whole.anyTime = true }

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
// last thing it yields: trace.ErrTruncated where the last file stops short, as
// after a crash.
func (r *Reader) Records() iter.Seq2[trace.Record, error] {
	return func(yield func(trace.Record, error) bool) {
		for r.file != nil {
			if !r.part(yield) {
				return
			}
			if err := r.advance(); err != nil {
				yield(trace.Record{}, err)
				return
			}
		}
	}
}

// part yields the records of the current file, and reports whether to go on after it.
func (r *Reader) part(yield func(trace.Record, error) bool) bool {
	for rec, err := range r.trace.Records() {
		switch {
		case errors.Is(err, trace.ErrTruncated) && r.goesOn():
			return true // what was lost is between the two files
		case err == nil:
			if err = r.whole.check(&rec); err != nil {
				err = r.trace.At(err)
			}
		}
		if err != nil {
			yield(trace.Record{}, fmt.Errorf("read %s: %w", partName(r.name, r.number), err))
			return false
		}
		r.seq = rec.Seq
		if !yield(rec, nil) {
			return false
		}
	}
	return true
}

// goesOn reports whether there is a file after the current one: one that a crash cut was
// continued by a restart.
func (r *Reader) goesOn() bool {
	next := partName(r.name, r.number+1)
	if next == "" {
		return false
	}
	_, err := fs.Stat(r.fsys, next)
	return err == nil
}

// advance opens the file after the current one; without one, it closes.
func (r *Reader) advance() error {
	if err := r.Close(); err != nil {
		return fmt.Errorf("close recording: %w", err)
	}
	if !r.goesOn() {
		return nil
	}
	return r.open(r.number + 1)
}

func (r *Reader) open(number int) error {
	name := partName(r.name, number)
	f, err := r.fsys.Open(name)
	if err != nil {
		return fmt.Errorf("open recording: %w", err)
	}
	zip, err := decompress(f)
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", name, err), f.Close())
	}
	tr, err := trace.NewReader(zip, trace.ReadOptions{After: r.seq})
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", name, err), zip.Close(), f.Close())
	}
	r.number, r.file, r.zip, r.trace = number, f, zip, tr
	h := tr.Header()
	return r.whole.begin(name, &h)
}

// decompress returns the lines of one file of a recording: zstd if the file starts
// with zstd's magic number, plain text otherwise. Closing it does not close src.
func decompress(src io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReader(src)
	magic, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if !bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return io.NopCloser(buffered), nil
	}
	dec, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return unzipped{dec.IOReadCloser()}, nil
}

// maxWindow is how far back in bytes a compressed file may refer, which bounds the memory to
// read it. A recorder's files refer back 1 MiB, those of zstd -19 8 MiB.
const maxWindow = 64 << 20

// unzipped says what to do about a file whose window is too large.
type unzipped struct{ io.ReadCloser }

// Read implements io.Reader.
func (u unzipped) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = fmt.Errorf("%w: heddle reads windows of up to %d MiB; compress it again without --long and --ultra", err, maxWindow>>20)
	}
	return n, err
}

// What a file is, by its first line.
const (
	KindRecording = "recording"
	KindWorkload  = "workload"
)

// Identify returns what a file is, compressed or plain; "" if that is nothing of heddle's.
func Identify(path string) string {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	lines, err := decompress(f)
	if err != nil {
		return ""
	}
	defer lines.Close() //nolint:errcheck // only read
	var header struct {
		Format      *int    `json:"format"`
		Kind        string  `json:"kind"`
		ToolVersion *string `json:"tool_version"`
	}
	err = json.NewDecoder(io.LimitReader(lines, 1<<20)).Decode(&header)
	switch {
	case err != nil || header.Format == nil:
	case header.Kind == KindWorkload:
		return KindWorkload
	case header.ToolVersion != nil:
		return KindRecording
	}
	return ""
}

// Flags that take what is an error otherwise.
const (
	FlagTruncated  = "allow-truncated"
	FlagClockSteps = "allow-clock-steps"
)

// Explain says of a file that is no recording what it is, if that is known, and of a recording
// that a command refuses which of its flags takes it.
func Explain(file string, err error, flags ...string) error {
	switch {
	case errors.Is(err, trace.ErrTruncated) && slices.Contains(flags, FlagTruncated):
		return fmt.Errorf("%w; --%s takes what comes before", err, FlagTruncated)
	case errors.Is(err, trace.ErrClock) && slices.Contains(flags, FlagClockSteps):
		return fmt.Errorf("%w; --%s goes by the recorded times, as the service did", err, FlagClockSteps)
	case errors.Is(err, trace.ErrGarbage) && Identify(file) == KindWorkload:
		return fmt.Errorf("%s is a workload, no recording: heddle simulate --workload %s runs it", file, file)
	}
	return err
}
