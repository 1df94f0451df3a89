package delay

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"heddle/core/policy"
)

// Mode is one of the forms of delay scheduling.
type Mode string

// The forms (algorithms.md 2.5.3).
const (
	Simple   Mode = "simple"    // a job is passed over D times per level
	TwoLevel Mode = "two-level" // a job waits W1 for its node and W2 more for its rack (the Hadoop Fair Scheduler's form)
	YARN     Mode = "yarn"      // a job is passed over by shares of the nodes (FSAppAttempt; policy.NewLevels)
)

// Auto lets the policy derive D from the number of nodes by SkipsFor.
const Auto = -1

// Params are the policy's own settings.
type Params struct {
	Mode Mode `json:"mode" doc:"simple counts offers, two-level waits seconds, yarn counts offers as shares of the running nodes"`
	// D is how often a job is passed over in mode simple before its rack will do, and again before any node
	// will; 0 does not wait, Auto (-1) is SkipsFor of the nodes at hand.
	D int `json:"d" doc:"mode simple: offers a job lets pass per level; -1 derives them from the number of nodes (D >= 0.23 M for 95 % locality with 20 tasks and 3 replicas)"`
	// W1S and W2S are the waits of mode two-level in seconds.
	W1S float64 `json:"w1_s" doc:"mode two-level: seconds a job waits for a node with its input"`
	W2S float64 `json:"w2_s" doc:"mode two-level: seconds it waits after that for the rack"`
	// LocalityNode and LocalityRack are mode yarn's, fractions of the running nodes under YARN's names.
	LocalityNode float64 `json:"locality.threshold.node" doc:"mode yarn: share of the running nodes offered before maps may leave their nodes for their racks; -1 does not wait"`
	LocalityRack float64 `json:"locality.threshold.rack" doc:"mode yarn: share of the running nodes offered after that before maps may leave their racks; -1 does not wait"`
}

// DefaultParams returns appendix C's values: two-level with 5 s and 5 s, and
// YARN's thresholds, which do not wait.
func DefaultParams() Params {
	return Params{Mode: TwoLevel, D: Auto, W1S: 5, W2S: 5, LocalityNode: policy.NoDelay, LocalityRack: policy.NoDelay}
}

// maxWait bounds a wait in seconds, maxSkips the skips per level.
const (
	maxWait  = 24 * 60 * 60
	maxSkips = 1_000_000
)

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	errs := []error{
		policy.OneOf("mode", p.Mode, Simple, TwoLevel, YARN),
		policy.ValidThreshold("locality.threshold.node", p.LocalityNode), policy.ValidThreshold("locality.threshold.rack", p.LocalityRack),
	}
	if p.D < Auto || p.D > maxSkips {
		errs = append(errs, fmt.Errorf("d: must be between 0 and %d, or -1 for automatic, is %d", maxSkips, p.D))
	}
	if !(p.W1S >= 0 && p.W1S <= maxWait) {
		errs = append(errs, fmt.Errorf("w1_s: must be between 0 and %d, is %g", maxWait, p.W1S))
	}
	if !(p.W2S >= 0 && p.W2S <= maxWait) {
		errs = append(errs, fmt.Errorf("w2_s: must be between 0 and %d, is %g", maxWait, p.W2S))
	}
	return errors.Join(errs...)
}

// The values for which EuroSys'10 quotes its formula.
const (
	Replicas = 3
	Locality = 0.95
	Tasks    = 20
)

// SkipsFor returns the least D for which a job of the given number of tasks
// reaches the given fraction of node-local tasks on nodes machines with
// replicas copies of each block:
//
//	D >= -(M/R) ln((1-l) N / (1 + (1-l) N))
//
// (Zaharia et al., EuroSys 2010, §4.1). For 3 copies, 95 % and 20 tasks it is
// 0.23 per node. It is +Inf for a locality of 1 and 0 without nodes.
func SkipsFor(nodes, replicas int, locality float64, tasks int) float64 {
	if nodes <= 0 || replicas <= 0 || tasks <= 0 {
		return 0
	}
	missed := (1 - locality) * float64(tasks)
	return -float64(nodes) / float64(replicas) * math.Log(missed/(1+missed))
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
	built := &Policy{
		params: p,
		w1:     policy.Seconds(p.W1S), w2: policy.Seconds(p.W2S),
	}
	switch p.Mode {
	case Simple:
		built.waits = policy.NewLocalityWaits(built.simple)
	case TwoLevel:
		built.waits = policy.NewLocalityWaits(built.twoLevel)
	case YARN:
		built.waits = policy.NewLevels(p.LocalityNode, p.LocalityRack)
	}
	return built, nil
}
