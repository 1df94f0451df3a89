package amrm

import (
	"errors"
	"io/fs"

	"heddle/core/asks"
	"heddle/core/model"
)

// maxReadTime is the longest time between the ResourceManager's reading of its
// rows for its REST API and their arrival here.
const maxReadTime = 3 * model.Second

// restore loads the table of an attempt that is Unknown from the journal. The
// journal has the response id of the last call too, also when that call changed
// no table, so that the next call shows whether the table is complete.
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

// reconcile completes a resync from the last poll of the ResourceManager's REST
// API. The next call reverts what has to be reverted.
func (r *steering) reconcile(a *attempt, now model.Time) {
	if rows, at, ok := r.opts.Guide.Pending(a.app); ok {
		a.asks.Reconcile(now, at.Add(-maxReadTime), rows)
	}
}

// saved is what the journal was given of an attempt.
type saved struct {
	version    uint64 // of the table
	responseID int32  // of the last call
	good       bool   // nothing is known to have gone wrong
}

// journalIfChanged begins to write an attempt's table to the journal when it has changed, and
// else the response id of the last call. A table that is not InSync is not
// written: the response id in the file that is there shows that it lacks calls.
func (r *steering) journalIfChanged(a *attempt) <-chan journalResult {
	if r.journal == nil || a.asks.State() != asks.InSync {
		return nil
	}
	version, last := a.asks.Table().Version(), a.asks.ResponseID()
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

// afterSend updates the journal and the guide once a call or an answer has been sent.
func (r *steering) afterSend(a *attempt) {
	r.guarded(a, func() {
		if !a.isRegistered() || a.failures.faults > 0 {
			return
		}
		r.journalIfChanged(a)
		now := r.opts.now()
		o := &a.observed
		if !o.due && (!o.outstanding || now.Sub(o.at) < observeEvery) {
			return
		}
		rows := a.withStages(a.asks.Table().Own())
		r.opts.Guide.Observe(a.app, rows)
		a.observed = observed{at: now, outstanding: len(rows) > 0}
	})
}
