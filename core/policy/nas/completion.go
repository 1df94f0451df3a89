package nas

import (
	"math"

	"heddle/core/model"
	"heddle/core/state"
)

// The map completion thresholds of shuffle-heavy and shuffle-light jobs: Hadoop's
// own, and all maps.
const (
	earliest = 0.05
	latest   = 1.0
)

// due reports whether a job's reduces may be scheduled: enough maps are complete
// for Hadoop's ApplicationMaster to ask for them and, with CA-RTS, for the
// slides' threshold.
//
// The slides adapt the map completion threshold to the shuffle size, because a
// reduce that waits for maps holds a container, and give no formula; the paper
// leaves the threshold at Hadoop's (completion=slowstart). This is heddle's
// (algorithms.md 2.3.7): the reduces start when what is left of the map phase is
// as long as the shuffle.
func (q reduceRule) due(v state.View, j *state.Job, predicted *state.Prediction) bool {
	if !j.ReducesDue() {
		return false
	}
	if !q.params.CARTS || q.params.Completion == CompletionSlowstart || j.Map.Total == 0 || j.Map.Completed >= j.Map.Total {
		return true
	}
	return j.Map.Completed >= q.spreadOf(v, j, predicted).due
}

// dueAt returns how many maps have to be complete.
func (q reduceRule) dueAt(v state.View, j *state.Job, predicted *state.Prediction, s *spread) int {
	theta := q.classes.theta(predicted.Shuffle)
	if q.params.Completion == CompletionAdaptive {
		if t, ok := q.overlap(v, j, predicted, s); ok {
			theta = t
		}
	}
	// A product that is a whole number may come out a hair above it.
	return int(math.Ceil(theta*float64(j.Map.Total) - 1e-9))
}

// theta is the threshold by shuffle size alone: 1 for light jobs, 0.05 for heavy
// ones, in between linear in the logarithm of the size.
func (c classes) theta(size model.Bytes) float64 {
	switch {
	case size <= c.light:
		return latest
	case size >= c.heavy:
		return earliest
	}
	at := math.Log(float64(size)/float64(c.light)) / math.Log(float64(c.heavy)/float64(c.light))
	return latest - (latest-earliest)*at
}

// overlap is 1 - T_s/T_m. T_s is how long the shuffle takes on the slowest
// uplink, which carries p (1-p) S in each direction for a share p of the map
// output and of the reduces, at an equal part for each job that shuffles now.
// T_m is how long the map phase takes: the waves of maps by the mean time of a map.
// With k of K maps complete t seconds after the first began, c of them at a time on
// average, that is (K/c) (c t/k). The time before the first map began, when the job
// waited in its queue, is not part of it. It is false before a map is complete, and
// where no uplink's capacity is known.
func (q reduceRule) overlap(v state.View, j *state.Job, predicted *state.Prediction, s *spread) (theta float64, ok bool) {
	elapsed := v.Now().Sub(j.MapsBegan())
	if !s.known || j.Map.Completed == 0 || elapsed <= 0 {
		return 0, false
	}
	mapPhase := elapsed.Seconds() * float64(j.Map.Total) / float64(j.Map.Completed)
	slowest := 0.0
	for i, share := range s.share {
		if share == 0 { // most racks have none
			continue
		}
		if link := q.cluster.link[i]; link > 0 {
			slowest = max(slowest, share*(1-share)/link)
		}
	}
	slowest *= float64(predicted.Shuffle) * float64(max(q.cluster.shuffling, 1))
	return min(max(latest-slowest/mapPhase, earliest), latest), q.cluster.linked
}

// slower returns the lower of two capacities, of those that are known.
func slower(a, b model.BytesPerSecond) model.BytesPerSecond {
	if a <= 0 || b <= 0 {
		return max(a, b)
	}
	return min(a, b)
}
