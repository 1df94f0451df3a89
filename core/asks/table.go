package asks

import (
	"cmp"
	"maps"
	"slices"

	"heddle/core/model"
)

// The limits of a table that is given none.
const (
	defaultKeys = 1 << 10
	defaultRows = 1 << 16
)

// DefaultWaitMax is the longest an ask is steered by a table that is given no limit.
const DefaultWaitMax = 10 * model.Minute

// Table is the state of one application attempt. It is not safe for concurrent use.
type Table struct {
	hosts
	limits      Limits
	keys        []*key // by priority, then request id
	running     running
	constrained bool   // there were scheduling requests
	resyncing   bool   // the rows at the ResourceManager are not known yet: calls and grants are recorded until adopt
	call        uint32 // calls so far, repetitions aside
	uncertain   bool   // the call at hand repeats the id of one that the ResourceManager may have applied: it would ignore this one
	last        lastCall
	dirty       bool // something changed since the keys were last looked at
	quiet       quiet
	round       round
	sums        sums
}

// sums are what Relayed returns.
type sums struct {
	granted, steered int
	wait             wait // while any key waits for its planned racks although other nodes could serve it
}

// quiet says under which circumstances nothing was left to be done at the last call.
type quiet struct {
	known  bool
	site   *Site
	pass   model.PassCause
	advise bool
	due    model.Time // when time alone changes something
}

// New returns the table of an attempt that has asked for nothing yet.
func New(l Limits) *Table {
	t := &Table{
		running: running{}, hosts: hosts{denied: map[string]bool{}, lost: map[string]model.Time{}},
		round: round{tally: map[tallyKey]int{}, demand: map[model.Stage]int32{}},
	}
	t.setLimits(l)
	return t
}

// setLimits replaces the limits. They apply from the next call on.
func (t *Table) setLimits(l Limits) {
	if l.MaxKeys <= 0 {
		l.MaxKeys = defaultKeys
	}
	if l.MaxRows <= 0 {
		l.MaxRows = defaultRows
	}
	if l.WaitMax <= 0 {
		l.WaitMax = DefaultWaitMax
	}
	t.limits, t.dirty = l, true
}

// Request takes an allocate call of the application and returns what to send.
// A call whose response id is that of the call before is a repetition: it gets
// the same edit (relay-facts.md 5), unless it asks for something else.
func (t *Table) Request(now model.Time, r *Request, in *Intent) Edit {
	for _, id := range r.Releases { // reported as ended later
		t.removeContainer(id, false)
	}
	if t.updateBlacklist(r.BlacklistAdd, r.BlacklistRemove) {
		t.change()
	}
	if r.Scheduling && !t.constrained {
		t.constrained = true
		t.change()
	}
	var edit Edit
	seen := fingerprint(r.Rows)
	switch {
	case !t.last.known || t.last.ID != r.ResponseID:
		edit = t.process(now, r, in)
	case t.last.Print != seen:
		edit = repeatOther(t, now, r, in)
	default:
		return repeat(t)
	}
	t.remember(r.ResponseID, seen, &edit)
	return edit
}

// process works on a call that is not a repetition.
func (t *Table) process(now model.Time, r *Request, in *Intent) Edit {
	t.call++
	if len(r.Rows) == 0 && t.isUnchanged(now, in) {
		return Edit{Same: true}
	}
	w := &t.round
	w.Table, w.alarm, w.in, w.rows = t, alarm{now: now, due: never}, in, r.Rows
	w.out.clear(t.call)
	w.readRows()
	t.dirty = false
	if t.expireLost(&w.alarm, in.Site) {
		t.change()
	}
	w.decide()
	t.quiet = quiet{
		known: len(r.Rows) == 0, site: in.Site, pass: in.Pass, advise: in.Advise, due: w.due,
	}
	t.uncertain = false
	w.in, w.rows = nil, nil
	return w.out.edit(r.Rows, func(key Key) bool {
		k := t.find(key)
		return k != nil && k.callRows.rewritten
	})
}

// isUnchanged reports whether a call without rows finds everything as the last one left it.
func (t *Table) isUnchanged(now model.Time, in *Intent) bool {
	q := &t.quiet
	if t.dirty || !q.known || q.site != in.Site || q.pass != in.Pass || q.advise != in.Advise || now >= q.due {
		return false
	}
	for _, k := range t.keys {
		if k.outstanding() > 0 && !k.plan.isCurrent(k, in) {
			return false
		}
	}
	return true
}

// Response takes the answer to the last call. That of a repeated call has the same
// containers again, which are counted once.
func (t *Table) Response(now model.Time, r *Response, site *Site) {
	for i := range r.Granted {
		t.addGrant(now, &r.Granted[i], site)
	}
	for _, e := range r.Ended {
		t.removeContainer(e.ID, e.ExitStatus == 0)
	}
	for _, k := range t.keys {
		if site != nil && setHeadroom(k, r.Headroom, site) {
			t.change()
		}
	}
	if len(r.LostHosts) > 0 {
		t.addLost(now, r.LostHosts)
		t.change()
	}
	if t.sums.wait.From != 0 { // what was granted waits no more
		t.sums.wait.observe(now, t.waits())
	}
}

// waits reports whether a key waits for its planned racks while other nodes could serve it.
func (t *Table) waits() bool {
	return slices.ContainsFunc(t.keys, func(k *key) bool { return k.Wait.From != 0 })
}

// addGrant takes one container.
func (t *Table) addGrant(now model.Time, g *Grant, site *Site) {
	if _, known := t.running[g.ID]; known {
		return
	}
	if k := t.findOrAdd(g.Key); k != nil {
		t.change()
		t.sums.granted++
		if k.Steered {
			t.sums.steered++
		}
		if t.resyncing {
			k.recent.granted = now
		}
		rack := t.running.add(g, k, site)
		k.applyGrant(g.Host, string(rack))
		k.settle(now)
		k.Wait.restart(now)
		if !k.plan.target.Reason.Holds() { // what a policy holds has HoldMax in all
			k.Hold.restart(now)
		}
	}
}

// register drops every ask: the application asks for everything again after it
// has registered. Containers that are still running are kept.
func (t *Table) register(running []Grant, site *Site) {
	for _, k := range t.keys {
		k.clearOwn()
		k.clearSent()
		k.Batches, k.Template = nil, nil
		k.Shown, k.recent = shown{Stage: k.Shown.Stage}, recent{}
	}
	clear(t.denied)
	t.constrained, t.last, t.resyncing = false, lastCall{}, false
	for i := range running {
		g := &running[i]
		if _, known := t.running[g.ID]; known {
			continue
		}
		if k := t.findOrAdd(g.Key); k != nil {
			t.running.add(g, k, site)
		}
	}
	t.change()
}

// adopt completes a resync with the rows that the ResourceManager held at a time
// after it began. Rows that the application has not sent since are taken from
// them. Strict rows that no application of its kind sends
// are what an earlier relay left: the next call replaces them, by rows for the plan
// or by the application's own.
//
// Of a key of which containers were granted after the read, and the application has
// not said what it still wants, the rows count too many. It is left alone: all is
// false, and rows that are read later are to be adopted too.
func (t *Table) adopt(now, read model.Time, pending []model.AskRow) (all bool) {
	all = true
	for i := range pending {
		p := &pending[i]
		k := t.findOrAdd(Key{Priority: narrow(p.Priority), RequestID: p.RequestID})
		switch {
		case k == nil || p.Count <= 0:
		case k.recent.granted > read && !k.recent.names[model.AnyName]:
			all = false
		default:
			k.adopt(p)
		}
	}
	for _, k := range t.keys {
		k.settle(now)
		if all && !k.Adopted {
			k.recent = recent{}
		}
	}
	t.resyncing = !all
	t.change()
	return all
}

// Own returns the application's outstanding rows as it last said them, less
// what was granted since: by key, then by name.
func (t *Table) Own() []model.AskRow {
	var rows []model.AskRow
	for _, k := range t.keys {
		rows = appendAsked(rows, k)
	}
	return rows
}

// IsNew reports whether an ask at a key would be a new one: nothing is outstanding
// there, and there is room for the key.
func (t *Table) IsNew(k Key) bool {
	if have := t.find(k); have != nil {
		return have.outstanding() == 0
	}
	return len(t.keys) < t.limits.MaxKeys
}

// Relayed returns what was done to the attempt's asks since the table began.
func (t *Table) Relayed(now model.Time) model.Relayed {
	return model.Relayed{Granted: t.sums.granted, Steered: t.sums.steered, Waited: t.sums.wait.counted(now)}
}

// Steering adds what is steered now to a sum. It looks at each key once and at no rows.
func (t *Table) Steering(sum *model.RelaySteering) {
	for _, k := range t.keys {
		n, s := k.outstanding(), &k.Shown
		if n == 0 || s.Cause != "" || !s.Action.Waits() {
			continue
		}
		if s.Action != model.ActionHold && n > s.Held {
			sum.Add(s.Action, int(n-s.Held), s.Since)
		}
		if s.Held > 0 {
			sum.Add(model.ActionHold, int(s.Held), s.Since)
		}
	}
}

// Keys describes every key for people.
func (t *Table) Keys() []model.RelayKey {
	keys := make([]model.RelayKey, 0, len(t.keys))
	for _, k := range t.keys {
		keys = append(keys, model.RelayKey{
			Priority: int(k.Priority), RequestID: k.RequestID, Stage: k.Shown.Stage, Asked: appendAsked(nil, k), Sent: sentRows(k),
			Action: k.Shown.Action, Cause: k.Shown.Cause, Since: k.Shown.Since, Deadline: k.Shown.Deadline,
			Granted: maps.Clone(k.Granted), Held: int(k.Shown.Held), Reason: k.Shown.Reason,
		})
	}
	return keys
}

// change says that the next call has to look at the keys.
func (t *Table) change() { t.dirty = true }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.RequestID, b.RequestID))
}

func search(keys []*key, k Key) (int, bool) {
	return slices.BinarySearchFunc(keys, k, func(have *key, k Key) int { return compareKeys(have.Key, k) })
}

// find returns the state of a key, nil when there is none.
func (t *Table) find(k Key) *key {
	if i, found := search(t.keys, k); found {
		return t.keys[i]
	}
	return nil
}

// findOrAdd returns the state of a key, and makes it when there is room for it.
func (t *Table) findOrAdd(k Key) *key {
	i, found := search(t.keys, k)
	if found {
		return t.keys[i]
	}
	if len(t.keys) >= t.limits.MaxKeys {
		empty := slices.IndexFunc(t.keys, (*key).isEmpty)
		if empty < 0 {
			return nil
		}
		t.keys = slices.Delete(t.keys, empty, empty+1)
		if empty < i {
			i--
		}
	}
	t.keys = slices.Insert(t.keys, i, newKey(k))
	return t.keys[i]
}
