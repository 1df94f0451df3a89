package sim_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/state"
)

// run runs a workload under a policy of a name that is watched.
func (w watching) run(t interface{ Fatal(...any) }, p sim.Params, c sim.Cluster, of *workload.Workload, name string) sim.Run {
	var err error
	if w.Policy, err = builtin.Registry().New(name, nil); err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(p, c, of, name, w)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(nil)
	if err != nil {
		t.Fatal(name, err)
	}
	return r
}

// A heartbeat starts one map and one reduce; neither takes the other's slot.
func TestTypedSlotsByHand(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 1, 0, 125e6, 125e6).WithSlots(model.Slots{Maps: 2, Reduces: 1})
	p := sim.DefaultParams()
	p.Slowstart = 0
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 4, 2, 0)}}
	// Maps start at 1, 2, 11 and 12 s and the last is done at 22 s. The first reduce has its slot from 1 s on and
	// computes until 27 s, the other until 32 s: no map slot is for it, though two are free.
	r := run(t, p, c, w, "fifo")
	if r.JCT.Mean != 32 || r.Placements != 6 || r.Preempted != 0 {
		t.Errorf("the job took %g s with %d launches and %d given up, want 32 s with 6", r.JCT.Mean, r.Placements, r.Preempted)
	}
	// 40 s of maps on two slots; of all three containers 50 s would be 16.7.
	if r.Bounds.MakespanCompute != 20 {
		t.Errorf("bound %g s, want the map slots' 20", r.Bounds.MakespanCompute)
	}
	w.Jobs[0].Stages[1].Cost.Fixed = 30 * model.Second
	if r = run(t, p, c, w, "fifo"); r.Bounds.MakespanCompute != 60 {
		t.Errorf("bound %g s, want the reduce slot's 60", r.Bounds.MakespanCompute)
	}
}

// With slots of their own reduces keep no map from starting: from slowstart on all
// are asked for, and none is given up.
func TestTypedSlotsRampUp(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 1, 0, 125e6, 125e6).WithSlots(model.Slots{Maps: 1, Reduces: 4})
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 10, 4, 0)}}
	first := model.Time(0)
	r := watching{see: func(in *policy.Input) {
		if in.Offer.Kinds == model.StageReduce && first == 0 {
			first = in.View.Now()
			if j := in.View.Jobs()[0]; j.Reduce.Pending != 4 || j.Map.Completed != 1 {
				t.Errorf("%d reduces are asked for once %d maps are done, want 4 once 1 is", j.Reduce.Pending, j.Map.Completed)
			}
		}
	}}.run(t, sim.DefaultParams(), c, w, "fifo")
	if first != model.Time(11*model.Second) || r.JCT.Mean != 106 || r.Preempted != 0 {
		t.Errorf("first offer to reduces at %v, over in %g s, %d given up, want 11 s, 106 s and none", first, r.JCT.Mean, r.Preempted)
	}
}

// A task that waits for others gives its slot up for tasks that can take it, and for
// no others.
func TestTypedSlotsGiveUp(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 1, 0, 125e6, 125e6).WithSlots(model.Slots{Maps: 1, Reduces: 1})
	p := sim.DefaultParams()
	p.Slowstart = 0
	// The first job has the map slot until 31 s, the second's reduce waits for its map until 41 s. When the third
	// comes, the second has had a map pending and none running for longer than Hadoop lets reduces stay.
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 1, 0, 0), mapReduce("b", 0, 1, 1, 0), mapReduce("c", 20_000, 1, 0, 0)}}
	w.Jobs[0].Stages[0].Cost.Fixed = 30 * model.Second
	if r := run(t, p, c, w, "fifo"); r.Preempted != 0 || r.Responses[1] != 46 {
		t.Errorf("%d reduces gave their slot up to a map, the job took %g s, want none and 46 s", r.Preempted, r.Responses[1])
	}
	// The last stage has the reduce slot when the one it reads, which waits for a broadcast, is asked for at 11 s: that
	// runs from 12 s to 17 s, and the last until 22 s.
	p.MinSource, p.MaxSource = 0, 0
	j := mapReduce("a", 0, 1, 0, 0)
	gather(&j, "join", 1, 0, edge(0, model.Broadcast))
	gather(&j, "last", 1, 0, edge(1, model.ScatterGather))
	if r := run(t, p, c, &workload.Workload{Jobs: []workload.Job{j}}, "fifo"); r.Preempted != 1 || r.JCT.Mean != 22 {
		t.Errorf("%d tasks gave their slot up, the job took %g s, want 1 and 22 s", r.Preempted, r.JCT.Mean)
	}
}

// What cannot be simulated on typed slots is refused.
func TestTypedSlotsRefuse(t *testing.T) {
	t.Parallel()
	typed := sim.Uniform(2, 1, 2, 125e6, 125e6).WithSlots(model.Slots{Maps: 2, Reduces: 1})
	for says, change := range map[string]func(*sim.Cluster, *sim.Params){
		"on some racks only":          func(c *sim.Cluster, _ *sim.Params) { c.Racks[1].Slots, c.Racks[1].Containers = model.Slots{}, 2 },
		"containers beside":           func(c *sim.Cluster, _ *sim.Params) { c.Racks[1].Containers = 2 },
		"2 map and 0 reduce slots":    func(c *sim.Cluster, _ *sim.Params) { c.Racks[1].Slots.Reduces = 0 },
		"0 nodes":                     func(c *sim.Cluster, _ *sim.Params) { c.Racks[1].Nodes = 0 },
		"start of an Application":     func(_ *sim.Cluster, p *sim.Params) { p.AMStart = 1 },
		"1 nodes of 0 containers":     func(c *sim.Cluster, _ *sim.Params) { *c = c.WithSlots(model.Slots{}) },
		"no racks; give at least one": func(c *sim.Cluster, _ *sim.Params) { c.Racks = nil },
	} {
		c, p := typed, sim.DefaultParams()
		c.Racks = append([]sim.Rack(nil), typed.Racks...)
		change(&c, &p)
		if _, err := sim.New(p, c, &workload.Workload{}, "fifo", nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// On typed slots every job and every graph comes to its end under every policy, no
// run gets below a bound, no slot is used twice or by a task of the other kind,
// and the same input gives the same result.
func TestTypedSlots(t *testing.T) {
	t.Parallel()
	names := builtin.Registry().Names()
	rapid.Check(t, func(t *rapid.T) {
		c, w, p := drawn(t)
		for i := range w.Jobs {
			if rapid.Bool().Draw(t, "graph") {
				w.Jobs[i] = drawnGraph(t, string(w.Jobs[i].ID), int(w.Jobs[i].Submit))
			}
		}
		c = drawnSlots(t, c)
		p.Multiple = rapid.Bool().Draw(t, "multiple")
		name := rapid.SampledFrom(names).Draw(t, "policy")
		r := watching{see: func(in *policy.Input) { typedOffer(t, in, &c) }}.run(t, p, c, w, name)
		if again := run(t, p, c, w, name); !reflect.DeepEqual(r, again) {
			t.Fatalf("twice the same, and\n%+v\n%+v", r, again)
		}
		tasks := 0
		for i := range w.Jobs {
			tasks += w.Jobs[i].Tasks()
		}
		if r.Finished != len(w.Jobs) || r.Placements != tasks+r.Preempted || r.Rejected > 0 {
			t.Fatalf("%d of %d jobs, %d placements of %d tasks, %d given up, %d broke a rule", r.Finished, len(w.Jobs), r.Placements, tasks, r.Preempted, r.Rejected)
		}
	})
}

// drawnSlots returns a cluster with typed slots in place of its containers.
func drawnSlots(t *rapid.T, c sim.Cluster) sim.Cluster {
	c = c.WithSlots(model.Slots{Maps: rapid.IntRange(1, 3).Draw(t, "map slots"), Reduces: rapid.IntRange(1, 3).Draw(t, "reduce slots")})
	for i := range c.Racks {
		c.Racks[i].Slots.Reduces += i % 2
	}
	return c
}

// typedOffer checks what an offer says of its node: that a slot of the kind is
// free, by the tasks that run.
func typedOffer(t *rapid.T, in *policy.Input, c *sim.Cluster) {
	n := in.Offer.Node
	rack := &c.Racks[n.Rack.Index]
	maps, all := 0, int((n.Total.MemoryMiB-n.Free.MemoryMiB)/c.Container.MemoryMiB)
	for _, k := range in.View.RunningMaps(n) {
		maps += k.Count
	}
	used := model.Slots{Maps: maps, Reduces: all - maps}
	if n.Slots != rack.Slots || used.Maps > n.Slots.Maps || used.Reduces > n.Slots.Reduces || used.Of(in.Offer.Kinds) >= n.Slots.Of(in.Offer.Kinds) {
		t.Fatalf("%q is offered on a node that uses %+v of %+v", in.Offer.Kinds, used, rack.Slots)
	}
	if in.Offer.Kinds != model.StageMap && in.Offer.Kinds != model.StageReduce {
		t.Fatalf("%q is offered", in.Offer.Kinds)
	}
	live := 0
	for _, of := range n.Rack.Nodes {
		if of.State == model.NodeRunning {
			live++
		}
	}
	if want := rack.Slots.Maps * live; (&state.Stage{Kind: model.StageMap}).RoomIn(n.Rack) != want {
		t.Fatalf("the rack has room for %d maps, want %d", (&state.Stage{Kind: model.StageMap}).RoomIn(n.Rack), want)
	}
}
