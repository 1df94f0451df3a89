package shufflewatcher

import (
	"heddle/core/model"
	"heddle/core/state"
)

// window walks over a user's jobs by arrival and tells where one starvation
// window ends and the next begins (§3.4: "a user's jobs submitted in an earlier
// window are prioritized over those submitted in a later one").
//
// The paper's next sentence, "the window width acts like a time-out interval",
// reads differently; both readings are here (algorithms.md 2.1.5):
//   - strict: windows lie side by side, counted from the first submission;
//   - timeout: a job older than the width is a window of its own, so that the
//     oldest overdue job goes first, and all younger jobs are one window.
type window struct {
	width  model.Duration // 0 is no window: all jobs are in one
	mode   WindowMode
	now    model.Time
	origin model.Time
	last   *state.Job
}

func (p *Policy) windows(v state.View) window {
	return window{width: p.window, mode: p.params.WindowMode, now: v.Now(), origin: v.FirstSubmit()}
}

// next takes the next job by arrival and reports whether it opens a window
// after that of the job before.
func (w *window) next(j *state.Job) bool {
	before := w.last
	w.last = j
	if w.width <= 0 || before == nil {
		return false
	}
	if w.mode == WindowTimeout {
		return w.overdue(before)
	}
	return w.number(j) != w.number(before)
}

// number counts the strict windows from the first submission on.
func (w *window) number(j *state.Job) int64 {
	return int64(max(j.Submitted.Sub(w.origin), 0) / w.width)
}

// overdue reports whether a job has been waiting longer than the width.
func (w *window) overdue(j *state.Job) bool {
	return w.now.Sub(j.Submitted) > w.width
}
