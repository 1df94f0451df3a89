package sim_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

// What the jobs moved is what the network carried, and attempts hold containers for
// as long as their tasks take at least.
func TestJobsMoveWhatTheNetworkCarries(t *testing.T) {
	t.Parallel()
	names := builtin.Registry().Names()
	rapid.Check(t, func(t *rapid.T) {
		c, w, p := drawn(t)
		r := run(t, p, c, w, rapid.SampledFrom(names).Draw(t, "policy"))
		var sum sim.JobTraffic
		for _, m := range r.PerJob {
			sum.Shuffle, sum.Crossed, sum.Read = sum.Shuffle+m.Shuffle, sum.Crossed+m.Crossed, sum.Read+m.Read
			if racks := float64(len(c.Racks)) + 1e-9; m.Sources > racks || m.Sinks > racks || (m.Shuffle > 0) != (m.Sources > 0) {
				t.Fatalf("%+v on %d racks", m, len(c.Racks))
			}
		}
		if sum.Shuffle != r.ShuffleBytes || sum.Read != r.CrossRack.MapRead {
			t.Fatalf("jobs shuffle %d bytes of %d and read %d of %d across racks", sum.Shuffle, r.ShuffleBytes, sum.Read, r.CrossRack.MapRead)
		}
		slack := float64(len(c.Racks)*r.Placements + len(w.Jobs))
		if diff := math.Abs(float64(sum.Crossed - r.CrossRack.Shuffle)); diff > slack && r.Preempted == 0 {
			t.Fatalf("%d bytes of shuffle cross by jobs, %d by the network", sum.Crossed, r.CrossRack.Shuffle)
		}
		all, least := float64(c.Containers()), 0.0
		for i := range w.Jobs {
			for _, stage := range w.Jobs[i].Stages {
				least += float64(stage.Tasks) * stage.Cost.Of(0).Seconds()
			}
		}
		if r.ContainerSeconds < least-1e-3 || r.ContainerSeconds > all*r.Makespan+1e-3 {
			t.Fatalf("%d containers were held for %g s in %g s", c.Containers(), r.ContainerSeconds, r.Makespan)
		}
	})
}

// A shuffle from two racks, of which one has three times as much, lies on 1.6 of them.
func TestSourcesAndSinks(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 1, 8, 125e6, 125e6)
	c.Replication = 1
	j := mapReduce("a", 0, 4, 1, 4e6)
	on := func(rack, blocks int) workload.File {
		return workload.File{Bytes: model.Bytes(blocks) * 128 * model.MiB, Place: workload.OnNode, Node: workload.Node{Rack: rack, Number: 1}}
	}
	j.Stages[0].Reads = []workload.File{on(1, 3), on(2, 1)}
	r := run(t, sim.DefaultParams(), c, &workload.Workload{Jobs: []workload.Job{j}}, "delay")
	m := r.PerJob[0]
	if m.Sources != 1.6 || m.Sinks != 1 || m.Shuffle != 4e6 || m.Read != 0 || m.Crossed != 1e6 && m.Crossed != 3e6 {
		t.Errorf("%+v", m)
	}
}

// Policies hear that an uplink is saturated at the share of it that is set.
func TestSaturation(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 2, 4, 10e6, 1e9)
	c.Racks[0].Background.Out = 6e6
	heard := func(share float64) (saturated bool) {
		p := sim.DefaultParams()
		p.Saturation = share
		e, _ := builtin.Registry().Lookup("fifo")
		inner, err := e.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sim.New(p, c, &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 40, 0, 0)}}, "fifo", watching{inner, func(in *policy.Input) {
			saturated = saturated || in.View.Racks()[0].Load.Saturated
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(nil); err != nil {
			t.Fatal(err)
		}
		return saturated
	}
	if !heard(0.5) || heard(0.9) {
		t.Errorf("at 60 %%: saturated %v from 50 %% on, %v from 90 %% on", heard(0.5), heard(0.9))
	}
	p := sim.DefaultParams()
	for _, share := range []float64{0, 0.05, 1.01, math.NaN()} {
		p.Saturation = share
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "saturation:") {
			t.Errorf("%g: %v", share, err)
		}
	}
}
