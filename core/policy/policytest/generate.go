package policytest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"heddle/core/model"
	"heddle/core/state"
)

// Draw returns an integer between lo and hi, both included. A property test
// draws with its own generator, a simulation with a seeded source.
type Draw func(lo, hi int) int

// Seeded draws from a source of its own.
func Seeded(seed uint64) Draw {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
}

// Shape bounds what Generate draws.
type Shape struct {
	Racks, Nodes, Users, Apps int // at most
	Maps, Reduces             int // of one application, at most
	// Uniform makes all nodes running, all tasks one size, and lets no application refuse a node, so that how
	// many tasks find a place does not depend on the order they are placed in.
	Uniform bool
	Prefix  string // of all host names
}

// DefaultShape is small enough to shrink well and large enough for every branch.
func DefaultShape() Shape {
	return Shape{Racks: 4, Nodes: 8, Users: 3, Apps: 6, Maps: 8, Reduces: 5}
}

// capacity of the uplinks of generated scenes: 1 Gbit/s.
const capacity model.BytesPerSecond = 125e6

// Generate draws a scene.
func Generate(draw Draw, shape Shape) Scene {
	g := generator{draw: draw, shape: shape}
	s := Scene{Capacity: capacity, Config: state.DefaultConfig()}
	racks := draw(1, shape.Racks)
	for i := range draw(1, shape.Nodes) {
		s.Nodes = append(s.Nodes, g.node(i, rackName(draw(0, racks-1))))
	}
	for r := range racks {
		load := capacity * model.BytesPerSecond(draw(0, 4)) / 4
		s.Loads = append(s.Loads, model.UplinkSample{Rack: rackName(r), Out: load, In: load / 2})
	}
	if !shape.Uniform {
		s.Config.CountVCores = draw(0, 3) == 0
	}
	for i := range draw(0, shape.Apps) {
		s.Apps = append(s.Apps, g.app(i, s.Nodes))
	}
	return s
}

func rackName(i int) model.RackID { return model.RackID(fmt.Sprintf("/rack%02d", i)) }

type generator struct {
	draw  Draw
	shape Shape
}

func (g *generator) one(in int) bool { return g.draw(1, in) == 1 }

func (g *generator) node(i int, rack model.RackID) model.Node {
	host := fmt.Sprintf("%sn%03d", g.shape.Prefix, i)
	n := model.Node{
		ID: model.NodeID(host + ":45454"), Host: host, Rack: rack, State: model.NodeRunning,
		Total: model.Resource{MemoryMiB: 1024 * int64(g.draw(1, 6)), VCores: int64(g.draw(1, 6))},
	}
	if g.shape.Uniform {
		return n
	}
	if g.one(8) {
		n.State = model.NodeUnhealthy
	}
	// Up to one more than there is: a node's capacity can be lowered under its containers.
	n.Used = model.Resource{MemoryMiB: 1024 * int64(g.draw(0, int(n.Total.MemoryMiB/1024)+1)), VCores: int64(g.draw(0, int(n.Total.VCores)))}
	return n
}

func (g *generator) app(i int, nodes []model.Node) App {
	a := App{
		App: model.App{
			ID: model.AppID(fmt.Sprintf("application_1_%04d", i)), Type: "MAPREDUCE", State: model.AppRunning,
			User:      model.UserID(fmt.Sprintf("user%d", g.draw(1, g.shape.Users))),
			Submitted: Epoch.Add(-model.Duration(g.draw(0, 40)) * model.Minute),
			Allocated: model.Resource{MemoryMiB: 1024 * int64(g.draw(0, 8)), VCores: 1},
		},
		MapTask: model.Resource{MemoryMiB: 1024, VCores: 1}, ReduceTask: model.Resource{MemoryMiB: 1024, VCores: 1},
		Slowstart: []float64{0, 0.05, 0.5, 1}[g.draw(0, 3)], Rows: g.one(3), MapInput: model.Unknown, MapOutput: model.Unknown,
	}
	if !g.shape.Uniform {
		a.MapTask = model.Resource{MemoryMiB: 512 * int64(g.draw(1, 4)), VCores: int64(g.draw(1, 2))}
		a.ReduceTask = model.Resource{MemoryMiB: 512 * int64(g.draw(1, 6)), VCores: int64(g.draw(1, 2))}
		if g.one(6) {
			a.Blacklist = []string{nodes[g.draw(0, len(nodes)-1)].Host}
		}
	}
	g.maps(&a, nodes)
	g.reduces(&a, nodes)
	return a
}

func (g *generator) maps(a *App, nodes []model.Node) {
	done := 0
	for i := range g.draw(0, g.shape.Maps) {
		b := model.Block{Offset: model.Bytes(i) * 128 * model.MiB, Length: model.Bytes(g.draw(1, 128)) * model.MiB}
		for range g.draw(1, 3) {
			n := &nodes[g.draw(0, len(nodes)-1)]
			b.Hosts, b.Racks = append(b.Hosts, n.Host), append(b.Racks, n.Rack)
		}
		a.Input = append(a.Input, b)
		t := model.Task{Stage: model.StageMap, Index: i, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown, Preferred: slices.Compact(slices.Sorted(slices.Values(b.Hosts)))}
		g.launch(&t, nodes)
		if t.State == model.TaskSucceeded {
			done++
			if g.one(2) {
				t.Output = model.Bytes(g.draw(0, 256)) * model.MiB
			}
		}
		a.Maps = append(a.Maps, t)
	}
	if done > 0 && !g.one(4) {
		a.MapInput = model.Bytes(done) * 64 * model.MiB
		a.MapOutput = model.Bytes(g.draw(0, 200)) * model.Bytes(done) * model.MiB
	}
}

func (g *generator) reduces(a *App, nodes []model.Node) {
	for i := range g.draw(0, g.shape.Reduces) {
		t := model.Task{Stage: model.StageReduce, Index: i, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
		g.launch(&t, nodes)
		a.Reduces = append(a.Reduces, t)
	}
}

// launch draws where a task is in its life; half of all tasks are pending.
func (g *generator) launch(t *model.Task, nodes []model.Node) {
	t.State = []model.TaskState{
		model.TaskPending, model.TaskPending, model.TaskPending, model.TaskRunning, model.TaskSucceeded, model.TaskSucceeded,
	}[g.draw(0, 5)]
	if t.State != model.TaskPending {
		n := &nodes[g.draw(0, len(nodes)-1)]
		t.Host, t.Rack = n.Host, n.Rack
		t.Progress = float64(g.draw(0, 10)) / 10
	}
}
