package fair

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
)

// JobOrder is the policy of a user's queue.
type JobOrder string

// The two orders of a user's jobs.
const (
	JobsFair JobOrder = "fair" // the job with the least memory first
	JobsFIFO JobOrder = "fifo" // the job submitted first
)

// Params are the policy's own settings, under YARN's names and with YARN's
// defaults. Weights of users are state.Config.Weights.
type Params struct {
	// SchedulingPolicy orders the jobs of one user.
	SchedulingPolicy JobOrder `json:"schedulingPolicy" doc:"order of one user's jobs: fair by least memory, fifo by arrival"`
	// MinResources holds minimum shares in MiB by user; a user not listed has none.
	MinResources map[model.UserID]int64 `json:"minResources" doc:"minimum share of a user in MiB, by user: who is below it is served first"`
	// LocalityNode and LocalityRack are fractions of the running nodes.
	LocalityNode float64 `json:"locality.threshold.node" doc:"share of the running nodes offered to a job before its maps may leave their nodes for their racks; -1 does not wait"`
	LocalityRack float64 `json:"locality.threshold.rack" doc:"share of the running nodes offered after that before its maps may leave their racks; -1 does not wait"`
}

// DefaultParams returns YARN's defaults.
func DefaultParams() Params {
	return Params{SchedulingPolicy: JobsFair, MinResources: map[model.UserID]int64{}, LocalityNode: policy.NoDelay, LocalityRack: policy.NoDelay}
}

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	errs := []error{
		policy.OneOf("schedulingPolicy", p.SchedulingPolicy, JobsFair, JobsFIFO),
		policy.ValidThreshold("locality.threshold.node", p.LocalityNode), policy.ValidThreshold("locality.threshold.rack", p.LocalityRack),
	}
	for _, u := range slices.Sorted(maps.Keys(p.MinResources)) {
		if p.MinResources[u] < 0 {
			errs = append(errs, fmt.Errorf("minResources: must not be below 0, is %d for %s", p.MinResources[u], u))
		}
	}
	return errors.Join(errs...)
}

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	return policy.Build(raw, DefaultParams(), NewWith)
}

// NewWith builds the policy from parameters.
func NewWith(p Params) (*Policy, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Policy{params: p, levels: policy.NewLevels(p.LocalityNode, p.LocalityRack)}, nil
}
