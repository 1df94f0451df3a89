package guard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

const (
	hour  = 60 * model.Minute
	week  = 7 * 24 * hour
	queue = model.QueueID("root.q")
)

func params() guard.Params {
	return guard.Params{Enabled: true, Window: hour, MinApplications: 10, Margin: 0.05, OffFor: 6 * hour}
}

// steered is an application of 100 s that could do with 50 s, whose busiest uplink took so many seconds more than stock's.
func steered(at model.Time, more float64) *guard.Application {
	return &guard.Application{ID: "application_1_0001", Queue: queue, Ended: at, Steered: true, Took: 100 * model.Second, Reference: 50 * model.Second, Uplink: 10 + more, Stock: 10}
}

// unsteered is one that took so many seconds, and ended at 0.
func unsteered(took float64) *guard.Application {
	return &guard.Application{ID: "application_1_0002", Queue: queue, Took: model.Duration(took * 1000), Reference: 50 * model.Second}
}

// TestSignals: what turns steering off, by the applications of one window.
func TestSignals(t *testing.T) {
	t.Parallel()
	waits := func(seconds model.Duration) *guard.Application {
		a := steered(0, -3)
		a.Waited = seconds * model.Second
		return a
	}
	unknown := func(a *guard.Application) *guard.Application { a.Reference = 0; return a }
	times := func(n int, a *guard.Application) (all []*guard.Application) {
		for range n {
			all = append(all, a)
		}
		return all
	}
	for name, c := range map[string]struct {
		a, b []*guard.Application
		want snapshot.GuardSignal
	}{
		"as predicted":                            {a: times(50, steered(0, 0))},
		"a busier uplink":                         {a: times(10, steered(0, 6)), want: snapshot.GuardPredicted},
		"a little busier":                         {a: times(50, steered(0, 5))},
		"too few":                                 {a: times(9, steered(0, 90))},
		"unsteered ones do not make up for that":  {a: times(9, steered(0, 90)), b: times(50, unsteered(100))},
		"half lose, half gain as much":            {a: times(10, steered(0, -6)), b: times(10, steered(0, 6))},
		"waits":                                   {a: times(10, waits(9)), want: snapshot.GuardPredicted},
		"waits that the uplinks are worth":        {a: times(10, waits(7))},
		"slower than unsteered ones":              {a: times(10, unsteered(50)), b: times(10, steered(0, 0)), want: snapshot.GuardMeasured},
		"slower than too few":                     {a: times(9, unsteered(50)), b: times(50, steered(0, 0))},
		"faster than unsteered ones":              {a: times(20, unsteered(150)), b: times(20, steered(0, 0))},
		"slower by less than the margin":          {a: times(50, unsteered(96)), b: times(50, steered(0, 0))},
		"slower, and nobody knows what it should": {a: times(20, unsteered(50)), b: times(20, unknown(steered(0, 0)))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard.New(params())
			var why snapshot.GuardSignal
			for _, a := range append(c.a, c.b...) {
				if off, turned := g.Add(1000, a); turned && why == "" {
					why = off.Why
					if !off.Off || off.Trips != 1 || off.Until != 1000+model.Time(6*hour) || off.Queue != queue {
						t.Errorf("%+v", off)
					}
				}
			}
			if why != c.want || (g.Cause("a", queue) == model.PassGuard) != (c.want != "") || g.Steers() != (c.want == "") || g.Cause("a", "root.other") != "" {
				t.Errorf("off by %q, want %q; %+v", why, c.want, g.Snapshot())
			}
		})
	}
}

// TestControlComparesByChanceAlone: with a control share, applications that are unsteered for another reason do not count.
func TestControlComparesByChanceAlone(t *testing.T) {
	t.Parallel()
	for _, control := range []bool{false, true} {
		p := params()
		p.Control = 0.3
		g := guard.New(p)
		for i := range 400 {
			a := unsteered(50)
			if a.ID = model.AppID(fmt.Sprintf("application_1_%04d", i)); guard.IsControl(a.ID, p.Control) == control {
				g.Add(0, a)
				g.Add(0, steered(0, 0))
			}
		}
		if off := g.Snapshot().Queues[0].Off; off != control {
			t.Errorf("control %v: off %v", control, off)
		}
	}
}

// TestControlShare: ids that follow each other are chosen as if by chance, as many as the share says, and each always or
// never; a larger share has those of a smaller one.
func TestControlShare(t *testing.T) {
	t.Parallel()
	const n = 20000
	for _, share := range []float64{0, 0.01, 0.1, 0.45} {
		chosen, both := 0, 0
		last := false
		for i := range n {
			id := model.AppID(fmt.Sprintf("application_1700000000000_%04d", i))
			is := guard.IsControl(id, share)
			if is {
				chosen++
			}
			if is && last {
				both++
			}
			if last = is; is && !guard.IsControl(id, share+0.05) {
				t.Errorf("%s is of %g and not of %g", id, share, share+0.05)
			}
		}
		for what, c := range map[string]struct{ got, share float64 }{"chosen": {float64(chosen), share}, "next to each other": {float64(both), share * share}} {
			if off := math.Abs(c.got - n*c.share); off > 5*math.Sqrt(n*c.share)+1e-9 {
				t.Errorf("share %g: %g of %d %s, want about %g", share, c.got, n, what, n*c.share)
			}
		}
	}
	p := params()
	p.Control = 0.45
	g := guard.New(p)
	id := model.AppID("application_1_0001")
	for !guard.IsControl(id, 0.45) {
		id += "1"
	}
	if g.Cause(id, queue) != model.PassControl || g.Steers() {
		t.Error("an application of the control share is steered")
	}
	p.Enabled = false
	g.Configure(p)
	if g.Cause(id, queue) != "" || !g.Steers() {
		t.Error("a guard that is not enabled keeps applications unsteered")
	}
}

// lose has steering lose until it is off, from a time on, and returns until when.
func lose(t *testing.T, g *guard.Guard, at model.Time) model.Time {
	t.Helper()
	for i := range 11 {
		if off, turned := g.Add(at, steered(at, 50)); turned {
			if i != 9 {
				t.Errorf("off after %d applications", i+1)
			}
			return off.Until
		}
	}
	t.Fatal("it is not turned off")
	return 0
}

// TestOffAndOn: steering is off for off_for, then twice as long, up to a week; what happens meanwhile does not count; after a
// week on, the first time is off_for again. A reload keeps all that.
func TestOffAndOn(t *testing.T) {
	t.Parallel()
	g := guard.New(params())
	at, want := model.Time(0), 6*hour
	for trip := range 8 {
		until := lose(t, g, at)
		if got := until.Sub(at); got != want {
			t.Errorf("trip %d: off for %d h, want %d h", trip+1, got/hour, want/hour)
		}
		for range 20 {
			g.Add(at+1, steered(at+1, 50))
		}
		if on := g.Advance(until - 1); len(on) != 0 || g.Cause("a", queue) != model.PassGuard {
			t.Error("on too early")
		}
		g.Configure(params())
		if on := g.Advance(until); len(on) != 1 || on[0].Trips != int64(trip+1) || on[0].Off || g.Cause("a", queue) != "" {
			t.Errorf("on again: %+v", on)
		}
		at, want = until, min(2*want, week)
	}
	if want != week {
		t.Error("the loop did not get to a week")
	}
	at += model.Time(week)
	if got := lose(t, g, at).Sub(at); got != 6*hour {
		t.Errorf("after a week on: off for %d h", got/hour)
	}
	off := params()
	off.Enabled = false
	g.Configure(off)
	g.Add(at, steered(at, 50))
	if s := g.Snapshot(); s.Enabled || len(s.Queues) != 0 || g.Cause("a", queue) != "" {
		t.Errorf("not enabled: %+v", s)
	}
}

// TestWindow: what ended longer ago than the window does not count, with other applications and without.
func TestWindow(t *testing.T) {
	t.Parallel()
	g := guard.New(params())
	for range 9 {
		g.Add(0, steered(0, 50))
	}
	later := model.Time(hour) + 1
	if _, turned := g.Add(later, steered(later, 50)); turned || g.Snapshot().Queues[0].Steered != 1 {
		t.Errorf("%+v", g.Snapshot())
	}
	g.Advance(2*later + 1)
	if s := g.Snapshot().Queues[0]; s.Steered != 0 || s.Predicted != 0 {
		t.Errorf("%+v", s)
	}
}

// TestStreams: over random streams of applications in several queues, a queue that steering loses in is turned off with the
// first application that makes enough of them within a window, one that it gains in never is, and nobody else's.
func TestStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := params()
		p.MinApplications = rapid.IntRange(2, 30).Draw(t, "min")
		p.Margin = rapid.Float64Range(0, 0.3).Draw(t, "margin")
		g := guard.New(p)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		gap := rapid.Int64Range(1, int64(hour)/30).Draw(t, "gap")
		at, lost := model.Time(0), 0
		for range 150 {
			at += model.Time(rng.Int64N(gap) + 1)
			took := model.Duration(1000 + rng.Int64N(500_000))
			stock := rng.Float64() * took.Seconds() / 2
			gains := guard.Application{Queue: "root.gains", Ended: at, Steered: true, Took: took, Stock: stock, Uplink: stock * rng.Float64()}
			loses := guard.Application{Queue: "root.loses", Ended: at, Steered: true, Took: took, Stock: stock, Uplink: stock}
			if more := (p.Margin + 0.01) * took.Seconds(); rng.IntN(2) == 0 {
				loses.Uplink += more
			} else {
				loses.Waited = model.Duration(more*1000) + 1
			}
			other := loses
			other.Steered, other.Queue = false, "root.other"
			for _, a := range []*guard.Application{&gains, &other} {
				if off, turned := g.Add(at, a); turned {
					t.Fatalf("%s was turned off: %+v", a.Queue, off)
				}
			}
			before := g.Cause("a", "root.loses")
			_, turned := g.Add(at, &loses)
			if before == "" {
				lost++
			}
			if want := lost >= p.MinApplications; (g.Cause("a", "root.loses") == model.PassGuard) != want || turned != (want && before == "") {
				t.Fatalf("after %d applications, of %d: turned off %v", lost, p.MinApplications, turned)
			}
			g.Advance(at)
		}
		g.Advance(at.Add(p.OffFor))
		if !g.Steers() {
			t.Fatal("it is not on again")
		}
	})
}

// TestBounded: queues and windows are bounded, whatever comes; a queue where steering is off is not forgotten for others.
func TestBounded(t *testing.T) {
	t.Parallel()
	g := guard.New(params())
	until := lose(t, g, 0)
	for i := range 3000 {
		a := steered(model.Time(i), 0)
		a.Queue = model.QueueID(fmt.Sprint("root.", i))
		g.Add(model.Time(i), a)
	}
	s := g.Snapshot()
	if len(s.Queues) != 1000 || g.Cause("a", queue) != model.PassGuard {
		t.Errorf("%d queues", len(s.Queues))
	}
	if newest := s.Queues[len(s.Queues)-1].Queue; s.Queues[0].Queue != "root.2001" || newest != queue {
		t.Errorf("kept %s to %s, want the newest and the one that is off", s.Queues[0].Queue, newest)
	}
	g.Advance(until)
	for i := range 2000 {
		g.Add(until+model.Time(i), steered(until+model.Time(i), 0))
	}
	for _, q := range g.Snapshot().Queues {
		if q.Queue == queue && q.Steered != 500 {
			t.Errorf("a window of %d applications", q.Steered)
		}
	}
	// All are off: a further one is not followed, and may be steered.
	g = guard.New(params())
	for i := range 1001 {
		for range 10 {
			a := steered(0, 50)
			a.Queue = model.QueueID(fmt.Sprint("root.", i))
			g.Add(0, a)
		}
	}
	if len(g.Snapshot().Queues) != 1000 || g.Cause("a", "root.1000") != "" {
		t.Errorf("%d queues", len(g.Snapshot().Queues))
	}
}

// TestSnapshotsShareNothingThatChanges (I2): what a snapshot was given stays.
func TestSnapshotsShareNothingThatChanges(t *testing.T) {
	t.Parallel()
	g := guard.New(params())
	g.Add(0, steered(0, 1))
	s := g.Snapshot()
	before := s.Queues[0]
	g.Add(0, steered(0, 1))
	if again := g.Snapshot(); again.Queues[0].Steered != 2 || &again.Queues[0] != &g.Snapshot().Queues[0] {
		t.Errorf("after a second application: %+v, or not shared while nothing changes", again)
	}
	g.Advance(model.Time(2 * hour)) // the window is empty
	lose(t, g, model.Time(2*hour))
	if s.Queues[0] != before || before.Steered != 1 {
		t.Errorf("%+v became %+v", before, s.Queues[0])
	}
}
