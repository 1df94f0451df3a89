package policy

import (
	"fmt"

	"heddle/core/model"
	"heddle/core/state"
)

// WindowMode is one of the two readings of the starvation window.
type WindowMode string

// The two readings (algorithms.md 2.1.5).
const (
	WindowStrict  WindowMode = "strict"  // every earlier window goes before every later one
	WindowTimeout WindowMode = "timeout" // only jobs older than the window go first
)

// Validate reports a mode that is none of the two.
func (m WindowMode) Validate() error {
	if m != WindowStrict && m != WindowTimeout {
		return fmt.Errorf("window_mode: want %s or %s, is %q", WindowStrict, WindowTimeout, m)
	}
	return nil
}

// Window walks over a user's jobs by arrival and reports where one starvation
// window ends and the next begins (ShuffleWatcher §3.4: "a user's jobs submitted
// in an earlier window are prioritized over those submitted in a later one").
//
// The paper's next sentence, "the window width acts like a time-out interval",
// reads differently; both readings are here:
//   - strict: windows lie side by side, counted from the first submission;
//   - timeout: a job older than the width is a window of its own, so that the
//     oldest overdue job goes first, and all younger jobs are one window.
type Window struct {
	width  model.Duration // 0 is no window: all jobs are in one
	mode   WindowMode
	now    model.Time
	origin model.Time
	last   *state.Job
}

// Windows returns the windows of a width at the view's time.
func Windows(v state.View, width model.Duration, mode WindowMode) Window {
	return Window{width: width, mode: mode, now: v.Now(), origin: v.FirstSubmit()}
}

// Next takes the next job by arrival and reports whether it opens a window
// after that of the job before.
func (w *Window) Next(j *state.Job) bool {
	before := w.last
	w.last = j
	if w.width <= 0 || before == nil {
		return false
	}
	if w.mode == WindowTimeout {
		return w.Overdue(before.Submitted)
	}
	return w.Number(before.Submitted) != w.Number(j.Submitted)
}

// Number counts the strict windows from the first submission on; all jobs are
// in window 0 where there are no strict windows.
func (w *Window) Number(submitted model.Time) int64 {
	if w.width <= 0 || w.mode != WindowStrict {
		return 0
	}
	return int64(max(submitted.Sub(w.origin), 0) / w.width)
}

// Overdue reports whether a job has been waiting longer than the width, where
// that makes it go first.
func (w *Window) Overdue(submitted model.Time) bool {
	return w.width > 0 && w.mode == WindowTimeout && w.now.Sub(submitted) > w.width
}

// Same reports whether two jobs, the earlier first, are in one window.
func (w *Window) Same(earlier, later *state.Job) bool {
	return w.Number(earlier.Submitted) == w.Number(later.Submitted) && (earlier == later || !w.Overdue(earlier.Submitted))
}

// Equal reports whether no job is in another window of o than of w. Where time alone
// moves jobs into other windows, none are equal.
func (w Window) Equal(o *Window) bool {
	return w.width == o.width && w.mode == o.mode && (w.width <= 0 || (w.mode == WindowStrict && w.origin == o.origin))
}
