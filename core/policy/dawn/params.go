package dawn

import (
	"encoding/json"
	"errors"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
)

// Among says whose jobs Algorithm 1 sorts together.
type Among string

// The two readings.
const (
	AmongUser Among = "user" // one user's, the user whose turn it is (queue order inherited; algorithms.md 2.4.5)
	AmongAll  Among = "all"  // everybody's, as printed
)

// Params are Dawn's own settings. NetSat's threshold, period, smoothing and
// hysteresis are shuffle.SaturationParams of the cluster state.
type Params struct {
	Wait       int               `json:"wait" doc:"heartbeats of a rack that pass when no job prefers it, before any job takes it in fair order (the paper does not say what happens then)"`
	Among      Among             `json:"among" doc:"whose jobs are sorted together: user is one user's, in the queue's order; all is everybody's, as printed"`
	Fairness   policy.Fairness   `json:"fairness" doc:"whose turn it is: fair is the user with the least memory, drf the one with the least dominant share"`
	WindowS    float64           `json:"window_s" doc:"width of ShuffleWatcher's starvation window in seconds, which the paper has no rule in place of; 0 is none"`
	WindowMode policy.WindowMode `json:"window_mode" doc:"strict: every earlier window goes before every later one; timeout: only jobs older than the window go first"`
	// OutputRatio stands in until a job has written anything: the paper has the sizes from the benchmarks.
	OutputRatio float64 `json:"output_ratio" doc:"output of a job over its map output, until its first reduce is done"`
	Waves       int     `json:"waves" doc:"waves of a job's tasks that one rack is given, the next best rack has the rest; 0 is no limit, as in the paper, which has no concurrency floor"`
	PlanWaves   int     `json:"plan_waves" doc:"the same for plans made ahead, where counts are limited by what the racks hold; 0 is no limit"`
	PlanBusier  float64 `json:"plan_busier" doc:"how many times what an even spread of its reduces sends over the busiest uplink a job's plan may send; 0 is no limit, as in the paper"`
	// WaitForTargetsS is heddle's: 0 is the paper to the letter (docs/notes/0003).
	WaitForTargetsS float64 `json:"wait_for_targets_s" doc:"how many seconds a job that prefers a rack waits for it, counted from its last launch of that stage, where no job prefers the offered one; 0 is the paper's"`
	NodeDelay       float64 `json:"node_delay" doc:"without a preferring job: part of the nodes that are offered to a job before it takes a map that is not node-local, and again before it takes one that is not rack-local; -1 is no delay"`
}

// DefaultParams returns algorithms.md 2.4.5's resolutions, ShuffleWatcher's
// window, and a delay for 95 % locality (EuroSys'10: 0.23 of the nodes).
func DefaultParams() Params {
	return Params{
		Among: AmongUser, Fairness: policy.Fair, WindowS: 600, WindowMode: policy.WindowStrict,
		OutputRatio: 1, PlanWaves: 1, PlanBusier: policy.MaxBusier, NodeDelay: 0.23,
	}
}

// PrintedParams returns Algorithm 1 as printed: it sorts the jobs of all users together,
// and one rack is planned for all tasks of a stage, whatever its uplink has to carry.
func PrintedParams() Params {
	p := DefaultParams()
	p.Among, p.PlanWaves, p.PlanBusier = AmongAll, 0, 0
	return p
}

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	errs := []error{
		policy.Within("wait", float64(p.Wait), 0, 1e6),
		policy.Within("plan_busier", p.PlanBusier, 0, 1000),
		policy.Within("window_s", p.WindowS, 0, policy.MaxSeconds),
		policy.Within("wait_for_targets_s", p.WaitForTargetsS, 0, policy.MaxSeconds),
		policy.Within("output_ratio", p.OutputRatio, 0, 1000),
		policy.Within("waves", float64(p.Waves), 0, 1e6),
		policy.Within("plan_waves", float64(p.PlanWaves), 0, 1e6),
	}
	errs = append(errs,
		policy.OneOf("among", p.Among, AmongUser, AmongAll), p.Fairness.Validate(), p.WindowMode.Validate(), policy.ValidThreshold("node_delay", p.NodeDelay))
	return errors.Join(errs...)
}

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	return policy.Build(raw, DefaultParams(), NewWith)
}

// NewWith builds the policy from parameters.
func NewWith(p Params) (*dispatch.Dispatcher, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	kinds := []model.Stage{model.StageMap, model.StageReduce, model.StageOther}
	r := &rule{
		params: p, levels: policy.NewLevels(p.NodeDelay, p.NodeDelay),
		plan:   onlinePlan{params: p, tied: map[model.AppID]bool{}},
		passes: []dispatch.Pass{passPreferring: {Kinds: kinds, Indexed: true, Together: p.Among == AmongAll}, passFallback: {Kinds: kinds}},
	}
	r.plan.jobs = policy.JobsLeaving(r.plan.forget)
	return dispatch.New(r, dispatch.Settings{
		Fairness: p.Fairness, Window: policy.Seconds(p.WindowS), WindowMode: p.WindowMode, TargetWait: policy.Seconds(p.WaitForTargetsS),
	}), nil
}
