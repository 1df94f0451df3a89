// Package clusterview shows the relay the cluster: applications, nodes by rack and
// plans, as of the newest snapshot, in the relay's own terms.
package clusterview

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/amrm"
	"heddle/yarnproxy/amrm/asks"
)

// Loop is the part of the service's loop that a View calls.
type Loop interface {
	// PlanApp applies what an application asks for, plans for it alone, and
	// hands all its plans to use before it returns, unless ctx ends first.
	PlanApp(ctx context.Context, asked model.Observation, app model.AppID, use func([]*model.Plan)) error
	// Offer queues an observation if there is room.
	Offer(o model.Observation)
}

// View answers the relay from the newest snapshot. The relay calls it for every
// allocate call, and it answers from memory. It is safe for concurrent use.
type View struct {
	loop   Loop
	now    func() time.Time
	maxAge model.Duration
	newest atomic.Pointer[indexedSnapshot]

	mu           sync.Mutex
	newerTargets map[stageOfApp]asks.Target // since the newest snapshot
}

// indexedSnapshot is a snapshot with the relay's own types built from it. It is immutable.
type indexedSnapshot struct {
	snapshot   *snapshot.Snapshot
	nodes      *asks.Site
	apps       map[model.AppID]amrm.App
	staleAfter model.Time // when the ResourceManager's state becomes stale
}

type stageOfApp struct {
	app   model.AppID
	stage model.Stage
}

var _ amrm.Guide = (*View)(nil)

// New returns a view without a snapshot. The ResourceManager's state counts as fresh
// for maxAge.
func New(loop Loop, now func() time.Time, maxAge model.Duration) *View {
	return &View{loop: loop, now: now, maxAge: maxAge, newerTargets: map[stageOfApp]asks.Target{}}
}

func (v *View) time() model.Time { return model.Time(v.now().UnixMilli()) }

// Update makes a snapshot the newest. The loop calls it.
func (v *View) Update(s *snapshot.Snapshot) {
	next := &indexedSnapshot{snapshot: s, apps: make(map[model.AppID]amrm.App, s.Cluster.LiveApps)}
	before := v.newest.Load()
	if before != nil && sameNodes(before.snapshot, s) && before.nodes.VCores == s.Cluster.VCores {
		next.nodes = before.nodes
	} else {
		next.nodes = nodesByRack(s)
	}
	for _, a := range s.Apps[:s.Cluster.LiveApps] {
		if before != nil {
			if old := before.snapshot.App(a.ID); old == a { // snapshots share unchanged applications
				next.apps[a.ID] = before.apps[a.ID]
				continue
			}
		}
		next.apps[a.ID] = amrm.App{ID: a.ID, Type: a.Type, User: a.User, Queue: a.Queue, Tags: tags(a.Tags)}
	}
	for i := range s.Sources {
		if src := &s.Sources[i]; src.Source == model.SourceRM && src.LastOK > 0 {
			next.staleAfter = src.LastOK.Add(v.maxAge)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.newerTargets)
	v.newest.Store(next)
}

// sameNodes reports whether two snapshots share their nodes, which they do
// unless a node changed.
func sameNodes(a, b *snapshot.Snapshot) bool {
	return len(a.Nodes) == len(b.Nodes) && (len(a.Nodes) == 0 || &a.Nodes[0] == &b.Nodes[0])
}

func tags(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// nodesByRack groups the nodes by rack. Hosts and racks have the ResourceManager's names.
func nodesByRack(s *snapshot.Snapshot) *asks.Site {
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
func (v *View) App(id model.AppID) (amrm.App, bool) {
	newest := v.newest.Load()
	if newest == nil {
		return amrm.App{}, false
	}
	app, ok := newest.apps[id]
	return app, ok
}

// Site implements amrm.Guide: the nodes by rack, and whether they are younger than maxAge.
func (v *View) Site() (at *asks.Site, fresh bool) {
	newest := v.newest.Load()
	if newest == nil {
		return nil, false
	}
	return newest.nodes, v.time() <= newest.staleAfter
}

// Target implements amrm.Guide: the newest plan of an application's stage.
func (v *View) Target(app model.AppID, stage model.Stage) (asks.Target, bool) {
	v.mu.Lock()
	t, ok := v.newerTargets[stageOfApp{app, stage}]
	v.mu.Unlock()
	if ok {
		return t, true
	}
	newest := v.newest.Load()
	if newest == nil {
		return asks.Target{}, false
	}
	for _, p := range newest.snapshot.Plans[app] {
		if p.Stage == stage && hasRacks(p) {
			return targetOf(p), true
		}
	}
	return asks.Target{}, false
}

// hasRacks reports whether a plan restricts anything. Other plans are hidden from the
// relay, so that it asks for a decision on an application's first ask.
func hasRacks(p *model.Plan) bool { return len(p.Racks) > 0 || p.Hold }

func targetOf(p *model.Plan) asks.Target {
	return asks.Target{Racks: p.Racks, Hold: p.Hold, Until: p.Until, Reason: p.Reason}
}

// Decide implements amrm.Guide. It has the loop apply the application's asks and plan
// for this application alone; Target returns these plans until the next snapshot.
func (v *View) Decide(ctx context.Context, app model.AppID, asked []model.AskRow) {
	_ = v.loop.PlanApp(ctx, v.asksOf(app, asked), app, func(plans []*model.Plan) { // if ctx ends first, the relay forwards the call unchanged
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, p := range plans {
			if hasRacks(p) {
				v.newerTargets[stageOfApp{app, p.Stage}] = targetOf(p)
			}
		}
	})
}

func (v *View) asksOf(app model.AppID, rows []model.AskRow) model.Observation {
	return model.Observation{Source: model.SourceRelay, At: v.time(), Fact: model.AsksFact{App: app, Rows: rows}}
}

// Pending implements amrm.Guide: the asks that the ResourceManager last reported, and when.
func (v *View) Pending(app model.AppID) (rows []model.AskRow, at model.Time, ok bool) {
	newest := v.newest.Load()
	if newest == nil {
		return nil, 0, false
	}
	a := newest.snapshot.App(app)
	if a == nil || a.Held == nil {
		return nil, 0, false
	}
	return a.Held, a.HeldAt, true
}

// Observe implements amrm.Guide. If the queue is full, the asks are dropped until the
// application's next change.
func (v *View) Observe(app model.AppID, asked []model.AskRow) { v.loop.Offer(v.asksOf(app, asked)) }
