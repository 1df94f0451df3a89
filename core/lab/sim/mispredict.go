package sim

import (
	"errors"
	"math"
	"math/rand/v2"

	"heddle/core/model"
)

// Misprediction is how far what policies are told of a job's map output is off until all its maps are done: then they are
// told the truth. What single maps put out they are not told where this is set.
type Misprediction struct {
	// Factor, where it is above 1, bounds the error: the output told is the true one times a factor of the job that is drawn
	// between its inverse and it, evenly by logarithm.
	Factor float64
	// Silent says that nothing is told.
	Silent bool
}

func (m *Misprediction) on() bool { return m.Silent || m.Factor > 1 }

func (m *Misprediction) validate() error {
	if m.Factor != 0 && !(m.Factor >= 1 && m.Factor <= 1000) || m.Silent && m.Factor > 1 {
		return errors.New("misprediction: the factor must be between 1 and 1000, or nothing is told")
	}
	return nil
}

// draw returns what a job's map output is multiplied by before it is told: 1 where it is right.
func (m *Misprediction) draw(seed uint64, job int) float64 {
	if m.Factor <= 1 {
		return 1
	}
	r := rand.New(rand.NewPCG(seed, 2<<32+uint64(job))) //nolint:gosec // a simulation; the job is not below 0
	return math.Exp((2*r.Float64() - 1) * math.Log(m.Factor))
}

// toldPlaces returns where policies are told that the output of a stage of a graph lies so far.
func toldPlaces(s *world, j *job, t *stage) []model.RackBytes {
	places := s.layout.byRack(t.outputByRack)
	if s.params.Misprediction.Silent && !t.complete() {
		return nil
	}
	for i := range places {
		places[i].Bytes = toldOutput(s, j, &t.tasks, places[i].Bytes)
	}
	return places
}

// toldOutput returns what policies are told of so much output of a job's tasks.
func toldOutput(s *world, j *job, of *tasks, output model.Bytes) model.Bytes {
	switch {
	case !s.params.Misprediction.on() || of.complete():
		return output
	case s.params.Misprediction.Silent:
		return model.Unknown
	}
	return model.Bytes(float64(output) * j.toldFactor)
}
