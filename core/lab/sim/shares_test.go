package sim_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Ann's job holds all four containers for half an hour, first come first served, while Bob's waits for as much.
func TestSharesByHand(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 1, 4, 125e6, 125e6)
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 4*180, 0, 0), mapReduce("b", 10_000, 4*60, 0, 0), mapReduce("c", 3_000_000, 8, 0, 0)}}
	w.Jobs[1].User = "bob"
	r := run(t, sim.DefaultParams(), c, w, "fifo")
	// Ann wants more from the sample at 10 s to that at 1790 s, which is 20 windows, each with twice her share of two. Bob
	// does from 10 s to 2390 s, which is 30 windows. He has nothing up to 1800 s, and from 1810 s on all four, his share:
	// n of the 60 samples of a window make 4n/(4n + 2(60-n)), which is above 0.9 in the last one only, with 54. The queue
	// has its share all the time.
	want := sim.Shares{
		Users:  sim.ShareWindows{Count: 2, CountBelow: 1, Windows: 50, WindowsBelow: 29. / 50, LeastOf: "bob in root.default"},
		Queues: sim.ShareWindows{Count: 1, Windows: 30, Least: 1, LeastOf: "root.default", P05: 1},
	}
	if r.Shares != want {
		t.Errorf("%+v, want %+v", r.Shares, want)
	}
	// Ann's job has four containers up to 1800 s, Bob's from then to 2400 s; Ann's second one has 1, 4
	// and 3 containers at its three samples, and wants all four, four and three.
	jobs := []sim.JobShare{{Had: 180 * 40, Share: 180 * 20}, {Had: 60 * 40, Share: 180*20 + 60*40}, {Had: 10 + 40 + 30, Share: 40 + 40 + 30}}
	if !slices.Equal(r.JobShares, jobs) || !jobs[0].More() || jobs[1].More() || jobs[2].More() {
		t.Errorf("%+v, want %+v", r.JobShares, jobs)
	}
	if r := run(t, sim.DefaultParams(), c, w, "fair"); r.Shares.Users.Least < 0.9 || r.Shares.Users.Least > 1 {
		t.Errorf("%+v under fair", r.Shares)
	}
	typed := sim.Uniform(1, 1, 4, 125e6, 125e6).WithSlots(model.Slots{Maps: 2, Reduces: 2})
	if r := run(t, sim.DefaultParams(), typed, w, "fifo"); r.Shares != (sim.Shares{}) {
		t.Errorf("%+v with typed slots", r.Shares)
	}
}

// A break in what a user wants begins a window anew: two jobs of nine minutes make none.
func TestSharesOfShortWants(t *testing.T) {
	t.Parallel()
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 4*56, 0, 0), mapReduce("b", 700_000, 4*56, 0, 0)}}
	if r := run(t, sim.DefaultParams(), sim.Uniform(1, 1, 4, 125e6, 125e6), w, "fifo"); r.Shares != (sim.Shares{}) {
		t.Errorf("%+v", r.Shares)
	}
}

// A user alone under a scheduler that holds nothing back has all of its share as long as it wants more.
func TestSharesOfOneUser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := func(lo, hi int, what string) int { return rapid.IntRange(lo, hi).Draw(rt, what) }
		c := sim.Uniform(n(1, 3, "racks"), n(1, 2, "nodes"), n(1, 2, "containers"), 1e9, 1e9)
		var w workload.Workload
		for i := range n(1, 3, "jobs") {
			w.Jobs = append(w.Jobs, mapReduce(string(rune('a'+i)), model.Time(1000*i), n(1, 400, "maps"), 0, 0))
		}
		p := sim.DefaultParams()
		p.Multiple, p.Seed = true, uint64(n(0, 9, "seed"))
		r := run(rt, p, c, &w, "fair")
		if r.Shares.Users != r.Shares.Queues && r.Shares.Users.Windows > 0 {
			users, queues := r.Shares.Users, r.Shares.Queues
			if users.LeastOf = queues.LeastOf; users != queues {
				rt.Errorf("%+v", r.Shares)
			}
		}
		if u := r.Shares.Users; u.Windows > 0 && (u.Least != 1 || u.P05 != 1) {
			rt.Errorf("%+v", u)
		}
		for i, s := range r.JobShares {
			if math.Abs(s.Had-s.Share) > 1e-6 || s.More() {
				rt.Errorf("job %d: %+v", i, s)
			}
		}
	})
}
