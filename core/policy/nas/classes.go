package nas

import (
	"heddle/core/model"
	"heddle/core/state"
)

// class is a job's class by predicted shuffle size (§III-A, §IV-A).
type class uint8

const (
	light class = iota
	medium
	heavy
)

// classes holds the sizes the classes end at. Both bounds belong to medium
// (appendix B 20). A job nothing has been measured of shuffles as much as it
// reads, so a tiny one is light from the start (algorithms.md 2.3.6).
type classes struct{ light, heavy, small model.Bytes }

func (c classes) of(p *state.Prediction) class {
	switch {
	case p.Shuffle < c.light:
		return light
	case p.Shuffle > c.heavy:
		return heavy
	}
	return medium
}

// mapCategory is the order of Algorithm 2 lines 9 to 12: small inputs before
// large ones, in each the unpredicted jobs first.
func (c classes) mapCategory(p *state.Prediction) int {
	n := 0
	if p.Input >= c.small {
		n += 2
	}
	if p.Predicted {
		n++
	}
	return n
}

// predict returns what is expected of a job's shuffle. A job without reduces has
// none, whatever its maps write (algorithms.md 2.3.4); every job that tells of its
// maps tells of its reduces.
func predict(j *state.Job) state.Prediction {
	p := j.Predict()
	if j.Map.Total > 0 && j.Reduce.Tasks() == 0 {
		p.Ratio, p.Shuffle, p.Predicted = 0, 0, true
	}
	return p
}
