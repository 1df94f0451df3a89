package relaylink

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/asks"
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/amrm"
)

// sent passes a view over the wire.
func sent(t *rapid.T, v *view) *view {
	line, err := (&message{View: v}).encode()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newReader(bytes.NewReader(line)).next()
	if err != nil {
		t.Fatal(err)
	}
	return m.View
}

// seen is everything that the relay may ask of a view but for what hosts had free at the view before.
type seen struct {
	Site    *asks.Site
	Fresh   bool
	Apps    map[model.AppID]amrm.App
	Targets map[stageOfApp]asks.Target
}

func everything(v *View) seen {
	s := seen{Apps: v.apps, Targets: v.plans}
	s.Site, s.Fresh = v.Site()
	if s.Site == nil {
		return s
	}
	site := &asks.Site{RackOf: s.Site.RackOf, VCores: s.Site.VCores, SoftHeadroom: s.Site.SoftHeadroom}
	for _, r := range s.Site.Racks {
		r.Hosts = slices.Clone(r.Hosts)
		for i := range r.Hosts {
			r.Hosts[i].Idle = model.Resource{}
		}
		site.Racks = append(site.Racks, r)
	}
	s.Site = site
	return s
}

// drawFact draws a change of the cluster.
func drawFact(t *rapid.T) model.Fact {
	number := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
	switch number("kind", 3) {
	case 0:
		var nodes []model.Node
		for i := range number("nodes", 5) {
			host := fmt.Sprintf("w%d", i)
			nodes = append(nodes, model.Node{
				ID: model.NodeID(host + ":1"), Host: host, Rack: model.RackID(fmt.Sprintf("/r%d", number("rack", 2))),
				State: rapid.SampledFrom([]model.NodeState{model.NodeRunning, model.NodeLost}).Draw(t, "state"),
				Total: model.Resource{MemoryMiB: 4096, VCores: 4}, Used: model.Resource{MemoryMiB: int64(number("used", 2)) * 1024},
			})
		}
		return model.NodesFact{Nodes: nodes}
	case 1:
		var apps []model.App
		for i := range number("apps", 4) {
			apps = append(apps, model.App{
				ID: model.AppID(fmt.Sprintf("application_1_000%d", i+1)), Type: "MAPREDUCE", User: "ann", Submitted: model.Time(i + 1),
				Queue: model.QueueID(fmt.Sprintf("root.q%d", number("queue", 1))), Tags: rapid.SampledFrom([]string{"", "a", "a,b"}).Draw(t, "tags"),
				State: rapid.SampledFrom([]model.AppState{model.AppRunning, model.AppFinished}).Draw(t, "state"),
			})
		}
		return model.AppsFact{Apps: apps}
	case 2:
		return model.AsksFact{
			App:  model.AppID(fmt.Sprintf("application_1_000%d", number("app", 3)+1)),
			Rows: []model.AskRow{{Priority: model.PriorityReduce, ResourceName: "*", Count: number("count", 2), Capability: model.Resource{MemoryMiB: 512, VCores: 1}}},
		}
	}
	return model.PollFact{Result: model.PollOK}
}

// TestChanges: applying changes one after the other gives the same view as one whole view.
func TestChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := func() time.Time { return time.UnixMilli(20_000) }
		cluster := state.New(state.DefaultConfig())
		planner := engine.New(engine.DefaultOptions("test"), fixedPlans{}, cluster)
		step, now := changes{maxAge: 30 * model.Second}, model.Time(10_000)
		stepwise := NewView(clock)
		cluster.Apply(model.Observation{Source: model.SourceRM, At: now, Fact: model.PollFact{Result: model.PollOK}})
		for range rapid.IntRange(1, 12).Draw(t, "snapshots") {
			for range rapid.IntRange(0, 4).Draw(t, "facts") {
				now++
				cluster.Apply(model.Observation{Source: model.SourceRM, At: now, Fact: drawFact(t)})
			}
			if _, err := planner.Plan(now); err != nil {
				t.Fatal(err)
			}
			s := cluster.Snapshot()
			planner.Log().AddTo(s)
			s.Guard.Unsteered = map[model.AppID]model.PassCause{}
			for _, a := range s.Apps {
				if cause := rapid.SampledFrom([]model.PassCause{"", model.PassGuard, model.PassControl}).Draw(t, "unsteered"); cause != "" {
					s.Guard.Unsteered[a.ID] = cause
				}
			}
			if err := stepwise.apply(sent(t, step.to(s))); err != nil {
				t.Fatal(err)
			}
			once, whole := changes{maxAge: 30 * model.Second}, NewView(clock)
			if err := whole.apply(sent(t, once.to(s))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(everything(whole), everything(stepwise)); diff != "" {
				t.Fatalf("(-whole +stepwise):\n%s", diff)
			}
			checkShown(t, s, stepwise)
		}
	})
}

// checkShown checks a view against the snapshot that it is made of.
func checkShown(t *rapid.T, s *snapshot.Snapshot, v *View) {
	usable := 0
	for i := range s.Nodes {
		if s.Nodes[i].State.Usable() {
			usable++
		}
		if v.site.RackOf[s.Nodes[i].Host] != s.Nodes[i].Rack {
			t.Fatalf("%s is on %s", s.Nodes[i].Host, v.site.RackOf[s.Nodes[i].Host])
		}
	}
	for _, r := range v.site.Racks {
		usable -= len(r.Hosts)
	}
	if usable != 0 || len(v.site.RackOf) != len(s.Nodes) || len(v.apps) != s.Cluster.LiveApps {
		t.Fatalf("%d usable nodes are missing; %d hosts of %d, %d applications of %d", usable, len(v.site.RackOf), len(s.Nodes), len(v.apps), s.Cluster.LiveApps)
	}
	for id, a := range v.apps {
		if a.Pass != s.Guard.Unsteered[id] {
			t.Fatalf("%s passes for %q, want %q", id, a.Pass, s.Guard.Unsteered[id])
		}
	}
	planned := 0
	for app, plans := range s.Plans {
		for _, p := range plans {
			if target, ok := v.Target(app, p.Stage); restricts(p) {
				planned++
				if diff := cmp.Diff(p.Racks, target.Racks); diff != "" || !ok || target.Reason != p.Reason || target.Hold != p.Hold || target.MaxRunning != p.MaxRunning {
					t.Fatalf("target of %s: %v %s", app, ok, diff)
				}
			}
		}
	}
	if planned != len(v.plans) {
		t.Fatalf("%d plans restrict something, %d are shown", planned, len(v.plans))
	}
}

// FuzzMessage: any line is a message or an error, and a view of it leaves a View that answers.
func FuzzMessage(f *testing.F) {
	for _, m := range []message{
		{Hello: &hello{1, "v", 7}}, {Refused: "why"}, {PlanRequest: &planRequest{1, viewedApp, 2, asking(), 200}}, {Plans: &planAnswer{ID: 1}},
		{View: &view{Version: 1, Whole: true, Nodes: []node{{ID: "w:1", Host: "w", Rack: "/r", Usable: true}}, Apps: []application{{ID: viewedApp}}}},
		{View: &view{Version: 2, GoneNodes: []model.NodeID{"w:1"}, Targets: []target{{stageOfApp: stageOfApp{viewedApp, "reduce"}, Racks: []model.RackTarget{{Rack: "/r", Count: 1}}}}}},
		{Rows: &outstandingRows{viewedApp, 3, asking()}}, {Status: &status{1, &model.Relay{}}},
	} {
		line, err := m.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(line))
	}
	f.Add("{}")
	f.Add(`{"hello":{},"refused":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		in := newReader(strings.NewReader(text))
		v := NewView(func() time.Time { return time.UnixMilli(1) })
		for {
			m, err := in.next()
			if err != nil {
				return
			}
			if m.fields() != 1 {
				t.Fatalf("%q sets %d fields", text, m.fields())
			}
			if _, err := m.encode(); err != nil {
				t.Fatalf("%q is read and not written: %v", text, err)
			}
			switch {
			case m.View != nil:
				if v.apply(m.View) == nil && v.site == nil {
					t.Fatal("a view without a site")
				}
			case m.Plans != nil:
				v.applyPlans(m.Plans)
			case m.Rows != nil:
				v.applyRows(m.Rows)
			}
			v.Target(viewedApp, model.StageReduce)
		}
	})
}

// TestSoftHeadroom: the relay goes by the headroom of an answer only where the scheduler keeps to it.
func TestSoftHeadroom(t *testing.T) {
	t.Parallel()
	for scheduler, want := range map[string]bool{"fairScheduler": true, "capacityScheduler": false} {
		s := &snapshot.Snapshot{Seq: 1}
		s.Cluster.Scheduler = scheduler
		v := NewView(clock)
		if err := v.apply((&changes{}).to(s)); err != nil {
			t.Fatal(err)
		}
		if site, _ := v.Site(); site == nil || site.SoftHeadroom != want {
			t.Errorf("%s: %+v", scheduler, site)
		}
	}
}
