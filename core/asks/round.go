package asks

import (
	"cmp"
	"maps"
	"slices"

	"heddle/core/model"
)

// round is one call that is being worked on. Its memory is used again by the next.
type round struct {
	alarm
	*Table
	in    *Intent
	rows  []Row   // of the application
	next  []int32 // by row, the next row of the same key; -1 ends
	out   outbox
	racks racks
	tally map[tallyKey]int
	// demand is how many containers of a stage run and have been asked for so far in this call; asked is the sum of the latter.
	demand map[model.Stage]int32
	asked  int32
}

// tallyKey is one rack of a stage.
type tallyKey struct {
	stage model.Stage
	rack  model.RackID
}

// verdict is what is to become of a key: an action, with its rows in
// outbox.want, or the cause it passes for.
type verdict struct {
	action   model.Action
	cause    model.PassCause
	deadline model.Time
	event    model.Action // widen or next_rack, when that is what is new
}

func passFor(cause model.PassCause) verdict { return verdict{cause: cause} }

// readRows takes the application's rows into its own rows.
func (r *round) readRows() {
	for _, k := range r.keys {
		k.callRows = callRows{head: -1, tail: -1}
	}
	r.next = slices.Grow(r.next[:0], len(r.rows))[:0]
	for i := range int32(len(r.rows)) { //nolint:gosec // a frame holds fewer rows
		r.next = append(r.next, -1)
		row := &r.rows[i]
		k := r.findOrAdd(row.Key)
		if k == nil { // no room
			if row.Name == model.AnyName && row.Count > 0 {
				r.out.step(row.Key, "", "", cmp.Or(r.in.Pass, model.PassConstrain))
			}
			continue
		}
		if k.callRows.tail < 0 {
			k.callRows.head = i
		} else {
			r.next[k.callRows.tail] = i
		}
		k.callRows.tail = i
		k.setAsk(row)
		if r.resyncing || k.Adopted {
			k.recent.add(row.Name)
		}
	}
	if len(r.rows) == 0 {
		return
	}
	room := r.limits.MaxRows
	for _, k := range r.keys {
		if k.callRows.dropped {
			k.clearOwn()
		}
		if room -= len(k.Own); room < 0 {
			k.Large = true
		}
		k.settle(r.now)
	}
}

// decide makes the rows of every key.
func (r *round) decide() {
	clear(r.tally)
	clear(r.demand)
	r.asked = 0
	for _, k := range r.keys {
		if k.outstanding() > 0 {
			k.plan.refresh(k, r.in)
		}
		k.ask = 0
		r.demand[k.plan.stage] += int32(k.Running) //nolint:gosec // at most maxRunning
		for rack, n := range k.Granted {           // order-free: sums
			r.tally[tallyKey{k.plan.stage, rack}] += n
		}
	}
	for _, k := range r.keys {
		switch {
		case k.callRows.dropped:
			r.dropped(k)
		case k.outstanding() == 0:
			r.recordPassed(k)
			r.show(k, verdict{})
		default:
			r.dropAdopted(k)
			r.decideKey(k)
		}
		if k.Large {
			k.dropRows()
		}
	}
	r.sums.wait.observe(r.now, !r.in.Advise && r.waits())
}

// decideKey makes the rows of a key with something outstanding.
func (r *round) decideKey(k *key) {
	v := r.verdict(k)
	if v.action != model.ActionPin && v.action != model.ActionTrim && k.Wait.observe(r.now, false) {
		r.change()
	}
	was := k.Shown.Action
	r.show(k, v)
	switch {
	case v.action == "":
		r.pass(k, v.cause)
	case r.in.Advise:
		if k.callRows.head >= 0 || was != v.action {
			r.out.step(k.Key, k.plan.stage, v.action, model.PassAdvise)
		}
		r.pass(k, "")
	default:
		r.steer(k, &v)
	}
}

// verdict decides what becomes of a key.
func (r *round) verdict(k *key) verdict {
	cause := r.passCause(k)
	if cause != "" {
		r.endHold(k)
		k.ask = k.outstanding()
		return passFor(cause)
	}
	k.ask = r.allowed(k)
	r.demand[k.plan.stage] += k.ask
	r.asked += k.ask
	if k.ask == 0 {
		r.out.want = append(r.out.want[:0], k.strictAny())
		return verdict{action: model.ActionHold, deadline: k.Hold.Until}
	}
	v := r.onRacks(k)
	if v.action == "" && k.ask < k.outstanding() {
		r.out.own(k)
		return verdict{action: model.ActionHold, deadline: k.Hold.Until}
	}
	return v
}

// onRacks decides whether and how a key is tied to racks.
func (r *round) onRacks(k *key) verdict {
	switch {
	case k.hasGivenUp() || r.limit(k) <= 0:
		return passFor(model.PassDeadline)
	case len(k.plan.target.Racks) == 0 && k.plan.target.Reason.Unties():
		return passFor(model.PassUncertain)
	case len(k.plan.target.Racks) == 0:
		return passFor(model.PassNoPlan)
	case r.in.Site == nil:
		return passFor(model.PassStale)
	}
	v := r.place(k)
	if v.action == "" {
		return v
	}
	if len(r.out.want) > r.limits.MaxRows {
		return passFor(model.PassConstrain)
	}
	ends, over := waitedOut(&r.racks, r.limit(k))
	if over {
		giveUp(k)
		r.change()
		return passFor(model.PassDeadline)
	}
	v.deadline = ends
	for i := range k.Racks {
		r.tally[tallyKey{k.plan.stage, k.Racks[i].Rack}] += int(k.Racks[i].Quota)
	}
	return v
}

// place puts a key on the racks of its plan.
func (r *round) place(k *key) verdict {
	p := &r.racks
	p.start(r, k)
	local := k.plan.stage == model.StageMap && k.isLocal()
	var v verdict
	switch {
	case !slices.ContainsFunc(p.list, func(p place) bool { return p.usable() }):
		return passFor(model.PassSite)
	case local:
		v = p.trim()
	default:
		v = p.pin()
	}
	if p.changed {
		r.change()
	}
	if v.action == "" {
		return v
	}
	if local || r.limits.Spread == SpreadEven {
		wide := k.older(r.now, r.limits.WidenAfter)
		r.wake(k.since().Add(r.limits.WidenAfter))
		if wide && !k.Widened {
			v.event = model.ActionWiden
		}
		if wide != k.Widened {
			k.Widened = wide
			r.change()
		}
	} else {
		k.Widened = true
	}
	p.want(&r.out, local)
	return v
}

// passCause says why a key must not be steered, "" when it may.
func (r *round) passCause(k *key) model.PassCause {
	switch {
	case r.in.Pass != "":
		return r.in.Pass
	case r.constrained || k.isConstrained():
		return model.PassConstrain
	case !k.plan.staged:
		return model.PassType
	case !k.plan.planned:
		return model.PassNoPlan
	}
	return ""
}

// limit is how long a key may be steered.
func (r *round) limit(k *key) model.Duration {
	if k.plan.stage == model.StageMap {
		return r.limits.TrimDeadline
	}
	return r.limits.PinDeadline
}

// show keeps what people are told of a key.
func (r *round) show(k *key, v verdict) {
	s := shown{Action: v.action, Cause: v.cause, Stage: k.plan.stage, Deadline: v.deadline}
	if v.action != "" {
		s.Reason, s.Since, s.Held = k.plan.target.Reason, k.Shown.Since, k.outstanding()-k.ask
		if v.action != k.Shown.Action {
			s.Since = r.now
		}
		if r.in.Advise {
			s.Cause = model.PassAdvise
		}
	}
	k.Shown = s
}

// steer puts the rows of a verdict to the ResourceManager.
func (r *round) steer(k *key, v *verdict) {
	full := k.callRows.anys > 0
	k.callRows.rewritten = k.callRows.head >= 0
	action := v.action
	if v.event != "" && k.Steered {
		action = v.event
	}
	if !k.Steered {
		k.Steered = true
		r.change()
	}
	if r.put(k, full) || k.callRows.head >= 0 {
		r.out.step(k.Key, k.plan.stage, action, "")
	}
}

// put sends what is wanted of a key. What an uncertain call has of it is sent
// again with the next one, also when it is the application's rows that restore it.
func (r *round) put(k *key, full bool) (sent bool) {
	sent = r.out.put(k, full || k.Resend, r.uncertain)
	if sent || k.Resend {
		r.change()
	}
	k.Resend = r.uncertain && (sent || k.callRows.head >= 0)
	return sent
}

// pass sends the application's rows on, with those restored that are others at
// the ResourceManager.
func (r *round) pass(k *key, cause model.PassCause) {
	r.recordPassed(k)
	sent := false
	k.ask = k.outstanding()
	if k.Steered || k.Resend {
		k.Steered = false
		r.change()
		r.out.own(k)
		sent = r.put(k, false)
	}
	switch {
	case sent && cause == model.PassDeadline:
		r.out.step(k.Key, k.plan.stage, model.ActionFallBack, "")
	case sent:
		r.out.step(k.Key, k.plan.stage, model.ActionRestore, "")
	case k.callRows.head >= 0 && cause != "":
		r.out.step(k.Key, k.plan.stage, "", cause)
	}
}

// dropped sends an ANY row of 0 on, alone when other rows of the key are not the application's.
func (r *round) dropped(k *key) {
	var last *Row
	others := false
	for i := k.callRows.head; i >= 0; i = r.next[i] {
		if row := &r.rows[i]; row.Name == model.AnyName {
			last = row
		} else {
			others = true
		}
	}
	if k.Steered && others {
		k.callRows.rewritten = true
		row := *last
		row.Verbatim = true
		r.out.emit = append(r.out.emit, row)
	}
	k.clearSent()
	k.Shown = shown{Stage: k.Shown.Stage}
}

// recordPassed records the application's rows of this call as what the ResourceManager holds.
func (r *round) recordPassed(k *key) {
	if k.Large && !k.Steered {
		return
	}
	for i := k.callRows.head; i >= 0; i = r.next[i] {
		row := &r.rows[i]
		if row.Count <= 0 {
			delete(k.RM, row.Name)
			continue
		}
		k.RM[row.Name] = sentRow{Count: row.Count, Relax: row.Relax, call: r.call}
	}
}

// dropAdopted takes the rows that an earlier relay added to an adopted key off the
// application's own: all but ANY, and those of maps, which have rows of their own.
func (r *round) dropAdopted(k *key) {
	if !k.Adopted {
		return
	}
	k.Adopted = false
	if !k.plan.staged || k.plan.stage != model.StageMap {
		maps.DeleteFunc(k.Own, func(name string, _ ownRow) bool { return name != model.AnyName && !k.recent.names[name] })
	}
	r.change()
}
