package shufflewatcher

import (
	"encoding/json"
	"errors"
	"fmt"

	"heddle/core/model"
	"heddle/core/policy"
)

// Scan says how SAMP searches the racks.
type Scan string

// The two searches of algorithms.md 2.1.3c.
const (
	ScanFull   Scan = "full"   // the best of all prefixes
	ScanGreedy Scan = "greedy" // Fig. 4: stop at the first rack that does not help
)

// Scope says which uplinks decide whether the network counts as saturated for
// an offer (algorithms.md 2.1.1f).
type Scope string

// The three scopes.
const (
	ScopeRack Scope = "rack" // the uplink of the offered node's rack
	ScopeAny  Scope = "any"  // any rack's uplink
	ScopeMean Scope = "mean" // the mean utilisation of all uplinks
)

// WindowMode is one of the two readings of the starvation window
// (algorithms.md 2.1.5).
type WindowMode string

// The two readings.
const (
	WindowStrict  WindowMode = "strict"  // every earlier window goes before every later one
	WindowTimeout WindowMode = "timeout" // only jobs older than the window go first
)

// Params are ShuffleWatcher's own settings. NetSat's threshold, period,
// smoothing and hysteresis are shuffle.SaturationParams of the cluster state.
type Params struct {
	// MapCompletion is the fraction of completed maps above which SARP follows the map output (§3.3).
	MapCompletion float64 `json:"map_completion"`
	// RatioInit is the shuffle/input ratio of a job nothing is known of (§3.1). The cluster state assigns it:
	// hand it to state.Config.InitialRatio, and see Consistent.
	RatioInit float64 `json:"ratio_init"`
	// WindowS is the width of the starvation window in seconds (§3.4); 0 is no window.
	WindowS    float64    `json:"window_s"`
	WindowMode WindowMode `json:"window_mode"`
	// RelaxS is how many seconds a user may be passed over for want of a good task (SW-relaxed, §5.2); 0 is SW-fair.
	RelaxS float64 `json:"relax_s"`
	Scope  Scope   `json:"scope"`
	Scan   Scan    `json:"scan"`
	// AssumeUnknown runs SAMP with RatioInit for jobs whose ratio has not been measured, as the paper does.
	AssumeUnknown bool `json:"assume_unknown"`
	// RecomputeAt is the fraction of completed maps at which SAMP runs a second and last time; 0 is never (the paper).
	RecomputeAt float64 `json:"recompute_at"`
	// Waves keeps SAMP from choosing fewer racks than run the maps in that many waves; 0 is no floor (the paper).
	Waves int `json:"waves"`
	// SARPRefresh recomputes the reduce counts as map output appears; false computes them once (the paper).
	SARPRefresh bool `json:"sarp_refresh"`
	// HoldMaxS bounds how many seconds a plan holds a job's reduces in all (I9); 0 is never to hold.
	HoldMaxS float64 `json:"hold_max_s"`
}

// DefaultParams returns the values of algorithms.md appendix C, and heddle's
// choices where the paper gives none.
func DefaultParams() Params {
	return Params{
		MapCompletion: 0.15, RatioInit: 1.0, WindowS: 600, WindowMode: WindowStrict, RelaxS: 5,
		Scope: ScopeRack, Scan: ScanFull, RecomputeAt: 0.05, SARPRefresh: true, HoldMaxS: 120,
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
	within("map_completion", p.MapCompletion, 1)
	within("ratio_init", p.RatioInit, 1000)
	within("window_s", p.WindowS, maxSeconds)
	within("relax_s", p.RelaxS, maxSeconds)
	within("recompute_at", p.RecomputeAt, 1)
	within("waves", float64(p.Waves), 1e6)
	within("hold_max_s", p.HoldMaxS, 600)
	if p.WindowMode != WindowStrict && p.WindowMode != WindowTimeout {
		errs = append(errs, fmt.Errorf("window_mode: want %s or %s, is %q", WindowStrict, WindowTimeout, p.WindowMode))
	}
	if p.Scope != ScopeRack && p.Scope != ScopeAny && p.Scope != ScopeMean {
		errs = append(errs, fmt.Errorf("scope: want %s, %s or %s, is %q", ScopeRack, ScopeAny, ScopeMean, p.Scope))
	}
	if p.Scan != ScanFull && p.Scan != ScanGreedy {
		errs = append(errs, fmt.Errorf("scan: want %s or %s, is %q", ScanFull, ScanGreedy, p.Scan))
	}
	return errors.Join(errs...)
}

// Consistent reports an error when the cluster state starts jobs at another
// ratio than the parameters say.
func (p Params) Consistent(initialRatio float64) error {
	if p.RatioInit != initialRatio {
		return fmt.Errorf("ratio_init: is %g, but the cluster state starts jobs at %g; set both to the same", p.RatioInit, initialRatio)
	}
	return nil
}

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	p := DefaultParams()
	if err := policy.Decode(raw, &p); err != nil {
		return nil, err
	}
	built, err := NewWith(p)
	if err != nil {
		return nil, err // not a nil *Policy in a Policy
	}
	return built, nil
}

// NewWith builds the policy from parameters.
func NewWith(p Params) (*Policy, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Policy{
		params: p, window: seconds(p.WindowS), relax: seconds(p.RelaxS), holdMax: seconds(p.HoldMaxS),
		jobs: map[model.AppID]*jobState{}, skipped: map[model.UserID]model.Time{},
	}, nil
}

func seconds(s float64) model.Duration {
	return model.Duration(s * float64(model.Second))
}
