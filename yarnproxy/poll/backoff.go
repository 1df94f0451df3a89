package poll

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Backoff spaces out the attempts at something that fails: each failure in a
// row doubles the delay before the next attempt. Its zero value has no failure
// and is due. It is not safe for concurrent use.
type Backoff struct {
	delays *backoff.ExponentialBackOff // nil without a failure
	next   time.Time                   // the next attempt is due then
}

// Fail records a failed attempt and returns the delay before the next one:
// between half and all of first, which doubles up to longest with each failure
// in a row. The random half keeps what failed together from returning together.
func (b *Backoff) Fail(now time.Time, first, longest time.Duration) time.Duration {
	if b.delays == nil {
		// Three quarters give or take a third of them are half to all.
		b.delays = &backoff.ExponentialBackOff{
			InitialInterval: first * 3 / 4, MaxInterval: max(first, longest) * 3 / 4,
			Multiplier: 2, RandomizationFactor: 1.0 / 3,
		}
	}
	delay := b.delays.NextBackOff()
	b.next = now.Add(delay)
	return delay
}

// Failing reports whether the last attempt failed.
func (b *Backoff) Failing() bool { return b.delays != nil }

// Due reports whether the next attempt may start.
func (b *Backoff) Due(now time.Time) bool { return !now.Before(b.next) }

// Reset forgets all failures, after an attempt that succeeded.
func (b *Backoff) Reset() { *b = Backoff{} }

// PauseUntil forgets all failures and makes the next attempt wait until a time.
func (b *Backoff) PauseUntil(next time.Time) { *b = Backoff{next: next} }
