package counterfactual

import (
	"math"
	"slices"

	"heddle/core/lab/sim"
)

// Errors say how far a run with every task where it ran is from what was recorded.
type Errors struct {
	Jobs []JobError `json:"jobs"`
	// Mean and Median are of the completion times: the mean of simulated over that of
	// recorded, less 1, and the median over jobs of the error without its sign.
	Mean   float64 `json:"mean"`
	Median float64 `json:"median_absolute"`
	Worst  float64 `json:"worst_absolute"`
}

// JobError is one job, in seconds from its submission to the end of its last task.
type JobError struct {
	ID        string  `json:"application"`
	Recorded  float64 `json:"recorded_s"`
	Simulated float64 `json:"simulated_s"`
	Error     float64 `json:"error"` // simulated over recorded, less 1
}

// Compare compares a run with what was recorded.
func Compare(rec *Recorded, run *sim.Run) *Errors {
	e := &Errors{}
	var recorded, simulated float64
	var off []float64
	for i, ran := range rec.Ran {
		if i >= len(run.Responses) || run.Responses[i] < 0 || ran.Seconds <= 0 {
			continue
		}
		j := JobError{ID: ran.ID, Recorded: ran.Seconds, Simulated: run.Responses[i]}
		j.Error = j.Simulated/j.Recorded - 1
		e.Jobs = append(e.Jobs, j)
		recorded += j.Recorded
		simulated += j.Simulated
		off = append(off, math.Abs(j.Error))
	}
	if len(off) > 0 {
		slices.Sort(off)
		e.Mean, e.Median, e.Worst = simulated/recorded-1, off[len(off)/2], off[len(off)-1]
	}
	return e
}
