package engine_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/state"
	"heddle/core/topology"
)

// TestPlansThatPin: whatever is known of a job's maps, late, in part or wrong, no plan that stands wants reduces on a
// rack without maps while racks with maps have room, and none sends more over its busiest uplink than MaxBusier times
// what an even spread does.
func TestPlansThatPin(t *testing.T) {
	t.Parallel()
	pinned := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := partlyKnown(rt)
		for _, name := range []string{"shufflewatcher", "nas", "dawn", "fair"} {
			p, err := builtin.Registry().New(name, nil)
			if err != nil {
				rt.Fatal(err)
			}
			opts := engine.DefaultOptions(name)
			opts.MaxAge, opts.Recover = 0, false
			plans, err := engine.New(opts, p, c).PlanJobs(c.View().Jobs())
			if err != nil {
				rt.Fatal(err)
			}
			for i := range plans {
				if plans[i].Stage == model.StageReduce && len(plans[i].Racks) > 0 {
					pinned++
					checkPin(rt, c.View(), name, &plans[i])
				}
			}
		}
	})
	if pinned == 0 {
		t.Error("no plan of any policy stands")
	}
}

func checkPin(t *rapid.T, v state.View, name string, p *model.Plan) {
	j := v.Job(p.App)
	planned := map[int]int{}
	for _, r := range p.Racks {
		planned[v.RackOf(r.Rack).Index] = r.Count
	}
	room, completed := false, 0
	for _, n := range j.Map.CompletedByRack() {
		completed += n
	}
	complete := max(completed, j.Map.Completed) >= j.Map.Tasks()
	for i, r := range v.Racks() {
		// A complete map may have no output, and what runs once all are complete is an attempt that is late.
		leaves := topology.At(j.Output.ByRack, i) > 0 || j.Map.Launched(i) > topology.At(j.Map.CompletedByRack(), i) && !complete
		for _, n := range r.Nodes {
			left := max(planned[i]-j.Reduce.Launched(i), 0)
			room = room || leaves && n.State.Usable() && n.Free.MemoryMiB >= int64(left+1)*j.Reduce.Capability.MemoryMiB
		}
	}
	for i, n := range planned {
		if n > j.Reduce.Launched(i) && j.Map.Launched(i) == 0 && room {
			t.Fatalf("%s: %d reduces on rack %d without maps, launched %v: %+v", name, n, i, j.Map.LaunchedByRack(), *p)
		}
	}
	cost := map[string]model.Bytes{}
	for _, k := range p.Costs {
		cost[k.Name] = k.Busiest
	}
	if most := float64(cost["uniform"])*policy.MaxBusier + 2; float64(cost["plan"]) > most {
		t.Fatalf("%s: the busiest uplink carries %d bytes, of an even spread %d: %+v", name, cost["plan"], cost["uniform"], *p)
	}
}

// partlyKnown is a cluster with a job of which some facts are late, missing or wrong.
func partlyKnown(t *rapid.T) *state.Cluster {
	draw := func(what string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, what) }
	racks, maps, reduces := draw("racks", 1, 5), draw("maps", 1, 12), draw("reduces", 1, 9)
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	host := func(rack int) string { return fmt.Sprintf("w%d", rack) }
	rackOf := func(rack int) model.RackID { return model.RackID(fmt.Sprintf("/r%d", rack)) }
	var nodes model.NodesFact
	for r := range racks {
		n := model.Node{ID: model.NodeID(host(r) + ":1"), Host: host(r), Rack: rackOf(r), State: model.NodeRunning, Total: one.Times(8)}
		n.Used = one.Times(int64(draw("used", 0, 8)))
		nodes.Nodes = append(nodes.Nodes, n)
	}
	app := model.App{ID: id, User: "ann", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1000}
	facts := []model.Fact{nodes, model.AppsFact{Apps: []model.App{app}}, model.JobConfFact{App: id, Inputs: []string{"/in"}, Slowstart: 0.05, MapTask: one, ReduceTask: one}}
	if rapid.Bool().Draw(t, "blocks") {
		f := model.BlocksFact{Path: "/in"}
		for range maps {
			r := draw("replica", 0, racks-1)
			f.Blocks = append(f.Blocks, model.Block{Length: model.Bytes(draw("length", 1, 128)) * model.MiB, Hosts: []string{host(r)}, Racks: []model.RackID{rackOf(r)}})
		}
		facts = append(facts, f)
	}
	var tasks []model.Task
	var output model.Bytes
	done := 0
	for i := range maps {
		m := model.Task{Stage: model.StageMap, Index: i, State: model.TaskPending, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
		if state := draw("state", 0, 3); state > 0 { // pending, or on a rack that need not be that of its block
			r := draw("rack", 0, racks-1)
			m.State, m.Host, m.Rack = model.TaskRunning, host(r), rackOf(r)
			if state > 1 {
				done++
				size := model.Bytes(draw("output", 0, 64)) * model.MiB
				output += size
				if m.State = model.TaskSucceeded; state > 2 {
					m.Output = size
				}
			}
		}
		if draw("told", 0, 3) > 0 { // else late
			tasks = append(tasks, m)
		}
	}
	facts = append(facts, model.JobFact{
		App: id, MapsTotal: maps, MapsPending: draw("pending", 0, maps), MapsRunning: draw("running", 0, maps), MapsCompleted: draw("complete", 0, maps),
		ReducesTotal: reduces, ReducesPending: reduces,
	}, model.TasksFact{App: id, Tasks: tasks})
	if rapid.Bool().Draw(t, "counters") {
		late := draw("late", 0, 100)
		facts = append(facts, model.CountersFact{App: id, MapOutput: output * model.Bytes(late) / 100, MapInput: output, CompletedMapsNow: done * late / 100})
	}
	if rapid.Bool().Draw(t, "containers") { // which may have ended since
		f := model.ContainersFact{App: id}
		for i := range draw("live", 0, maps) {
			f.Containers = append(f.Containers, model.Container{ID: fmt.Sprintf("c_%06d", i+2), Node: model.NodeID(host(draw("on", 0, racks-1)) + ":1"), Priority: model.PriorityMap})
		}
		facts = append(facts, f)
	}
	c := state.New(state.DefaultConfig())
	for _, f := range append(facts[:3:3], rapid.Permutation(facts[3:]).Draw(t, "order")...) {
		c.Apply(model.Observation{Source: model.SourceMapReduce, At: 10_000, Fact: f})
	}
	return c
}
