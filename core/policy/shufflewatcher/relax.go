package shufflewatcher

import (
	"heddle/core/model"
	"heddle/core/state"
)

// accept decides whether a user takes what NASS found, or passes to wait for a
// better offer. A good hit is always taken, any other once the user has been
// passed over for the slack.
//
// The paper runs ShuffleWatcher with delay scheduling's relaxed fairness of 5 s
// (§5.2) and prints no mechanism: this one is heddle's (algorithms.md 2.1.6).
// As in simple delay scheduling a good hit resets the timer and a late hit does
// not, so a user for whom nothing good turns up is not slowed task by task.
func (p *Policy) accept(u *state.User, l line, now model.Time) bool {
	if p.relax <= 0 {
		return true
	}
	if l.good() {
		delete(p.skipped, u.ID)
		return true
	}
	since, ok := p.skipped[u.ID]
	if !ok || since > now { // a clock that was set back starts the wait anew
		p.skipped[u.ID] = now
		return false
	}
	return now.Sub(since) >= p.relax
}
