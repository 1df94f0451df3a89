package nas

import (
	"math"

	"heddle/core/model"
)

// patience is how long a user may be passed over: D^m or D^r, or the 5 s that
// stand for either on a real cluster (§IV-A).
type patience struct {
	byTime bool
	skips  int
	wait   model.Duration
}

// counter is D_i^m or D_i^r of one user, with the time of the first skip.
type counter struct {
	skips int
	since model.Time
}

// over reports whether the user has been passed over for long enough. A nil
// state has never been.
func (d patience) over(c *counter, now model.Time) bool {
	if !d.byTime {
		return c.skips >= d.skips
	}
	return d.wait <= 0 || (c.skips > 0 && now.Sub(c.since) >= d.wait)
}

// skip passes the user over once. A clock that was set back starts the wait anew.
func (c *counter) skip(now model.Time) {
	if c.skips == 0 || c.since > now {
		c.since = now
	}
	c.skips++
}

func (c *counter) reset() { *c = counter{} }

// LaunchedWithin returns the chance that a user launches a node-local and
// shuffle-qualified map within so many skips: 1 - prod (1 - p q)^D, with one
// chance p q for each of the user's jobs (§III-C, where the text says that what
// is left "decreases exponentially as D^m decreases": it does as D^m increases).
// It tells how large map_skips has to be.
func LaunchedWithin(skips int, chances ...float64) float64 {
	failed := 1.0
	for _, c := range chances {
		failed *= math.Pow(1-c, float64(skips))
	}
	return 1 - failed
}

// LightAmong returns the chance that one of so many users with so many jobs each
// has a shuffle-light one: 1 - (1-f)^(m u), f the fraction of light jobs
// (§III-E). It tells how far CR-RTS has to look.
func LightAmong(users, jobs int, light float64) float64 {
	return 1 - math.Pow(1-light, float64(users*jobs))
}
