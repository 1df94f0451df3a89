// Package exit maps errors to exit codes.
package exit

import (
	"context"
	"errors"
	"fmt"
)

// Exit codes.
const (
	OK          = 0
	Failed      = 1   // the check or the run failed
	Usage       = 2   // the command line is invalid
	Interrupted = 130 // SIGINT or SIGTERM ended a command before it had a result
)

// UsageError is an invalid command line.
type UsageError struct{ error }

// NewUsageError marks an error as one of the command line.
func NewUsageError(err error) error { return UsageError{err} }

// InterruptedError is the error of a run that a signal ended.
type InterruptedError struct{ where string }

// NewInterruptedError takes the progress of the run, such as "after 3 of 6 runs".
func NewInterruptedError(format string, args ...any) error {
	return InterruptedError{fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e InterruptedError) Error() string { return "interrupted " + e.where }

// Unwrap returns context.Canceled, which Code looks for.
func (InterruptedError) Unwrap() error { return context.Canceled }

// Code returns the exit code for a command's error. signalled is true if a signal
// ended the command's context.
func Code(err error, signalled bool) int {
	var usage UsageError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &usage):
		return Usage
	case signalled && errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Failed
}
