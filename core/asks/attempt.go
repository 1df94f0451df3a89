package asks

import "heddle/core/model"

// State is what is known of an attempt's asks.
type State int

// The states. Only asks of an attempt InSync are steered.
const (
	// Unknown: nothing yet; a table that was saved may say, or the ResourceManager.
	Unknown State = iota
	// Resyncing: the calls since some moment. Nothing is steered until the ResourceManager has shown the rest.
	Resyncing
	// InSync: every row since the attempt registered.
	InSync
	// NotRegistered: the ResourceManager has forgotten the attempt, which registers again and asks for everything anew.
	NotRegistered
	// Finished: the attempt is unregistered, or gone. It stays so.
	Finished
)

func (s State) String() string {
	switch s {
	case Unknown:
		return "unknown"
	case Resyncing:
		return "resyncing"
	case InSync:
		return "in sync"
	case NotRegistered:
		return "not registered"
	case Finished:
		return "finished"
	}
	return "no state"
}

// Attempt is one application attempt: its ask table, and how far that is to be
// believed. Whoever stands between the application and the ResourceManager
// reports what passes, and sends what Request returns. What an event does:
//
//	event          Unknown        Resyncing      InSync         NotRegistered  Finished
//	Restore        InSync         -              -              -              -
//	Call, next     Resyncing      -              -              -              -
//	Call, other    Resyncing      -              Resyncing      -              -
//	Answer         -              -              -              Resyncing      -
//	Registered     InSync         InSync         InSync         InSync         -
//	Forgotten      NotRegistered  NotRegistered  NotRegistered  NotRegistered  -
//	Finish         Finished       Finished       Finished       Finished       -
//	Show           -              InSync         -              -              -
//	Distrust       Resyncing      Resyncing      Resyncing      Resyncing      -
//
// A call is the next one when its response id follows that of the last call:
// response ids count the calls that the ResourceManager carried out, whichever way
// they came, so that another id says that the application has asked elsewhere. An
// application that registered again elsewhere, and comes back with just that id,
// is not told apart.
//
// Whoever becomes Resyncing starts a new table, and so does one that is Resyncing
// and finds the clock set back or is distrusted again: what the old table has may
// be asks that the application has changed since, and restoring them could ask for
// too much. It is not safe for concurrent use.
type Attempt struct {
	table   *Table
	state   State
	since   model.Time // Resyncing: what was read before that does not count
	last    int32      // response id of the last call, -1 when the attempt has just registered
	passing Intent     // that of a call while Resyncing
}

// NewAttempt returns an attempt of which nothing is known.
func NewAttempt(l Limits) *Attempt { return &Attempt{table: New(l), last: -1} }

// State is what is known of the attempt.
func (a *Attempt) State() State { return a.state }

// LastCall is the response id of the last call, -1 when the attempt has just registered.
func (a *Attempt) LastCall() int32 { return a.last }

// Table is the attempt's table, for reading, until the next event.
func (a *Attempt) Table() *Table { return a.table }

// SetLimits has other limits hold from the next call on.
func (a *Attempt) SetLimits(l Limits) { a.table.setLimits(l) }

// Restore takes a table that Marshal wrote, as it was after the call with a
// response id. The table is believed until a call says that others came between.
// Its error wraps ErrJournal; the attempt is as it was then.
func (a *Attempt) Restore(last int32, table []byte) error {
	if a.state != Unknown {
		return nil
	}
	if err := a.table.unmarshal(table); err != nil {
		return err
	}
	a.state, a.last = InSync, last
	return nil
}

// Call says that an allocate call has come. Request says so too; to say it twice changes nothing.
func (a *Attempt) Call(now model.Time, responseID int32) {
	switch {
	case a.state == Unknown, a.state == InSync && !follows(a.last, responseID), a.state == Resyncing && now < a.since:
		a.resync(now)
	}
	a.last = responseID
}

// follows reports whether a call comes right after another one, or repeats it
// (ApplicationMasterServiceUtils.getNextResponseId).
func follows(before, responseID int32) bool {
	return responseID == before || responseID == (before+1)&0x7fffffff
}

// Request takes an allocate call and returns what to send. An attempt that is
// Resyncing passes (model.PassStale), and notes what it asks for; one that is
// NotRegistered or Finished passes.
func (a *Attempt) Request(now model.Time, r *Request, in *Intent) Edit {
	a.Call(now, r.ResponseID)
	switch {
	case a.state == NotRegistered || a.state == Finished:
		return Edit{Same: true}
	case a.state == Resyncing && in.Pass == "":
		a.passing = *in
		a.passing.Pass = model.PassStale
		in = &a.passing
	}
	return a.table.Request(now, r, in)
}

// Answer takes the answer to the last call. One to an attempt that was NotRegistered
// says that the ResourceManager had not forgotten it after all.
func (a *Attempt) Answer(now model.Time, r *Response, site *Site) {
	switch a.state {
	case NotRegistered:
		a.resync(now)
	case Resyncing, InSync:
		a.table.Response(now, r, site)
	case Unknown, Finished:
	}
}

// Registered says that the ResourceManager has registered the attempt, for the
// first time or again, and which containers it says run on. The application asks
// for everything anew.
func (a *Attempt) Registered(running []Grant, site *Site) {
	if a.state != Finished {
		a.table.register(running, site)
		a.state, a.last = InSync, -1
	}
}

// Forgotten says that the ResourceManager does not know the attempt any more:
// ApplicationMasterNotRegisteredException, or an answer with a command.
func (a *Attempt) Forgotten() {
	if a.state != Finished {
		a.state = NotRegistered
	}
}

// Finish says that the attempt is unregistered, or gone.
func (a *Attempt) Finish() {
	a.table, a.state = renew(a.table), Finished
}

// Show says which rows of the attempt the ResourceManager holds, and when they
// were read at the earliest. A Resyncing attempt takes what it has not noted
// itself from rows that were read after it became so, and is InSync unless later
// rows are needed too. The call at hand has to be taken before.
func (a *Attempt) Show(now, read model.Time, rows []model.AskRow) {
	if a.state == Resyncing && read >= a.since && a.table.adopt(now, read, rows) {
		a.state = InSync
	}
}

// Distrust says that the table may be wrong, whatever the calls say.
func (a *Attempt) Distrust(now model.Time) {
	if a.state != Finished {
		a.resync(now)
	}
}

// resync starts a new table, which notes what passes until the rest is shown.
func (a *Attempt) resync(now model.Time) {
	a.table = renew(a.table)
	a.table.listens = true
	a.state, a.since = Resyncing, now
}
