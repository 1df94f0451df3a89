package shufflewatcher

import "heddle/core/model"

// userState is what is kept of one user.
type userState struct {
	prospects prospects
	waits     bool // passed over for want of a good task
	since     model.Time
}

// accept decides whether a user takes what NASS found, or passes to wait for a
// better offer. A good hit is always taken, any other once the user has been
// passed over for the slack.
//
// The paper runs ShuffleWatcher with delay scheduling's relaxed fairness of 5 s
// (§5.2) and prints no mechanism: this one is heddle's (algorithms.md 2.1.6).
// As in simple delay scheduling a good hit resets the timer and a late hit does
// not, so a user for whom nothing good turns up is not slowed task by task.
func (u *userState) accept(good bool, now model.Time, slack model.Duration) bool {
	switch {
	case slack <= 0:
		return true
	case good:
		u.waits = false
		return true
	case !u.waits || u.since > now: // a clock that was set back starts the wait anew
		u.waits, u.since = true, now
		return false
	}
	return now.Sub(u.since) >= slack
}

// waiting reports whether a user takes nothing but a good task.
func (u *userState) waiting(now model.Time, slack model.Duration) bool {
	return slack > 0 && u.waits && u.since <= now && now.Sub(u.since) < slack
}
