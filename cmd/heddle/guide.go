package main

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/yarnproxy/amrm"
	"heddle/yarnproxy/amrm/asks"
)

// guide answers the relay from what the loop last published. It is asked on the
// path of every allocate call, and answers from memory.
type guide struct {
	loop   *loop
	now    func() time.Time
	maxAge model.Duration
	known  atomic.Pointer[guided]

	mu      sync.Mutex
	decided map[stageOfApp]asks.Target // since the snapshot in known
}

// guided is one snapshot in the terms of the relay; it is never changed.
type guided struct {
	snapshot *state.Snapshot
	site     *asks.Site
	apps     map[model.AppID]amrm.App
	freshTo  model.Time // of the ResourceManager's state
}

type stageOfApp struct {
	app   model.AppID
	stage model.Stage
}

var _ amrm.Guide = (*guide)(nil)

func newGuide(l *loop, now func() time.Time, maxAge model.Duration) *guide {
	return &guide{loop: l, now: now, maxAge: maxAge, decided: map[stageOfApp]asks.Target{}}
}

// publish makes a snapshot what the relay is told from now on. The loop calls it.
func (g *guide) publish(s *state.Snapshot) {
	next := &guided{snapshot: s, apps: make(map[model.AppID]amrm.App, s.Cluster.LiveApps)}
	before := g.known.Load()
	if before != nil && sameNodes(before.snapshot, s) && before.site.VCores == s.Cluster.VCores {
		next.site = before.site
	} else {
		next.site = site(s)
	}
	for _, a := range s.Apps[:s.Cluster.LiveApps] {
		if before != nil {
			if old := before.snapshot.App(a.ID); old == a { // shared with the snapshot before: nothing changed
				next.apps[a.ID] = before.apps[a.ID]
				continue
			}
		}
		next.apps[a.ID] = amrm.App{ID: a.ID, Type: a.Type, User: a.User, Queue: a.Queue, Tags: tags(a.Tags)}
	}
	for i := range s.Sources {
		if src := &s.Sources[i]; src.Source == model.SourceRM && src.LastOK > 0 {
			next.freshTo = src.LastOK.Add(g.maxAge)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.decided)
	g.known.Store(next)
}

// sameNodes reports whether two snapshots share their nodes, which they do
// unless a node changed.
func sameNodes(a, b *state.Snapshot) bool {
	return len(a.Nodes) == len(b.Nodes) && (len(a.Nodes) == 0 || &a.Nodes[0] == &b.Nodes[0])
}

func tags(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// site groups the nodes by rack, by the names the ResourceManager has for both.
func site(s *state.Snapshot) *asks.Site {
	out := &asks.Site{
		Racks: make([]asks.Rack, 0, len(s.Racks)), RackOf: make(map[string]model.RackID, len(s.Nodes)), VCores: s.Cluster.VCores,
	}
	at := make(map[model.RackID]int, len(s.Racks))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		r, ok := at[n.Rack]
		if !ok {
			r = len(out.Racks)
			at[n.Rack] = r
			out.Racks = append(out.Racks, asks.Rack{ID: n.Rack})
		}
		out.RackOf[n.Host] = n.Rack
		if n.State.Usable() {
			out.Racks[r].Hosts = append(out.Racks[r].Hosts, asks.Host{Name: n.Host, Total: n.Total, Free: n.Free()})
		}
	}
	return out
}

// App implements amrm.Guide.
func (g *guide) App(id model.AppID) (amrm.App, bool) {
	known := g.known.Load()
	if known == nil {
		return amrm.App{}, false
	}
	app, ok := known.apps[id]
	return app, ok
}

// Site implements amrm.Guide.
func (g *guide) Site() (at *asks.Site, fresh bool) {
	known := g.known.Load()
	if known == nil {
		return nil, false
	}
	return known.site, modelTime(g.now()) <= known.freshTo
}

// Target implements amrm.Guide.
func (g *guide) Target(app model.AppID, stage model.Stage) (asks.Target, bool) {
	g.mu.Lock()
	t, ok := g.decided[stageOfApp{app, stage}]
	g.mu.Unlock()
	if ok {
		return t, true
	}
	known := g.known.Load()
	if known == nil {
		return asks.Target{}, false
	}
	a := known.snapshot.App(app)
	if a == nil {
		return asks.Target{}, false
	}
	for _, p := range a.Plans {
		if p.Stage == stage && steers(p) {
			return targetOf(p), true
		}
	}
	return asks.Target{}, false
}

// steers reports whether a plan asks for anything. One that does not is none to
// the relay, so that an application's first ask is decided on when it comes.
func steers(p *model.Plan) bool { return len(p.Racks) > 0 || p.Hold }

func targetOf(p *model.Plan) asks.Target {
	return asks.Target{Racks: p.Racks, Hold: p.Hold, Until: p.Until, Reason: p.Reason}
}

// Decide implements amrm.Guide: in the loop's goroutine the application's asks
// are applied and it is planned for, without the round of all applications.
func (g *guide) Decide(ctx context.Context, app model.AppID, asked []model.AskRow) {
	_ = g.loop.ask(ctx, func() { // a deadline that passes leaves the call as it came
		g.loop.take(model.Observation{Source: model.SourceRelay, At: modelTime(g.now()), Fact: model.AsksFact{App: app, Rows: asked}})
		plans := g.loop.decideFor(app)
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range plans {
			if !steers(p) {
				continue
			}
			g.decided[stageOfApp{app, p.Stage}] = targetOf(p)
		}
	})
}

// Pending implements amrm.Guide.
func (g *guide) Pending(app model.AppID) (rows []model.AskRow, at model.Time, ok bool) {
	known := g.known.Load()
	if known == nil {
		return nil, 0, false
	}
	a := known.snapshot.App(app)
	if a == nil || a.Held == nil {
		return nil, 0, false
	}
	return a.Held, a.HeldAt, true
}

// Observe implements amrm.Guide. What the loop has no room for is told again
// with the next change.
func (g *guide) Observe(app model.AppID, asked []model.AskRow) {
	o := model.Observation{Source: model.SourceRelay, At: modelTime(g.now()), Fact: model.AsksFact{App: app, Rows: asked}}
	select {
	case g.loop.in <- o:
	default:
		g.loop.notes.QueueFull("observations")
	}
}
