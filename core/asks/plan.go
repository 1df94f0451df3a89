package asks

import (
	"slices"

	"heddle/core/model"
)

// plan is what was planned for a key when it was last looked at.
type plan struct {
	staged  bool // a rule knows the key
	stage   model.Stage
	planned bool
	target  Target // Racks are the key's own copy
}

// look asks what stage a key belongs to and what is planned for it.
func look(k *key, in *Intent) plan {
	var p plan
	if in.Stage != nil {
		p.stage, p.staged = in.Stage(k.Key, k.isLocal())
	}
	if p.staged && in.Target != nil {
		p.target, p.planned = in.Target(p.stage)
	}
	return p
}

// isCurrent reports whether the plan is still what it was.
func (p *plan) isCurrent(k *key, in *Intent) bool {
	now := look(k, in)
	return p.staged == now.staged && p.stage == now.stage && p.planned == now.planned && p.target.equal(&now.target)
}

func (t *Target) equal(o *Target) bool {
	return t.Hold == o.Hold && t.MaxRunning == o.MaxRunning && t.Until == o.Until && t.Reason == o.Reason && slices.Equal(t.Racks, o.Racks)
}

// refresh brings the plan up to date.
func (p *plan) refresh(k *key, in *Intent) {
	now := look(k, in)
	if p.target.equal(&now.target) {
		now.target = p.target
	} else {
		now.target.Racks = slices.Clone(now.target.Racks)
	}
	*p = now
}
