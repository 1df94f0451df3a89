package policy

import (
	"slices"

	"heddle/core/state"
)

// Scope says which uplinks decide whether the network counts as busy for an
// offer. The papers speak of a node's traffic, of a rack's uplink and of the
// cluster's load (ShuffleWatcher §3.1 and §4.2, NAS Algorithm 1 and §III-D;
// algorithms.md 2.1.1f).
type Scope string

// The three scopes.
const (
	ScopeRack Scope = "rack" // the uplink of the offered node's rack
	ScopeAny  Scope = "any"  // any rack's uplink
	ScopeMean Scope = "mean" // the mean utilisation of all uplinks
)

// Scopes lists them.
func Scopes() []Scope { return []Scope{ScopeRack, ScopeAny, ScopeMean} }

// Saturated is the flag NetworkSaturated for a request from a rack: NetSat's of
// that rack, of any, or of the mean utilisation.
func (s Scope) Saturated(v state.View, rack *state.Rack) bool {
	switch s {
	case ScopeRack:
		return rack.Load.Saturated
	case ScopeAny:
		return slices.ContainsFunc(v.Racks(), func(r *state.Rack) bool { return r.Load.Saturated })
	case ScopeMean:
		return meanUtilization(v) >= v.Saturation().Threshold
	}
	return false
}

// meanUtilization is the mean over the racks whose uplink capacity is known.
func meanUtilization(v state.View) float64 {
	sum, n := 0.0, 0
	for _, r := range v.Racks() {
		if r.Link.Out > 0 || r.Link.In > 0 {
			sum += r.Utilization
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
