package amrm

import (
	"testing"
	"time"

	"heddle/core/model"
)

// TestApply changes what is steered, and how, under a running application.
func TestApply(t *testing.T) {
	t.Parallel()
	var o Options
	g := newRig(t, func(with *Options) { o = *with })
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	am.allocate()
	g.wantRows(id, 0, pinned(4)...)
	g.wantRows(id, 1)
	steered := func(want int) {
		t.Helper()
		if s := g.relay.Status().Steering; s.Attempts != 1 || s.Containers[model.ActionPin] != want || len(s.Containers) > 1 || (s.Since != 0) != (want > 0) {
			t.Errorf("steering %+v, want %d pinned containers", s, want)
		}
	}
	steered(4)

	advise := o
	advise.Enforce = false
	g.relay.Apply(advise)
	am.allocate()
	g.wantRows(id, 2, "10 * 4", "10 /rack1 0", "10 w11 0", "10 w12 0")
	if g.relay.Status().Enforcing {
		t.Error("it still enforces")
	}
	steered(0)
	g.relay.Apply(o)
	am.allocate()
	g.wantRows(id, 3, pinned(4)...)

	scoped := o
	scoped.Scopes = []Scope{{Users: []string{"bob"}}}
	g.relay.Apply(scoped)
	am.allocate()
	g.wantRows(id, 4, "10 * 4", "10 /rack1 0", "10 w11 0", "10 w12 0")
	g.relay.Apply(o)
	am.allocate()
	guarded := func(cause model.PassCause) {
		g.guide.set(func(g *fakeGuide) { g.all.Pass = cause })
		am.allocate()
	}
	guarded(model.PassGuard) // as out of scope
	g.wantRows(id, 6, "10 * 4", "10 /rack1 0", "10 w11 0", "10 w12 0")
	if keys := g.relay.Describe("", 0, 1000).Attempts[0].Keys; len(keys) != 1 || keys[0].Cause != model.PassGuard {
		t.Errorf("steering is off: %+v", keys)
	}
	steered(0)
	guarded("")
	g.wantRows(id, 7, pinned(4)...)

	asked := time.Now() // at the latest
	eventually(t, "the ask is two milliseconds old", func() bool { return time.Since(asked) > 2*time.Millisecond })
	soon := o
	soon.Limits.PinDeadline = 1
	g.relay.Apply(soon)
	am.allocate()
	g.wantRows(id, 8, "10 * 4", "10 /rack1 0", "10 w11 0", "10 w12 0")
	if keys := g.relay.Describe("", 0, 1000).Attempts[0].Keys; len(keys) != 1 || keys[0].Cause != model.PassDeadline {
		t.Errorf("past the new deadline: %+v", keys)
	}
	steered(0)
}
