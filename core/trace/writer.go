package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"heddle/core/model"
)

// Writer writes a recording. Each line goes out in one Write, whole or, if it
// cannot be encoded, not at all. After an error of the destination nothing
// more is written, because half a line may be there. Not safe for concurrent use.
type Writer struct {
	w      io.Writer
	header Header
	seq    uint64 // of the last record
	broken error  // of the destination
}

// NewWriter starts a recording with its header, in the format of the header, or in Format
// if that is 0.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Format = cmp.Or(h.Format, Format)
	tw := &Writer{w: w, header: h}
	if err := tw.writeHeader(); err != nil {
		return nil, err
	}
	return tw, nil
}

// Resume returns a Writer that goes on after a record of an earlier one. Rotate gives it a
// destination.
func Resume(h Header, seq uint64) *Writer {
	h.Format = cmp.Or(h.Format, Format)
	return &Writer{header: h, seq: seq, broken: errors.New("no destination")}
}

// Append writes one record under the next sequence number, whatever r.Seq is,
// and returns that number. A record that cannot be encoded, or whose line
// would be longer than MaxLine (ErrTooLong), is not written and takes no
// number: the recording stays whole, and the caller may go on.
func (w *Writer) Append(r Record) (uint64, error) {
	if r.Mark != nil && r.Mark.Name == MarkContinues {
		return 0, fmt.Errorf("append: the mark %q is Rotate's to write", MarkContinues)
	}
	return w.append(&r)
}

// Rotate goes on in another destination: its header is that of the recording,
// its first record a MarkContinues at a time the caller gives.
func (w *Writer) Rotate(next io.Writer, at model.Time) error {
	w.w, w.broken = next, nil
	if err := w.writeHeader(); err != nil {
		return err
	}
	_, err := w.append(&Record{At: at, Mark: &Mark{Name: MarkContinues, After: w.seq}})
	return err
}

// Seq returns the number of the last record written, 0 before the first.
func (w *Writer) Seq() uint64 { return w.seq }

func (w *Writer) writeHeader() error {
	data, err := json.Marshal(w.header)
	if err != nil {
		return fmt.Errorf("write header: %w", err)
	}
	return w.writeLine(data)
}

func (w *Writer) append(r *Record) (uint64, error) {
	data, err := encode(r, w.seq+1)
	if err != nil {
		return 0, fmt.Errorf("append %s: %w", r.Kind(), err)
	}
	if err := w.writeLine(data); err != nil {
		return 0, err
	}
	w.seq++
	return w.seq, nil
}

func (w *Writer) writeLine(data []byte) error {
	if w.broken != nil {
		return w.broken
	}
	if len(data) >= MaxLine {
		return fmt.Errorf("write %d bytes: %w, at most %d", len(data)+1, ErrTooLong, MaxLine)
	}
	n, err := w.w.Write(append(data, '\n'))
	if err == nil && n <= len(data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.broken = fmt.Errorf("write recording: %w", err)
	}
	return w.broken
}

func encode(r *Record, seq uint64) ([]byte, error) {
	var body any
	switch r.Kind() {
	case KindObservation:
		body = r.Observation
	case KindDecision:
		if err := checkDecision(r.Decision); err != nil {
			return nil, err
		}
		body = r.Decision
	case KindMark:
		if r.Mark.Name == "" {
			return nil, errors.New("a mark without a name")
		}
		body = r.Mark
	default:
		return nil, errors.New("a record holds one observation, decision or mark")
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(line{Seq: seq, At: &r.At, Kind: r.Kind(), Body: data})
}
