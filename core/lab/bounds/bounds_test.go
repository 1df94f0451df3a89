package bounds_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/bounds"
	"heddle/core/model"
	"heddle/core/shuffle"
)

// Three jobs by hand on uplinks of 3 and 1 bytes a second and 2 containers: in
// seconds of the network 2, 4 and 0, in seconds of the containers 3, 1 and 5.
func TestBoundsByHand(t *testing.T) {
	t.Parallel()
	s := bounds.Supply{Uplinks: []model.BytesPerSecond{3, 1}, Containers: 2}
	jobs := []bounds.Demand{
		{Arrival: 12, Work: 10, Path: 5},
		{Arrival: 2, CrossRack: 8, Work: 6, Path: 4},
		{Arrival: 3, CrossRack: 16, Work: 2, Path: 2},
	}
	// One map slot and four others: the first takes these 3 s and maps for 2 s, the second maps for 10 s. As
	// containers they would be busy for 4.8 s.
	slots := bounds.Supply{Containers: 5, Slots: model.Slots{Maps: 1, Reduces: 4}}
	typed := []bounds.Demand{{Work: 14, Maps: 2}, {Work: 10, Maps: 10}}
	for _, tc := range []struct {
		name      string
		got, want float64
	}{
		{"B1: idle from 8 to 12, nothing after", bounds.NetworkMakespan(jobs, s, nil), 10},
		{"B1 without the last job", bounds.NetworkMakespan(jobs[1:], s, nil), 6},
		{"B1 with a busy link", bounds.NetworkMakespan(jobs, s, []bounds.LinkLoad{{Bytes: 9, Capacity: 1}, {Bytes: 33, Capacity: 3}, {Bytes: 99}}), 11},
		{"B2: 12 + 10/2", bounds.ComputeMakespan(jobs, s), 15},
		{"B2: the containers", bounds.ComputeMakespan(jobs[1:], s), 4},
		{"B2: the path", bounds.ComputeMakespan([]bounds.Demand{{Arrival: 1, Work: 2, Path: 7}}, s), 7},
		// Network: ends at 4 and 8. Containers: at 5 and 6, or as SRPT has it, at 4 and 6. The last job leaves at 17.
		{"B3", bounds.MeanQueue(jobs, s), (4 + 8 + 17 - 2 - 3 - 12) / 3.},
		{"B4", bounds.MeanFloor(jobs, s), (5 + 4 + 4) / 3.},
		{"B3 and B4", bounds.MeanResponse(jobs, s), (5 + 4 + 4) / 3.},
		{"no jobs", bounds.NetworkMakespan(nil, s, nil) + bounds.ComputeMakespan(nil, s) + bounds.MeanResponse(nil, s), 0},
		{"an uplink that is not known", bounds.NetworkMakespan(jobs, bounds.Supply{Uplinks: []model.BytesPerSecond{3, 0}}, nil), 10},
		{"B2: the map slot", bounds.ComputeMakespan(typed, slots), 12},
		{"B2: the other slots", bounds.ComputeMakespan(typed[:1], slots), 3},
		{"B3: the map slot", bounds.MeanQueue(typed, slots), (2 + 12) / 2.},
		{"nothing is known: the paths", bounds.MeanResponse(jobs, bounds.Supply{}), (5 + 4 + 2) / 3.},
	} {
		if math.Abs(tc.got-tc.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", tc.name, tc.got, tc.want)
		}
	}
}

// B1 as algorithms.md 4.5 prints it for FB-2010 on 30 racks: .4179 of 4.379e14
// bytes over 3.75e9 a second, 48,800 s.
func TestBoundOfFB2010(t *testing.T) {
	t.Parallel()
	uplinks := make([]model.BytesPerSecond, 30)
	for r := range uplinks {
		uplinks[r] = 125e6
	}
	least, total := 0.4179, 4.379e14
	got := bounds.NetworkMakespan([]bounds.Demand{{CrossRack: model.Bytes(least * total)}}, bounds.Supply{Uplinks: uplinks}, nil)
	if math.Abs(got-48_800) > 5 {
		t.Errorf("%g s, want 48,800", got)
	}
}

// block is a map's input with the rack it runs on, in the enumeration below.
type block struct {
	replicas []int
	seconds  float64
}

type smallJob struct {
	arrival                float64
	blocks                 []block
	input, output          float64 // of a block
	reduce                 float64 // seconds of each of two reduces
	mapRacks, reducesRacks []int
}

func (j *smallJob) demand() bounds.Demand {
	racks := make([][]int, len(j.blocks))
	longest, work := 0.0, 2*j.reduce
	for i, b := range j.blocks {
		racks[i] = b.replicas
		longest, work = max(longest, b.seconds), work+b.seconds
	}
	each := model.Bytes(min(j.input, j.output))
	return bounds.Demand{
		Arrival: j.arrival, CrossRack: shuffle.LowerBound(racks, slices.Repeat([]model.Bytes{each}, len(racks))),
		Work: work, Path: longest + j.reduce,
	}
}

// end runs a job after those before it on the containers and uplinks of two
// racks, and returns when it ends. Transfers need not wait for the maps, which
// makes it faster than any real run.
func (j *smallJob) end(free [][]float64, uplinks []model.BytesPerSecond, sent []float64) float64 {
	run := func(rack int, from, seconds float64) float64 {
		best := 0
		for c := range free[rack] {
			if free[rack][c] < free[rack][best] {
				best = c
			}
		}
		free[rack][best] = max(free[rack][best], from) + seconds
		return free[rack][best]
	}
	bytes := make([]float64, 2)
	maps, end := j.arrival, j.arrival
	for i, b := range j.blocks {
		rack := j.mapRacks[i]
		maps = max(maps, run(rack, j.arrival, b.seconds))
		if len(b.replicas) == 1 && b.replicas[0] != rack {
			bytes[b.replicas[0]] += j.input
		}
		for _, r := range j.reducesRacks {
			if r != rack {
				bytes[rack] += j.output / 2
			}
		}
	}
	for _, r := range j.reducesRacks {
		end = max(end, run(r, maps, j.reduce))
	}
	for r := range bytes {
		if bytes[r] > 0 {
			sent[r] = max(sent[r], j.arrival) + bytes[r]/float64(uplinks[r])
			end = max(end, sent[r])
		}
	}
	return end
}

// placements calls try with every placement of the jobs' tasks on two racks.
func placements(jobs []smallJob, try func()) {
	if len(jobs) == 0 {
		try()
		return
	}
	j := &jobs[0]
	tasks := len(j.blocks) + 2
	for bits := range 1 << tasks {
		var racks []int
		for i := range tasks {
			racks = append(racks, bits>>i&1)
		}
		j.mapRacks, j.reducesRacks = racks[:len(j.blocks)], racks[len(j.blocks):]
		placements(jobs[1:], try)
	}
}

func drawSmallJob(t *rapid.T) smallJob {
	j := smallJob{
		arrival: float64(rapid.IntRange(0, 3).Draw(t, "arrival")),
		input:   float64(rapid.IntRange(0, 12).Draw(t, "input")), output: float64(rapid.IntRange(0, 12).Draw(t, "output")),
		reduce: float64(rapid.IntRange(0, 3).Draw(t, "reduce")), blocks: make([]block, rapid.IntRange(1, 2).Draw(t, "blocks")),
	}
	for i := range j.blocks {
		replicas := rapid.SampledFrom([][]int{{0}, {1}, {0, 1}}).Draw(t, "replicas")
		j.blocks[i] = block{replicas, float64(rapid.IntRange(0, 4).Draw(t, "map"))}
	}
	return j
}

// B1 to B4 are below every schedule of two jobs on two racks, in both orders,
// with every placement of their tasks, and LowerBound with them.
func TestBoundsAreBelowEverySchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, second := drawSmallJob(t), drawSmallJob(t)
		s := bounds.Supply{Uplinks: []model.BytesPerSecond{1, 1}, Containers: 2 * rapid.IntRange(1, 2).Draw(t, "containers")}
		s.Uplinks[1] = model.BytesPerSecond(rapid.IntRange(1, 3).Draw(t, "uplink"))
		demands := []bounds.Demand{first.demand(), second.demand()}
		network, compute := bounds.NetworkMakespan(demands, s, nil), bounds.ComputeMakespan(demands, s)
		queue, floor := bounds.MeanQueue(demands, s), bounds.MeanFloor(demands, s)
		for _, jobs := range [][]smallJob{{first, second}, {second, first}} {
			placements(jobs, func() {
				free := [][]float64{make([]float64, s.Containers/2), make([]float64, s.Containers/2)}
				sent := make([]float64, 2)
				last, sum := 0.0, 0.0
				for i := range jobs {
					end := jobs[i].end(free, s.Uplinks, sent)
					last, sum = max(last, end), sum+end-jobs[i].arrival
				}
				took := last - min(first.arrival, second.arrival)
				if took < max(network, compute)-1e-9 {
					t.Fatalf("%+v takes %g s in all, the bounds are %g and %g", jobs, took, network, compute)
				}
				if sum/2 < max(queue, floor)-1e-9 {
					t.Fatalf("%+v takes %g s on average, the bounds are %g and %g", jobs, sum/2, queue, floor)
				}
			})
		}
	})
}

// B5 is below the best of all orders of up to four coflows on three links, each
// link preempting in that order, and exact for one link and one arrival time.
func TestCoflowBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacities := make([]model.BytesPerSecond, rapid.IntRange(1, 3).Draw(t, "links"))
		for l := range capacities {
			capacities[l] = model.BytesPerSecond(rapid.IntRange(1, 3).Draw(t, "capacity"))
		}
		together := rapid.Bool().Draw(t, "together")
		coflows := make([]bounds.Coflow, rapid.IntRange(1, 4).Draw(t, "coflows"))
		for i := range coflows {
			if !together {
				coflows[i].Arrival = float64(rapid.IntRange(0, 4).Draw(t, "arrival"))
			}
			for range capacities {
				coflows[i].Bytes = append(coflows[i].Bytes, model.Bytes(rapid.IntRange(0, 6).Draw(t, "bytes")))
			}
		}
		bound := bounds.CoflowSum(coflows, capacities)
		best := math.Inf(1)
		permutations(len(coflows), func(order []int) {
			best = min(best, coflowSum(coflows, capacities, order))
		})
		if bound > best+1e-9 {
			t.Fatalf("the bound is %g, and %+v on %v can do with %g", bound, coflows, capacities, best)
		}
		if together && len(capacities) == 1 && bound < best-1e-9 {
			t.Fatalf("one link: the bound is %g, the best of %+v is %g", bound, coflows, best)
		}
	})
}

// permutations calls try with every order of n things.
func permutations(n int, try func([]int)) {
	order := make([]int, 0, n)
	var next func(used int)
	next = func(used int) {
		if len(order) == n {
			try(order)
		}
		for i := range n {
			if used>>i&1 == 0 {
				order = append(order, i)
				next(used | 1<<i)
				order = order[:len(order)-1]
			}
		}
	}
	next(0)
}

// coflowSum serves coflows on every link in one order and returns what their
// times sum to: a coflow has the parts of a link's time after its arrival that
// those before it in the order leave, in sixths of a second.
func coflowSum(coflows []bounds.Coflow, capacities []model.BytesPerSecond, order []int) float64 {
	const step = 1. / 6 // whole bytes over 1, 2 or 3 bytes a second
	ends := make([]float64, len(coflows))
	for l, capacity := range capacities {
		taken := make([]bool, 400)
		for _, i := range order {
			c := &coflows[i]
			left := int(math.Round(float64(c.Bytes[l]) / float64(capacity) / step))
			for k := int(math.Round(c.Arrival / step)); left > 0; k++ {
				if !taken[k] {
					taken[k] = true
					left--
					ends[i] = max(ends[i], float64(k+1)*step-c.Arrival)
				}
			}
		}
	}
	sum := 0.0
	for _, e := range ends {
		sum += e
	}
	return sum
}

// Two coflows that share one link and one that does not: SRPT on the link gives
// 2 and 5, the third takes 7 alone.
func TestCoflowByHand(t *testing.T) {
	t.Parallel()
	capacities := []model.BytesPerSecond{2, 1, 0}
	coflows := []bounds.Coflow{{Bytes: []model.Bytes{6, 1, 99}}, {Bytes: []model.Bytes{4}}, {Bytes: []model.Bytes{0, 7}}}
	if got := coflows[0].Isolation(capacities); got != 3 {
		t.Errorf("isolation %g, want 3", got)
	}
	// The other link: 1 and 8, and 2 for the second coflow.
	if got := bounds.CoflowSum(coflows, capacities); got != 14 {
		t.Errorf("bound %g, want 2 + 5 + 7", got)
	}
	if got := bounds.CoflowSum(nil, capacities); got != 0 {
		t.Errorf("bound of nothing %g", got)
	}
}
