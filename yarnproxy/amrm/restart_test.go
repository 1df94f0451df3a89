package amrm

import (
	"testing"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
)

// pends has the ResourceManager's REST API show rows of an application, read at a time.
func (g *rig) pends(id wire.Attempt, read time.Time, rows ...model.AskRow) {
	for i := range rows {
		rows[i].RequestID, rows[i].Capability = -1, model.Resource{MemoryMiB: 512, VCores: 1}
	}
	g.guide.set(func(f *fakeGuide) {
		f.pending, f.read = map[model.AppID][]model.AskRow{model.AppID(id.AppID()): rows}, model.Time(read.UnixMilli())
	})
}

// pendingPin is what a pin of n reduces to /rack1 looks like there.
func pendingPin(n int) []model.AskRow {
	return []model.AskRow{
		{Priority: 10, ResourceName: "*", Count: n},
		{Priority: 10, ResourceName: "/rack1", Count: n, RelaxLocality: true},
		{Priority: 10, ResourceName: "w11", Count: n, RelaxLocality: true},
	}
}

// TestRestart undoes what an earlier relay left, which only the ResourceManager
// knows of, once that was asked after the first call.
func TestRestart(t *testing.T) {
	t.Parallel()
	clock := &testClock{now: time.UnixMilli(1_700_000_000_000)}
	now := func(o *Options) { o.Now = clock.Now }
	g := newRig(t, now)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	g.stop()

	g.guide.set(func(f *fakeGuide) { clear(f.targets) })
	g.start(now)
	g.pends(id, clock.Now().Add(-time.Millisecond), pendingPin(5)...) // of before
	again := connect(t, g.addr, id)
	again.responseID = am.responseID
	again.allocate()
	again.allocate()
	clock.add(10 * time.Second)
	g.pends(id, clock.Now(), pendingPin(4)...)
	again.allocate()
	again.allocate()
	for n := range 3 {
		g.wantRows(id, 1+n)
	}
	g.wantRows(id, 4, "10 * 4", "10 /rack1 0", "10 w11 0")
}

// TestRestartAfterAnotherWay kills the relay; calls go to the ResourceManager
// directly meanwhile, and ask for less. What the ResourceManager shows then is
// steered from.
func TestRestartAfterAnotherWay(t *testing.T) {
	t.Parallel()
	clock := &testClock{now: time.UnixMilli(1_700_000_000_000)}
	now := func(o *Options) { o.Now = clock.Now }
	g := newRig(t, now)
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	am.allocate()
	g.stop()

	direct := connect(t, g.rm.addr(), id)
	direct.responseID = am.responseID
	direct.allocate(ask(10, "*", 0))
	direct.allocate(ask(10, "*", 2))
	direct.conn.Close()
	g.plan(reducesOn("/rack2"))
	g.start(now)
	again := connect(t, g.addr, id)
	again.responseID = direct.responseID
	again.allocate()
	again.allocate(ask(5, "*", 1))
	g.wantRows(id, 4)
	g.wantRows(id, 5, "5 * 1")
	clock.add(10 * time.Second)
	g.pends(id, clock.Now(), model.AskRow{Priority: 10, ResourceName: "*", Count: 2, RelaxLocality: true})
	again.allocate()
	again.allocate()
	g.wantRows(id, 6)
	g.wantRows(id, 7, "10 * 2 strict", "10 /rack2 2", "10 w21 2", "10 w22 2")
}
