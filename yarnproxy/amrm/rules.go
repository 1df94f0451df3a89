package amrm

import (
	"time"

	"heddle/core/asks"
)

// rules are the options that may change while the relay runs. They are never
// changed, but replaced.
type rules struct {
	enforce   bool
	scopes    []Scope
	optOutTag string
	stages    []StageRule
	limits    asks.Limits
	decideIn  time.Duration
}

func rulesOf(o *Options) *rules {
	return &rules{
		enforce: o.Enforce, scopes: o.Scopes, optOutTag: o.OptOutTag, stages: o.Stages, limits: o.Limits, decideIn: o.DecideIn,
	}
}

// Apply takes from other options what may change while the relay runs: Enforce,
// Scopes, OptOutTag, Stages, Limits and DecideIn. Each application attempt
// follows at its next call; what is steered and is not to be any more is
// restored there. It is safe for concurrent use and waits for nothing.
func (r *Relay) Apply(o Options) {
	r.rules.Store(rulesOf(&o))
}

// applyRules has an attempt follow other rules.
func (a *attempt) applyRules(newest *rules) {
	a.rules = newest
	a.intent.Advise = !newest.enforce
	a.asks.SetLimits(newest.limits)
}
