package policy

import (
	"fmt"

	"heddle/core/model"
	"heddle/core/state"
)

// Fairness says what users are served by.
type Fairness string

// The two kinds of fairness.
const (
	Fair Fairness = "fair" // the least memory over weight first (algorithms.md 2.5.2)
	DRF  Fairness = "drf"  // the least dominant share over weight first (algorithms.md 2.5.5)
)

// Users returns the users with live jobs in the order they are served in.
func (f Fairness) Users(v state.View) []*state.User {
	if f == DRF {
		return v.UsersBy(state.ByDominantShare)
	}
	return v.Users()
}

// Validate reports a fairness that is none of the two.
func (f Fairness) Validate() error {
	if f != Fair && f != DRF {
		return fmt.Errorf("fairness: want %s or %s, is %q", Fair, DRF, f)
	}
	return nil
}

// Next returns the stage of a job an offer goes to when the job is at its turn,
// nil for none. Reduces the application may ask for by now go before maps: the
// MapReduce ApplicationMaster asks for reduces at priority 10 and for maps at
// 20, and the lower value is served first (RMContainerAllocator; algorithms.md
// 1.5).
func (in *Input) Next(j *state.Job) *state.Stage {
	switch {
	case j.Blacklisted(in.Offer.Node.Host):
		return nil
	case in.Admits(j.Reduce) && j.ReducesDue():
		return j.Reduce
	case in.Admits(j.Map):
		return j.Map
	}
	return nil
}

// Usable reports whether the offer is one of a node that takes new containers.
func (o Offer) Usable() bool { return o.Node != nil && o.Node.State.Usable() }

// Heartbeat counts what one heartbeat of a node was given. There are no
// heartbeats in an offer: offers of one node that follow each other at one
// time are one.
type Heartbeat struct {
	node  model.NodeID
	given Wait // Skips are what the heartbeat at Since was given
}

// Given returns how many of what is counted the offer's heartbeat was given.
func (h *Heartbeat) Given(in *Input) int {
	if id, now := in.Offer.Node.ID, in.View.Now(); h.node != id || h.given.Since != now {
		Save(in.Journal, &h.node)
		h.node = id
		*in.Journal.Edit(&h.given) = Wait{Since: now}
	}
	return h.given.Skips
}

// Give counts one more.
func (h *Heartbeat) Give(in *Input) { in.Journal.Edit(&h.given).Skips++ }
