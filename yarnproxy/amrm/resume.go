package amrm

import (
	"errors"
	"io/fs"

	"heddle/core/asks"
	"heddle/core/model"
)

// readWithin is how old what the ResourceManager's REST API shows may be when it
// has come: the ResourceManager looked at most that long before.
const readWithin = 3 * model.Second

// restore gives an attempt of which nothing is known its table from the journal.
// Quiet calls change no table, and are noted there too, so that the next call
// tells a table from one that does not know all calls.
func (r *steering) restore(a *attempt) {
	data, err := r.journal.load(a.name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.log.Warn("journal of an application not read; starting from what the ResourceManager says", "attempt", a.name, "error", err)
		}
		return
	}
	rec, err := decodeRecord(data)
	if err == nil && rec.attempt != a.id {
		return
	}
	if err == nil {
		err = a.asks.Restore(rec.responseID, rec.table)
	}
	if err != nil {
		r.counts.journalLost.Add(1)
		r.log.Warn("journal of an application is of no use; starting from what the ResourceManager says", "attempt", a.name, "error", err)
		return
	}
	a.saved = saved{version: a.asks.Table().Version(), responseID: rec.responseID, good: true}
}

// show tells an attempt what the ResourceManager's REST API last showed of it.
// What is to be undone goes out with the next call.
func (r *steering) show(a *attempt, now model.Time) {
	if rows, at, ok := r.opts.Guide.Pending(a.app); ok {
		a.asks.Show(now, at.Add(-readWithin), rows)
	}
}

// saved is what the journal was given of an attempt.
type saved struct {
	version    uint64 // of the table
	responseID int32  // of the last call
	good       bool   // nothing is known to have gone wrong
}

// keep begins to write an attempt's table to the journal when it has changed, and
// the number of the last call. A table that is not all that is asked for is not
// kept: the file that is there is told from a good one by the calls it does not know of.
func (r *steering) keep(a *attempt) <-chan journalResult {
	if r.journal == nil || a.asks.State() != asks.InSync {
		return nil
	}
	version, last := a.asks.Table().Version(), a.asks.LastCall()
	if version == a.saved.version {
		if a.saved.good && a.saved.responseID != last && r.journal.note(a.name, last) {
			a.saved.responseID = last
		}
		return nil
	}
	a.saved = saved{version: version}
	table, err := a.asks.Table().Marshal()
	if err != nil {
		r.counts.journalLost.Add(1)
		r.log.Error("asks of an application not saved; a restart now would not know them", "attempt", a.name, "error", err)
		return nil
	}
	rec := record{attempt: a.id, responseID: last, table: table}
	saving := r.journal.save(a.name, rec.encode())
	a.saved.responseID, a.saved.good = last, saving != nil
	return saving
}

// settle does what a call or an answer leaves to be done once it is on its way:
// the journal, and telling the guide.
func (r *steering) settle(a *attempt) {
	r.guarded(a, func() {
		if !a.known() || a.trouble.faults > 0 {
			return
		}
		r.keep(a)
		now := r.opts.now()
		o := &a.observed
		if !o.due && (!o.outstanding || now.Sub(o.at) < observeEvery) {
			return
		}
		rows := a.staged(a.asks.Table().Own())
		r.opts.Guide.Observe(a.app, rows)
		a.observed = observed{at: now, outstanding: len(rows) > 0}
	})
}
