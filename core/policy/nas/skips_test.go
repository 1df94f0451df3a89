package nas

import "math"

// launchedWithin returns the chance that a user launches a node-local and
// shuffle-qualified map within so many skips: 1 - prod (1 - p q)^D, with one
// chance p q for each of the user's jobs (§III-C, where the text says that what
// is left "decreases exponentially as D^m decreases": it does as D^m increases).
// It tells how large map_skips has to be.
func launchedWithin(skips int, chances ...float64) float64 {
	failed := 1.0
	for _, c := range chances {
		failed *= math.Pow(1-c, float64(skips))
	}
	return 1 - failed
}

// lightAmong returns the chance that one of so many users with so many jobs each
// has a shuffle-light one: 1 - (1-f)^(m u), f the fraction of light jobs
// (§III-E). It tells how far CR-RTS has to look.
func lightAmong(users, jobs int, light float64) float64 {
	return 1 - math.Pow(1-light, float64(users*jobs))
}
