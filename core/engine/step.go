package engine

import (
	"heddle/core/model"
	"heddle/core/state"
)

// Step carries out one observation, live and in a replay alike: the cluster applies
// it, and of a RoundFact the engine makes its plans and returns those that changed. A
// nil engine makes none.
func Step(c *state.Cluster, e *Engine, o model.Observation) ([]model.Decision, error) {
	c.Apply(o)
	round, is := o.Fact.(model.RoundFact)
	switch {
	case !is || e == nil:
		return nil, nil
	case round.App != "":
		return e.PlanApp(o.At, round.App)
	}
	return e.Plan(o.At)
}
