package shufflewatcher

import (
	"encoding/json"
	"errors"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
)

// Scan says how SAMP searches the racks.
type Scan string

// The two searches of algorithms.md 2.1.3c.
const (
	ScanFull   Scan = "full"   // the best of all prefixes
	ScanGreedy Scan = "greedy" // Fig. 4: stop at the first rack that does not help
)

// Patience says what a user waits for under relaxed fairness.
type Patience string

// The two readings: the paper prints no mechanism (algorithms.md 2.1.6).
const (
	ForLocal     Patience = "local"     // a task that is preferred or costs the uplinks little: a local map, of whatever job, or a heavy reduce while they are free
	ForPreferred Patience = "preferred" // of a job with preferred racks a task there
)

// Params are ShuffleWatcher's own settings. NetSat's threshold, period,
// smoothing and hysteresis are shuffle.SaturationParams of the cluster state.
type Params struct {
	// RatioInit is assigned by the cluster state: hand it to state.Config.InitialRatio.
	RatioInit  float64           `json:"ratio_init" doc:"shuffle/input ratio of a job nothing is known of (3.1)"`
	WindowS    float64           `json:"window_s" doc:"width of the starvation window in seconds (3.4); 0 is none"`
	WindowMode policy.WindowMode `json:"window_mode" doc:"strict serves earlier windows first, timeout only jobs older than the window"`
	// RelaxS is SW-relaxed's; 0 is SW-fair.
	RelaxS   float64         `json:"relax_s" doc:"how many seconds a user may be passed over for want of a good task (5.2); 0 is strict fairness"`
	RelaxFor Patience        `json:"relax_for" doc:"which tasks are good: local takes any job's local maps, and heavy reduces anywhere while the uplink is not saturated; preferred, of jobs with preferred racks, only tasks there"`
	Scope    policy.Scope    `json:"scope" doc:"whose uplink counts as saturated: rack is the offered node's rack, any is any rack, mean is the mean of all"`
	Fairness policy.Fairness `json:"fairness" doc:"whose turn it is: fair is the user with the least memory, drf the one with the least dominant share (5.2)"`
	// WaitForTargetsS is heddle's: 0 is the paper to the letter (docs/notes/0003-bounded-waiting.md has what it was chosen by).
	WaitForTargetsS float64 `json:"wait_for_targets_s" doc:"how many seconds a shuffle-heavy job waits for the racks it prefers, counted from its last launch of that stage; its maps also take a container elsewhere that no other job takes; 0 is the paper's, whose lines 6, 9, 14 and 18 take any rack at once"`
	// HoldMaxS bounds a job's holds in all (I9).
	HoldMaxS float64 `json:"hold_max_s" doc:"the most seconds a plan holds a job's heavy reduces back while uplinks are saturated; a hold ends by itself, 0 never holds"`
	TargetParams
}

// TargetParams are the settings of SAMP and SARP.
type TargetParams struct {
	MapCompletion float64 `json:"map_completion" doc:"share of completed maps above which SARP follows the map output (3.3)"`
	Scan          Scan    `json:"scan" doc:"full: SAMP looks at every prefix of the sorted racks; greedy: it stops where the paper's loop stops"`
	SAMP          bool    `json:"samp" doc:"prefer racks for a job's maps (3.2); false leaves them to locality"`
	SARP          bool    `json:"sarp" doc:"prefer racks for a job's reduces (3.3); false leaves them to their order"`
	AssumeUnknown bool    `json:"assume_unknown" doc:"run SAMP at ratio_init for jobs whose ratio has been measured neither on them nor on an earlier run, as the paper does"`
	RecomputeAt   float64 `json:"recompute_at" doc:"share of completed maps at which SAMP runs a second and last time; 0 never, as in the paper"`
	Waves         int     `json:"waves" doc:"keep SAMP from choosing so few racks that the maps need more waves than this; 0 is no floor, as in the paper"`
	FromLaunches  bool    `json:"from_launches" doc:"place reduces by the output expected of all maps, of which those launched tell where it will lie; false is the paper's: by that of the complete ones, and by SAMP's racks up to map_completion"`
	SARPRefresh   bool    `json:"sarp_refresh" doc:"follow the map output as it appears; false counts once, as in the paper"`
}

// DefaultParams returns the values of algorithms.md appendix C, and heddle's
// choices where the paper gives none.
func DefaultParams() Params {
	return Params{
		RatioInit: 1.0, WindowS: 600, WindowMode: policy.WindowStrict, RelaxS: 5, RelaxFor: ForLocal,
		Scope: policy.ScopeRack, Fairness: policy.Fair, WaitForTargetsS: 60, HoldMaxS: 120,
		TargetParams: TargetParams{MapCompletion: 0.15, Scan: ScanFull, SAMP: true, SARP: true, RecomputeAt: 0.05, FromLaunches: true, SARPRefresh: true},
	}
}

// PrintedParams returns what figures 3, 4 and 6 print: SAMP's loop stops where no rack
// helps, at the initial ratio of a job nothing is known of; SARP counts once; no job
// waits for its racks.
func PrintedParams() Params {
	p := DefaultParams()
	p.Scan, p.AssumeUnknown, p.RecomputeAt, p.WaitForTargetsS = ScanGreedy, true, 0, 0
	p.FromLaunches, p.SARPRefresh = false, false
	return p
}

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	errs := []error{
		policy.Within("map_completion", p.MapCompletion, 0, 1),
		policy.Within("ratio_init", p.RatioInit, 0, 1000),
		policy.Within("window_s", p.WindowS, 0, policy.MaxSeconds),
		policy.Within("relax_s", p.RelaxS, 0, policy.MaxSeconds),
		policy.Within("recompute_at", p.RecomputeAt, 0, 1),
		policy.Within("waves", float64(p.Waves), 0, 1e6),
		policy.Within("wait_for_targets_s", p.WaitForTargetsS, 0, policy.MaxSeconds),
		policy.Within("hold_max_s", p.HoldMaxS, 0, 600),
	}
	return errors.Join(append(errs, policy.OneOf("scope", p.Scope, policy.Scopes()...), policy.OneOf("relax_for", p.RelaxFor, ForLocal, ForPreferred),
		policy.OneOf("scan", p.Scan, ScanFull, ScanGreedy), p.WindowMode.Validate(), p.Fairness.Validate())...)
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
	return dispatch.New(newRule(p), dispatch.Settings{
		Fairness: p.Fairness, Window: policy.Seconds(p.WindowS), WindowMode: p.WindowMode, TargetWait: policy.Seconds(p.WaitForTargetsS),
	}), nil
}

func newRule(p Params) *rule {
	slack := dispatch.Slack{Time: policy.Seconds(p.RelaxS)}
	r := &rule{
		params:       p,
		mapsFirst:    []dispatch.Pass{{Kinds: []model.Stage{model.StageMap, model.StageReduce}, Slack: slack, Waits: true}},
		reducesFirst: []dispatch.Pass{{Kinds: []model.Stage{model.StageReduce, model.StageMap}, Slack: slack, Waits: true}},
	}
	r.samp.init()
	return r
}
