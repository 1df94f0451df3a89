package shuffle

import "heddle/core/model"

// Estimate is NAS's shuffle size predictor for one job: what its completed maps
// have put out, against what they read (NAS §III-A; algorithms.md 2.3.1). The
// zero value has seen none.
type Estimate struct {
	ratios  float64     // sum of output/input over the maps with input
	read    int         // maps with input
	outputs model.Bytes // sum over the maps without input
	empty   int         // maps without input
}

// Add takes in a completed map, or takes it out again with sign -1. Bytes below
// zero are not known, and leave the map out.
func (e *Estimate) Add(input, output model.Bytes, sign int) {
	switch {
	case input < 0 || output < 0:
	case input == 0: // the ratio is undefined
		e.outputs += model.Bytes(sign) * output
		e.empty += sign
	default:
		e.ratios += float64(sign) * float64(output) / float64(input)
		e.read += sign
	}
}

// Ratio returns the unweighted mean of output over input of the maps seen;
// false before there was one with input. (ShuffleWatcher's ratio is the quotient
// of the sums, which the job's counters give.)
func (e *Estimate) Ratio() (ratio float64, known bool) {
	if e.read == 0 {
		return 0, false
	}
	return max(e.ratios, 0) / float64(e.read), true
}

// Empty returns the mean output of the maps seen that read nothing; false
// before there was one.
func (e *Estimate) Empty() (output model.Bytes, known bool) {
	if e.empty == 0 {
		return 0, false
	}
	return e.outputs / model.Bytes(e.empty), true
}
