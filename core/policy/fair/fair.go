// Package fair implements fair scheduling as Hadoop's Fair Scheduler does it by
// default: the user with the least memory over weight is served first
// (FairSharePolicy; algorithms.md 2.5.2), and within a user the job that was
// submitted first.
//
// Within a job, reduces the application may ask for by now go before maps: the
// MapReduce ApplicationMaster asks for reduces at priority 10 and for maps at
// 20, and the lower value is served first (RMContainerAllocator; algorithms.md
// 1.5). It may ask for reduces once ceil(slowstart x maps) maps are complete. A
// map is taken at whatever locality the node gives it, without delay: the
// Fair Scheduler's locality thresholds are -1 by default.
//
// The papers say both "per user" and "among jobs"; heddle takes users, and jobs
// by arrival inside (algorithms.md 2.5.2). Minimum shares and preemption are
// off, as they are in YARN by default. Place costs O(U + J) for the users and
// jobs it has to look at and trusts the users' usage in the cluster state.
package fair

import (
	"encoding/json"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "fair"

// Params are the policy's own settings: it has none. Weights of users are
// state.Config.Weights.
type Params struct{}

// Policy is the fair scheduler. It keeps no state.
type Policy struct{}

var _ policy.Policy = Policy{}

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	if err := policy.Decode(raw, &Params{}); err != nil {
		return nil, err
	}
	return Policy{}, nil
}

// Place implements policy.Policy.
func (Policy) Place(in *policy.Input) []model.Placement {
	if in.Offer.Node == nil || !in.Offer.Node.State.Usable() {
		return nil
	}
	for _, u := range in.View.Users() {
		for _, j := range u.Jobs() {
			s := next(in, j)
			if s == nil {
				continue
			}
			level, _ := in.View.Locality(s, in.Offer.Node)
			return []model.Placement{{
				App: j.ID, Stage: s.Kind, Task: model.AnyTask, Node: in.Offer.Node.ID, Locality: level, Reason: model.ReasonFairShare,
			}}
		}
	}
	return nil
}

// next returns the stage of the job that the offer goes to, nil for none.
func next(in *policy.Input, j *state.Job) *state.Stage {
	switch {
	case j.Blacklisted(in.Offer.Node.Host):
		return nil
	case j.ReducesDue() && in.Admits(j.Reduce):
		return j.Reduce
	case in.Admits(j.Map):
		return j.Map
	}
	return nil
}
