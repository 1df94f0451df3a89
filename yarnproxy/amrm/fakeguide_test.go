package amrm

import (
	"context"
	"slices"
	"sync"

	"heddle/core/asks"
	"heddle/core/model"
)

// fakeGuide knows one kind of application, and what a test gives it.
type fakeGuide struct {
	mu       sync.Mutex
	apps     map[model.AppID]App
	all      *App // what every application is
	site     *asks.Site
	targets  map[model.Stage]asks.Target
	pending  map[model.AppID][]model.AskRow
	read     model.Time // when pending came
	decide   func(ctx context.Context, asked []model.AskRow)
	decided  int
	observed map[model.AppID][][]model.AskRow
	done     map[model.AppID]model.Relayed // as observed last
	panics   string                        // the method that does
}

func newFakeGuide() *fakeGuide {
	return &fakeGuide{
		all: &App{Type: "MAPREDUCE", User: "alice", Queue: "root.default"}, site: testSite(),
		targets: map[model.Stage]asks.Target{}, observed: map[model.AppID][][]model.AskRow{}, done: map[model.AppID]model.Relayed{},
	}
}

// testSite is two racks of two hosts.
func testSite() *asks.Site {
	size := model.Resource{MemoryMiB: 4096, VCores: 4}
	s := &asks.Site{RackOf: map[string]model.RackID{}}
	for _, rack := range []string{"1", "2"} {
		r := asks.Rack{ID: model.RackID("/rack" + rack)}
		for _, host := range []string{"1", "2"} {
			name := "w" + rack + host
			r.Hosts = append(r.Hosts, asks.Host{Name: name, Total: size, Free: size, Idle: size})
			s.RackOf[name] = r.ID
		}
		s.Racks = append(s.Racks, r)
	}
	return s
}

func (g *fakeGuide) check(method string) {
	if g.panics == method {
		panic("the guide panics in " + method)
	}
}

// App implements Guide.
func (g *fakeGuide) App(id model.AppID) (App, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check("App")
	if a, ok := g.apps[id]; ok {
		return a, true
	}
	if g.all == nil {
		return App{}, false
	}
	return *g.all, true
}

// Site implements Guide.
func (g *fakeGuide) Site() (*asks.Site, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check("Site")
	return g.site, g.site != nil
}

// Target implements Guide.
func (g *fakeGuide) Target(_ model.AppID, stage model.Stage) (asks.Target, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check("Target")
	t, ok := g.targets[stage]
	return t, ok
}

// Decide implements Guide.
func (g *fakeGuide) Decide(ctx context.Context, _ model.AppID, asked []model.AskRow) {
	var decide func(context.Context, []model.AskRow)
	g.set(func(g *fakeGuide) {
		g.decided++
		decide = g.decide
		g.check("Decide")
	})
	if decide != nil {
		decide(ctx, asked)
	}
}

// Pending implements Guide.
func (g *fakeGuide) Pending(app model.AppID) ([]model.AskRow, model.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check("Pending")
	rows, ok := g.pending[app]
	return rows, g.read, ok
}

// Observe implements Guide.
func (g *fakeGuide) Observe(app model.AppID, asked []model.AskRow, done model.Relayed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check("Observe")
	g.observed[app] = append(g.observed[app], slices.Clone(asked))
	g.done[app] = done
}

func (g *fakeGuide) set(do func(*fakeGuide)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do(g)
}
