package metrics

import (
	"slices"

	"heddle/core/state/snapshot"
)

// mostGuardedQueues bounds the YARN queues that have series.
const mostGuardedQueues = 100

// putGuard exports whether steering pays, by YARN queue: of so many at most, those first where it is off.
func (s sink) putGuard(queues []snapshot.GuardedQueue) {
	if len(queues) > mostGuardedQueues {
		queues = slices.Clone(queues) // snapshots are shared
		slices.SortStableFunc(queues, func(a, b snapshot.GuardedQueue) int {
			return int(oneIf(b.Off)) - int(oneIf(a.Off))
		})
		queues = queues[:mostGuardedQueues]
	}
	for i := range queues {
		q := &queues[i]
		name := string(q.Queue)
		s.put(guardOff, oneIf(q.Off), name)
		s.put(guardTrips, float64(q.Trips), name)
		if q.Steered > 0 {
			s.put(guardPredicted, q.Predicted, name)
		}
		if q.Chance < 1 {
			s.put(guardMeasured, q.Measured, name)
		}
	}
}
