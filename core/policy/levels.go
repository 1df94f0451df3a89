package policy

import (
	"fmt"

	"heddle/core/model"
	"heddle/core/state"
)

// NoDelay is the threshold that switches the Fair Scheduler's delay off: YARN's
// default for both.
const NoDelay = -1

// LocalityWaits is delay scheduling (algorithms.md 2.5.3): a job lets offers pass
// for a map with better locality until its rule says that it has waited. Reduces
// name no node and do not wait.
type LocalityWaits struct {
	rule LocalityRule
	jobs Jobs[Wait]
}

// LocalityRule reports whether a job takes a map at a locality, and changes its wait
// by that. It is not asked for maps that have no better node.
type LocalityRule func(in *Input, w *Wait, at model.Locality) bool

// NewLocalityWaits returns the waits of a rule; without one nobody waits.
func NewLocalityWaits(r LocalityRule) *LocalityWaits { return &LocalityWaits{rule: r} }

// Prune forgets jobs that left.
func (l *LocalityWaits) Prune(v state.View) { l.jobs.Prune(v) }

// Take decides whether a job whose map fits takes the offer, and returns why;
// false is to let it pass.
func (l *LocalityWaits) Take(in *Input, j *state.Job) (model.Reason, bool) {
	at, _ := j.Map.Locality(in.Offer.Node)
	if l.rule == nil || (at == model.OffSwitch && j.Map.Anywhere()) {
		return model.ReasonFairShare, true
	}
	if !l.rule(in, in.Journal.Edit(l.jobs.Of(j)), at) {
		return "", false
	}
	switch at {
	case model.NodeLocal:
		return model.ReasonDelayNodeLocal, true
	case model.RackLocal:
		return model.ReasonDelayRackLocal, true
	case model.OffSwitch:
	}
	return model.ReasonDelayExpired, true
}

// NewLevels returns the waits of YARN's Fair Scheduler (FSAppAttempt): the maps of
// a job are allowed node-local containers only, rack-local ones too once more than
// so many nodes were offered, and then any. How many is a fraction of the running
// nodes: node to leave its nodes, rack after that to leave their racks. If one is
// below 0 there is no delay, above 1 it counts as 1.
//
// As in FSAppAttempt the count starts over when a level is given up and not
// when a container is taken, and a container that is better than allowed raises
// the level to its own.
//
// One thing differs: a node counts as offered if a map would fit into what is
// free on it, in YARN if it would fit into the whole node, where it can reserve.
func NewLevels(node, rack float64) *LocalityWaits {
	if node < 0 || rack < 0 {
		return NewLocalityWaits(nil)
	}
	thresholds := [...]float64{model.NodeLocal: min(node, 1), model.RackLocal: min(rack, 1)}
	return NewLocalityWaits(func(in *Input, w *Wait, at model.Locality) bool {
		w.Skips++ // nodes offered since Level was given up last
		if w.On && w.Level < model.OffSwitch && float64(w.Skips) > float64(in.View.Capacity().Nodes)*thresholds[w.Level] {
			w.Level++
			w.Skips = 0
		}
		w.On = true
		if at > w.Level {
			return false
		}
		w.Level = at
		return true
	})
}

// ValidThreshold reports a threshold of NewLevels that is neither a fraction nor NoDelay.
func ValidThreshold(key string, v float64) error {
	if v == NoDelay || (v >= 0 && v <= 1) {
		return nil
	}
	return fmt.Errorf("%s: must be between 0 and 1, or -1 for none, is %g", key, v)
}
