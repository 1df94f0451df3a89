package network_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
	"heddle/core/topology"
)

// Hand-computed: a reduce has half of a rack's output of two maps when that of one
// is lost. What it has it keeps, and of what is made again elsewhere it fetches the
// half it had not.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(1)
	f.AddOutput(job, 0, 10_000)
	f.AddOutput(job, 0, 10_000)
	group := f.AddReduces(job, 1, 1)
	f.Seal(job)
	var got []network.Done
	take := func(d network.Done) { got = append(got, d) }
	f.Advance(10_000, take)
	f.RemoveOutput(job, 0, 10_000)
	f.Advance(40_000, take) // the rest comes until 15 s
	if len(got) != 0 {
		t.Fatalf("done without all output: %+v", got)
	}
	f.RemakeOutput(job, 2, 10_000)
	f.Seal(job)
	got = append(got, run(t, f)...)
	if len(got) != 1 || got[0] != (network.Done{At: 45_000, Kind: network.Shuffle, ID: group}) {
		t.Errorf("%+v, want the group at 45 s", got)
	}
	want := []model.Bytes{15_000, 0, 5000}
	for r, traffic := range f.Traffic(nil) {
		if traffic.Up[network.Shuffle] != want[r] {
			t.Errorf("%d bytes left rack %d, want %d", traffic.Up[network.Shuffle], r, want[r])
		}
	}
}

// A group that has fetched all of a rack's output goes on when that is lost.
func TestLostOutputThatWasFetched(t *testing.T) {
	t.Parallel()
	f := newFast(t, []network.Rack{rack(1000, 1e6, 20), rack(1e6, 1e6, 20), rack(500, 1e6, 20)}, 1000)
	job := f.AddJob(1)
	f.AddOutput(job, 0, 10_000)
	f.AddOutput(job, 2, 20_000)
	f.AddReduces(job, 1, 1)
	f.Seal(job)
	none := func(d network.Done) { t.Errorf("%+v", d) }
	f.Advance(25_000, none)
	f.RemoveOutput(job, 0, 10_000)
	if done := run(t, f); len(done) != 1 || done[0].At != 40_000 {
		t.Errorf("%+v, want the group at 40 s", done)
	}
}

// A reduce that is killed is owed nothing any more.
func TestLostOutputOfAReduceThatIsKilled(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(2)
	f.AddOutput(job, 0, 20_000)
	group := f.AddReduces(job, 1, 2)
	f.Advance(10_000, func(d network.Done) { t.Errorf("%+v", d) })
	f.RemoveOutput(job, 0, 20_000)
	f.RemoveReduces(group, 1)
	f.RemakeOutput(job, 2, 20_000)
	f.Seal(job)
	if done := run(t, f); len(done) != 1 || done[0].At != 15_000 {
		t.Errorf("%+v, want the group at 15 s: half of the 10,000 bytes both had still to fetch", done)
	}
}

// Whatever is lost and made again while reduces come, every one of them fetches its
// part of all output once, and is not done before it has it.
func TestLostOutputIsFetchedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := func(lo, hi int, what string) int { return rapid.IntRange(lo, hi).Draw(t, what) }
		racks := many(4, rack(model.BytesPerSecond(n(100, 5000, "uplink")), 1e6, 20))
		f := newFast(t, racks, 1000)
		const reduces = 6
		job := f.AddJob(reduces)
		type output struct {
			rack  int
			bytes model.Bytes
			lost  bool
		}
		var outputs []output
		var total model.Bytes
		now, started, ended, sealed, whole := model.Time(0), 0, 0, false, false
		take := func(network.Done) { ended++ }
		steps := 0
		for range n(1, 25, "steps") {
			steps++
			now += model.Time(n(0, 4000, "wait"))
			f.Advance(now, take)
			switch i := n(0, max(len(outputs)-1, 0), "output"); {
			case n(0, 2, "do") == 0 && started < reduces:
				f.AddReduces(job, 0, 1)
				started++
			case i < len(outputs) && outputs[i].lost:
				outputs[i].lost, outputs[i].rack = false, n(1, 3, "rack")
				f.RemakeOutput(job, outputs[i].rack, outputs[i].bytes)
			case i < len(outputs) && n(0, 2, "lose") > 0:
				outputs[i].lost, sealed = true, false
				f.RemoveOutput(job, outputs[i].rack, outputs[i].bytes)
			case !sealed && n(0, 3, "seal") == 0 && allThere(outputs, func(o output) bool { return !o.lost }):
				sealed, whole = true, true // from now on outputs are made again only
				f.Seal(job)
			case len(outputs) < 8 && !whole && n(0, 1, "add") == 0:
				o := output{n(1, 3, "rack"), model.Bytes(n(0, 30_000, "bytes")), false}
				outputs, total = append(outputs, o), total+o.bytes
				f.AddOutput(job, o.rack, o.bytes)
			}
		}
		for i := range outputs {
			if outputs[i].lost {
				f.RemakeOutput(job, outputs[i].rack, outputs[i].bytes)
			}
		}
		for ; started < reduces; started++ {
			f.AddReduces(job, 0, 1)
		}
		f.Seal(job)
		f.Advance(now+10_000_000, take)
		if _, moving := f.Next(); moving {
			t.Fatal("something is still on its way")
		}
		var crossed model.Bytes
		for _, traffic := range f.Traffic(nil) {
			crossed += traffic.Up[network.Shuffle]
		}
		if slack := model.Bytes(4 * 6 * (steps + 1)); crossed < total-slack || crossed > total+slack {
			t.Fatalf("%d bytes crossed of %d", crossed, total)
		}
		if left := f.RemoveJob(job); left != 0 || ended == 0 {
			t.Fatalf("%d bytes left, %d groups done", left, ended)
		}
	})
}

func allThere[T any](list []T, there func(T) bool) bool {
	for _, x := range list {
		if !there(x) {
			return false
		}
	}
	return true
}

// A rack with fewer nodes has less to carry with; Route names the ends of a transfer.
func TestSetNodes(t *testing.T) {
	t.Parallel()
	racks := many(2, rack(1000, 100, 20))
	f := newFast(t, racks, 1000)
	var ids []network.ID
	for range 10 {
		ids = append(ids, f.AddTransfer(network.Write, 0, 1, 1000)) // 100 B/s each
	}
	if kind, from, to := f.Route(ids[3]); kind != network.Write || from != 0 || to != 1 {
		t.Errorf("%v from %d to %d", kind, from, to)
	}
	none := func(d network.Done) { t.Errorf("%+v", d) }
	f.Advance(5000, none)
	f.SetNodes(0, 2, topology.Link{}) // 200 B/s for all of them
	f.Advance(6000, none)
	f.SetNodes(0, 0, topology.Link{})
	f.Advance(20_000, none)
	f.SetNodes(0, 20, topology.Link{Out: 500})
	// 480 bytes are left of each, at 50 B/s each.
	for _, d := range run(t, f) {
		if d.At != 29_600 {
			t.Errorf("done at %d, want 29.6 s", d.At)
		}
	}
	if racks[0].Nodes != 20 {
		t.Error("the caller's racks changed")
	}
}
