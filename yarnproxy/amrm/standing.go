package amrm

import (
	"errors"
	"io/fs"

	"heddle/core/asks"
	"heddle/core/model"
)

// standing is what the relay knows of an attempt's asks.
type standing int

const (
	unmet   standing = iota // nothing: the journal may, or the ResourceManager's REST API
	doubted                 // what it says from now on: nothing is steered until the REST API showed the rest
	live                    // every row since it registered
	lost                    // the ResourceManager has forgotten it: it has to register again
	ended                   // it is unregistered, or gone
)

// trust is how far an attempt's table is to be believed.
type trust struct {
	standing standing
	since    model.Time // of a doubt: what the REST API showed before does not end it
}

// readWithin is how old what the ResourceManager's REST API shows may be when it
// has come: the ResourceManager looked at most that long before.
const readWithin = 3 * model.Second

// doubt forgets an attempt's table, which may be of asks that the application has
// changed since: restoring them could ask for too much. A new one listens to what
// passes, and the REST API tells it the rest.
func (a *attempt) doubt(now model.Time) {
	a.trust = trust{doubted, now}
	a.anew()
	a.table.Listen()
}

// meet finds out what is known of an attempt's asks before one of its calls is
// decided. Response ids count the calls that the ResourceManager carried out,
// whichever way they came: a call that does not follow the last one seen here
// says that the application has asked elsewhere.
func (a *attempt) meet(r *steering, now model.Time, responseID int32) {
	switch {
	case a.trust.standing == doubted && now < a.trust.since: // the clock was set back
		a.doubt(now)
	case a.trust.standing == live && !follows(a.last.responseID, responseID):
		a.doubt(now) // calls went another way: directly, or through another relay
	case a.trust.standing == unmet && r.recollect(a, responseID):
		a.trust.standing = live
	case a.trust.standing == unmet:
		a.doubt(now)
	}
}

// follows reports whether a call comes right after another one, or repeats it.
// An application that registered again elsewhere, and comes back with just that
// number, is not told apart.
func follows(before, responseID int32) bool {
	return responseID == before || responseID == (before+1)&0x7fffffff // ApplicationMasterServiceUtils.getNextResponseId
}

// recollect takes an attempt's table from the journal, when the call follows the
// last one that the journal knows of. Quiet calls change no table, and are noted
// there for this: of a gap it would not be known whether the application said
// something in it, to another relay or to the ResourceManager itself.
func (r *steering) recollect(a *attempt, responseID int32) bool {
	data, err := r.journal.load(a.name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.log.Warn("journal of an application not read; starting from what the ResourceManager says", "attempt", a.name, "error", err)
		}
		return false
	}
	rec, err := decodeRecord(data)
	if err == nil && (rec.attempt != a.id || !follows(rec.responseID, responseID)) {
		return false // it has registered again since, or calls went another way
	}
	table := asks.New(a.rules.limits)
	if err == nil {
		err = table.Unmarshal(rec.table)
	}
	if err != nil {
		r.counts.journalLost.Add(1)
		r.log.Warn("journal of an application is of no use; starting from what the ResourceManager says", "attempt", a.name, "error", err)
		return false
	}
	a.table = table
	a.saved = saved{version: table.Version(), responseID: rec.responseID, good: true}
	return true
}

// adopt ends a doubt: the table takes from what the ResourceManager's REST API
// last showed what it has not heard itself. That has to be read after the doubt
// began, else a later call tries again. It is asked when the call at hand is in
// the table, and what is to be undone goes out with the next one.
func (r *steering) adopt(a *attempt, now model.Time) {
	rows, at, ok := r.opts.Guide.Pending(a.app)
	read := at.Add(-readWithin)
	if ok && read >= a.trust.since && a.table.Adopt(now, read, rows) {
		a.trust.standing = live
	}
}

// saved is what the journal was given of an attempt.
type saved struct {
	version    uint64 // of the table
	responseID int32  // of the last call
	good       bool   // nothing is known to have gone wrong
}

// keep begins to write an attempt's table to the journal when it has changed, and
// the number of the last call. A table in doubt is not kept: the file that is there
// is told from a good one by the calls it does not know of.
func (r *steering) keep(a *attempt) <-chan journalResult {
	version := a.table.Version()
	if r.journal == nil || a.trust.standing != live {
		return nil
	}
	if version == a.saved.version {
		if a.saved.good && a.saved.responseID != a.last.responseID && r.journal.note(a.name, a.last.responseID) {
			a.saved.responseID = a.last.responseID
		}
		return nil
	}
	a.saved = saved{version: version}
	table, err := a.table.Marshal()
	if err != nil {
		r.counts.journalLost.Add(1)
		r.log.Error("asks of an application not saved; a restart now would not know them", "attempt", a.name, "error", err)
		return nil
	}
	rec := record{attempt: a.id, responseID: a.last.responseID, table: table}
	saving := r.journal.save(a.name, rec.encode())
	a.saved.responseID, a.saved.good = a.last.responseID, saving != nil
	return saving
}

// settle does what a call or an answer leaves to be done once it is on its way:
// the journal, and telling the guide.
func (r *steering) settle(a *attempt) {
	r.guarded(a, func() {
		if a.trust.standing == ended || a.trust.standing == lost || a.trouble.faults > 0 {
			return
		}
		r.keep(a)
		now := r.opts.now()
		o := &a.observed
		if !o.due && (!o.outstanding || now.Sub(o.at) < observeEvery) {
			return
		}
		rows := a.staged(a.table.Own())
		r.opts.Guide.Observe(a.app, rows)
		a.observed = observed{at: now, outstanding: len(rows) > 0}
	})
}
