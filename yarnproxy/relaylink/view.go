package relaylink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm"
)

const (
	// showAgainAfter is the time between two questions about the rows of one application.
	showAgainAfter = model.Second
	// keepRows is how long rows that the ResourceManager showed are kept.
	keepRows = model.Minute
	// maxPlanning is how many applications may wait for their first plan at once. Further ones do not wait.
	maxPlanning = 1024
)

// View is the cluster as serve last sent it. The relay asks it for every allocate call, and it answers from
// memory. It is safe for concurrent use.
type View struct {
	now func() time.Time

	applying sync.Mutex // held by apply; guards nodes
	nodes    map[model.NodeID]node
	free     map[model.NodeID]model.Resource // of each node, in the last site

	mu       sync.RWMutex // guards what follows; allocate calls wait for it
	serve    *session     // nil while none is linked
	version  uint64
	stale    model.Time // when what is here becomes too old to act on
	site     *asks.Site
	apps     map[model.AppID]amrm.App
	plans    map[stageOfApp]asks.Target
	newer    map[stageOfApp]asks.Target // decided since the last view
	rows     map[model.AppID]shownRows
	planning map[uint64]chan struct{}
	lastID   uint64
}

// shownRows are rows that the ResourceManager showed, and when they were asked for.
type shownRows struct {
	of    outstandingRows
	asked model.Time
}

var _ amrm.Guide = (*View)(nil)

// NewView returns a view that knows nothing.
func NewView(now func() time.Time) *View {
	v := &View{now: now, nodes: map[model.NodeID]node{}, free: map[model.NodeID]model.Resource{}, planning: map[uint64]chan struct{}{}}
	v.forget()
	return v
}

func (v *View) time() model.Time { return model.Time(v.now().UnixMilli()) }

// forget empties the view but for its nodes. The lock is held.
func (v *View) forget() {
	v.apps, v.rows = map[model.AppID]amrm.App{}, map[model.AppID]shownRows{}
	v.plans, v.newer = map[stageOfApp]asks.Target{}, map[stageOfApp]asks.Target{}
}

// apply makes a view from serve the newest. It groups nodes by rack before it takes the lock that allocate calls wait for.
func (v *View) apply(n *view) error {
	v.applying.Lock()
	defer v.applying.Unlock()
	site, err := v.siteAfter(n)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if n.Whole {
		v.forget()
	}
	v.version, v.stale, v.site = n.Version, n.StaleAfter, site
	for i := range n.Apps {
		a := &n.Apps[i]
		v.apps[a.ID] = amrm.App{ID: a.ID, Type: a.Type, User: a.User, Queue: a.Queue, Tags: a.Tags, Pass: a.Pass}
	}
	for _, id := range n.GoneApps {
		delete(v.apps, id)
	}
	for i := range n.Targets {
		v.plans[n.Targets[i].stageOfApp] = n.Targets[i].inForce()
	}
	for _, of := range n.GonePlans {
		delete(v.plans, of)
	}
	clear(v.newer)
	now := v.time()
	for app, r := range v.rows { // order-free: each alone
		if now.Sub(r.asked) > keepRows {
			delete(v.rows, app)
		}
	}
	return nil
}

// siteAfter applies the nodes of a view and returns the site with them: the one that is there if no node changed
// and all room was there at the view before, too.
func (v *View) siteAfter(n *view) (*asks.Site, error) {
	v.mu.RLock()
	site, version := v.site, v.version
	v.mu.RUnlock()
	if !n.Whole && n.Version <= version {
		return nil, fmt.Errorf("a view has version %d and follows %d", n.Version, version)
	}
	if n.Whole {
		v.nodes, site = map[model.NodeID]node{}, nil
	}
	for i := range n.Nodes {
		v.nodes[n.Nodes[i].ID] = n.Nodes[i]
	}
	for _, id := range n.GoneNodes {
		delete(v.nodes, id)
	}
	if len(n.Nodes)+len(n.GoneNodes) == 0 && site != nil && site.VCores == n.VCores && site.SoftHeadroom == n.SoftHeadroom && !site.HasNewRoom() {
		return site, nil
	}
	site = siteOf(v.nodes, v.free)
	site.VCores, site.SoftHeadroom = n.VCores, n.SoftHeadroom
	clear(v.free)
	for id := range v.nodes { // order-free: each alone
		v.free[id] = v.nodes[id].Free
	}
	return site, nil
}

func (t *target) inForce() asks.Target {
	return asks.Target{Racks: t.Racks, Hold: t.Hold, MaxRunning: t.MaxRunning, Until: t.Until, Reason: t.Reason}
}

// siteOf groups nodes by rack. What was free before and is now is idle.
func siteOf(nodes map[model.NodeID]node, before map[model.NodeID]model.Resource) *asks.Site {
	list := make([]*node, 0, len(nodes))
	for id := range nodes { // order-free: sorted below
		n := nodes[id]
		list = append(list, &n)
	}
	slices.SortFunc(list, func(a, b *node) int { return cmp.Compare(a.ID, b.ID) })
	site := &asks.Site{RackOf: make(map[string]model.RackID, len(list))}
	at := map[model.RackID]int{}
	for _, n := range list {
		i, known := at[n.Rack]
		if !known {
			i = len(site.Racks)
			at[n.Rack] = i
			site.Racks = append(site.Racks, asks.Rack{ID: n.Rack})
		}
		site.RackOf[n.Host] = n.Rack
		if n.Usable {
			site.Racks[i].Hosts = append(site.Racks[i].Hosts, asks.Host{Name: n.Host, Total: n.Total, Free: n.Free, Idle: asks.Idle(before[n.ID], n.Free)})
		}
	}
	return site
}

// link makes a session the one that is asked.
func (v *View) link(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.serve = s
}

// unlink ends a session. Who waits for its plans waits no more.
func (v *View) unlink(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.serve != s {
		return
	}
	v.serve = nil
	for id, done := range v.planning { // order-free: each alone
		close(done)
		delete(v.planning, id)
	}
}

// Fresh reports whether serve is linked and the view young enough to act on.
func (v *View) Fresh() (linked, fresh bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.serve != nil, v.site != nil && v.time() <= v.stale
}

// App implements amrm.Guide.
func (v *View) App(id model.AppID) (amrm.App, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	app, ok := v.apps[id]
	return app, ok
}

// Site implements amrm.Guide.
func (v *View) Site() (at *asks.Site, fresh bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.site, v.site != nil && v.time() <= v.stale
}

// Target implements amrm.Guide: the newest plan of an application's stage.
func (v *View) Target(app model.AppID, stage model.Stage) (asks.Target, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if t, ok := v.newer[stageOfApp{app, stage}]; ok {
		return t, true
	}
	t, ok := v.plans[stageOfApp{app, stage}]
	return t, ok
}

// Decide implements amrm.Guide: it asks serve for plans of an application, and waits until they are here or
// ctx ends. Without serve it returns at once.
func (v *View) Decide(ctx context.Context, app model.AppID, rows []model.AskRow) {
	done, ok := v.plan(ctx, app, rows)
	if !ok {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// plan asks serve for plans. done is closed when they are here, or serve is gone.
func (v *View) plan(ctx context.Context, app model.AppID, rows []model.AskRow) (done chan struct{}, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.serve == nil || len(v.planning) >= maxPlanning {
		return nil, false
	}
	within := model.Duration(0)
	if end, limited := ctx.Deadline(); limited {
		within = model.Duration(end.Sub(clock()).Milliseconds())
	}
	v.lastID++
	if !v.serve.send(&message{PlanRequest: &planRequest{v.lastID, app, v.time(), rows, within}}) {
		return nil, false
	}
	done = make(chan struct{})
	v.planning[v.lastID] = done
	return done, true
}

// applyPlans takes the plans of planRequest. They are in force until the next view, which has them.
func (v *View) applyPlans(p *planAnswer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range p.Targets {
		v.newer[p.Targets[i].stageOfApp] = p.Targets[i].inForce()
	}
	if done := v.planning[p.ID]; done != nil {
		close(done)
		delete(v.planning, p.ID)
	}
}

// Pending implements amrm.Guide. Rows come from serve on demand: while those that are here are of no use, the
// caller asks at every call, and serve is asked again once a second.
func (v *View) Pending(app model.AppID) (rows []model.AskRow, at model.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r, now := v.rows[app], v.time()
	if r.asked == 0 || now.Sub(r.asked) >= showAgainAfter || now < r.asked {
		if v.serve != nil && v.serve.send(&message{RowsQuery: &rowsQuery{app}}) {
			r.asked = now
			v.rows[app] = r
		}
	}
	return r.of.Rows, r.of.At, r.of.At != 0
}

// applyRows takes the rows of an application.
func (v *View) applyRows(s *outstandingRows) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r, waiting := v.rows[s.App]; waiting {
		r.of = *s
		v.rows[s.App] = r
	}
}

// Observe implements amrm.Guide: it sends serve what an application asks for and what was done to it. Without room, or
// without serve, it is dropped until the application's next change.
func (v *View) Observe(app model.AppID, rows []model.AskRow, done model.Relayed) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.serve != nil {
		v.serve.send(&message{Asks: &appAsks{app, v.time(), rows, done}})
	}
}
