package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"heddle/core/model"
)

// ReadOptions say how a recording is read.
type ReadOptions struct {
	// After is the seq of the last record of the file that this one continues; 0 is none.
	After uint64
	// MaxLine is the longest line accepted, in bytes; 0 is MaxLine.
	MaxLine int
}

// Reader reads one file of a recording.
type Reader struct {
	src     *bufio.Reader
	opts    ReadOptions
	header  Header
	buf     []byte // the current line
	record  uint64 // number of the current line, 0 is the header
	offset  int64  // of the current line
	next    int64  // of the line after it
	seq     uint64 // of the last record returned
	fast    canonical
	stopped error // why nothing more can be read; errEnd at the end
}

// errEnd is the end of a recording between two lines.
var errEnd = errors.New("end of the recording")

// NewReader reads the header of a recording.
func NewReader(r io.Reader, opts ReadOptions) (*Reader, error) {
	if opts.MaxLine <= 0 {
		opts.MaxLine = MaxLine
	}
	tr := &Reader{src: bufio.NewReaderSize(r, 64<<10), opts: opts, seq: opts.After}
	data, err := tr.readLine()
	if errors.Is(err, errEnd) {
		err = fmt.Errorf("%w: empty", ErrTruncated)
	}
	if err == nil {
		err = tr.decodeHeader(data)
	}
	if err != nil {
		return nil, tr.at(err)
	}
	return tr, nil
}

// Header returns the recording's header.
func (r *Reader) Header() Header { return r.header }

// Records returns the records in order. An error, always a *PositionError, is
// the last thing it yields: ErrTruncated where the recording stops short, as
// after the crash of a recorder. Half a record is never returned. A new
// iteration goes on where the one before was broken off, but never past an error.
func (r *Reader) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r.stopped == nil {
			record, err := r.read()
			switch {
			case err == nil:
				if !yield(record, nil) {
					return
				}
			case errors.Is(err, errEnd):
				r.stopped = errEnd
			default:
				r.stopped = r.at(err)
			}
		}
		if !errors.Is(r.stopped, errEnd) {
			yield(Record{}, r.stopped)
		}
	}
}

// read returns the next record, and errEnd after the last one.
func (r *Reader) read() (Record, error) {
	data, err := r.readLine()
	if err != nil {
		return Record{}, err
	}
	if crowded(data) {
		return Record{}, fmt.Errorf("%w: too many objects for its length", ErrGarbage)
	}
	record, ok := r.fast.record(data)
	if !ok {
		if record, err = decode(data); err != nil {
			return Record{}, err
		}
	}
	if err := r.checkOrder(&record); err != nil {
		return Record{}, err
	}
	r.seq = record.Seq
	return record, nil
}

// readLine returns the next line without its newline, errEnd where the file
// ends between two lines and ErrTruncated where it ends within one. The line
// is valid until the next call.
func (r *Reader) readLine() ([]byte, error) {
	if r.next > 0 {
		r.record++
	}
	r.offset = r.next
	r.buf = r.buf[:0]
	for {
		part, err := r.src.ReadSlice('\n')
		if len(r.buf)+len(part) > r.opts.MaxLine {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.opts.MaxLine)
		}
		r.buf = append(r.buf, part...)
		r.next += int64(len(part))
		switch {
		case err == nil:
			return r.buf[:len(r.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF) && len(r.buf) > 0:
			return nil, fmt.Errorf("%w: ends after %d bytes of the line", ErrTruncated, len(r.buf))
		case errors.Is(err, io.EOF):
			return nil, errEnd
		default:
			return nil, fmt.Errorf("read recording: %w", err)
		}
	}
}

func (r *Reader) decodeHeader(data []byte) error {
	var probe struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return fmt.Errorf("%w: %w", ErrGarbage, err)
	}
	if probe.Format == nil {
		return fmt.Errorf("%w: the first line has no format", ErrGarbage)
	}
	if *probe.Format < 1 || *probe.Format > Format {
		return fmt.Errorf("%w %d: this version reads formats 1 to %d", ErrFormat, *probe.Format, Format)
	}
	return strict(data, &r.header)
}

// checkOrder wants the sequence number that follows, and a MarkContinues where
// a file continues another one and nowhere else.
func (r *Reader) checkOrder(rec *Record) error {
	continues := rec.Mark != nil && rec.Mark.Name == MarkContinues
	first := r.record == 1
	switch {
	case first && continues && (rec.Mark.After != r.opts.After || r.opts.After == 0):
		return fmt.Errorf("%w: the file continues one that ends with record %d, and the last one read was %d",
			ErrGap, rec.Mark.After, r.opts.After)
	case first && !continues && r.opts.After > 0:
		return fmt.Errorf("%w: the file does not say that it continues another, and %d records were read before it",
			ErrGap, r.opts.After)
	case !first && continues:
		return fmt.Errorf("%w: the mark %q within a file", ErrGarbage, MarkContinues)
	case rec.Seq != r.seq+1:
		return fmt.Errorf("%w: %d follows %d", ErrGap, rec.Seq, r.seq)
	}
	return nil
}

// At returns an error about the record that was read last, or about the header before the
// first, with its place: a *PositionError.
func (r *Reader) At(err error) error { return r.at(err) }

func (r *Reader) at(err error) error {
	return &PositionError{Record: r.record, Offset: r.offset, Err: err}
}

// crowded reports whether a long line has so many objects for its length that no Writer
// wrote it: decoded, a line of empty objects takes a hundred times its length.
func crowded(data []byte) bool {
	const long, shortest = 1 << 20, 16 // bytes of a line, and of an object of any record on average
	if len(data) < long || bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("null")) <= len(data)/shortest {
		return false
	}
	objects, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '{' || c == 'n'): // or null in place of one
			objects++
		}
	}
	return objects > len(data)/shortest
}

func decode(data []byte) (Record, error) {
	var l line
	if err := strict(data, &l); err != nil {
		return Record{}, err
	}
	if l.At == nil || len(l.Body) == 0 || bytes.Equal(l.Body, []byte("null")) {
		return Record{}, fmt.Errorf("%w: a record has seq, t_ms, kind and body", ErrGarbage)
	}
	rec := Record{Seq: l.Seq, At: *l.At}
	var err error
	switch l.Kind {
	case KindObservation:
		rec.Observation = new(model.Observation)
		err = json.Unmarshal(l.Body, rec.Observation)
	case KindDecision:
		rec.Decision = new(model.Decision)
		if err = json.Unmarshal(l.Body, rec.Decision); err == nil {
			err = checkDecision(rec.Decision)
		}
	case KindMark:
		rec.Mark = new(Mark)
		if err = json.Unmarshal(l.Body, rec.Mark); err == nil && rec.Mark.Name == "" {
			err = errors.New("a mark without a name")
		}
	default:
		return Record{}, fmt.Errorf("%w %q", ErrKind, l.Kind)
	}
	if err != nil {
		return Record{}, fmt.Errorf("%w: %s: %w", ErrGarbage, l.Kind, err)
	}
	return rec, nil
}

// strict decodes one JSON value that is all of data and has no unknown fields.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrGarbage, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more than one value on the line", ErrGarbage)
	}
	return nil
}
