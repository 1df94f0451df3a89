package asks_test

import (
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
)

// in returns an attempt in a state, whose last call had the response id 5 and came at 5 s.
func in(t *testing.T, state asks.State) *asks.Attempt {
	t.Helper()
	a := asks.NewAttempt(limits())
	steps := map[asks.State]func(){
		asks.Unknown:       func() {},
		asks.Resyncing:     func() { a.Call(5000, 5) },
		asks.InSync:        func() { a.Registered(nil, nil); a.Call(5000, 0); restored(t, a, 5) },
		asks.NotRegistered: func() { a.Forgotten() },
		asks.Finished:      func() { a.Finish() },
	}
	steps[state]()
	if a.State() != state {
		t.Fatalf("the attempt is %v, and should be %v", a.State(), state)
	}
	return a
}

// restored makes an attempt one that was restored after a call with a response id.
func restored(t *testing.T, a *asks.Attempt, last int32) {
	t.Helper()
	data, err := a.Table().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	*a = *asks.NewAttempt(limits())
	if err := a.Restore(last, data); err != nil {
		t.Fatal(err)
	}
}

// TestTransitions walks every event in every state: the table of Attempt's comment.
func TestTransitions(t *testing.T) {
	t.Parallel()
	const (
		unknown, resyncing, inSync, forgotten, finished = asks.Unknown, asks.Resyncing, asks.InSync, asks.NotRegistered, asks.Finished
	)
	saved, err := asks.New(limits()).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	call := func(at model.Time, id int32) func(a *asks.Attempt) {
		return func(a *asks.Attempt) { a.Call(at, id) }
	}
	for _, tt := range []struct {
		event string
		do    func(a *asks.Attempt)
		want  [5]asks.State // from Unknown, Resyncing, InSync, NotRegistered, Finished
	}{
		{"Restore", func(a *asks.Attempt) {
			if err := a.Restore(5, saved); err != nil {
				t.Error(err)
			}
		}, [5]asks.State{inSync, resyncing, inSync, forgotten, finished}},
		{"Call, next", call(6000, 6), [5]asks.State{resyncing, resyncing, inSync, forgotten, finished}},
		{"Call, again", call(6000, 5), [5]asks.State{resyncing, resyncing, inSync, forgotten, finished}},
		{"Call, one between", call(6000, 7), [5]asks.State{resyncing, resyncing, resyncing, forgotten, finished}},
		{"Call, of before", call(6000, 4), [5]asks.State{resyncing, resyncing, resyncing, forgotten, finished}},
		{"Request, next", func(a *asks.Attempt) {
			a.Request(6000, &asks.Request{ResponseID: 6}, &asks.Intent{})
		}, [5]asks.State{resyncing, resyncing, inSync, forgotten, finished}},
		{"Answer", func(a *asks.Attempt) {
			a.Answer(6000, &asks.Response{ResponseID: 6}, nil)
		}, [5]asks.State{unknown, resyncing, inSync, resyncing, finished}},
		{"Registered", func(a *asks.Attempt) { a.Registered(nil, nil) }, [5]asks.State{inSync, inSync, inSync, inSync, finished}},
		{"Forgotten", func(a *asks.Attempt) { a.Forgotten() }, [5]asks.State{forgotten, forgotten, forgotten, forgotten, finished}},
		{"Finish", func(a *asks.Attempt) { a.Finish() }, [5]asks.State{finished, finished, finished, finished, finished}},
		{"Show, read since", func(a *asks.Attempt) { a.Show(6000, 5000, nil) }, [5]asks.State{unknown, inSync, inSync, forgotten, finished}},
		{"Show, read before", func(a *asks.Attempt) { a.Show(6000, 4999, nil) }, [5]asks.State{unknown, resyncing, inSync, forgotten, finished}},
		{"Distrust", func(a *asks.Attempt) { a.Distrust(6000) }, [5]asks.State{resyncing, resyncing, resyncing, resyncing, finished}},
	} {
		for _, from := range []asks.State{unknown, resyncing, inSync, forgotten, finished} {
			a := in(t, from)
			tt.do(a)
			if a.State() != tt.want[from] {
				t.Errorf("%s: from %v to %v, want %v", tt.event, from, a.State(), tt.want[from])
			}
		}
	}
}

// TestResponseIDsGoRound: the id after the largest is 0, and the first after the attempt registered too.
func TestResponseIDsGoRound(t *testing.T) {
	t.Parallel()
	for _, last := range []int32{-1, 1<<31 - 1} {
		a := asks.NewAttempt(limits())
		restored(t, a, last)
		if a.Call(0, 0); a.State() != asks.InSync {
			t.Errorf("0 after %d: %v", last, a.State())
		}
	}
}

// TestRestoreRefused: what is no table leaves the attempt as it was.
func TestRestoreRefused(t *testing.T) {
	t.Parallel()
	a := asks.NewAttempt(limits())
	if err := a.Restore(5, []byte("{")); err == nil || a.State() != asks.Unknown {
		t.Errorf("half a table: %v, and the attempt is %v", err, a.State())
	}
}

// TestResyncingForgets: an attempt that is distrusted, or whose clock is set
// back, knows nothing of before, and what was read before does not count.
func TestResyncingForgets(t *testing.T) {
	t.Parallel()
	ask := &asks.Request{ResponseID: 6, Rows: []asks.Row{row(10, "*", 2)}}
	for name, again := range map[string]struct {
		do    func(a *asks.Attempt)
		since model.Time
	}{
		"distrusted": {func(a *asks.Attempt) { a.Distrust(9000) }, 9000},
		"clock back": {func(a *asks.Attempt) { a.Call(1000, 7) }, 1000},
	} {
		a := in(t, asks.Resyncing)
		version := a.Table().Version()
		a.Request(6000, ask, &asks.Intent{})
		again.do(a)
		if n := len(a.Table().Own()); n != 0 || a.Table().Version() <= version {
			t.Errorf("%s: %d rows are known, version %d after %d", name, n, a.Table().Version(), version)
		}
		if a.Show(again.since, again.since-1, nil); a.State() != asks.Resyncing {
			t.Errorf("%s: rows of before count", name)
		}
		if a.Show(again.since, again.since, nil); a.State() != asks.InSync {
			t.Errorf("%s: rows of after do not count", name)
		}
	}
}

// TestOnlyInSyncSteers: whatever is planned, an attempt is steered only when all it asks for is known.
func TestOnlyInSyncSteers(t *testing.T) {
	t.Parallel()
	for _, state := range []asks.State{asks.Unknown, asks.Resyncing, asks.InSync, asks.NotRegistered, asks.Finished} {
		a := in(t, state)
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
