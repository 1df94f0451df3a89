package dawn

import (
	"encoding/json"
	"errors"
	"fmt"

	"heddle/core/model"
	"heddle/core/policy"
)

// Among says whose jobs Algorithm 1 sorts together.
type Among string

// The two readings.
const (
	AmongUser Among = "user" // one user's, the user whose turn it is (queue order inherited; algorithms.md 2.4.5)
	AmongAll  Among = "all"  // everybody's, as printed
)

// Replicas says where an output counts as lying (algorithms.md 2.4.3).
type Replicas string

// The two ways.
const (
	ReplicasFirst Replicas = "first" // on the writer's rack, as the paper's eq. 3
	ReplicasAll   Replicas = "all"   // on the writer's rack, and with equal chance on any other one
)

// Params are Dawn's own settings. NetSat's threshold, period, smoothing and
// hysteresis are shuffle.SaturationParams of the cluster state.
type Params struct {
	Wait       int               `json:"wait" doc:"heartbeats of a rack that pass when no job prefers it, before any job takes it in fair order (the paper does not say what happens then)"`
	EqualTol   float64           `json:"equal_tol" doc:"relative difference up to which the traffic of two jobs counts as equal (Algorithm 1, line 22)"`
	Among      Among             `json:"among" doc:"whose jobs are sorted together: user is one user's, in the queue's order; all is everybody's, as printed"`
	Fairness   policy.Fairness   `json:"fairness" doc:"whose turn it is: fair is the user with the least memory, drf the one with the least dominant share"`
	WindowS    float64           `json:"window_s" doc:"width of ShuffleWatcher's starvation window in seconds, which the paper has no rule in place of; 0 is none"`
	WindowMode policy.WindowMode `json:"window_mode" doc:"strict: every earlier window goes before every later one; timeout: only jobs older than the window go first"`
	Scope      policy.Scope      `json:"scope" doc:"whose uplink decides whether the network is saturated: rack is that of the offered node, any is any rack's, mean is the mean of all"`
	Replicas   Replicas          `json:"replicas" doc:"where an output counts as lying: first is the writer's rack (eq. 3), all adds what the other replicas are expected to bring to other racks"`
	// OutputRatio stands in until a job has written anything: the paper has the sizes from the benchmarks.
	OutputRatio float64 `json:"output_ratio" doc:"output of a job over its map output, until its first reduce is done"`
	Waves       int     `json:"waves" doc:"waves of a job's tasks that one rack is given, the next best rack has the rest; 0 is no limit, as in the paper, which has no concurrency floor"`
	PlanWaves   int     `json:"plan_waves" doc:"the same for plans made ahead, where counts are limited by what the racks hold; 0 is no limit"`
	NodeDelay   float64 `json:"node_delay" doc:"without a preferring job: part of the nodes that are offered to a job before it takes a map that is not node-local; -1 is no delay"`
	RackDelay   float64 `json:"rack_delay" doc:"the same for a map that is not rack-local either"`
}

// DefaultParams returns algorithms.md 2.4.5's resolutions, ShuffleWatcher's
// window, and a delay for 95 % locality (EuroSys'10: 0.23 of the nodes).
func DefaultParams() Params {
	return Params{
		EqualTol: 1e-9, Among: AmongUser, Fairness: policy.Fair, WindowS: 600, WindowMode: policy.WindowStrict, Scope: policy.ScopeRack,
		Replicas: ReplicasFirst, OutputRatio: 1, PlanWaves: 1, NodeDelay: 0.23, RackDelay: 0.23,
	}
}

// maxSeconds bounds every duration: a day is beyond any use.
const maxSeconds = 24 * 60 * 60

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	var errs []error
	within := func(key string, v, hi float64) {
		if !(v >= 0 && v <= hi) { // a NaN is refused too
			errs = append(errs, fmt.Errorf("%s: must be between 0 and %g, is %g", key, hi, v))
		}
	}
	within("wait", float64(p.Wait), 1e6)
	within("equal_tol", p.EqualTol, 1)
	within("window_s", p.WindowS, maxSeconds)
	within("output_ratio", p.OutputRatio, 1000)
	within("waves", float64(p.Waves), 1e6)
	within("plan_waves", float64(p.PlanWaves), 1e6)
	if p.Among != AmongUser && p.Among != AmongAll {
		errs = append(errs, fmt.Errorf("among: want %s or %s, is %q", AmongUser, AmongAll, p.Among))
	}
	errs = append(errs, policy.OneOf("scope", p.Scope, policy.Scopes()...))
	if p.Replicas != ReplicasFirst && p.Replicas != ReplicasAll {
		errs = append(errs, fmt.Errorf("replicas: want %s or %s, is %q", ReplicasFirst, ReplicasAll, p.Replicas))
	}
	errs = append(errs,
		p.Fairness.Validate(), p.WindowMode.Validate(),
		policy.ValidThreshold("node_delay", p.NodeDelay), policy.ValidThreshold("rack_delay", p.RackDelay))
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
	built := &Policy{
		params: p, levels: policy.NewLevels(p.NodeDelay, p.RackDelay),
		online: online{params: p, tied: map[model.AppID]*job{}},
		orders: orders{params: p, users: map[model.UserID]*queue{}},
	}
	built.online.jobs = policy.JobsLeaving(built.left)
	return built, nil
}
