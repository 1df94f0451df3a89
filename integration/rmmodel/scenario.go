package rmmodel

import (
	"fmt"
	"slices"

	"heddle/core/asks"
	"heddle/core/model"
)

// Plan is the target of a stage from a moment on.
type Plan struct {
	At     model.Time
	Stage  model.Stage
	None   bool // there is no plan
	Target asks.Target
}

// EventKind is something that happens to a run.
type EventKind string

// The events. Those that take something away give it back after the event's For.
const (
	LoseNode     EventKind = "lose-node"
	FillRack     EventKind = "fill-rack" // every slot that is free is taken by somebody else
	RefusePlace  EventKind = "refuse"    // the application blacklists a host or a rack
	Withdraw     EventKind = "withdraw"  // the application takes back what it asks for a stage
	Preempt      EventKind = "preempt"   // N containers
	LoseRequest  EventKind = "lose-request"
	LoseResponse EventKind = "lose-response"
	Restart      EventKind = "restart" // of the relay, between two calls
	Crash        EventKind = "crash"   // of the relay, after the ResourceManager handled a call and before it answered
	Failover     EventKind = "failover"
	Stale        EventKind = "stale"  // the relay passes everything on
	Around       EventKind = "around" // calls go to the ResourceManager
)

// Event is one event of a scenario.
type Event struct {
	At    model.Time
	Kind  EventKind
	Place string      // a host or a rack
	Stage model.Stage // of Withdraw
	N     int
	For   model.Duration
	Dead  bool // of Around: the relay is dead meanwhile, and starts at the end
}

// Scenario is one run: plain data, so that a test can print it and run it again.
type Scenario struct {
	Scheduler    Scheduler
	Racks, Hosts int // hosts of a rack
	Slots        int // containers of a host
	App          App
	Limits       asks.Limits
	Plans        []Plan
	Events       []Event
	Poll         model.Duration // how old the relay's picture of the cluster becomes
	Seed         uint64         // of the order of heartbeats
}

// Slot is the size of every container of a scenario.
func Slot() model.Resource { return model.Resource{MemoryMiB: 1024, VCores: 1} }

// Draw returns an integer between lo and hi, both included.
type Draw func(lo, hi int) int

// TestLimits are limits short enough to be met in a run of a minute.
func TestLimits() asks.Limits {
	return asks.Limits{
		PinDeadline: 15 * model.Second, TrimDeadline: 8 * model.Second, HoldMax: 10 * model.Second,
		WidenAfter: 3 * model.Second, FullAfter: 4 * model.Second, Spread: asks.SpreadPack, MaxKeys: 64, MaxRows: 4096,
	}
}

// Generate draws a scenario.
func Generate(draw Draw, s Scheduler) Scenario {
	g := generator{draw: draw}
	sc := Scenario{
		Scheduler: s, Racks: draw(1, 4), Hosts: draw(1, 3), Slots: draw(1, 3), Limits: TestLimits(),
		Poll: model.Duration(draw(1, 6)) * model.Second, Seed: uint64(draw(0, 1<<20)),
	}
	if draw(0, 1) == 1 {
		sc.Limits.Spread = asks.SpreadEven
	}
	if draw(0, 3) == 0 {
		sc.App = g.spark(&sc)
	} else {
		sc.App = g.mapReduce(&sc)
	}
	for range draw(0, 6) {
		sc.Plans = append(sc.Plans, g.plan(&sc))
	}
	slices.SortStableFunc(sc.Plans, func(a, b Plan) int { return int(a.At - b.At) })
	for range draw(0, 5) {
		sc.Events = append(sc.Events, g.event(&sc))
	}
	slices.SortStableFunc(sc.Events, func(a, b Event) int { return int(a.At - b.At) })
	return sc
}

// horizon is the last second at which something new happens in a generated scenario.
const horizon = 50

type generator struct{ draw Draw }

func (g generator) second() model.Time { return model.Time(g.draw(0, horizon) * 1000) }

func (g generator) one(in int) bool { return g.draw(1, in) == 1 }

func (g generator) host(s *Scenario) string {
	return fmt.Sprintf("w%d%d", g.draw(1, s.Racks), g.draw(1, s.Hosts))
}

// mapReduce is a job: maps with replicas at priority 20 and, once they failed,
// 5; reduces at 10 (RMContainerAllocator).
func (g generator) mapReduce(s *Scenario) App {
	app := App{SlowStart: float64(g.draw(0, 4)) / 4, Rebuild: g.one(2)}
	labelled := g.one(10)
	for range g.draw(1, 12) {
		t := g.task(asks.Key{Priority: model.PriorityMap, RequestID: -1}, model.StageMap, labelled)
		t.Again = asks.Key{Priority: model.PriorityFailedMap, RequestID: -1}
		for range g.draw(0, 3) {
			if host := g.host(s); !slices.Contains(t.Hosts, host) {
				t.Hosts = append(t.Hosts, host)
			}
		}
		app.Tasks = append(app.Tasks, t)
	}
	for range g.draw(0, 8) {
		app.Tasks = append(app.Tasks, g.task(asks.Key{Priority: model.PriorityReduce, RequestID: -1}, model.StageReduce, labelled))
	}
	return app
}

// spark is an application of executors: one key, with hosts or without, whose
// numbers come in steps.
func (g generator) spark(s *Scenario) App {
	app := App{Lag: g.one(2), Rebuild: g.one(2)}
	local := g.one(2)
	for range g.draw(1, 10) {
		t := g.task(asks.Key{Priority: 1}, sparkStage, false)
		t.At = model.Time(1000 * g.draw(0, 2) * g.draw(0, 10))
		if local {
			t.Hosts = []string{g.host(s)}
		}
		app.Tasks = append(app.Tasks, t)
	}
	return app
}

// sparkStage is the stage of generated executors.
const sparkStage model.Stage = "executor"

func (g generator) task(key asks.Key, stage model.Stage, labelled bool) Task {
	t := Task{
		Stage: stage, Key: key, Again: key, Need: Slot(),
		Runs: model.Duration(g.draw(500, 9000)), Labelled: labelled,
	}
	if g.one(10) {
		t.Failures = 1
	}
	return t
}

func (g generator) plan(s *Scenario) Plan {
	stage := s.App.Tasks[g.draw(0, len(s.App.Tasks)-1)].Stage
	p := Plan{At: g.second(), Stage: stage, None: g.one(6)}
	if g.one(4) {
		p.Target.Hold = true
		p.Target.Until = p.At.Add(model.Duration(g.draw(0, 30)) * model.Second)
		p.Target.MaxRunning = g.draw(0, 3) * g.draw(0, 3)
	}
	used := map[model.RackID]bool{}
	for range g.draw(0, 3) {
		rack := RackName(g.draw(1, s.Racks+1)) // the last one is unknown
		if !used[rack] {
			used[rack] = true
			p.Target.Racks = append(p.Target.Racks, model.RackTarget{Rack: rack, Count: g.draw(0, 8)})
		}
	}
	slices.SortStableFunc(p.Target.Racks, func(a, b model.RackTarget) int { return b.Count - a.Count })
	return p
}

func (g generator) event(s *Scenario) Event {
	kinds := []EventKind{
		LoseNode, FillRack, RefusePlace, Withdraw, Preempt, LoseRequest, LoseResponse, Restart, Crash, Failover, Stale, Around,
	}
	e := Event{At: g.second(), Kind: kinds[g.draw(0, len(kinds)-1)], For: model.Duration(g.draw(1, 20)) * model.Second}
	switch e.Kind {
	case LoseNode:
		e.Place = g.host(s)
	case FillRack:
		e.Place = string(RackName(g.draw(1, s.Racks)))
	case RefusePlace:
		e.Place = g.host(s)
		if g.one(4) {
			e.Place = string(RackName(g.draw(1, s.Racks)))
		}
	case Withdraw:
		e.Stage = s.App.Tasks[g.draw(0, len(s.App.Tasks)-1)].Stage
	case Preempt:
		e.N = g.draw(1, 3)
	case Around:
		e.Dead = g.one(2)
	default:
	}
	return e
}
