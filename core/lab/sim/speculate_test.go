package sim_test

import (
	"math/rand/v2"
	"testing"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// straggling counts the attempts that straggle of those from one on up to another,
// in the order in which they begin to compute.
func straggling(seed uint64, part float64, from, to int) int {
	draw := rand.New(rand.NewPCG(seed, 3))
	n := 0
	for i := range to {
		if draw.Float64() < part && i >= from {
			n++
		}
	}
	return n
}

// Tasks that straggle get an extra attempt once others are done, one every 15 s, and
// are done with it: maps of 10 s of which some take 100 s.
func TestSpeculation(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 10, 4, 125e6, 125e6)
	c.CrossRackWrites = false
	p := sim.DefaultParams()
	p.Multiple, p.Straggler, p.StragglerFactor = true, 0.05, 10
	maps := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 20, 0, 0)}}
	seen := map[int]int{}
	for p.Seed = range uint64(60) {
		late := straggling(p.Seed, p.Straggler, 0, 20)
		if late > 3 || straggling(p.Seed, p.Straggler, 20, 20+late) > 0 {
			continue
		}
		seen[late]++
		p.Speculation = false
		alone := run(t, p, c, maps, "fifo")
		p.Speculation = true
		r := run(t, p, c, maps, "fifo")
		// They begin at 1 s; the first extra attempt at 11 s, the next at 26 s, each for 10 s. Alone they end at 101 s.
		want, without := []float64{10.5, 20.5, 35.5, 50.5}[late], 10.5
		if late > 0 {
			without = 100.5
		}
		if r.JCT.Mean != want || alone.JCT.Mean != without || r.ExtraAttempts != late || r.ExtraWon != late || alone.ExtraAttempts != 0 {
			t.Errorf("seed %d, %d stragglers: %g s with %d extra attempts of which %d are first, %g s without; want %g, %g",
				p.Seed, late, r.JCT.Mean, r.ExtraAttempts, r.ExtraWon, alone.JCT.Mean, want, without)
		}
	}
	if seen[0] == 0 || seen[1] == 0 || seen[2] == 0 {
		t.Errorf("stragglers and seeds: %v", seen)
	}
}

// Reduces that compute too long get one, too; without containers to spare nobody does.
func TestSpeculationOfReduces(t *testing.T) {
	t.Parallel()
	p := sim.DefaultParams()
	p.Multiple, p.Straggler, p.StragglerFactor, p.Slowstart, p.Speculation = true, 0.05, 10, 1, true
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 1, 20, 0)}}
	seen := 0
	for p.Seed = range uint64(60) {
		if straggling(p.Seed, p.Straggler, 0, 1) > 0 || straggling(p.Seed, p.Straggler, 1, 22) != 1 || straggling(p.Seed, p.Straggler, 21, 22) > 0 {
			continue
		}
		seen++
		c := sim.Uniform(1, 10, 2, 125e6, 125e6)
		c.CrossRackWrites = false
		// The map until 11 s, reduces until 16 s, the one that straggles until 61 s, its extra attempt from 16 to 21 s.
		if r := run(t, p, c, w, "fifo"); r.JCT.Mean != 20.5 || r.ExtraAttempts != 1 || r.ExtraWon != 1 || r.Placements != 22 {
			t.Errorf("seed %d: %g s, %d extra attempts, %d first", p.Seed, r.JCT.Mean, r.ExtraAttempts, r.ExtraWon)
		}
	}
	if seen == 0 {
		t.Error("no seed with one reduce that straggles")
	}
}

// A task whose first attempt ends with its node goes on with the extra one; one that
// is done first ends the other.
func TestSpeculationAndLoss(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 1, 30, 125e6, 125e6)
	c.CrossRackWrites, c.Replication = false, 2
	p := sim.DefaultParams()
	p.Multiple, p.Straggler, p.StragglerFactor, p.Speculation = true, 0.05, 10, true
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 20, 0, 0)}}
	lost, kept := 0, 0
	for p.Seed = range uint64(60) {
		if straggling(p.Seed, p.Straggler, 0, 20) != 1 || straggling(p.Seed, p.Straggler, 20, 22) > 0 {
			continue
		}
		for rack := 1; rack <= 2; rack++ {
			p.Losses = []sim.Loss{loss(rack, 0, 15*1000, 0)}
			r := run(t, p, c, w, "fifo")
			switch {
			case r.Lost == 1 && r.JCT.Mean == 20.5: // the first attempt was there
				lost++
			case r.Lost == 0 && r.JCT.Mean == 20.5, r.Lost == 2 && r.JCT.Mean == 24.5, r.Lost == 1 && r.JCT.Mean > 20.5:
				kept++ // none was, or both, and it began anew at 15 s; or the extra one was
			default:
				t.Errorf("seed %d, rack %d: %g s, %d lost", p.Seed, rack, r.JCT.Mean, r.Lost)
			}
		}
	}
	if lost+kept == 0 {
		t.Error("no seed with one map that straggles")
	}
}

// Without stragglers nobody is late.
func TestSpeculationWithoutStragglers(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 4, 2, 125e6, 125e6)
	p := sim.DefaultParams()
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 20, 4, 100*model.MiB), mapReduce("b", 5000, 9, 2, 0)}}
	alone := run(t, p, c, w, "fair")
	p.Speculation = true
	if r := run(t, p, c, w, "fair"); r.ExtraAttempts != 0 || r.JCT != alone.JCT {
		t.Errorf("%d extra attempts, %+v; without %+v", r.ExtraAttempts, r.JCT, alone.JCT)
	}
}
