package asks

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// outbox collects what a call is to send. Its memory is used again by the next.
type outbox struct {
	want  []Row // the rows a key should have at the ResourceManager
	emit  []Row // rows made in this call
	rows  []Row // of the edit
	steps []Step
	names []string
	call  uint32
}

// clear starts a call.
func (o *outbox) clear(call uint32) {
	o.emit, o.steps, o.call = o.emit[:0], o.steps[:0], call
}

// step notes what was done to a key.
func (o *outbox) step(k Key, stage model.Stage, action model.Action, cause model.PassCause) {
	o.steps = append(o.steps, Step{Key: k, Stage: stage, Action: action, Cause: cause})
}

// add wants a row.
func (o *outbox) add(r Row) { o.want = append(o.want, r) }

// own wants the application's own rows, less what was granted since, and ANY for no more than is asked for now: the
// schedulers allocate no more than that, whatever the other rows have.
func (o *outbox) own(k *key) {
	o.want = o.want[:0]
	for name, r := range k.Own { // order-free: sorted below
		n := r.left()
		if name == model.AnyName {
			n = min(n, k.ask)
		}
		if n > 0 {
			o.add(k.row(name, n, r.Relax))
		}
	}
	byName(o.want)
}

func byName(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
}

// put makes the rows at the ResourceManager those of want: it sends the rows
// that differ, all of them when full, and 0 for those no longer wanted. What the
// application sent in this call is not sent again. Rows set to 0 in an uncertain
// call are kept, so that the next one sends them again.
func (o *outbox) put(k *key, full, uncertain bool) (sent bool) {
	before := len(o.emit)
	for i := range o.want {
		w := &o.want[i]
		have, found := k.RM[w.Name]
		fits := found && have.Count == w.Count && have.Relax == w.Relax
		if !fits || full && have.call != o.call {
			o.emit = append(o.emit, *w)
		}
		if !fits || have.call != o.call {
			k.RM[w.Name] = sentRow{Count: w.Count, Relax: w.Relax, call: o.call}
		}
	}
	if len(k.RM) > len(o.want) {
		o.cancel(k, len(o.emit) > before, uncertain)
	}
	return len(o.emit) > before
}

// cancel sends 0 for the rows of a key that are not wanted any more. A row of 0
// that may still be there is no reason to edit a call.
func (o *outbox) cancel(k *key, sent, uncertain bool) {
	o.names = o.names[:0]
	for name, r := range k.RM { // order-free: sorted below
		if r.call != o.call && (r.Count > 0 || sent) {
			o.names = append(o.names, name)
		}
	}
	slices.Sort(o.names)
	for _, name := range o.names {
		o.emit = append(o.emit, k.row(name, 0, true))
		if uncertain {
			k.RM[name] = sentRow{Relax: true, call: o.call}
		} else {
			delete(k.RM, name)
		}
	}
}

// edit puts the rows of a call together: the application's own, those of keys
// that are rewritten left out, then those that were made.
func (o *outbox) edit(rows []Row, rewritten func(Key) bool) Edit {
	same := len(o.emit) == 0
	o.rows = o.rows[:0]
	for i := range rows {
		if rewritten(rows[i].Key) {
			same = false
			continue
		}
		o.rows = append(o.rows, rows[i])
		o.rows[len(o.rows)-1].Verbatim = true
	}
	if same {
		return Edit{Same: true, Steps: o.steps}
	}
	o.rows = append(o.rows, o.emit...)
	return Edit{Rows: o.rows, Steps: o.steps}
}
