package sim_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/asks"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

const (
	mapTime    = 10 * model.Second
	reduceTime = 5 * model.Second
)

// mapReduce is a job of so many maps, which read one block each, and reduces.
func mapReduce(id string, submit model.Time, maps, reduces int, shuffle model.Bytes) workload.Job {
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	j := workload.Job{
		ID: workload.JobID(id), User: "ann", Queue: workload.DefaultQueue, Submit: submit,
		Stages: []workload.Stage{{
			Name: model.StageMap, Tasks: maps, Reads: []workload.File{{Bytes: model.Bytes(maps) * 128 * model.MiB}},
			Output: shuffle, Cost: workload.Cost{Fixed: mapTime}, Container: one,
		}},
	}
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Name: model.StageReduce, Tasks: reduces, Edges: []workload.Edge{{From: 0, Kind: model.ScatterGather}},
			Cost: workload.Cost{Fixed: reduceTime}, Container: one,
		})
	}
	return j
}

func run(t interface {
	Helper()
	Fatal(...any)
}, p sim.Params, c sim.Cluster, w *workload.Workload, name string,
) sim.Run {
	t.Helper()
	e, ok := builtin.Registry().Lookup(name)
	if !ok {
		t.Fatal("no policy " + name)
	}
	pol, err := e.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(p, c, w, name, pol)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(nil)
	if err != nil {
		t.Fatal(name, err)
	}
	return r
}

// A job of local maps and one reduce on one rack takes what its tasks take, each
// started by a heartbeat; nothing crosses racks.
func TestOneJobByHand(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 4, 2, 125e6, 125e6)
	c.CrossRackWrites = false
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 3, 1, 0)}}
	r := run(t, sim.DefaultParams(), c, w, "fifo")
	// Submitted at 0.5 s, seen by the heartbeats of 1 s: maps until 11 s. The reduce may start with the first
	// heartbeat after that, and computes for 5 s: until 16 s.
	if got := r.JCT.Mean; got != 15.5 {
		t.Errorf("the job took %g s, want 15.5", got)
	}
	if r.Placements != 4 || r.Finished != 1 || r.CrossRack.Total != 0 || r.Locality.Rack+r.Locality.Node != 1 {
		t.Errorf("%+v", r)
	}
}

// An ApplicationMaster takes a container and time before it asks for anything, and
// keeps the container.
func TestApplicationMaster(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 2, 2, 125e6, 125e6)
	p := sim.DefaultParams()
	p.AMStart = 5 * model.Second
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 4, 0, 0), mapReduce("b", 500, 1, 0, 0)}}
	r := run(t, p, c, w, "fifo")
	// a's begins with the heartbeats of 1 s and asks at 6 s. Three containers are left for its four maps, one of them
	// with the next heartbeats: they end at 16 and 17 s, the fourth at 26 s. One in ten containers is for
	// ApplicationMasters: b's begins when a is over, its map runs from 31 to 41 s.
	if a, b := r.Responses[0], r.Responses[1]; a != 25.5 || b != 40.5 {
		t.Errorf("the jobs took %g and %g s, want 25.5 and 40.5", a, b)
	}
}

// A shuffle is as long as its bytes take over the slowest link: one rack's 100 MB
// go to reduces that are all elsewhere, over an uplink of 10 MB/s.
func TestShuffleTakesTheUplink(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 1, 1, 10e6, 1e9)
	c.Replication, c.CrossRackWrites = 1, false
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 1, 1, 100e6), mapReduce("b", 0, 1, 1, 100e6)}}
	p := sim.DefaultParams()
	p.Slowstart = 1
	for seed := range uint64(20) {
		p.Seed = seed
		r := run(t, p, c, w, "fifo")
		crossed := float64(r.CrossRack.Shuffle)
		if math.Abs(crossed-r.ShuffleFraction.ByBytes*200e6) > 2 {
			t.Errorf("seed %d: %g bytes crossed, by where tasks ran %g", seed, crossed, r.ShuffleFraction.ByBytes*200e6)
		}
		if crossed == 200e6 && r.Makespan < 10+10+5 {
			t.Errorf("seed %d: all crossed within %g s", seed, r.Makespan)
		}
	}
}

// What a job without reduces writes crosses racks once, and its maps last until it
// is there.
func TestMapsWrite(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 2, 2, 10e6, 1e9)
	c.Replication = 2
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 2, 0, 100e6)}}
	w.Jobs[0].Stages[0].Reads[0].Bytes = 2 * 128 * model.MiB
	r := run(t, sim.DefaultParams(), c, w, "fifo")
	if r.CrossRack.Write != 100e6 {
		t.Errorf("%d bytes were copied to another rack, want 100 MB", r.CrossRack.Write)
	}
	if least := (mapTime + 5*model.Second).Seconds(); r.Makespan < least {
		t.Errorf("over in %g s: 50 MB take 5 s an uplink after the maps' 10", r.Makespan)
	}
	c.CrossRackWrites = false
	if r := run(t, sim.DefaultParams(), c, w, "fifo"); r.CrossRack.Write != 0 {
		t.Errorf("%d bytes were copied with copies switched off", r.CrossRack.Write)
	}
}

// A job that reads another's output begins when that is done, and where it lies.
func TestChain(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(4, 2, 2, 125e6, 125e6)
	c.Replication = 1
	child := mapReduce("b", 0, 4, 1, 1e6)
	child.Parents = []int{0}
	child.Stages[0].Reads[0].Place, child.Stages[0].Reads[0].Parent = workload.OfParent, 0
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 4, 1, 1e6), child}}
	w.Jobs[0].Stages[1].Output = 4 * 128 * model.MiB
	r := run(t, sim.DefaultParams(), c, w, "delay")
	if r.Finished != 2 {
		t.Fatalf("%d of 2 jobs are done", r.Finished)
	}
	if r.Makespan < 2*(mapTime+reduceTime).Seconds() {
		t.Errorf("both jobs took %g s: the second did not wait", r.Makespan)
	}
	// All blocks of the second are on the one node that ran the first's reduce: two containers, so that two of
	// four maps at least are local under delay scheduling.
	if r.Locality.Node < 0.5 {
		t.Errorf("locality %+v", r.Locality)
	}
}

// Jobs whose reduces hold every container while maps wait come to an end.
func TestReducesYield(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 1, 2, 125e6, 125e6)
	p := sim.DefaultParams()
	p.Slowstart, p.RampUp = 0, 1
	var w workload.Workload
	for _, id := range []string{"a", "b", "c"} {
		w.Jobs = append(w.Jobs, mapReduce(id, 0, 4, 4, 1e6))
	}
	for _, name := range []string{"fifo", "fair", "nas", "shufflewatcher"} {
		if r := run(t, p, c, &w, name); r.Finished != 3 {
			t.Errorf("%s: %d of 3 jobs are done", name, r.Finished)
		}
	}
}

// drawn is a small cluster with a workload.
func drawn(t *rapid.T) (sim.Cluster, *workload.Workload, sim.Params) {
	n := func(lo, hi int, what string) int { return rapid.IntRange(lo, hi).Draw(t, what) }
	c := sim.Uniform(n(1, 4, "racks"), n(1, 3, "nodes"), n(1, 3, "containers"), model.BytesPerSecond(n(1, 50, "uplink"))*1e6, 50e6)
	c.Replication, c.CrossRackWrites = n(1, 3, "replication"), rapid.Bool().Draw(t, "writes")
	if n(0, 3, "moves") == 0 {
		c.BackgroundMoves = model.Duration(n(1, 60, "every")) * model.Second
		c.Racks[0].Background.Out, c.Racks[0].Background.In = c.Racks[0].Uplink.Out/2, c.Racks[0].Uplink.In/2
	}
	var w workload.Workload
	at := 0
	for i := range n(1, 6, "jobs") {
		at += n(0, 20_000, "gap")
		j := mapReduce(string(rune('a'+i)), model.Time(at), n(1, 8, "maps"), n(0, 4, "reduces"), model.Bytes(n(0, 400, "shuffle"))*model.MiB)
		j.User = model.UserID([]string{"ann", "bob", "eve"}[n(0, 2, "user")])
		if len(j.Stages) > 1 {
			j.Stages[1].Output = model.Bytes(n(0, 200, "output")) * model.MiB
		}
		if n(0, 1, "place") == 1 {
			j.Stages[0].Reads[0].Place, j.Stages[0].Reads[0].Racks = workload.OnRacks, 1
		}
		if i > 0 && n(0, 2, "chained") == 0 {
			j.Parents = []int{n(0, i-1, "parent")}
			if n(0, 3, "reads") > 0 {
				j.Stages[0].Reads[0] = workload.File{Bytes: j.Stages[0].Reads[0].Bytes, Place: workload.OfParent, Parent: j.Parents[0]}
			}
		}
		j.Stages[0].Reads[0].Bytes -= model.Bytes(n(0, 127, "short")) * model.MiB // of its last block
		w.Jobs = append(w.Jobs, j)
	}
	p := sim.DefaultParams()
	p.Seed = uint64(n(0, 9, "seed"))
	return c, &w, p
}

// No run of any policy gets below a bound (B1 to B4 of algorithms.md 4.5), which
// would be an error of the run, every task runs once, and the same input gives the
// same result.
func TestRuns(t *testing.T) {
	t.Parallel()
	names := builtin.Registry().Names()
	rapid.Check(t, func(t *rapid.T) {
		c, w, p := drawn(t)
		name := rapid.SampledFrom(names).Draw(t, "policy")
		r := run(t, p, c, w, name)
		if again := run(t, p, c, w, name); !reflect.DeepEqual(r, again) {
			t.Fatalf("twice the same, and\n%+v\n%+v", r, again)
		}
		tasks := 0
		for i := range w.Jobs {
			tasks += w.Jobs[i].Tasks()
		}
		if r.Finished != len(w.Jobs) || r.Placements < tasks || (r.Placements > tasks && r.Preempted == 0) {
			t.Fatalf("%d of %d jobs, %d placements of %d tasks", r.Finished, len(w.Jobs), r.Placements, tasks)
		}
		if r.Rejected > 0 {
			t.Fatalf("%d placements broke a rule", r.Rejected)
		}
	})
}

// Bounds say what no policy gets below, so that they are the same under all of
// them, and so are the blocks that they are taken of.
func TestBoundsAreOfNoPolicy(t *testing.T) {
	t.Parallel()
	names := builtin.Registry().Names()
	rapid.Check(t, func(t *rapid.T) {
		c, w, p := drawn(t)
		one := run(t, p, c, w, rapid.SampledFrom(names).Draw(t, "policy"))
		other := run(t, p, c, w, rapid.SampledFrom(names).Draw(t, "other"))
		if one.Bounds != other.Bounds {
			t.Fatalf("under %s %+v, under %s %+v", one.Policy, one.Bounds, other.Policy, other.Bounds)
		}
	})
}

// A chain's bounds count from the earliest its jobs can come: the second ends two
// jobs' time after the first comes, and takes one of its own.
func TestBoundsOfAChain(t *testing.T) {
	t.Parallel()
	child := mapReduce("b", 0, 4, 1, 1e6)
	child.Parents = []int{0}
	child.Stages[0].Reads[0].Place = workload.OfParent
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 4, 1, 1e6), child}}
	r := run(t, sim.DefaultParams(), sim.Uniform(4, 2, 8, 125e6, 125e6), w, "fair")
	job := (mapTime + reduceTime).Seconds()
	if r.Bounds.MakespanCompute != 2*job || r.Bounds.JCTMean != job {
		t.Errorf("%+v: want %g s for both jobs and %g s for each", r.Bounds, 2*job, job)
	}
}

// The jobs of a chain say what they belong to before the others come, so that a
// policy that looks ahead can.
func TestWorkflowIsTold(t *testing.T) {
	t.Parallel()
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 2, 1, 1e6), mapReduce("b", 0, 2, 1, 1e6), mapReduce("c", 0, 2, 1, 1e6)}}
	w.Jobs[2].Parents = []int{0}
	w.Jobs[2].Stages[0].Reads[0].Place, w.Jobs[2].Stages[0].Reads[0].Parent = workload.OfParent, 0
	var seen []int
	e, _ := builtin.Registry().Lookup("fifo")
	inner, err := e.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(sim.DefaultParams(), sim.Uniform(2, 2, 2, 125e6, 125e6), w, "fifo", watching{inner, func(in *policy.Input) {
		if seen == nil {
			for _, j := range in.View.Jobs() {
				seen = append(seen, len(in.View.Dependents(j)))
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []int{1, 0}) {
		t.Errorf("dependents at the first offer: %v, want one of the first job, none of the second", seen)
	}
}

// watching shows every offer to a function.
type watching struct {
	policy.Policy
	see func(*policy.Input)
}

func (w watching) Place(in *policy.Input) []model.Placement {
	w.see(in)
	return w.Policy.Place(in)
}

// A relay in front of a scheduler that looks at no rack brings maps to their blocks
// and reduces to the map output: next to nothing crosses racks; and it is in
// nobody's way when its deadlines are over.
func TestRelaySteers(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(3, 3, 2, 10e6, 1e9)
	c.Replication, c.CrossRackWrites = 1, false
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 4, 2, 400e6)}}
	w.Jobs[0].Stages[0].Reads[0].Place, w.Jobs[0].Stages[0].Reads[0].Racks = workload.OnRacks, 1
	steered := func(seed uint64, attempt string, pin model.Duration) sim.Run {
		p := sim.DefaultParams()
		p.Seed = seed
		scheduler, err := builtin.Registry().New("fifo", nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sim.New(p, c, w, attempt, scheduler)
		if err != nil {
			t.Fatal(err)
		}
		if attempt != "" {
			pol, err := builtin.Registry().New(attempt, json.RawMessage(`{"assume_unknown":true}`))
			if err != nil {
				t.Fatal(err)
			}
			s.Steer(sim.Steering{Name: attempt, Policy: pol, Every: model.Second, Limits: limits(pin, pin)})
		}
		r, err := s.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var alone, with, late model.Bytes
	for seed := range uint64(10) {
		a, b, l := steered(seed, "", 0), steered(seed, "shufflewatcher", model.Minute), steered(seed, "shufflewatcher", 0)
		alone, with, late = alone+a.CrossRack.Total, with+b.CrossRack.Total, late+l.CrossRack.Total
		if b.Rejected > 0 {
			t.Errorf("seed %d: %d placements broke a rule", seed, b.Rejected)
		}
	}
	if with > alone/4 {
		t.Errorf("%d bytes crossed with the relay, %d without", with, alone)
	}
	if late < alone/2 {
		t.Errorf("%d bytes crossed with a relay that waits for nothing, %d without", late, alone)
	}
}

// A file on a node lies there, and on no node that is not there.
func TestFileOnNode(t *testing.T) {
	t.Parallel()
	job := func(rack, number int) *workload.Workload {
		j := mapReduce("a", 0, 4, 0, 0)
		j.Stages[0].Reads[0].Place, j.Stages[0].Reads[0].Node = workload.OnNode, workload.Node{Rack: rack, Number: number}
		return &workload.Workload{Jobs: []workload.Job{j}}
	}
	c := sim.Uniform(2, 2, 4, 1e8, 1e8)
	c.Replication = 1
	params := sim.DefaultParams()
	params.Multiple = true
	if r := run(t, params, c, job(2, 1), "delay"); r.Locality.Node != 1 {
		t.Errorf("maps of a file on one node, with room there: %+v", r.Locality)
	}
	for _, n := range []workload.Node{{Rack: 3, Number: 1}, {Rack: 1, Number: 3}} {
		if _, err := sim.New(params, c, job(n.Rack, n.Number), "fifo", nil); err == nil || !strings.Contains(err.Error(), "no such node") {
			t.Errorf("a file on %+v: %v", n, err)
		}
	}
}

// Maps that a plan ties to racks move between racks of their own only.
func TestTrimmedMapsStay(t *testing.T) {
	t.Parallel()
	j := mapReduce("a", 0, 4, 4, 100*model.MiB)
	j.Stages[0].Reads = nil
	for i := range 4 {
		j.Stages[0].Reads = append(j.Stages[0].Reads, workload.File{
			Bytes: 64 * model.MiB, Place: workload.OnNode, Node: workload.Node{Rack: i/2 + 1, Number: i%2 + 1},
		})
	}
	c := sim.Uniform(3, 3, 2, 1e8, 1e8)
	c.Replication = 1
	for seed := range uint64(20) {
		params := sim.DefaultParams()
		params.Seed, params.Multiple = seed, true
		s, err := sim.New(params, c, &workload.Workload{Jobs: []workload.Job{j}}, "capacity", built(t, "capacity", ""))
		if err != nil {
			t.Fatal(err)
		}
		s.Steer(sim.Steering{
			Name: "shufflewatcher", Policy: built(t, "shufflewatcher", `{"assume_unknown":true}`), Every: model.Second, Limits: limits(model.Minute, model.Minute),
		})
		r, err := s.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.CrossRack.MapRead != 0 || r.Finished != 1 {
			t.Errorf("seed %d: maps read %d bytes across racks, %d jobs finished", seed, r.CrossRack.MapRead, r.Finished)
		}
	}
}

// pinned plans all of a job for the second rack, and would hold its reduces.
type pinned struct{ policy.Policy }

func (pinned) Plan(in *policy.Input) []model.Plan {
	var plans []model.Plan
	for _, j := range in.Jobs {
		plans = append(plans, model.Plan{
			App: j.ID, Stage: model.StageMap, Rank: 1, Racks: []model.RackTarget{{Rack: in.View.Racks()[1].ID, Count: j.Map.Total}},
		}, model.Plan{
			App: j.ID, Stage: model.StageReduce, Rank: 1, Hold: true, Until: in.View.Now().Add(model.Minute),
			Racks: []model.RackTarget{{Rack: in.View.Racks()[1].ID, Count: j.Reduce.Total}},
		})
	}
	return plans
}

// Every scheduler offers what it has to other jobs where a relay ties reduces to
// another rack, also to one that a plan would hold.
func TestSchedulersKeepToTheRelay(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 2, 4, 1e8, 1e8)
	c.Replication = 1
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 6, 3, 100*model.MiB), mapReduce("b", 0, 6, 3, 100*model.MiB)}}
	w.Jobs[1].User = "bob"
	for i := range w.Jobs {
		w.Jobs[i].Stages[0].Reads = []workload.File{{Bytes: 6 * 128 * model.MiB, Place: workload.OnNode, Node: workload.Node{Rack: 2, Number: 1}}}
	}
	for _, name := range builtin.Registry().Names() {
		elsewhere := 0
		s, err := sim.New(sim.DefaultParams(), c, w, name, watching{built(t, name, ""), func(in *policy.Input) {
			for _, j := range in.View.Jobs() {
				elsewhere = max(elsewhere, j.Reduce.Launched(0))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.Steer(sim.Steering{Name: "pinned", Policy: pinned{}, Every: model.Second, Limits: limits(5*model.Minute, 5*model.Minute)})
		if r, err := s.Run(nil); err != nil || r.Rejected > 0 || elsewhere > 0 || r.Finished != 2 {
			t.Errorf("%s: %d placements or plans broke a rule, %d reduces off their rack, %d of 2 jobs, %v", name, r.Rejected, elsewhere, r.Finished, err)
		}
	}
}

func built(t *testing.T, name, params string) policy.Policy {
	t.Helper()
	p, err := builtin.Registry().New(name, json.RawMessage(params))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Stragglers take their factor longer: all of them, or about the part that was
// asked for, drawn by the seed.
func TestStragglers(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 20, 10, 125e6, 125e6)
	c.CrossRackWrites = false
	w := &workload.Workload{}
	for i := range 200 {
		w.Jobs = append(w.Jobs, mapReduce(strconv.Itoa(i), 0, 1, 0, 0))
	}
	p := sim.DefaultParams()
	p.Multiple = true
	for _, tc := range []struct {
		part, factor float64
		least, most  int // jobs that take longer
	}{{0, 3, 0, 0}, {1, 3, 200, 200}, {0.1, 3, 8, 35}, {0.1, 1, 0, 0}} {
		p.Straggler, p.StragglerFactor = tc.part, tc.factor
		r := run(t, p, c, w, "fifo")
		slow := 0
		for _, seconds := range r.Responses {
			if took := seconds - r.JCT.P50; tc.part < 1 && took != 0 && took != 20 {
				t.Errorf("%g: a job takes %g s more than most", tc.part, took)
			}
			if seconds > 25 {
				slow++
			}
		}
		if slow < tc.least || slow > tc.most {
			t.Errorf("%g of all %g times as long: %d of 200 are", tc.part, tc.factor, slow)
		}
		if again := run(t, p, c, w, "fifo"); !slices.Equal(again.Responses, r.Responses) {
			t.Error("not the same twice")
		}
		p.Seed++
		if other := run(t, p, c, w, "fifo"); tc.least != tc.most && slices.Equal(other.Responses, r.Responses) {
			t.Error("another seed draws the same stragglers")
		}
	}
}

// A shuffle across racks takes as long as its busiest link at least (B5): that of
// the rack with all maps.
func TestCoflowBound(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 1, 4, 10e6, 1e9)
	c.Replication, c.CrossRackWrites = 1, false
	j := mapReduce("a", 0, 2, 2, 200e6)
	j.Stages[0].Reads[0].Place, j.Stages[0].Reads[0].Node = workload.OnNode, workload.Node{Rack: 1, Number: 1}
	p := sim.DefaultParams()
	p.Slowstart = 1
	r := run(t, p, c, &workload.Workload{Jobs: []workload.Job{j}}, "delay")
	if crossed := float64(r.CrossRack.Shuffle); math.Abs(r.Coflows.Bound-crossed/10e6) > 1e-6 || crossed == 0 {
		t.Errorf("%g bytes crossed, bound %g s", crossed, r.Coflows.Bound)
	}
	if ratio := r.Coflows.Ratio; ratio < 1 || ratio > 1.2 {
		t.Errorf("the shuffle took %g s, %g times its bound", r.Coflows.Mean, ratio)
	}
	p.Losses = []sim.Loss{{Rack: 2, At: 1000 * model.Time(model.Second)}}
	if lost := run(t, p, c, &workload.Workload{Jobs: []workload.Job{j}}, "delay"); lost.Coflows.Bound != 0 {
		t.Errorf("a bound of %g s where nodes are lost", lost.Coflows.Bound)
	}
}

// limits are the relay's defaults but for its deadlines.
func limits(pin, trim model.Duration) asks.Limits {
	return asks.Limits{PinDeadline: pin, TrimDeadline: trim, WidenAfter: 3 * model.Second, FullAfter: 5 * model.Second, Spread: asks.SpreadPack}
}
