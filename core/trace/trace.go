// Package trace is the codec of recordings: JSON lines, a header and then one
// record a line, over io.Reader and io.Writer. It opens no file, compresses
// nothing and reads no clock; what a cluster said and what was decided on it
// can be read back by any tool that reads JSON.
//
// The first line is a Header. Every further line is a Record:
//
//	{"seq":1,"t_ms":1763683200000,"kind":"observation","body":{…}}
//
// Sequence numbers start at 1 and have no gaps, also from one file of a
// rotated recording to the next: a file that continues another one starts with
// a MarkContinues that says after which record.
//
// A Reader never guesses. A gap, an unknown format or kind, a line that is too
// long, that is no record, or that stops short is a *PositionError with the
// number of the record and its byte offset; errors.Is tells them apart by the
// Err values of this package. Fields of a body that the reader does not know
// are ignored, so that a body may grow without a new format; fields it does
// not know elsewhere are refused.
package trace

import (
	"encoding/json"
	"errors"
	"fmt"

	"heddle/core/model"
)

// Format is the number of the format this package writes. It reads format 1 too, which
// lacks settings, and observations of when the service sampled and planned.
const Format = 2

// MaxLine is the length in bytes of the longest line a Writer writes, newline
// included, and the default limit of a Reader. It leaves room for the blocks
// of some 200,000 files of HDFS in one observation.
const MaxLine = 64 << 20

// What can be wrong with a recording.
var (
	ErrFormat    = errors.New("unknown format")
	ErrKind      = errors.New("unknown kind")
	ErrGap       = errors.New("gap in seq")
	ErrTruncated = errors.New("truncated")
	ErrTooLong   = errors.New("line too long")
	ErrGarbage   = errors.New("not a recording")
	ErrMixed     = errors.New("of another recording") // found by whoever reads several files as one
	ErrClock     = errors.New("clock step")           // found by whoever relies on times
)

// PositionError says where in a recording a reader had to stop. Nothing after
// that place was used.
type PositionError struct {
	Record uint64 // 0 is the header, 1 the first record of the file
	Offset int64  // bytes before the line, after decompression
	Err    error
}

// Error implements error.
func (e *PositionError) Error() string {
	if e.Record == 0 {
		return fmt.Sprintf("header at byte %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("record %d at byte %d: %v", e.Record, e.Offset, e.Err)
}

// Unwrap implements errors' unwrapping.
func (e *PositionError) Unwrap() error { return e.Err }

// Header is the first line of a recording: what has to be known to read it,
// and to run it again.
type Header struct {
	Format        int             `json:"format"` // 0 lets the Writer take its own
	ToolVersion   string          `json:"tool_version"`
	ConfigHash    string          `json:"config_hash"`
	Policy        string          `json:"policy"`
	Params        json.RawMessage `json:"params,omitempty"` // of the policy
	Seed          uint64          `json:"seed"`
	Start         model.Time      `json:"start_ms"`
	Pseudonymized bool            `json:"pseudonymized"`
	Settings      json.RawMessage `json:"settings,omitempty"` // of the service: what a replay needs to take the same decisions
	// Topology holds the hosts of each rack as they were known at the start.
	Topology map[model.RackID][]string `json:"topology,omitempty"`
}

// Kind says what a record holds.
type Kind string

// The kinds of records.
const (
	KindObservation Kind = "observation"
	KindDecision    Kind = "decision"
	KindMark        Kind = "mark"
)

// Record is one line after the header. Exactly one of Observation, Decision
// and Mark is set.
type Record struct {
	Seq         uint64     // assigned by the Writer
	At          model.Time // when it was recorded; never used for order, which is that of Seq
	Observation *model.Observation
	Decision    *model.Decision
	Mark        *Mark
}

// Mark is a remark on the recording itself.
type Mark struct {
	Name  string `json:"mark"`            // MarkDropped, MarkContinues or the caller's own
	Count uint64 `json:"count,omitempty"` // of MarkDropped: records that were lost here
	After uint64 `json:"after,omitempty"` // of MarkContinues: seq of the last record of the file before
	Text  string `json:"text,omitempty"`
	// Header is of MarkRestarted: that of the service from here on.
	Header *Header `json:"header,omitempty"`
}

// Names of marks with a meaning of their own.
const (
	MarkDropped   = "dropped"   // the recorder could not keep up and lost Count records before this one
	MarkContinues = "continues" // first record of a file that continues another
	MarkRestarted = "restarted" // another service records from here on, which knew nothing of what came before
)

// Kind returns what the record holds, "" if that is nothing or not one thing.
func (r *Record) Kind() Kind {
	switch {
	case r.Observation != nil && r.Decision == nil && r.Mark == nil:
		return KindObservation
	case r.Decision != nil && r.Observation == nil && r.Mark == nil:
		return KindDecision
	case r.Mark != nil && r.Observation == nil && r.Decision == nil:
		return KindMark
	}
	return ""
}

// line is the form of a record in a file. The pointer tells a time that is
// missing from the time 0.
type line struct {
	Seq  uint64          `json:"seq"`
	At   *model.Time     `json:"t_ms"`
	Kind Kind            `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// checkDecision wants what the engine makes: one placement or one plan.
func checkDecision(d *model.Decision) error {
	if (d.Placement == nil) == (d.Plan == nil) {
		return errors.New("a decision holds one placement or one plan")
	}
	return nil
}
