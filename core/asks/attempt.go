package asks

import "heddle/core/model"

// State says how much of an attempt's asks is known.
type State int

// The states. Only the asks of an attempt that is InSync are steered.
const (
	// Unknown: nothing is known. The attempt has made no call since this Attempt was created.
	Unknown State = iota
	// Resyncing: the table holds the calls since a known time. The rest is with the ResourceManager.
	Resyncing
	// InSync: the table holds every row that the application has asked for since it registered.
	InSync
	// NotRegistered: the ResourceManager does not know the attempt, which has to register and to ask for everything again.
	NotRegistered
	// Finished: the attempt has unregistered or is gone. No event leads out of this state.
	Finished
)

func (s State) String() string {
	return [...]string{"unknown", "resyncing", "in sync", "not registered", "finished"}[s]
}

// Attempt is one application attempt: its ask table, and how much of it is
// known. The caller stands between the application and the ResourceManager,
// reports the calls and answers that pass, and sends what Request returns. It is
// not safe for concurrent use. These are the transitions:
//
//	event                      Unknown        Resyncing      InSync         NotRegistered  Finished
//	Request, the next id       Resyncing      -              -              -              -
//	Request, any other id      Resyncing      Resyncing      Resyncing      -              -
//	Response                   -              -              -              Resyncing      -
//	Register                   InSync         InSync         InSync         InSync         -
//	LoseRegistration           NotRegistered  NotRegistered  NotRegistered  NotRegistered  -
//	Finish                     Finished       Finished       Finished       Finished       -
//	Reconcile                  -              InSync         -              -              -
//	Invalidate                 Resyncing      Resyncing      Resyncing      -              -
//
// A response id is the next one when it repeats that of the last call or follows
// it. Response ids count the calls that the ResourceManager has applied, whichever
// way they reached it, so any other id shows that the application has asked
// elsewhere. An application that registered again elsewhere and returns with just
// the next id is not recognised.
//
// A resync starts with an empty table, also one that starts again: the old one may
// hold asks that the application has changed since, and restoring these could ask
// for too much.
type Attempt struct {
	table      *Table
	state      State
	resyncFrom model.Time // Resyncing: rows that were read earlier do not complete it
	responseID int32      // of the last call, -1 when the attempt has just registered
}

// NewAttempt returns an attempt of which nothing is known.
func NewAttempt(l Limits) *Attempt { return &Attempt{table: New(l), responseID: -1} }

// State returns how much of the attempt's asks is known.
func (a *Attempt) State() State { return a.state }

// Table returns the attempt's table for reading. It is valid until the next event.
func (a *Attempt) Table() *Table { return a.table }

// SetLimits replaces the limits. They apply from the next call on.
func (a *Attempt) SetLimits(l Limits) { a.table.setLimits(l) }

// CheckResponseID applies the transition of Request alone, for a caller that
// needs the state before it calls Request. To do both changes nothing.
func (a *Attempt) CheckResponseID(now model.Time, id int32) {
	switch a.state {
	case Unknown:
		a.resync(now)
	case Resyncing, InSync:
		clockSetBack := a.state == Resyncing && now < a.resyncFrom
		if clockSetBack || !isNextCall(a.responseID, id) {
			a.resync(now)
		}
	case NotRegistered, Finished:
	}
	a.responseID = id
}

// isNextCall reports whether a response id repeats the one before or follows it
// (ApplicationMasterServiceUtils.getNextResponseId).
func isNextCall(before, id int32) bool {
	return id == before || id == (before+1)&0x7fffffff
}

// Request processes an allocate call and returns what to send. The asks of an
// attempt that is Resyncing are recorded and pass (model.PassStale); the calls of
// one that is NotRegistered or Finished pass unread.
func (a *Attempt) Request(now model.Time, r *Request, in *Intent) Edit {
	a.CheckResponseID(now, r.ResponseID)
	if a.state == NotRegistered || a.state == Finished {
		return Edit{Same: true}
	}
	if a.state == Resyncing && in.Pass == "" {
		passing := *in
		passing.Pass = model.PassStale
		in = &passing
	}
	return a.table.Request(now, r, in)
}

// Response processes the answer to the last call. An attempt that was
// NotRegistered and gets one is registered after all.
func (a *Attempt) Response(now model.Time, r *Response, site *Site) {
	switch a.state {
	case NotRegistered:
		a.resync(now)
	case Resyncing, InSync:
		a.table.Response(now, r, site)
	case Unknown, Finished:
	}
}

// Register reports that the ResourceManager has registered the attempt, for the
// first time or again, and the containers that are still running. The application
// asks for everything again.
func (a *Attempt) Register(running []Grant, site *Site) {
	if a.state != Finished {
		a.table.register(running, site)
		a.state, a.responseID = InSync, -1
	}
}

// LoseRegistration reports that the ResourceManager does not know the attempt: it
// answered with ApplicationMasterNotRegisteredException or with a command.
func (a *Attempt) LoseRegistration() {
	if a.state != Finished {
		a.state = NotRegistered
	}
}

// Finish reports that the attempt has unregistered or is gone.
func (a *Attempt) Finish() {
	a.reset()
	a.state = Finished
}

// Reconcile reports the rows of the attempt that the ResourceManager held at or
// after a time. A Resyncing attempt takes the rows from them that it has not
// recorded itself, provided that they were read after the resync began, and is
// InSync unless the table needs rows that are read later still. The call at hand
// has to be processed before.
func (a *Attempt) Reconcile(now, read model.Time, rows []model.AskRow) {
	if a.state == Resyncing && read >= a.resyncFrom && a.table.adopt(now, read, rows) {
		a.state = InSync
	}
}

// Invalidate discards a table that may be wrong although every call is known.
func (a *Attempt) Invalidate(now model.Time) {
	switch a.state {
	case Unknown, Resyncing, InSync:
		a.resync(now)
	case NotRegistered, Finished:
		a.reset()
	}
}

// resync starts an empty table, which records the calls until it is reconciled.
func (a *Attempt) resync(now model.Time) {
	a.reset()
	a.table.resyncing = true
	a.state, a.resyncFrom = Resyncing, now
}

// reset replaces the table by an empty one.
func (a *Attempt) reset() { a.table = New(a.table.limits) }
