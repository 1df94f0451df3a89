package policy

import (
	"fmt"

	"heddle/core/model"
	"heddle/core/state"
)

// NoDelay is the threshold that switches the Fair Scheduler's delay off: YARN's
// default for both.
const NoDelay = -1

// Levels is delay scheduling as YARN's Fair Scheduler does it (FSAppAttempt,
// algorithms.md 2.5.3): the maps of a job are allowed node-local containers
// only, rack-local ones too once more than so many nodes were offered, and then
// any. How many is a fraction of the running nodes.
//
// As in FSAppAttempt the count starts over when a level is given up and not
// when a container is taken, and a container that is better than allowed raises
// the level to its own. A job's key is its maps: reduces name no node and do
// not wait.
//
// One thing differs: a node counts as offered if a map would fit into what is
// free on it, in YARN if it would fit into the whole node, where it can reserve.
type Levels struct {
	node, rack float64
	jobs       Jobs[Wait] // Skips are nodes offered since a level was given up last, Level is the worst that is taken
}

// NewLevels returns levels with the thresholds to leave node and rack, each a
// fraction of the running nodes. If one is below 0 there is no delay, above 1 it
// counts as 1.
func NewLevels(node, rack float64) *Levels {
	return &Levels{node: min(node, 1), rack: min(rack, 1)}
}

// Prune forgets jobs that left.
func (l *Levels) Prune(v state.View) { l.jobs.Prune(v) }

// Take decides whether a job whose map fits takes the offer, and returns why;
// false is to let it pass.
func (l *Levels) Take(in *Input, j *state.Job) (model.Reason, bool) {
	if l.node < 0 || l.rack < 0 {
		return model.ReasonFairShare, true
	}
	k := in.Journal.Edit(l.jobs.Of(j))
	k.Skips++
	if k.On {
		l.relax(k, float64(in.View.Capacity().Nodes))
	}
	k.On = true
	at, _ := j.Map.Locality(in.Offer.Node)
	if at > k.Level {
		if at == model.OffSwitch && j.Map.Places() == 0 {
			return model.ReasonFairShare, true // asked for anywhere: nothing better can come
		}
		return "", false
	}
	k.Level = at
	return Waited(at), true
}

// relax gives up a level when its threshold is passed.
func (l *Levels) relax(k *Wait, nodes float64) {
	threshold := l.node
	if k.Level == model.RackLocal {
		threshold = l.rack
	}
	if k.Level < model.OffSwitch && float64(k.Skips) > nodes*threshold {
		k.Level++
		k.Skips = 0
	}
}

// Waited is why delay scheduling launches a map at a locality.
func Waited(at model.Locality) model.Reason {
	switch at {
	case model.NodeLocal:
		return model.ReasonDelayNodeLocal
	case model.RackLocal:
		return model.ReasonDelayRackLocal
	case model.OffSwitch:
	}
	return model.ReasonDelayExpired
}

// ValidThreshold reports a threshold of Levels that is neither a fraction nor NoDelay.
func ValidThreshold(key string, v float64) error {
	if v == NoDelay || (v >= 0 && v <= 1) {
		return nil
	}
	return fmt.Errorf("%s: must be between 0 and 1, or -1 for none, is %g", key, v)
}
