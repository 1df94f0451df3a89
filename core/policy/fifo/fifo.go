// Package fifo implements Hadoop's first-in-first-out scheduling
// (JobQueueTaskScheduler, FifoScheduler; algorithms.md 2.5.1). Jobs stand in
// line by priority, then by submission, whoever they belong to. The first job
// that can use the offer gets it: a reduce that is due, else its best map,
// node-local, rack-local or any.
//
// As in JobQueueTaskScheduler a heartbeat that brought a node a map from another
// rack brings it no further map, so that no node takes the local maps of the
// others. YARN's FifoScheduler has no such limit: set
// maximum-offswitch-assignments to 0 for that.
//
// Place costs O(J) for the jobs in line before the one it serves.
package fifo

import (
	"encoding/json"
	"fmt"

	"heddle/core/model"
	"heddle/core/policy"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "fifo"

// Params are the policy's own settings.
type Params struct {
	MaxOffSwitch int `json:"maximum-offswitch-assignments" doc:"maps from other racks a node is given in one heartbeat; 0 is no limit"`
}

// DefaultParams returns Hadoop 1's limit of one.
func DefaultParams() Params { return Params{MaxOffSwitch: 1} }

// maxAssignments is more than any node runs.
const maxAssignments = 10_000

// Validate reports a setting that is out of range.
func (p Params) Validate() error {
	if p.MaxOffSwitch < 0 || p.MaxOffSwitch > maxAssignments {
		return fmt.Errorf("maximum-offswitch-assignments: must be between 0 and %d, is %d", maxAssignments, p.MaxOffSwitch)
	}
	return nil
}

// Policy is the FIFO scheduler.
type Policy struct {
	params    Params
	offSwitch policy.Heartbeat
}

var _ policy.Policy = (*Policy)(nil)

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	return policy.Build(raw, DefaultParams(), func(p Params) (*Policy, error) { return &Policy{params: p}, p.Validate() })
}

// Place implements policy.Policy.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	if !in.Offer.Usable() {
		return nil
	}
	spent := p.offSwitch.Given(in) >= p.params.MaxOffSwitch && p.params.MaxOffSwitch > 0
	for _, j := range in.View.Root().Jobs() {
		s := in.Next(j)
		if s == nil {
			continue
		}
		if s.Kind == model.StageMap {
			if spent {
				continue
			}
			if level, _ := s.Locality(in.Offer.Node); level == model.OffSwitch {
				p.offSwitch.Give(in)
			}
		}
		return in.Launch(j, s, model.ReasonFIFO)
	}
	return nil
}
