package asks_test

import (
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
)

// inState returns an attempt in a state, whose last call had the response id 5 and came at 5 s.
func inState(t *testing.T, state asks.State) *asks.Attempt {
	t.Helper()
	a := asks.NewAttempt(limits())
	switch state {
	case asks.Unknown:
	case asks.Resyncing:
		a.CheckResponseID(5000, 5)
	case asks.InSync:
		resynced(a, 5)
	case asks.NotRegistered:
		a.LoseRegistration()
	case asks.Finished:
		a.Finish()
	}
	if a.State() != state {
		t.Fatalf("the attempt is %v, want %v", a.State(), state)
	}
	return a
}

// resynced completes the resync of an attempt whose first call has a response id and comes at 5 s.
func resynced(a *asks.Attempt, responseID int32) {
	a.CheckResponseID(5000, responseID)
	a.Reconcile(5000, 5000, nil)
}

// TestTransitions applies every event in every state: the table of Attempt's comment.
func TestTransitions(t *testing.T) {
	t.Parallel()
	const (
		unknown, resyncing, inSync, notRegistered, finished = asks.Unknown, asks.Resyncing, asks.InSync, asks.NotRegistered, asks.Finished
	)
	request := func(at model.Time, id int32) func(*asks.Attempt) {
		return func(a *asks.Attempt) { a.Request(at, &asks.Request{ResponseID: id}, &asks.Intent{}) }
	}
	reconcile := func(read model.Time) func(*asks.Attempt) {
		return func(a *asks.Attempt) { a.Reconcile(6000, read, nil) }
	}
	for _, tt := range []struct {
		event string
		do    func(*asks.Attempt)
		want  [5]asks.State // from Unknown, Resyncing, InSync, NotRegistered, Finished
	}{
		{"Request, the next id", request(6000, 6), [5]asks.State{resyncing, resyncing, inSync, notRegistered, finished}},
		{"Request, the same id", request(6000, 5), [5]asks.State{resyncing, resyncing, inSync, notRegistered, finished}},
		{"Request, one id skipped", request(6000, 7), [5]asks.State{resyncing, resyncing, resyncing, notRegistered, finished}},
		{"Request, an older id", request(6000, 4), [5]asks.State{resyncing, resyncing, resyncing, notRegistered, finished}},
		{"CheckResponseID", func(a *asks.Attempt) { a.CheckResponseID(6000, 7) }, [5]asks.State{resyncing, resyncing, resyncing, notRegistered, finished}},
		{"Response", func(a *asks.Attempt) {
			a.Response(6000, &asks.Response{ResponseID: 6}, nil)
		}, [5]asks.State{unknown, resyncing, inSync, resyncing, finished}},
		{"Register", func(a *asks.Attempt) { a.Register(nil, nil) }, [5]asks.State{inSync, inSync, inSync, inSync, finished}},
		{"LoseRegistration", (*asks.Attempt).LoseRegistration, [5]asks.State{notRegistered, notRegistered, notRegistered, notRegistered, finished}},
		{"Finish", (*asks.Attempt).Finish, [5]asks.State{finished, finished, finished, finished, finished}},
		{"Reconcile, read after the resync began", reconcile(5000), [5]asks.State{unknown, inSync, inSync, notRegistered, finished}},
		{"Reconcile, read before", reconcile(4999), [5]asks.State{unknown, resyncing, inSync, notRegistered, finished}},
		{"Invalidate", func(a *asks.Attempt) { a.Invalidate(6000) }, [5]asks.State{resyncing, resyncing, resyncing, notRegistered, finished}},
	} {
		for _, from := range []asks.State{unknown, resyncing, inSync, notRegistered, finished} {
			a := inState(t, from)
			tt.do(a)
			if a.State() != tt.want[from] {
				t.Errorf("%s: from %v to %v, want %v", tt.event, from, a.State(), tt.want[from])
			}
		}
	}
}

// TestResponseIDsWrap: 0 follows both the largest id and the registration.
func TestResponseIDsWrap(t *testing.T) {
	t.Parallel()
	for _, last := range []int32{-1, 1<<31 - 1} {
		a := asks.NewAttempt(limits())
		if last < 0 {
			a.Register(nil, nil)
		} else {
			resynced(a, last)
		}
		if a.CheckResponseID(0, 0); a.State() != asks.InSync {
			t.Errorf("0 after %d: %v", last, a.State())
		}
	}
}

// TestResyncStartsEmpty: a resync that starts again, because the table is invalid,
// the clock was set back or the application has asked elsewhere, keeps no asks and
// needs rows that are read after it.
func TestResyncStartsEmpty(t *testing.T) {
	t.Parallel()
	ask := &asks.Request{ResponseID: 6, Rows: []asks.Row{row(10, "*", 2)}}
	for name, again := range map[string]struct {
		do   func(a *asks.Attempt)
		from model.Time
	}{
		"invalid":    {func(a *asks.Attempt) { a.Invalidate(9000) }, 9000},
		"clock back": {func(a *asks.Attempt) { a.CheckResponseID(1000, 7) }, 1000},
		"another id": {func(a *asks.Attempt) { a.CheckResponseID(9000, 8) }, 9000},
	} {
		a := inState(t, asks.Resyncing)
		a.Request(6000, ask, &asks.Intent{})
		again.do(a)
		if n := len(a.Table().Own()); n != 0 {
			t.Errorf("%s: %d rows are kept", name, n)
		}
		if a.Reconcile(again.from, again.from-1, nil); a.State() != asks.Resyncing {
			t.Errorf("%s: rows that were read before count", name)
		}
		if a.Reconcile(again.from, again.from, nil); a.State() != asks.InSync {
			t.Errorf("%s: rows that were read after do not count", name)
		}
	}
}

// TestOnlyInSyncSteers: whatever is planned, only an attempt that is InSync is steered.
func TestOnlyInSyncSteers(t *testing.T) {
	t.Parallel()
	for _, state := range []asks.State{asks.Unknown, asks.Resyncing, asks.InSync, asks.NotRegistered, asks.Finished} {
		a := inState(t, state)
		r := newRig(limits(), site(2, 2, 2))
		r.plans[model.StageReduce] = asks.Target{Racks: on("/r1", 2)}
		e := a.Request(6000, &asks.Request{ResponseID: 6, Rows: []asks.Row{row(10, "*", 2)}}, &r.intent)
		if e.Same == (state == asks.InSync) {
			t.Errorf("%v: the call goes on as it came: %t", state, e.Same)
		}
		if r.intent.Pass != "" {
			t.Errorf("%v: the caller's intent is changed to %s", state, r.intent.Pass)
		}
	}
}

// TestNewLimits: limits apply from the next call on, and nothing is sent again for them.
func TestNewLimits(t *testing.T) {
	t.Parallel()
	a := inState(t, asks.InSync)
	r := newRig(limits(), site(2, 2, 2))
	r.plans[model.StageReduce] = asks.Target{Racks: on("/r1", 2)}
	id := int32(5)
	call := func(at model.Time, rows ...asks.Row) string {
		id++
		return text(a.Request(at, &asks.Request{ResponseID: id, Rows: rows}, &r.intent))
	}
	call(6000)
	call(7000, row(10, "*", 2))
	l := limits()
	l.PinDeadline = 5 * model.Second
	a.SetLimits(l)
	if got := call(8000); got != "as it came\n" {
		t.Errorf("before the new deadline: %s", got)
	}
	if got, want := call(12000), "10: *=2 /r1=0 w11=0 w12=0\n(10 reduce: fall_back)\n"; got != want {
		t.Errorf("at the new deadline: %s, want %s", got, want)
	}
}
