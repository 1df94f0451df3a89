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

// anew has an attempt's table start from nothing.
func (a *attempt) anew() { a.table, a.saved = asks.New(a.rules.limits), saved{} }

// obey puts rules in force for an attempt. Its table is read back as from the
// journal, by the new limits; one that cannot be keeps the old ones.
func (r *steering) obey(a *attempt, now *rules) {
	a.rules = now
	a.intent.Advise = !now.enforce
	if a.trust.standing == doubted {
		a.doubt(r.opts.now()) // when it heard what is not kept
		return
	}
	saved := a.saved.version == a.table.Version()
	data, err := a.table.Marshal()
	table := asks.New(now.limits)
	if err == nil {
		err = table.Unmarshal(data)
	}
	if err != nil {
		r.log.Error("new limits do not reach the asks that are waiting; please report it", "attempt", a.name, "error", err)
		return
	}
	a.table = table
	a.saved.version = 0
	if saved {
		a.saved.version = table.Version()
	}
}
