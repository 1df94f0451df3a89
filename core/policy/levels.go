package policy

import (
	"fmt"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/topology"
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

	looked int      // jobs, for the present offer
	local  []uint64 // by job number: the last offer of which it was read that the job has maps on the node
	offer  uint64
}

// LocalityRule reports whether a job takes a map at a locality, and changes its wait
// by that. It is not asked for maps that have no better node.
type LocalityRule func(in *Input, w *Wait, at model.Locality) bool

// NewLocalityWaits returns the waits of a rule; without one nobody waits.
func NewLocalityWaits(r LocalityRule) *LocalityWaits { return &LocalityWaits{rule: r} }

// Begin begins an offer: it forgets jobs that left.
func (l *LocalityWaits) Begin(v state.View) {
	l.jobs.Prune(v)
	l.looked = 0
}

// Take decides whether a job whose map fits takes the offer, and returns why;
// false is to let it pass.
func (l *LocalityWaits) Take(in *Input, j *state.Job) (model.Reason, bool) {
	at := l.locality(in, j)
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

// lookUps is of how many jobs it is looked up whether they have maps on the offered node. If
// more are asked, the node's own list of jobs is cheaper: it lies in one place in memory.
const lookUps = 3

// locality returns the best locality level a job's map would have on the offered node.
func (l *LocalityWaits) locality(in *Input, j *state.Job) model.Locality {
	n := in.Offer.Node
	if l.looked++; l.looked <= lookUps || in.Limits != nil {
		return in.Locality(j.Map)
	}
	if l.looked == lookUps+1 {
		l.offer++
		for number := range in.View.MapsLocalTo(n) {
			l.local = topology.Extend(l.local, number)
			l.local[number] = l.offer
		}
	}
	switch {
	case topology.At(l.local, j.Number()) == l.offer:
		return model.NodeLocal
	case j.Map.PendingIn(n.Rack.Index) > 0:
		return model.RackLocal
	}
	return model.OffSwitch
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
