package workload

import (
	"fmt"
	"slices"
)

// Reason says in a word what is wrong with a record.
type Reason string

// The reasons.
const (
	ReasonSyntax    Reason = "syntax"       // no JSON object, or not UTF-8
	ReasonTooLong   Reason = "too_long"     // a line above MaxLine
	ReasonColumns   Reason = "columns"      // too few or too many columns
	ReasonKey       Reason = "key"          // an unknown or repeated key
	ReasonMissing   Reason = "missing"      // a value that has to be there is not
	ReasonNumber    Reason = "number"       // no integer where one belongs
	ReasonNegative  Reason = "negative"     // a number below zero
	ReasonRange     Reason = "range"        // a number, or a word, outside of what is allowed
	ReasonZeroTasks Reason = "zero_tasks"   // a job without stages or a stage without tasks
	ReasonDuplicate Reason = "duplicate_id" // the id of an earlier job, or the name of an earlier stage
	ReasonOrder     Reason = "order"        // submitted before the job on the line before
	ReasonParent    Reason = "parent"       // a parent that is no earlier job
	ReasonEdge      Reason = "edge"         // an edge that does not lead from an earlier stage
)

// Reasons lists the reasons in a fixed order.
func Reasons() []Reason {
	return []Reason{
		ReasonSyntax, ReasonTooLong, ReasonColumns, ReasonKey, ReasonMissing, ReasonNumber, ReasonNegative,
		ReasonRange, ReasonZeroTasks, ReasonDuplicate, ReasonOrder, ReasonParent, ReasonEdge,
	}
}

// RecordError says what is wrong with a workload, and where.
type RecordError struct {
	File   string // as the caller named it; may be empty
	Line   int    // from 1
	Column int    // byte of the line, from 1
	Reason Reason
	Err    error
}

// Error implements error.
func (e *RecordError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap implements errors' unwrapping.
func (e *RecordError) Unwrap() error { return e.Err }

// Skip says how many records a lenient reader left out for one reason.
type Skip struct {
	Reason Reason `json:"reason"`
	Count  int    `json:"count"`
	Line   int    `json:"first_line"` // of the first of them
}

// skips counts records that were left out.
type skips map[Reason]Skip

func (s skips) add(e *RecordError) {
	one := s[e.Reason]
	if one.Count == 0 {
		one = Skip{Reason: e.Reason, Line: e.Line}
	}
	one.Count++
	s[e.Reason] = one
}

// list returns the counts in the order of Reasons, nil if there are none.
func (s skips) list() []Skip {
	var all []Skip
	for _, r := range Reasons() {
		if one, ok := s[r]; ok {
			all = append(all, one)
		}
	}
	return slices.Clip(all)
}
