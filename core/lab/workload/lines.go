package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the length in bytes of the longest line a reader takes. It leaves
// room for a graph of some 20,000 stages.
const MaxLine = 4 << 20

// lines reads a file line by line and remembers where it is.
type lines struct {
	src    *bufio.Reader
	file   string
	number int // of the line returned last, from 1
	buf    []byte
}

func newLines(r io.Reader, file string) *lines {
	return &lines{src: bufio.NewReaderSize(r, 64<<10), file: file}
}

// next returns the next line that is not empty, without its end, valid until
// the next call; io.EOF after the last. A line that is too long is read to its
// end and reported as a *RecordError: the next call goes on behind it.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

func (l *lines) read() ([]byte, error) {
	l.buf = l.buf[:0]
	length := 0
	for {
		part, err := l.src.ReadSlice('\n')
		length += len(part)
		if length <= MaxLine {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil:
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read %s after line %d: %w", l.name(), l.number, err)
		case length == 0:
			return nil, io.EOF
		}
		l.number++
		if length > MaxLine {
			return nil, l.fail(1, ReasonTooLong, "%d bytes, more than %d", length, MaxLine)
		}
		return bytes.TrimRight(l.buf, "\r\n"), nil
	}
}

// fail makes an error at a column of the current line.
func (l *lines) fail(column int, reason Reason, format string, args ...any) *RecordError {
	return &RecordError{File: l.file, Line: l.number, Column: column, Reason: reason, Err: fmt.Errorf(format, args...)}
}

func (l *lines) name() string {
	if l.file == "" {
		return "the workload"
	}
	return l.file
}

// collect reads the rest of the lines, each with one job, into a workload. A
// lenient reader leaves out the jobs that are wrong and counts them; the
// children of a job that was left out are left out with it.
func (l *lines) collect(w *Workload, lenient bool, job func(line []byte, c *checker) (Job, error)) error {
	c := newChecker()
	skipped := skips{}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var j Job
		if err == nil {
			j, err = job(line, c)
		}
		var wrong *RecordError
		switch {
		case err == nil:
			w.Jobs = append(w.Jobs, j)
			c.add(&j)
		case lenient && errors.As(err, &wrong):
			skipped.add(wrong)
		default:
			return err
		}
	}
	w.Skipped = skipped.list()
	return nil
}
