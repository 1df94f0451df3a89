// Package recording keeps recordings in files: zstd around the codec of
// core/trace, rotated by size, written by one goroutine behind a bounded queue.
//
// A recording is NAME.jsonl.zst, then NAME.1.jsonl.zst and so on, each with a
// header of its own and continuing the one before. A record is in the file within
// a second of being added, even if the process dies then. Records that find no room
// in the queue are counted, and a mark in the recording gives their place and number.
// An existing file is never written to: a restart goes on in a new one.
package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"heddle/core/model"
	"heddle/core/trace"
)

// Suffix ends the name of every recording's first file.
const Suffix = ".jsonl.zst"

// Options say how a recording is written. Zero values mean the defaults.
type Options struct {
	Header     trace.Header
	MaxBytes   int64            // size of a file at which the next one begins; default 256 MiB
	MaxAge     time.Duration    // of a file at which the next one begins; 0 is no limit
	FlushEvery time.Duration    // default 500 ms, at most 1 s
	Queue      int              // records waiting to be written (I6); default 1024
	Now        func() time.Time // default time.Now
	Full       func()           // called for every record that finds no room; nil for nobody
	Failed     func(error)      // called once, when nothing more can be written; nil for nobody
}

// Status is what a Recorder has done so far.
type Status struct {
	Records uint64 // written, marks included
	Dropped uint64 // lost: the queue was full, the record could not be encoded, or the disk failed
	Bytes   int64  // in all files, after compression
	Files   int
	Err     error // the first error other than a full queue
}

// Recorder writes one recording. It is safe for concurrent use. A nil Recorder
// records nothing.
type Recorder struct {
	path   string
	opts   Options
	create func(name string) (file, error)
	queue  chan trace.Record
	done   chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex // guards status, lost and closed
	status Status
	lost   uint64 // dropped since the last loss mark
	closed bool

	// Used only by the goroutine.
	part   *part
	enc    *zstd.Encoder
	writer *trace.Writer
}

// file is what a recorder needs of an *os.File.
type file interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// Create begins a recording at path, which must end in Suffix. It refuses to
// touch an existing recording, even if only a later file of it exists.
func Create(path string, opts Options) (*Recorder, error) {
	return create(path, opts, openNew)
}

func create(path string, opts Options, open func(string) (file, error)) (*Recorder, error) {
	if err := checkName(path); err != nil {
		return nil, err
	}
	if err := refuseExisting(path); err != nil {
		return nil, err
	}
	return start(path, opts, open, nil)
}

func checkName(path string) error {
	if !strings.HasSuffix(path, Suffix) {
		return fmt.Errorf("create recording %s: the name of a recording ends in %s", path, Suffix)
	}
	if stem := strings.TrimSuffix(path, Suffix); isDigits(strings.TrimPrefix(filepath.Ext(stem), ".")) {
		return fmt.Errorf("create recording %s: that is the name of a later file of a recording; leave out the number", path)
	}
	return nil
}

// start begins a recording, or goes on with one.
func start(path string, opts Options, open func(string) (file, error), after *resumed) (*Recorder, error) {
	if opts.FlushEvery > time.Second {
		return nil, fmt.Errorf("create recording %s: flush every %v: at most every second", path, opts.FlushEvery)
	}
	if opts.FlushEvery <= 0 {
		opts.FlushEvery = 500 * time.Millisecond
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 256 << 20
	}
	if opts.Queue <= 0 {
		opts.Queue = 1024
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		return nil, fmt.Errorf("create recording %s: %w", path, err)
	}
	r := &Recorder{
		path: path, opts: opts, create: open, enc: enc,
		queue: make(chan trace.Record, opts.Queue), done: make(chan struct{}),
	}
	if after != nil {
		r.status.Files, r.writer = after.files, trace.Resume(opts.Header, after.seq)
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	if after != nil {
		r.add(trace.Record{At: opts.Header.Start, Mark: &trace.Mark{Name: trace.MarkRestarted, Header: &opts.Header}})
	}
	go r.run()
	return r, nil
}

// openNew creates a file of a recording, and locks it for as long as it is open.
func openNew(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a recording is for others to read; its name is the operator's
	if err != nil {
		return nil, err
	}
	_ = lock(f) // where a file system has no locks, nobody is kept from continuing the recording
	return f, nil
}

// refuseExisting returns an error if the recording's first file exists, or one that
// would be read as its continuation.
func refuseExisting(path string) error {
	stem := strings.TrimSuffix(filepath.Base(path), Suffix)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("create recording %s: %w", path, err)
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), Suffix), stem+".")
		if e.Name() == filepath.Base(path) || ok && strings.HasSuffix(e.Name(), Suffix) && isDigits(number) {
			return fmt.Errorf("create recording %s: %s: %w; a recording is never overwritten, choose another name", path, e.Name(), fs.ErrExist)
		}
	}
	return nil
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// add queues a record and never waits. It reports whether there was room; dropped
// records are counted and marked in the recording. The recorder owns the record.
func (r *Recorder) add(rec trace.Record) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.offerLossMark(rec.At) || !r.offer(rec) {
		r.lost++
		r.status.Dropped++
		return false
	}
	return true
}

// Observation records what was observed.
func (r *Recorder) Observation(o model.Observation) {
	r.record(trace.Record{At: o.At, Observation: &o})
}

// Decision records what was decided.
func (r *Recorder) Decision(d model.Decision) { r.record(trace.Record{At: d.At, Decision: &d}) }

func (r *Recorder) record(rec trace.Record) {
	if r != nil && !r.add(rec) && r.opts.Full != nil {
		r.opts.Full()
	}
}

// offerLossMark queues a mark for the records lost since the last one, if any.
func (r *Recorder) offerLossMark(at model.Time) bool {
	if r.lost > 0 && r.offer(lossMark(at, r.lost, "the queue was full")) {
		r.lost = 0
	}
	return r.lost == 0
}

func (r *Recorder) offer(rec trace.Record) bool {
	select {
	case r.queue <- rec:
		return true
	default:
		return false
	}
}

// Status returns the current status.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Close writes the queued records, syncs the file and ends the recording. It returns
// the recording's first error.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	<-r.done
	return r.Status().Err
}

func (r *Recorder) run() {
	defer close(r.done)
	ticker := time.NewTicker(r.opts.FlushEvery)
	defer ticker.Stop()
	for {
		select {
		case rec, ok := <-r.queue:
			if !ok {
				r.end()
				return
			}
			r.write(rec)
		case <-ticker.C:
			r.flush()
		}
	}
}

// write appends a record. One that cannot be encoded leaves a mark in its
// place; after an error of the disk everything is counted and nothing written.
func (r *Recorder) write(rec trace.Record) {
	if r.part.failed != nil {
		r.drop(nil)
		return
	}
	_, err := r.writer.Append(rec)
	if err != nil {
		r.drop(err)
	}
	if err != nil && r.part.failed == nil {
		_, err = r.writer.Append(lossMark(rec.At, 1, err.Error()))
	}
	if err == nil {
		r.updateStatus()
		r.rotate()
	}
}

func (r *Recorder) rotate() {
	isOld := r.opts.MaxAge > 0 && r.opts.Now().Sub(r.part.began) >= r.opts.MaxAge
	if r.part.size < r.opts.MaxBytes && !isOld {
		return
	}
	err := r.finish()
	if err == nil {
		err = r.begin()
	}
	if err != nil {
		r.fail(err)
	}
}

// begin opens the next file and flushes its header, so that a reader finds a
// recording from then on.
func (r *Recorder) begin() error {
	r.mu.Lock()
	number := r.status.Files
	r.mu.Unlock()
	name := partName(r.path, number)
	f, err := r.create(name)
	if err != nil {
		return fmt.Errorf("create recording %s: %w", name, err)
	}
	r.part = &part{file: f, began: r.opts.Now()}
	r.enc.Reset(r.part)
	if r.writer == nil {
		r.writer, err = trace.NewWriter(r.enc, r.opts.Header)
	} else {
		err = r.writer.Rotate(r.enc, model.Time(r.opts.Now().UnixMilli()))
	}
	if err = errors.Join(err, r.enc.Flush(), r.part.failed); err != nil {
		r.part.closed = true
		_ = errors.Join(f.Close(), os.Remove(name)) // a file without a header is no recording
		return fmt.Errorf("write recording %s: %w", name, err)
	}
	syncDir(filepath.Dir(name))
	r.mu.Lock()
	r.status.Files++
	r.mu.Unlock()
	r.updateStatus()
	return nil
}

// end writes a mark for records lost since the last one, and finishes the file.
func (r *Recorder) end() {
	r.mu.Lock()
	lost := r.lost
	r.mu.Unlock()
	if lost > 0 {
		r.write(lossMark(model.Time(r.opts.Now().UnixMilli()), lost, "the queue was full"))
	}
	if err := r.finish(); err != nil {
		r.fail(err)
	}
}

// finish ends the current file and syncs it.
func (r *Recorder) finish() error {
	if r.part.closed {
		return nil
	}
	r.part.closed = true
	err := errors.Join(r.enc.Close(), r.part.file.Sync(), r.part.file.Close())
	r.updateStatus()
	if err != nil {
		return fmt.Errorf("close recording %s: %w", r.path, err)
	}
	return nil
}

// flush writes the compressor's buffer to the file.
func (r *Recorder) flush() {
	if r.part.failed != nil {
		return
	}
	if err := r.enc.Flush(); err != nil {
		r.fail(fmt.Errorf("write recording %s: %w", r.path, err))
		return
	}
	r.updateStatus()
	r.rotate()
}

// updateStatus brings the status up to date.
func (r *Recorder) updateStatus() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Records = r.writer.Seq()
	r.status.Bytes += r.part.size - r.part.counted
	r.part.counted = r.part.size
}

// drop counts a queued record that could not be written.
func (r *Recorder) drop(err error) {
	r.mu.Lock()
	r.status.Dropped++
	r.mu.Unlock()
	r.note(err)
}

// fail stops all further writing.
func (r *Recorder) fail(err error) {
	r.part.failed = err
	r.note(err)
}

// note keeps the first error, and says it.
func (r *Recorder) note(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	first := r.status.Err == nil
	if first {
		r.status.Err = err
	}
	r.mu.Unlock()
	if first && r.part.failed != nil && r.opts.Failed != nil {
		r.opts.Failed(err)
	}
}

// part is one file of a recording, the destination of the compressor.
type part struct {
	file    file
	began   time.Time
	size    int64 // bytes written
	counted int64 // of which are in Status.Bytes
	failed  error
	closed  bool
}

// Write implements io.Writer.
func (p *part) Write(b []byte) (int, error) {
	if p.failed != nil {
		return 0, p.failed
	}
	n, err := p.file.Write(b)
	p.size += int64(n)
	p.failed = err
	return n, err
}

func lossMark(at model.Time, count uint64, why string) trace.Record {
	return trace.Record{At: at, Mark: &trace.Mark{Name: trace.MarkDropped, Count: count, Text: why}}
}

// partName returns the name of file number n of a recording; 0 is the first.
func partName(path string, n int) string {
	if n == 0 {
		return path
	}
	for _, suffix := range []string{Suffix, ".jsonl"} {
		if stem, ok := strings.CutSuffix(path, suffix); ok {
			return fmt.Sprintf("%s.%d%s", stem, n, suffix)
		}
	}
	return ""
}

// syncDir syncs the name of a new file. Where a file system cannot sync a directory,
// a power cut may lose the name.
func syncDir(dir string) {
	d, err := os.Open(dir) //nolint:gosec // the folder of the operator's own file
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}
