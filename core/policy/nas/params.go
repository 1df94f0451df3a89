package nas

import (
	"encoding/json"
	"errors"
	"fmt"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
)

// Skips says what bounds how often a user is passed over.
type Skips string

// The two forms of the skip counters (§III-C and §IV-A).
const (
	ByTime  Skips = "time"  // so many seconds since the first skip: the paper's real cluster
	ByCount Skips = "count" // so many offers: the paper's simulation
)

// ThresholdMode says where TrafficThreshold comes from.
type ThresholdMode string

// The three modes.
const (
	ThresholdAuto  ThresholdMode = "auto"  // equation 3
	ThresholdFixed ThresholdMode = "fixed" // the operator's value
	ThresholdOff   ThresholdMode = "off"   // every map qualifies (Fig. 3g, "w/o TT")
)

// Reset says which launches of maps set a user's skip counter back.
type Reset string

// The two readings (algorithms.md 2.3.3, appendix B 6).
const (
	ResetLocal  Reset = "local"  // those that meet both requirements: Algorithm 2
	ResetLaunch Reset = "launch" // all: the text
)

// Completion says when the reduces of a job may be scheduled.
type Completion string

// The two forms (algorithms.md 2.3.7).
const (
	CompletionAdaptive  Completion = "adaptive"  // when the shuffle fits into the rest of the map phase, by size where that is not known
	CompletionSlowstart Completion = "slowstart" // Hadoop's mapreduce.job.reduce.slowstart.completedmaps
)

// Gate says what becomes of maps of medium and heavy jobs on a congested rack.
type Gate string

// The two gates (algorithms.md 2.3.6). The paper's own, until the rack is
// uncongested, makes no progress where only heavy jobs are left.
const (
	GateSoft Gate = "soft" // they wait until the user has been skipped D^m times and has no light map
	GateOff  Gate = "off"
)

// Params are the policy's own settings.
type Params struct {
	LightMiB      float64 `json:"light_mib" doc:"a job whose predicted shuffle is smaller is shuffle-light (IV-A)"`
	HeavyMiB      float64 `json:"heavy_mib" doc:"a job whose predicted shuffle is larger is shuffle-heavy, between the two it is medium (IV-A)"`
	SmallInputMiB float64 `json:"small_input_mib" doc:"a job that reads less has a small input (IV-A)"`

	CongestionThreshold float64 `json:"congestion_threshold" doc:"utilisation of an uplink from which on it is congested: 0.80 in IV-A, 0.90 in III-D"`

	Skips       Skips   `json:"skips" doc:"what bounds how long a user is passed over: time for a live cluster, count as in the paper's simulation"`
	MapSkips    int     `json:"map_skips" doc:"D^m with skips: count"`
	ReduceSkips int     `json:"reduce_skips" doc:"D^r with skips: count"`
	MapWaitS    float64 `json:"map_wait_s" doc:"seconds a user may be passed over for want of a good map, with skips: time"`
	ReduceWaitS float64 `json:"reduce_wait_s" doc:"seconds a user may be passed over for want of a light reduce, with skips: time; a plan holds that long for every reduce it holds"`

	MapParams
	ReduceParams
}

// MapParams are the settings of MTS.
type MapParams struct {
	MTS                 bool          `json:"mts" doc:"schedule maps by MTS; false is delay scheduling by user"`
	TrafficThreshold    ThresholdMode `json:"traffic_threshold" doc:"a node's limit of predicted map output: auto is equation 3, fixed is traffic_threshold_mib, off is none"`
	TrafficThresholdMiB float64       `json:"traffic_threshold_mib" doc:"the limit with traffic_threshold: fixed"`
	GammaRack           float64       `json:"gamma_rack" doc:"cost per byte of a map that reads in its rack"`
	GammaRemote         float64       `json:"gamma_remote" doc:"cost per byte of a map that reads from another rack"`
	MapReset            Reset         `json:"map_reset" doc:"which launches set a user's map skips back: local is Algorithm 2, launch the text"`
}

// ReduceParams are the settings of CA-RTS, of CR-RTS and of plans.
type ReduceParams struct {
	CARTS      bool       `json:"ca_rts" doc:"schedule reduces by CA-RTS below the congestion threshold; false is fair order at Hadoop's slowstart"`
	Completion Completion `json:"completion" doc:"when a job's reduces may start: adaptive, or slowstart (Hadoop's)"`
	CRRTS      bool       `json:"cr_rts" doc:"schedule reduces by CR-RTS at or above the congestion threshold; false makes no difference between the two"`
	MapGate    Gate       `json:"map_gate" doc:"maps of medium and heavy jobs on a congested rack: soft, they wait their turn out; off"`
	// WaitForTargetsS is heddle's: 0 is the paper to the letter.
	WaitForTargetsS float64 `json:"wait_for_targets_s" doc:"how many seconds the reduces of a medium or heavy job wait for racks where ReduceNum is not reached, counted from its last reduce launched; 0 is the paper's, which exceeds ReduceNum at once"`
	HoldMaxS        float64 `json:"hold_max_s" doc:"the longest a plan holds a job's reduces in all, for maps to complete and again while uplinks are congested; 0 is never"`
}

// DefaultParams returns the paper's values (§IV-A) and the resolutions of
// algorithms.md 2.3 where it gives none or two. Time bounds the skips, because a
// service sees as many offers as it is asked for.
func DefaultParams() Params {
	return Params{
		LightMiB: 1, HeavyMiB: 100, SmallInputMiB: 10,
		CongestionThreshold: 0.80,
		Skips:               ByTime, MapSkips: 135, ReduceSkips: 135, MapWaitS: 5, ReduceWaitS: 5,
		MapParams: MapParams{
			MTS: true, TrafficThreshold: ThresholdAuto, GammaRack: 1, GammaRemote: 2,
			MapReset: ResetLocal,
		},
		ReduceParams: ReduceParams{
			CARTS: true, Completion: CompletionAdaptive,
			CRRTS: true, MapGate: GateSoft, WaitForTargetsS: 20, HoldMaxS: 120,
		},
	}
}

// PrintedParams returns what the paper's simulation has: skips are counted, reduces start
// when Hadoop's do, and ReduceNum is exceeded at once.
func PrintedParams() Params {
	p := DefaultParams()
	p.Skips, p.Completion, p.WaitForTargetsS = ByCount, CompletionSlowstart, 0
	return p
}

// The bounds of what can be set: a day, and more than any use.
const (
	maxCount = 1_000_000
	maxMiB   = 1 << 30 // a PiB
	maxHold  = 600     // the engine's own limit (I9)
)

// Validate reports every setting that is out of range.
func (p *Params) Validate() error {
	var errs []error
	const some = 1.0 / (1 << 20) // a byte
	errs = append(errs,
		policy.Within("light_mib", p.LightMiB, some, maxMiB),
		policy.Within("heavy_mib", p.HeavyMiB, some, maxMiB),
		policy.Within("small_input_mib", p.SmallInputMiB, 0, maxMiB),
	)
	if p.LightMiB >= p.HeavyMiB {
		errs = append(errs, fmt.Errorf("light_mib: must be below heavy_mib, is %g and %g", p.LightMiB, p.HeavyMiB))
	}
	errs = append(errs,
		policy.Within("congestion_threshold", p.CongestionThreshold, 0.01, 1),
		policy.Within("map_skips", float64(p.MapSkips), 0, maxCount),
		policy.Within("reduce_skips", float64(p.ReduceSkips), 0, maxCount),
		policy.Within("map_wait_s", p.MapWaitS, 0, policy.MaxSeconds),
		policy.Within("reduce_wait_s", p.ReduceWaitS, 0, policy.MaxSeconds),
		policy.Within("traffic_threshold_mib", p.TrafficThresholdMiB, 0, maxMiB),
	)
	if p.TrafficThreshold == ThresholdFixed && p.TrafficThresholdMiB == 0 {
		errs = append(errs, errors.New("traffic_threshold_mib: must be above 0 when traffic_threshold is fixed"))
	}
	errs = append(errs,
		policy.Within("gamma_rack", p.GammaRack, 0, 1000),
		policy.Within("gamma_remote", p.GammaRemote, 0, 1000),
		policy.Within("wait_for_targets_s", p.WaitForTargetsS, 0, policy.MaxSeconds),
		policy.Within("hold_max_s", p.HoldMaxS, 0, maxHold),
	)
	return errors.Join(append(errs,
		policy.OneOf("skips", p.Skips, ByTime, ByCount),
		policy.OneOf("traffic_threshold", p.TrafficThreshold, ThresholdAuto, ThresholdFixed, ThresholdOff),
		policy.OneOf("map_reset", p.MapReset, ResetLocal, ResetLaunch),
		policy.OneOf("completion", p.Completion, CompletionAdaptive, CompletionSlowstart),
		policy.OneOf("map_gate", p.MapGate, GateSoft, GateOff),
	)...)
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
	return dispatch.New(newRule(p), dispatch.Settings{Fairness: policy.Fair, TargetWait: policy.Seconds(p.WaitForTargetsS)}), nil
}

func newRule(p Params) *rule {
	f := &facts{params: p, classes: classes{light: mib(p.LightMiB), heavy: mib(p.HeavyMiB), small: mib(p.SmallInputMiB)}}
	r := &rule{facts: f, maps: mapRule{f}, reduces: reduceRule{f}}
	r.mapPass = dispatch.Pass{Kinds: []model.Stage{model.StageMap}, Wait: waitMaps, Slack: r.slack(p.MapSkips, p.MapWaitS), Local: true}
	r.reducePass = dispatch.Pass{Kinds: []model.Stage{model.StageReduce}, Wait: waitReduces}
	return r
}

func mib(v float64) model.Bytes { return model.Bytes(v * float64(model.MiB)) }
