package sim_test

import (
	"strings"
	"testing"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// otherTraffic is a cluster of two racks of a node, where the first rack's uplink has a tenth left in one direction.
func otherTraffic(moves model.Duration) sim.Cluster {
	c := sim.Uniform(2, 1, 1, 10e6, 1e9)
	c.Replication, c.BackgroundMoves = 1, moves
	c.Racks[0].Background.Out = 9e6
	return c
}

// A map of the second rack reads a block of the first one ten times as slowly while other traffic is on that one's
// uplink, also where nothing was on its way before.
func TestBackgroundMoves(t *testing.T) {
	t.Parallel()
	reading := func(id string, at model.Time, computes model.Duration) workload.Job {
		j := mapReduce(id, at, 1, 0, 0)
		j.Stages[0].Cost.Fixed = computes
		j.Stages[0].Reads[0].Place, j.Stages[0].Reads[0].Node = workload.OnNode, workload.Node{Rack: 1, Number: 1}
		return j
	}
	second := model.Time(model.Second)
	w := &workload.Workload{Jobs: []workload.Job{
		reading("fills the first rack", 0, 2000*model.Second), reading("a", 20*second, model.Second), reading("b", 620*second, model.Second),
	}}
	for moves, most := range map[model.Duration]float64{0: 150, 20 * model.Second: 45} { // order-free: each on its own
		r := run(t, sim.DefaultParams(), otherTraffic(moves), w, "delay")
		a, b := r.Responses[1], r.Responses[2]
		if a > most || a < most-20 || a-b > 2 || b-a > 2 {
			t.Errorf("moves every %d ms: %g and %g s, want up to %g", moves, a, b, most)
		}
	}
}

// The bounds take of the uplinks what the least load leaves, as any rack may have it.
func TestBackgroundMovesBounds(t *testing.T) {
	t.Parallel()
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 8, 4, 400*model.MiB)}}
	still, moving := otherTraffic(0), otherTraffic(20*model.Second)
	still.Racks[1].Background.Out, moving.Racks[1].Background.Out = 9e6, 5e6
	if a, b := run(t, sim.DefaultParams(), still, w, "fair"), run(t, sim.DefaultParams(), moving, w, "fair"); b.Bounds.JCTMean > a.Bounds.JCTMean || b.JCT.Mean >= a.JCT.Mean {
		t.Errorf("bound %g and mean %g with moves, %g and %g without", b.Bounds.JCTMean, b.JCT.Mean, a.Bounds.JCTMean, a.JCT.Mean)
	}
}

func TestBackgroundMovesRefused(t *testing.T) {
	t.Parallel()
	narrow := otherTraffic(20 * model.Second)
	narrow.Racks[1].Uplink.Out = 8e6
	for want, c := range map[string]sim.Cluster{ // order-free: each on its own
		"rack 2: its uplink carries 8e+06": narrow,
		"give 0 or a time above 0":         otherTraffic(-1),
		"give a multiple of the heartbeat": otherTraffic(1500),
	} {
		_, err := sim.New(sim.DefaultParams(), c, &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 1, 0, 0)}}, "fair", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
