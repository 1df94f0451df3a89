package weave

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
)

// TestOrder: whatever comes, changes and goes, a list is in order, has each job once, and each job is found.
func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		o := order{list: listFetching}
		entries := make([]*entry, rapid.IntRange(1, 12).Draw(rt, "jobs"))
		for i := range entries {
			entries[i] = &entry{job: &state.Job{App: model.App{ID: model.AppID(rune('a' + i)), Submitted: model.Time(i / 3)}}}
		}
		listed := map[*entry]bool{}
		for range rapid.IntRange(1, 40).Draw(rt, "changes") {
			e := rapid.SampledFrom(entries).Draw(rt, "job")
			e.size.left = float64(rapid.IntRange(0, 5).Draw(rt, "left"))
			listed[e] = rapid.IntRange(0, 3).Draw(rt, "listed") > 0
			o.set(e, listed[e])
			var want []*entry
			for _, e := range entries {
				if listed[e] {
					want = append(want, e)
				}
			}
			slices.SortFunc(want, func(a, b *entry) int {
				return compareRows(row{a.size.left, a}, row{b.size.left, b})
			})
			if len(want) != len(o.rows) {
				rt.Fatalf("%d jobs, want %d", len(o.rows), len(want))
			}
			for i, e := range want {
				if o.rows[i].e != e || o.place(e) != i {
					rt.Fatalf("place %d has %s, want %s, which is found at %d", i, o.rows[i].e.job.ID, e.job.ID, o.place(e))
				}
			}
		}
	})
}

// TestTimer: once all tasks have ended the sum is exact, whichever ended first; before, the one that ran longest is taken.
func TestTimer(t *testing.T) {
	t.Parallel()
	at := func(s int) model.Time { return model.Time(0).Add(model.Duration(s) * model.Second) }
	var m timer
	for _, step := range []struct {
		at, running, done, ended int
		seconds                  float64
	}{
		{at: 0, running: 2},
		{at: 10, running: 4},
		{at: 30, running: 3, done: 1, ended: 1, seconds: 30},
		{at: 30, running: 3, done: 1},
		{at: 40, running: 2, done: 1}, // one of those started last was killed
		{at: 50, running: 1, done: 2, ended: 1, seconds: 50},
		{at: 60, running: 0, done: 5, ended: 3, seconds: 50}, // two of them were not seen to run
		{at: 70, running: 0, done: 4},                        // an output was lost
		{at: 70, running: 1, done: 4},
		{at: 90, running: 0, done: 5, ended: 1, seconds: 20},
	} {
		if ended, seconds := m.follow(at(step.at), step.running, step.done); ended != step.ended || seconds != step.seconds {
			t.Errorf("after %d s: %d ended that took %g s, want %d and %g", step.at, ended, seconds, step.ended, step.seconds)
		}
	}
	if m.mean(100) != 250.0/6 { // of 30, 50, 50, 20 and the expected 100 s
		t.Errorf("mean %g s", m.mean(100))
	}
}

// TestDivideShares: nobody gets more than it wants, what is there is used up while somebody wants more, and who gets less
// than it wants has as much by weight as anybody.
func TestDivideShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := make([]share, rapid.IntRange(1, 6).Draw(rt, "shares"))
		wants, gets := 0.0, 0.0
		for i := range s {
			s[i] = share{weight: float64(rapid.IntRange(1, 4).Draw(rt, "weight")), wants: float64(rapid.IntRange(0, 20).Draw(rt, "wants"))}
			wants += s[i].wants
		}
		amount := float64(rapid.IntRange(0, 40).Draw(rt, "amount"))
		divideShares(s, amount)
		for i := range s {
			a := &s[i]
			if gets += a.gets; a.gets > a.wants {
				rt.Fatalf("%+v gets more than it wants", *a)
			}
			for k := range s {
				if b := &s[k]; a.gets < a.wants-1e-9 && b.gets/b.weight > a.gets/a.weight+1e-9 {
					rt.Fatalf("%+v gets less than it wants, and %+v more by weight", *a, *b)
				}
			}
		}
		if want := min(wants, amount); gets < want-1e-9 || gets > want+1e-9 {
			rt.Fatalf("%g are given of %g, of which %g are wanted", gets, amount, wants)
		}
	})
}

// TestOwe: a user goes first from the limit on until it is owed nothing, or wants nothing.
func TestOwe(t *testing.T) {
	t.Parallel()
	k := account{entitled: 8, more: 1}
	for i, step := range []struct {
		seconds, has, more, owed float64
		first                    bool
	}{
		{seconds: 10, has: 0, more: 1, owed: 10},
		{seconds: 8, has: 6, more: 1, owed: 12, first: true},
		{seconds: 10, has: 8, more: 1, owed: 12, first: true},
		{seconds: 8, has: 16, more: 1, owed: 4, first: true},
		{seconds: 8, has: 16, more: 1, owed: 0},
		{seconds: 11, has: 0, more: 1, owed: 11, first: true},
		{seconds: 1, has: 0, more: 0, owed: 0},
		{seconds: 1e6, has: 0, more: 1, owed: longestBehind, first: true},
	} {
		k.has, k.more = step.has, step.more
		if k.owe(step.seconds, 10); k.seconds != step.owed || k.first != step.first {
			t.Errorf("step %d: owed %g s, first %v; want %g and %v", i, k.seconds, k.first, step.owed, step.first)
		}
	}
}
