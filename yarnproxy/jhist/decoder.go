package jhist

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hamba/avro/v2"
)

// The first lines of history files, which say how events are written.
const (
	formatJSON   = "Avro-Json"
	formatBinary = "Avro-Binary"
)

const (
	maxHeader = 4 << 20  // bytes of the first line and of the schema; Hadoop's schema has 14 KB
	maxEvent  = 64 << 20 // bytes of one event
)

// ErrNotHistory says that a file is no history file.
var ErrNotHistory = errors.New("not a job history file: its first line is neither " + formatJSON + " nor " + formatBinary)

// SyntaxError says where a history file cannot be read.
type SyntaxError struct {
	Event  int   // number of the event, from 1; 0 is the header
	Offset int64 // bytes before it, from the start of the file
	Err    error
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.Event == 0 {
		return fmt.Sprintf("header: %v", e.Err)
	}
	return fmt.Sprintf("event %d, at byte %d: %v", e.Event, e.Offset, e.Err)
}

// Unwrap implements errors' unwrapping.
func (e *SyntaxError) Unwrap() error { return e.Err }

// record is one event: the name of its record without the namespace, and its fields,
// which hold strings, numbers as int64 or json.Number, lists and further maps. A union
// with null is the value alone, or nil.
type record struct {
	name   string
	fields map[string]any
}

// decoder reads the events of one file.
type decoder struct {
	in     *input
	event  int
	schema avro.Schema // nil for JSON
}

// input counts what is read and bounds what one event takes.
type input struct {
	src    *bufio.Reader
	offset int64
	left   int64 // until the limit of the current event
}

// errEventTooLong says that an event is longer than any that Hadoop writes.
var errEventTooLong = fmt.Errorf("the event has more than %d MiB", maxEvent>>20)

// ReadByte implements io.ByteReader.
func (in *input) ReadByte() (byte, error) {
	if in.left <= 0 {
		return 0, errEventTooLong
	}
	b, err := in.src.ReadByte()
	if err == nil {
		in.offset++
		in.left--
	}
	return b, err
}

// full reads len(p) bytes.
func (in *input) full(p []byte) error {
	if int64(len(p)) > in.left {
		return errEventTooLong
	}
	n, err := io.ReadFull(in.src, p)
	in.offset += int64(n)
	in.left -= int64(n)
	return err
}

// line reads a line without its end; io.EOF without a byte at the end of the file.
func (in *input) line(buf []byte) ([]byte, error) {
	for {
		part, err := in.src.ReadSlice('\n')
		in.offset += int64(len(part))
		in.left -= int64(len(part))
		if in.left < 0 {
			return nil, errEventTooLong
		}
		buf = append(buf, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(buf) > 0:
			return buf, nil
		case err != nil:
			return nil, err
		default:
			return bytes.TrimRight(buf, "\r\n"), nil
		}
	}
}

// newDecoder reads the header of a history file.
func newDecoder(r io.Reader) (*decoder, error) {
	d := &decoder{in: &input{src: bufio.NewReaderSize(r, 64<<10), left: maxHeader}}
	start, err := d.in.src.Peek(len(formatBinary))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &SyntaxError{Err: err}
	}
	if !strings.HasPrefix(string(start), formatJSON) && string(start) != formatBinary {
		return nil, ErrNotHistory
	}
	format, err := d.in.line(nil)
	if err != nil {
		return nil, d.fail(err)
	}
	text, err := d.in.line(nil)
	if err != nil {
		return nil, d.fail(fmt.Errorf("no schema on line 2: %w", unexpected(err)))
	}
	switch string(format) {
	case formatJSON: // its events name their types themselves
		return d, nil
	case formatBinary:
	default:
		return nil, ErrNotHistory
	}
	if d.schema, err = parseSchema(text); err != nil {
		return nil, d.fail(fmt.Errorf("the schema on line 2: %w", err))
	}
	return d, nil
}

// parseSchema reads a schema. Files of different versions name different schemas alike,
// so that each is read apart from all others.
func parseSchema(text []byte) (s avro.Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be read: %v", r)
		}
	}()
	if !json.Valid(text) {
		return nil, errors.New("is not JSON")
	}
	s, err = avro.ParseBytesWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, err
	}
	r, ok := s.(*avro.RecordSchema)
	if !ok {
		return nil, fmt.Errorf("is of type %s; want the record Event", s.Type())
	}
	for _, f := range r.Fields() {
		if u, ok := f.Type().(*avro.UnionSchema); ok && f.Name() == "event" && u != nil {
			return s, nil
		}
	}
	return nil, errors.New("its record has no union called event")
}

// next returns the next event, io.EOF after the last.
func (d *decoder) next() (record, error) {
	d.in.left = maxEvent
	if d.schema != nil {
		return d.nextBinary()
	}
	return d.nextJSON()
}

func (d *decoder) nextJSON() (record, error) {
	var buf []byte
	for {
		at := d.in.offset
		line, err := d.in.line(buf)
		if errors.Is(err, io.EOF) {
			return record{}, io.EOF
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			buf = line[:0]
			continue
		}
		d.event++
		if err != nil {
			return record{}, &SyntaxError{d.event, at, err}
		}
		r, err := recordOfLine(line)
		if err != nil {
			return record{}, &SyntaxError{d.event, at, err}
		}
		return r, nil
	}
}

// recordOfLine decodes an event in Avro's JSON.
func recordOfLine(line []byte) (record, error) {
	var e struct {
		Event map[string]map[string]any `json:"event"`
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&e); err != nil {
		return record{}, unexpected(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return record{}, errors.New("there is more on the line than one event")
	}
	if len(e.Event) != 1 {
		return record{}, fmt.Errorf("its union \"event\" has %d records; want one", len(e.Event))
	}
	for name, fields := range e.Event { // order-free: there is one
		return record{shortName(name), fields}, nil
	}
	return record{}, nil
}

func (d *decoder) nextBinary() (record, error) {
	if _, err := d.in.src.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			return record{}, io.EOF
		}
		return record{}, d.fail(err)
	}
	d.event++
	at := d.in.offset
	b := binaryEvent{in: d.in}
	v, err := b.value(d.schema, 0)
	if err != nil {
		return record{}, &SyntaxError{d.event, at, unexpected(err)}
	}
	fields, _ := v.(map[string]any)
	u, _ := fields["event"].(map[string]any)
	body, _ := u[unionValue].(map[string]any)
	name, _ := u[unionName].(string)
	return record{shortName(name), body}, nil
}

func (d *decoder) fail(err error) error { return &SyntaxError{d.event, d.in.offset, err} }

// unexpected makes an end of the file within an event an error of its own.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

// errCut says that the file stops within an event.
var errCut = fmt.Errorf("the file stops within it: the job still runs, or the file was cut: %w", io.ErrUnexpectedEOF)

// shortName returns the name of a record without its namespace.
func shortName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
