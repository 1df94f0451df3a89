package sim_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

func loss(rack, node int, at model.Time, until model.Duration) sim.Loss {
	return sim.Loss{Rack: rack, Node: node, At: at, For: until}
}

// onNodes is a job whose maps read a block each of files on given nodes.
func onNodes(id string, maps, reduces int, shuffle model.Bytes, nodes ...workload.Node) workload.Job {
	j := mapReduce(id, 0, maps, reduces, shuffle)
	j.Stages[0].Reads = nil
	for i := range maps {
		j.Stages[0].Reads = append(j.Stages[0].Reads, workload.File{Bytes: 128 * model.MiB, Place: workload.OnNode, Node: nodes[i%len(nodes)]})
	}
	return j
}

// Attempts on a node that is lost end without a result, and begin again elsewhere;
// maps of a job without reduces that are done stay done.
func TestLossOfRunningMaps(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 2, 2, 125e6, 125e6)
	c.CrossRackWrites = false
	p := sim.DefaultParams()
	p.Multiple = true
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 4, 0, 0)}}
	p.Losses = []sim.Loss{loss(1, 1, 5000, 0)}
	r := run(t, p, c, w, "fifo")
	// All four begin at 1 s. Two of them end with their node at 5 s, and wait for the two others, which end at 11 s:
	// they run from there to 21 s.
	if r.JCT.Mean != 20.5 || r.Placements != 6 || r.Lost != 2 || r.Redone != 0 {
		t.Errorf("%g s with %d placements, %d lost, %d again; want 20.5, 6, 2, 0", r.JCT.Mean, r.Placements, r.Lost, r.Redone)
	}
	// The node is back at 7 s, and they run from there.
	p.Losses = []sim.Loss{loss(1, 1, 5000, 1500)}
	if r := run(t, p, c, w, "fifo"); r.JCT.Mean != 16.5 {
		t.Errorf("%g s with the node back at 6.5 s, want 16.5", r.JCT.Mean)
	}
	p.Losses = []sim.Loss{loss(1, 1, 12_000, 0)}
	if r := run(t, p, c, w, "fifo"); r.JCT.Mean != 10.5 || r.Lost+r.Redone != 0 {
		t.Errorf("%g s with a node lost after the end, want 10.5: %+v", r.JCT.Mean, r)
	}
}

// What maps that are done left on a node is lost with it, and they run again; what
// reduces had of it they keep, and what is made again they fetch from where it is.
func TestLossOfMapOutput(t *testing.T) {
	t.Parallel()
	// A map on each of two nodes of a rack, and a reduce on another rack, which also has what little the maps read. 100 MB
	// of each map go over an uplink of 10 MB/s.
	c := sim.Uniform(2, 2, 1, 10e6, 1e9)
	c.Racks[1].Nodes = 1
	c.Replication, c.CrossRackWrites = 1, false
	p := sim.DefaultParams()
	p.Slowstart = 1
	j := onNodes("a", 2, 1, 200e6, workload.Node{Rack: 2, Number: 1})
	j.Stages[0].Reads[0].Bytes, j.Stages[0].Reads[1].Bytes = 1, 1
	w := &workload.Workload{Jobs: []workload.Job{j}}
	at := func(losses ...sim.Loss) sim.Run {
		p.Losses = losses
		return placed(t, p, c, w, map[model.Stage][]model.NodeID{
			model.StageMap: {"r001n0001:8041", "r001n0002:8041"}, model.StageReduce: {"r002n0001:8041"},
		})
	}
	// Maps from 1 to 11 s, 20 s of shuffle from the heartbeat of 11 s on, and 5 s of computing.
	if r := at(); r.Makespan != 36 || r.CrossRack.Shuffle != 200e6 {
		t.Fatalf("%g s and %d bytes without a loss, want 36 and 200 MB", r.Makespan, r.CrossRack.Shuffle)
	}
	// The second node is lost at 21 s, half way: of the 100 MB still to come half are gone. Its map runs on the first from
	// 21 to 31 s, when the others have long come, and 50 MB of its output come until 36 s.
	r := at(loss(1, 2, 21_000, 0))
	if math.Abs(r.Makespan-41) > 1.1 || r.Redone != 1 || r.Lost != 0 || r.Placements != 4 {
		t.Errorf("%g s, %d again, %d lost, %d placements; want 41, 1, 0, 4", r.Makespan, r.Redone, r.Lost, r.Placements)
	}
	if attempt := float64(r.CrossRack.Shuffle) - 200e6; math.Abs(attempt) > 3 {
		t.Errorf("%d bytes crossed, want 200 MB: what was there stays", r.CrossRack.Shuffle)
	}
	// The whole rack is, for half a second: all of what is to come is gone, and both maps run from 22 to 32 s.
	r = at(loss(1, 0, 21_000, 500))
	if math.Abs(r.Makespan-47) > 1.1 || r.Redone != 2 || math.Abs(float64(r.CrossRack.Shuffle)-200e6) > 3 {
		t.Errorf("%g s, %d again, %d bytes; want 47, 2, 200 MB", r.Makespan, r.Redone, r.CrossRack.Shuffle)
	}
	// The reduce's own rack is: it fetches everything anew.
	r = at(loss(2, 0, 21_000, 500))
	if math.Abs(r.Makespan-47) > 1.1 || r.Lost != 1 || r.Redone != 0 || math.Abs(float64(r.CrossRack.Shuffle)-300e6) > 10e6 {
		t.Errorf("%g s, %d lost, %d again, %d bytes; want 47, 1, 0, 300 MB", r.Makespan, r.Lost, r.Redone, r.CrossRack.Shuffle)
	}
	// After the shuffle nobody needs the output; the map begins again all the same, and ends with the job.
	r = at(loss(1, 2, 32_000, 500))
	if r.Makespan != 36 || r.Redone != 1 || r.Lost != 0 || r.Placements != 4 {
		t.Errorf("%g s, %d again, %d lost, %d placements with a loss while the reduce computes; want 36, 1, 0, 4", r.Makespan, r.Redone, r.Lost, r.Placements)
	}
}

// The same where reduces draw different parts, and fetch each for itself: also when
// what was made again is lost again.
func TestLossOfMapOutputOfSkewedKeys(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 2, 1, 10e6, 1e9)
	c.Replication, c.CrossRackWrites = 1, false
	p := sim.DefaultParams()
	p.Slowstart = 1
	for _, skew := range []float64{0, 1} {
		j := onNodes("a", 2, 2, 200e6, workload.Node{Rack: 2, Number: 1})
		j.Stages[0].Reads[0].Bytes, j.Stages[0].Reads[1].Bytes, j.Stages[1].Skew = 1, 1, skew
		p.Losses = []sim.Loss{loss(1, 2, 21_000, 500), loss(1, 0, 31_500, 100)}
		r := placed(t, p, c, &workload.Workload{Jobs: []workload.Job{j}}, map[model.Stage][]model.NodeID{
			model.StageMap: {"r001n0001:8041", "r001n0002:8041"}, model.StageReduce: {"r002n0001:8041", "r002n0002:8041"},
		})
		if math.Abs(float64(r.CrossRack.Shuffle)-200e6) > 10 || r.Redone != 3 || r.Finished != 1 {
			t.Errorf("skew %g: %d bytes, %d again, %d finished; want 200 MB, 3, 1", skew, r.CrossRack.Shuffle, r.Redone, r.Finished)
		}
	}
}

// Output that nobody needs when its node is lost is not made again at once, but is
// gone: it is when a stage that read it has to run again, though the node is back.
func TestLossOfOutputThatWasRead(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 2, 1, 125e6, 125e6)
	c.Replication = 1
	j := onNodes("a", 1, 0, 0, workload.Node{Rack: 1, Number: 1})
	gather(&j, "join", 1, 0, edge(0, model.ScatterGather))
	gather(&j, "last", 1, 0, edge(1, model.ScatterGather))
	p := sim.DefaultParams()
	// The map runs on the first node from 1 to 11 s, the join on the second until 16 s, and the last there until 21 s.
	for _, tc := range []struct {
		losses []sim.Loss
		redone int
		want   float64
	}{
		{[]sim.Loss{loss(1, 1, 17_000, 500)}, 0, 21},
		{[]sim.Loss{loss(1, 2, 18_000, 500)}, 1, 29},                          // join and last begin anew at 19 s
		{[]sim.Loss{loss(1, 1, 17_000, 500), loss(1, 2, 18_000, 500)}, 2, 38}, // and the map at 18 s
	} {
		p.Losses = tc.losses
		r := placed(t, p, c, &workload.Workload{Jobs: []workload.Job{j}}, map[model.Stage][]model.NodeID{
			model.StageMap: {"r001n0001:8041"}, model.StageReduce: {"r001n0002:8041"},
		})
		if r.Makespan != tc.want || r.Redone != tc.redone {
			t.Errorf("%+v: %g s, %d again; want %g, %d", tc.losses, r.Makespan, r.Redone, tc.want, tc.redone)
		}
	}
}

// A copy that is on its way to a rack that is lost goes on to another.
func TestLossOfWrites(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(3, 1, 1, 10e6, 1e9)
	c.Replication = 2
	p := sim.DefaultParams()
	p.Losses = []sim.Loss{loss(2, 0, 15_000, 0)}
	w := &workload.Workload{Jobs: []workload.Job{onNodes("a", 1, 0, 100e6, workload.Node{Rack: 1, Number: 1})}}
	for seed := range uint64(10) {
		p.Seed = seed
		// The map runs from 1 to 11 s, and its 100 MB take 10 s, wherever they go.
		r := placed(t, p, c, w, map[model.Stage][]model.NodeID{model.StageMap: {"r001n0001:8041"}})
		if r.Makespan != 21 || r.CrossRack.Write != 100e6 {
			t.Errorf("seed %d: %g s and %d bytes, want 21 and 100 MB", seed, r.Makespan, r.CrossRack.Write)
		}
	}
}

// placed runs a workload with the tasks of a stage on given nodes only.
func placed(t *testing.T, p sim.Params, c sim.Cluster, w *workload.Workload, on map[model.Stage][]model.NodeID) sim.Run {
	t.Helper()
	s, err := sim.New(p, c, w, "only", only(on))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// only is a policy that starts the tasks of a stage on given nodes.
type only map[model.Stage][]model.NodeID

func (o only) Place(in *policy.Input) []model.Placement {
	n := in.Offer.Node
	for _, j := range in.View.Jobs() {
		for _, kind := range []model.Stage{model.StageMap, model.StageReduce} {
			s := j.Stage(kind)
			level, ok := s.Locality(n)
			for _, id := range o[kind] {
				if ok && id == n.ID && in.View.Fits(s, n.Free) {
					return []model.Placement{{App: j.ID, Stage: kind, Task: model.AnyTask, Node: id, Locality: level}}
				}
			}
		}
	}
	return nil
}

func (o only) Plan(*policy.Input) []model.Plan { return nil }

// A map whose block is read from a lost node reads the rest from another replica; a
// job whose block has none left fails, and so does what reads its output.
func TestLossOfReplicas(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(3, 1, 1, 10e6, 1e9)
	c.Replication, c.CrossRackWrites = 2, false
	p := sim.DefaultParams()
	w := &workload.Workload{Jobs: []workload.Job{onNodes("a", 1, 0, 0, workload.Node{Rack: 1, Number: 1})}}
	w.Jobs[0].Stages[0].Cost.Fixed = model.Second
	elsewhere := map[model.Stage][]model.NodeID{model.StageMap: {"r003n0001:8041"}}
	for seed := range uint64(20) {
		p.Seed, p.Losses = seed, nil
		r := placed(t, p, c, w, elsewhere)
		if r.Locality.Node == 1 { // the second replica is on the third rack
			continue
		}
		// 128 MiB take 13.42 s from one, and the same from two.
		if math.Abs(r.Makespan-14.42) > 0.01 || r.CrossRack.MapRead != 128*model.MiB {
			t.Errorf("seed %d: %g s for %d bytes", seed, r.Makespan, r.CrossRack.MapRead)
		}
		p.Losses = []sim.Loss{loss(1, 0, 5000, 0)}
		if lost := placed(t, p, c, w, elsewhere); math.Abs(lost.Makespan-r.Makespan) > 1.01 || lost.CrossRack.MapRead != 128*model.MiB || lost.Lost != 0 {
			t.Errorf("seed %d: %g s for %d bytes with a loss", seed, lost.Makespan, lost.CrossRack.MapRead)
		}
		p.Losses = append(p.Losses, loss(2, 0, 6000, 0))
		if lost := placed(t, p, c, w, elsewhere); lost.Finished != 0 || lost.Makespan != 0 {
			t.Errorf("seed %d: a job without its block: %+v", seed, lost.Outcome)
		}
	}
	c.Replication = 1
	child, other := onNodes("b", 1, 0, 0, workload.Node{Rack: 2, Number: 1}), onNodes("c", 1, 0, 0, workload.Node{Rack: 3, Number: 1})
	child.Parents = []int{0}
	w.Jobs = append(w.Jobs, child, other)
	p.Losses = []sim.Loss{loss(1, 0, 0, 0)}
	for _, name := range builtin.Registry().Names() {
		if r := run(t, p, c, w, name); r.Finished != 1 || r.Responses[2] < 11 || r.Responses[2] > 15 || r.Responses[0] >= 0 || r.Responses[1] >= 0 {
			t.Errorf("%s: %v", name, r.Responses)
		}
	}
	// A node that is back in time has its blocks.
	p.Losses = []sim.Loss{loss(1, 0, 0, 900)}
	if r := run(t, p, c, w, "fifo"); r.Finished != 3 {
		t.Errorf("%v with the node back", r.Responses)
	}
}

// The second replica of a file that is laid out while a rack is lost is on another.
func TestLossBeforeFilesAreLaidOut(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(3, 1, 1, 10e6, 1e9)
	c.Replication = 2
	p := sim.DefaultParams()
	p.Losses = []sim.Loss{loss(2, 0, 0, 0), loss(1, 0, 3000, 0)} // the first replica goes when the job is there
	j := onNodes("a", 1, 0, 0, workload.Node{Rack: 1, Number: 1})
	j.Submit = 1500
	for p.Seed = range uint64(10) {
		if r := run(t, p, c, &workload.Workload{Jobs: []workload.Job{j}}, "fifo"); r.Finished != 1 || r.CrossRack.MapRead != 0 {
			t.Errorf("seed %d: %d jobs, %d bytes read across racks; want 1 with its block on the third rack", p.Seed, r.Finished, r.CrossRack.MapRead)
		}
	}
}

// A job whose ApplicationMaster is lost gets another one, which knows what is done.
func TestLossOfApplicationMaster(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 2, 2, 125e6, 125e6)
	c.CrossRackWrites = false
	p := sim.DefaultParams()
	p.AMStart, p.Multiple = 5*model.Second, true
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 500, 4, 0, 0)}}
	// It begins at 1 s on the second node and asks at 6 s. Three maps run until 16 s, the fourth until 26 s.
	for _, tc := range []struct {
		node int
		at   model.Time
		want float64
	}{
		{1, 20_000, 25.5}, // nothing is there
		{2, 20_000, 34.5}, // the fourth map ends too: the next begins at 20 s, asks at 25 s, and the map runs until 35 s
		{1, 3000, 45.5},   // one container is left for four maps
		{2, 3000, 47.5},   // and the next begins at 3 s
	} {
		p.Losses = []sim.Loss{loss(1, tc.node, tc.at, 0)}
		if r := run(t, p, c, w, "fifo"); r.JCT.Mean != tc.want {
			t.Errorf("node %d at %d ms: %g s, want %g", tc.node, tc.at, r.JCT.Mean, tc.want)
		}
	}
}

// An ApplicationMaster that is lost before there was a heartbeat to tell of its job
// leaves a job that asks for nothing: it is told as such.
func TestLossOfApplicationMasterThatIsNew(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(1, 4, 2, 125e6, 125e6)
	p := sim.DefaultParams()
	p.AMStart, p.AMShare = 2500, 1
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 20, 0, 0), mapReduce("b", 2500, 4, 0, 0)}}
	late := 0
	for node := range 4 {
		p.Losses = []sim.Loss{loss(1, node+1, 5600, 0)} // the second job's asks from 5.5 s on
		seen := false
		var s *sim.Sim
		s, err := sim.New(p, c, w, "fifo", watching{built(t, "fifo", ""), func(in *policy.Input) {
			if err := s.Consistent(in.View, in.Offer.Node); err != nil {
				t.Errorf("node %d: %v", node+1, err)
			}
			for _, j := range in.View.Jobs() {
				seen = seen || j.Map.Total == 4 && j.Map.Tasks() == 4 && j.Map.Pending+j.Map.Running+j.Map.Completed == 0
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Run(nil); err != nil || r.Finished != 2 {
			t.Errorf("node %d: %d jobs, %v", node+1, r.Finished, err)
		}
		late += map[bool]int{true: 1}[seen]
	}
	if late != 1 {
		t.Errorf("with %d of 4 nodes lost the second job was told without asks, want with the one of its master", late)
	}
}

// Losses that the cluster does not have are refused, and those that leave nothing.
func TestLossesAreChecked(t *testing.T) {
	t.Parallel()
	c := sim.Uniform(2, 2, 1, 1e8, 1e8)
	w := &workload.Workload{Jobs: []workload.Job{mapReduce("a", 0, 1, 0, 0)}}
	for _, tc := range []struct {
		losses []sim.Loss
		says   string
	}{
		{[]sim.Loss{loss(3, 0, 0, 0)}, "no rack 3"},
		{[]sim.Loss{loss(0, 0, 0, 0)}, "no rack 0"},
		{[]sim.Loss{loss(2, 3, 0, 0)}, "rack 2 has no node 3"},
		{[]sim.Loss{loss(2, 1, -1, 0)}, "neither may be negative"},
		{[]sim.Loss{loss(1, 0, 0, 0), loss(2, 1, 5, 0), loss(2, 2, 9, 0)}, "every node is lost"},
		{[]sim.Loss{loss(1, 0, 0, 0), loss(2, 1, 5, 0), loss(2, 2, 9, 1)}, ""},
	} {
		p := sim.DefaultParams()
		p.Losses = tc.losses
		_, err := sim.New(p, c, w, "fifo", nil)
		if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: %v, want %q", tc.losses, err, tc.says)
		}
	}
}

// drawnFaults draws what goes wrong on a cluster; a node is left.
func drawnFaults(t *rapid.T, c *sim.Cluster, p *sim.Params) {
	n := func(lo, hi int, what string) int { return rapid.IntRange(lo, hi).Draw(t, what) }
	for range n(0, 4, "losses") {
		l := sim.Loss{Rack: n(1, len(c.Racks), "rack"), At: model.Time(n(0, 60_000, "at")), For: model.Duration(n(0, 3, "for") * n(1, 30_000, "long"))}
		l.Node = n(0, c.Racks[l.Rack-1].Nodes, "node")
		if l.For == 0 && len(c.Racks) > 1 && l.Rack == 1 || l.For == 0 && len(c.Racks) == 1 {
			l.For = 10 * model.Second
		}
		p.Losses = append(p.Losses, l)
	}
	if c.Racks[0].Nodes*c.Racks[0].Containers > 1 { // which are there in the end: an ApplicationMaster has one
		p.AMStart = model.Duration(n(0, 1, "master") * 2000)
	}
	p.Speculation = rapid.Bool().Draw(t, "speculation")
	p.Straggler, p.StragglerFactor = float64(n(0, 3, "stragglers"))/4, 4
}

// scheduler is a policy that schedules, and one that a relay has, or none.
type scheduler struct{ name, relay string }

// watchUse fails when a node has more containers than there are, or a lost one is
// offered. A relay is put in front of the scheduler if there is a policy for it.
func watchUse(t *rapid.T, attempt scheduler, w *workload.Workload, p sim.Params, c sim.Cluster) sim.Run {
	inner, err := builtin.Registry().New(attempt.name, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s *sim.Sim
	s, err = sim.New(p, c, w, attempt.name, watching{inner, func(in *policy.Input) {
		n := in.Offer.Node
		if err := s.Consistent(in.View, n); err != nil {
			t.Fatal(attempt, err)
		}
		if n.State != model.NodeRunning || n.Containers > int(n.Total.VCores) || n.Used.VCores > n.Total.VCores {
			t.Fatalf("offered %+v", n)
		}
		if c.Typed() && !p.Speculation { // of a task with two attempts one is known
			typedOffer(t, in, &c)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if attempt.relay != "" {
		planner, err := builtin.Registry().New(attempt.relay, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Steer(sim.Steering{Name: attempt.relay, Policy: planner, Every: 2 * model.Second, Limits: limits(10*model.Second, 5*model.Second)})
	}
	r, err := s.Run(nil)
	if err != nil {
		t.Fatal(attempt, err)
	}
	if err := s.Idle(); err != nil {
		t.Fatal(attempt, err)
	}
	return r
}

// Whatever is lost, every job comes to its end under every policy or has no replica
// left of a block, no run gets below a bound, no container is used twice, all are
// free in the end, and the same input gives the same result.
func TestLosses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, w, p := drawn(t)
		endure(t, w, p, c, "")
	})
}

// The same holds on typed slots, and under a relay.
func TestLossesOfSlotsAndUnderARelay(t *testing.T) {
	t.Parallel()
	names := builtin.Registry().Names()
	rapid.Check(t, func(t *rapid.T) {
		c, w, p := drawn(t)
		relay := ""
		how := rapid.IntRange(1, 3).Draw(t, "slots, relay or both")
		if how&1 > 0 {
			c = drawnSlots(t, c)
		}
		if how&2 > 0 {
			relay = rapid.SampledFrom(names).Draw(t, "relay")
		}
		p.Multiple = rapid.Bool().Draw(t, "multiple")
		endure(t, w, p, c, relay)
	})
}

// endure runs a workload while things go wrong.
func endure(t *rapid.T, w *workload.Workload, p sim.Params, c sim.Cluster, relay string) {
	drawnForms(t, w)
	drawnFaults(t, &c, &p)
	attempt := scheduler{rapid.SampledFrom(builtin.Registry().Names()).Draw(t, "policy"), relay}
	r := watchUse(t, attempt, w, p, c)
	if again := watchUse(t, attempt, w, p, c); !reflect.DeepEqual(r, again) {
		t.Fatalf("twice the same, and\n%+v\n%+v", r, again)
	}
	tasks := 0
	for i := range w.Jobs {
		tasks += w.Jobs[i].Tasks()
	}
	most := tasks + r.Preempted + r.Lost + r.Redone + r.ExtraAttempts
	if r.Rejected > 0 || r.Placements > most || r.Finished == len(w.Jobs) && (r.Placements < tasks || r.ExtraWon > r.ExtraAttempts) {
		t.Fatalf("%d placements of %d tasks, %+v", r.Placements, tasks, r.Detail)
	}
	if r.Finished < len(w.Jobs) && (len(p.Losses) == 0 || c.Replication > 1 && len(p.Losses) < 2) {
		t.Fatalf("%d of %d jobs", r.Finished, len(w.Jobs))
	}
}

// drawnForms makes graphs of some jobs, and chains of some others.
func drawnForms(t *rapid.T, w *workload.Workload) {
	for i := range w.Jobs {
		if rapid.Bool().Draw(t, "graph") {
			w.Jobs[i] = drawnGraph(t, string(w.Jobs[i].ID), int(w.Jobs[i].Submit))
			for k := range w.Jobs[i].Stages {
				if s := &w.Jobs[i].Stages[k]; len(s.Edges) > 0 {
					s.Reads = nil // beside stages they are refused here
				}
			}
		} else if i > 0 && rapid.Bool().Draw(t, "chained") {
			j := &w.Jobs[i]
			j.Parents = []int{i - 1}
			j.Stages[0].Reads[0].Place, j.Stages[0].Reads[0].Racks, j.Stages[0].Reads[0].Parent = workload.OfParent, 0, i-1
		}
	}
}
