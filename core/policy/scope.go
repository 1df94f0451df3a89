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

// Busy reports whether the network is busy for a request from a rack: by what
// busy says of one rack's uplink, or by the mean reaching the limit.
func (s Scope) Busy(v state.View, rack *state.Rack, limit float64, busy func(*state.Rack) bool) bool {
	switch s {
	case ScopeRack:
		return busy(rack)
	case ScopeAny:
		return slices.ContainsFunc(v.Racks(), busy)
	case ScopeMean:
		return meanUtilization(v) >= limit
	}
	return false
}

// Saturated is the flag NetworkSaturated for a request from a rack: NetSat's.
func (s Scope) Saturated(v state.View, rack *state.Rack) bool {
	return s.Busy(v, rack, v.Saturation().Threshold, func(r *state.Rack) bool { return r.Load.Saturated })
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
