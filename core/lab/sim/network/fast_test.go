package network_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
	"heddle/core/topology"
)

func newFast(tb fatal, racks []network.Rack, step model.Duration) *network.Fast {
	return newCopying(tb, racks, step, 5)
}

// newCopying returns one whose reduces have so many streams.
func newCopying(tb fatal, racks []network.Rack, step model.Duration, copies int) *network.Fast {
	return newStepping(tb, racks, steps{step, step}, copies)
}

// steps are the shortest and the longest of a network.
type steps struct{ least, most model.Duration }

// String returns them in seconds.
func (s steps) String() string {
	if s.least == s.most {
		return fmt.Sprintf("%.1f", s.least.Seconds())
	}
	return fmt.Sprintf("%.1f to %.1f", s.least.Seconds(), s.most.Seconds())
}

// newStepping returns one with steps of several lengths.
func newStepping(tb fatal, racks []network.Rack, s steps, copies int) *network.Fast {
	c := network.DefaultConfig(racks)
	c.Step, c.MaxStep, c.Streams[network.Shuffle] = s.least, s.most, float64(copies)
	f, err := network.NewFast(c)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// many returns racks that are alike.
func many(n int, r network.Rack) []network.Rack { return slices.Repeat([]network.Rack{r}, n) }

// Hand-computed cases: transfers, whose rates are solved at their start.
func TestFastTransfers(t *testing.T) {
	t.Parallel()
	type transfer struct {
		from, to int
		bytes    model.Bytes
	}
	wide := []network.Rack{rack(1000, 1000, 20), rack(1000, 1000, 20), rack(400, 1000, 20)}
	for _, tc := range []struct {
		name  string
		racks []network.Rack
		start []transfer
		want  []model.Time
	}{
		{"one, rounded up", wide, []transfer{{0, 1, 1001}}, []model.Time{1001}},
		{"nothing to send", wide, []transfer{{0, 1, 0}}, []model.Time{0}},
		{"two share an uplink, then one has it", wide, []transfer{{0, 1, 10_000}, {0, 1, 20_000}}, []model.Time{20_000, 30_000}},
		{"a narrower downlink leaves the rest", wide, []transfer{{0, 2, 4000}, {0, 1, 6000}}, []model.Time{10_000, 10_000}},
		{"the interface of a node", many(2, rack(1000, 100, 20)), []transfer{{0, 1, 500}}, []model.Time{5000}},
		{"the interfaces of a rack", many(2, rack(1000, 100, 2)), []transfer{{0, 0, 500}, {0, 0, 500}, {0, 0, 500}, {0, 0, 500}}, []model.Time{10_000, 10_000, 10_000, 10_000}},
	} {
		f := newFast(t, tc.racks, 1000)
		for i, x := range tc.start {
			if id := f.AddTransfer(network.MapRead, x.from, x.to, x.bytes); int(id) != i {
				t.Fatalf("%s: transfer %d has ID %d", tc.name, i, id)
			}
		}
		got := make([]model.Time, len(tc.start))
		for _, d := range run(t, f) {
			got[d.ID] = d.At
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: done at %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Hand-computed cases of one shuffle: 2 of 4 reduces on rack 1, 1 on rack 2.
func TestFastShuffle(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(4)
	f.AddOutput(job, 0, 40_002)
	first := f.AddReduces(job, 1, 2)
	second := f.AddReduces(job, 2, 1)
	if again := f.AddReduces(job, 1, 0); again != first {
		t.Errorf("reduces on a rack are groups %d and %d before the job is sealed", first, again)
	}
	var got []network.Done
	take := func(d network.Done) { got = append(got, d) }
	f.Advance(9_000, take)
	f.Seal(job)
	// The uplink gives 2/3 and 1/3 of 1000 B/s: 20,001 and 10,000 bytes.
	got = append(got, run(t, f)...)
	want := []network.Done{{At: 30_000, ID: second}, {At: 30_001, ID: first}}
	if !slices.Equal(got, want) {
		t.Fatalf("done %+v, want %+v", got, want)
	}
	f.Advance(50_000, take)
	got = got[:0]
	last := f.AddReduces(job, 0, 1) // on the rack of the map output, at 1e6 B/s: 10 ms
	got = append(got, run(t, f)...)
	if want := []network.Done{{At: 50_011, ID: last}}; !slices.Equal(got, want) {
		t.Fatalf("done %+v, want %+v", got, want)
	}
	traffic := f.Traffic(nil)
	if up, down := traffic[0].Up[network.Shuffle], traffic[1].Down[network.Shuffle]; up != 30_001 || down != 20_001 {
		t.Errorf("%d bytes left rack 0 and %d reached rack 1, want 30001 and 20001", up, down)
	}
	if left := f.RemoveJob(job); left != 0 {
		t.Errorf("%d bytes left of a job that is done", left)
	}
}

// A shuffle that sends nothing is done when it is sealed.
func TestFastEmptyShuffle(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(2, rack(1000, 100, 2)), 1000)
	job := f.AddJob(3)
	g := f.AddReduces(job, 1, 3)
	if got := run(t, f); len(got) != 0 {
		t.Errorf("%+v before the job is sealed", got)
	}
	f.Seal(job)
	if got := run(t, f); len(got) != 1 || got[0].ID != g {
		t.Errorf("got %+v, want group %d", got, g)
	}
}

// With every reduce on another rack than the output, all of it crosses, to the byte.
func TestFastCarriesEveryByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFast(t, many(4, rack(1000, 300, 3)), 500)
		n := rapid.IntRange(1, 9).Draw(t, "reduces")
		job, now := f.AddJob(n), model.Time(0)
		var out model.Bytes
		for left := n; left > 0 || rapid.Bool().Draw(t, "more"); {
			if start := rapid.IntRange(0, left).Draw(t, "start"); start > 0 {
				f.AddReduces(job, rapid.IntRange(1, 3).Draw(t, "rack"), start)
				left -= start
			}
			b := model.Bytes(rapid.IntRange(0, 1000).Draw(t, "bytes"))
			f.AddOutput(job, 0, b)
			out += b
			now += model.Time(rapid.IntRange(0, 700).Draw(t, "wait"))
			f.Advance(now, func(network.Done) {})
		}
		f.Seal(job)
		run(t, f)
		if got := f.Traffic(nil); got[0].Up[network.Shuffle] != out {
			t.Errorf("%d bytes crossed of %d", got[0].Up[network.Shuffle], out)
		}
	})
}

// Adding to a link never makes a batch that shares it end later.
func TestMoreCapacityIsNotLater(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 100_000), 1, 20).Draw(t, "sizes")
		rate := model.BytesPerSecond(rapid.IntRange(100, 10_000).Draw(t, "rate"))
		more := rate + model.BytesPerSecond(rapid.IntRange(0, 10_000).Draw(t, "more"))
		last := func(rate model.BytesPerSecond) (exact, fast model.Time) {
			racks := many(2, rack(rate, 3000, 50))
			x, f := newExact(t, racks), newFast(t, racks, 1000)
			for i, b := range sizes {
				start(t, x, network.Flow{From: network.Node{Number: i}, To: network.Node{Rack: 1, Number: i}, Bytes: model.Bytes(b), Weight: 1})
				f.AddTransfer(network.Write, 0, 1, model.Bytes(b))
			}
			ended := func(all []network.Done) model.Time { return all[len(all)-1].At }
			return ended(run(t, x)), ended(run(t, f))
		}
		exact, fast := last(rate)
		exactMore, fastMore := last(more)
		if exactMore > exact || fastMore > fast {
			t.Errorf("%v at %g B/s: exact %d, fast %d; at %g: %d, %d", sizes, rate, exact, fast, more, exactMore, fastMore)
		}
	})
}

// TestFastIsScaleFree multiplies bytes and rates by a power of two, which no
// rounding sees but that to whole bytes: nothing may be done at another time.
func TestFastIsScaleFree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type add struct {
			from, to, bytes int
			wait            int
		}
		adds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) add {
			return add{rapid.IntRange(0, 2).Draw(t, "from"), rapid.IntRange(0, 2).Draw(t, "to"), rapid.IntRange(1, 1000).Draw(t, "bytes"), rapid.IntRange(0, 900).Draw(t, "wait")}
		}), 1, 15).Draw(t, "adds")
		ends := func(by int) []network.Done {
			f := newFast(t, many(3, rack(model.BytesPerSecond(1e6*by), model.BytesPerSecond(3e5*by), 5)), 250)
			var log []network.Done
			now := model.Time(0)
			for _, a := range adds {
				f.AddTransfer(network.MapRead, a.from, a.to, model.Bytes(a.bytes*1000*by))
				now += model.Time(a.wait)
				f.Advance(now, func(d network.Done) { log = append(log, d) })
			}
			return append(log, run(t, f)...)
		}
		if once, scaled := ends(1), ends(1<<10); !slices.Equal(once, scaled) {
			t.Errorf("%v scaled: %v", once, scaled)
		}
	})
}

// The same calls give the same answers.
func TestFastIsDeterministic(t *testing.T) {
	t.Parallel()
	ends := func() ([]network.Done, []network.Traffic) {
		d := newDemand(7, demandSize{racks: 5, nodes: 4, jobs: 20, maps: 30, reduces: 10, seconds: 60, load: .8}, many(5, rack(500, 250, 4)))
		f := newFast(t, d.racks, 1000)
		got := d.onFast(f)
		return got.log, f.Traffic(nil)
	}
	log, traffic := ends()
	again, traffic2 := ends()
	if !slices.Equal(log, again) || !slices.Equal(traffic, traffic2) || len(log) == 0 {
		t.Errorf("%d and %d ends, traffic %v and %v", len(log), len(again), traffic, traffic2)
	}
}

func TestFastBackground(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(2, rack(1000, 1e6, 1)), 60_000)
	id := f.AddTransfer(network.Write, 0, 1, 10_000)
	none := func(d network.Done) { t.Errorf("%+v is done", d) }
	f.Advance(1000, none)
	f.SetBackground(1, topology.Link{In: 750})
	f.Advance(3000, none)
	if got := f.Load(0); got.Out != 250 {
		t.Errorf("rack 0 sends %g, want 250", got.Out)
	}
	f.SetBackground(1, topology.Link{In: 2000})
	if got := f.Load(1); got.In != 0 {
		t.Errorf("%g B/s over a full link", got.In)
	}
	f.Advance(100_000, none)
	if left := f.RemoveTransfer(id); left != 8500 {
		t.Errorf("%d bytes left, want 8500", left)
	}
	if got := f.Traffic(nil); got[0].Up[network.Write] != 1500 || got[1].Down[network.Write] != 1500 {
		t.Errorf("traffic %+v, want 1500 bytes", got)
	}
}

// A group that is lost leaves what it had not fetched, and reduces that start in
// its place fetch all of it anew.
func TestFastRemoveGroup(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(2)
	f.AddOutput(job, 0, 20_000)
	lost := f.AddReduces(job, 1, 1)
	f.AddReduces(job, 2, 1)
	f.Advance(4000, func(d network.Done) { t.Errorf("%+v is done", d) })
	if left := f.RemoveGroup(lost); left != 8000 {
		t.Errorf("%d bytes left of 10000 after 4 s at 500 B/s", left)
	}
	f.Seal(job)
	again := f.AddReduces(job, 1, 1)
	got := run(t, f)
	if len(got) != 2 || got[1].ID != again || got[1].At != 22_000 {
		t.Errorf("done %+v, want group %d last, at 22 s", got, again)
	}
	if up := f.Traffic(nil)[0].Up[network.Shuffle]; up != 22_000 {
		t.Errorf("%d bytes crossed, want 22000", up)
	}
	if left := f.RemoveJob(job); left != 0 {
		t.Errorf("%d bytes left of a job that is done", left)
	}
}

// Reduces that are killed leave their part of what their group has yet to fetch,
// and those that start in their place fetch all of theirs anew.
func TestFastRemoveReduces(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(2, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(4)
	f.AddOutput(job, 0, 40_000)
	group := f.AddReduces(job, 1, 4)
	f.Advance(8000, func(d network.Done) { t.Errorf("%+v is done", d) })
	if left := f.RemoveReduces(group, 3); left != 24_000 { // 32,000 are left, 8,000 of each reduce
		t.Errorf("%d bytes left of three reduces, want 24000", left)
	}
	f.Advance(12_000, func(d network.Done) { t.Errorf("%+v is done", d) })
	if again := f.AddReduces(job, 1, 3); again != group { // none has ended, so that they join
		t.Errorf("group %d, want %d", again, group)
	}
	f.Seal(job)
	got := run(t, f)
	if len(got) != 1 || got[0].ID != group || got[0].At != 46_000 { // 4,000 of the one and 30,000 of the others are left at 12 s
		t.Errorf("done %+v, want group %d at 46 s", got, group)
	}
	if up := f.Traffic(nil)[0].Up[network.Shuffle]; up != 46_000 {
		t.Errorf("%d bytes crossed, want 8000 before, 4000 and 34000 after", up)
	}
}

// Of a group's reduces those that have yet to begin are killed first; all of them
// are the group.
func TestFastRemoveAllReduces(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(2, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(4)
	f.AddOutput(job, 0, 40_000)
	group := f.AddReduces(job, 1, 2)
	f.Advance(500, func(d network.Done) { t.Errorf("%+v is done", d) })
	f.AddReduces(job, 1, 2)
	if left := f.RemoveReduces(group, 2); left != 0 {
		t.Errorf("%d bytes left of reduces that had not begun", left)
	}
	if left := f.RemoveReduces(group, 2); left != 19_500 {
		t.Errorf("%d bytes left of 20000 after half a second", left)
	}
	if left := f.RemoveJob(job); left != 0 {
		t.Errorf("%d bytes left of a job without reduces", left)
	}
}

// What nobody waits for shares its queue as well: two shuffles whose maps go on
// fill the link, one after the other has ended, with no solve in between.
func TestFastFillsTheLink(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(2, rack(1000, 1e6, 20)), 100_000)
	for _, bytes := range []model.Bytes{10_000, 20_000, 30_000} {
		job := f.AddJob(1)
		f.AddOutput(job, 0, bytes)
		f.AddReduces(job, 1, 1)
	}
	f.Advance(59_000, func(d network.Done) { t.Errorf("%+v is done", d) })
	if up := f.Traffic(nil)[0].Up[network.Shuffle]; up != 59_000 {
		t.Errorf("%d bytes crossed in 59 s at 1000 B/s", up)
	}
}

// Of two transfers that end at once, the first may take back the second.
func TestFastRemoveTransferThatEnds(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(2, rack(1000, 1e6, 20)), 1000)
	first := f.AddTransfer(network.MapRead, 0, 1, 500)
	second := f.AddTransfer(network.MapRead, 0, 1, 500)
	ends := 0
	f.Advance(10_000, func(d network.Done) {
		ends++
		other := first + second - d.ID
		if left := f.RemoveTransfer(other); left != 0 {
			t.Errorf("%d bytes left", left)
		}
	})
	if ends != 1 {
		t.Errorf("%d ends, want one", ends)
	}
}

// Of two groups that end at once, the first may take back the second.
func TestFastRemoveGroupThatEnds(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(2)
	f.AddOutput(job, 0, 1000)
	groups := f.AddReduces(job, 1, 1) + f.AddReduces(job, 2, 1)
	f.Seal(job)
	ends := 0
	f.Advance(10_000, func(d network.Done) {
		ends++
		if left := f.RemoveGroup(groups - d.ID); left != 0 {
			t.Errorf("%d bytes left", left)
		}
	})
	if ends != 1 {
		t.Errorf("%d ends, want one", ends)
	}
}

// A rack that had little map output when its flow began gets more streams with
// more output, long before the job's output has grown by half.
func TestFastTurnsToMoreOutput(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1e6, 1000, 20)), 1000)
	job := f.AddJob(1)
	f.AddOutput(job, 0, 100_000)
	f.AddOutput(job, 1, 10)
	f.AddReduces(job, 2, 1)
	f.Advance(2000, func(network.Done) {})
	f.AddOutput(job, 1, 40_000)
	f.Advance(52_000, func(network.Done) {})
	if up := f.Traffic(nil)[1].Up[network.Shuffle]; up < 10_000 {
		t.Errorf("%d bytes of 40000 left rack 1 in 50 s, at 1000 B/s for 28 %% of the output", up)
	}
}

// Output that comes late is fetched with all streams, whatever came before it.
func TestFastFetchesTheLastOutput(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1e6, 1000, 20)), 1000)
	job := f.AddJob(1)
	f.AddOutput(job, 0, 99_000)
	g := f.AddReduces(job, 2, 1)
	f.Advance(200_000, func(d network.Done) { t.Errorf("%+v is done", d) })
	f.AddOutput(job, 1, 1_000)
	f.Seal(job)
	got := run(t, f)
	if want := []network.Done{{At: 201_000, ID: g}}; !slices.Equal(got, want) {
		t.Errorf("done %+v, want %+v: 1000 bytes at the 1000 B/s of the interface", got, want)
	}
}

// A fetch with hardly a share of its queue ends once less than a byte of it is
// left, long before its turn among the others would come.
func TestFastEndsAFetchOfNoWeight(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1e6, 1e6, 20)), 1000)
	heavy := f.AddJob(1)
	f.AddOutput(heavy, 1, 1e12)
	f.AddReduces(heavy, 2, 1)
	f.Seal(heavy)
	light := f.AddJob(1)
	f.AddOutput(light, 0, 1e9)
	f.AddOutput(light, 1, 1)
	g := f.AddReduces(light, 2, 1)
	f.Seal(light)
	var got []network.Done
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for now := model.Time(0); now < 20_000_000; now += 1000 {
			f.Advance(now, func(d network.Done) { got = append(got, d) })
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the network does not come to an end")
	}
	if !slices.ContainsFunc(got, func(d network.Done) bool { return d.ID == g }) {
		t.Errorf("done %+v, want group %d among it", got, g)
	}
}

// A job that is removed leaves nothing behind in the network.
func TestFastRemoveJob(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1e6, 20)), 1000)
	job := f.AddJob(3)
	f.AddOutput(job, 0, 30_000)
	f.AddReduces(job, 1, 2)
	f.Advance(3000, func(d network.Done) { t.Errorf("%+v is done", d) })
	f.AddOutput(job, 1, 500)
	f.AddReduces(job, 2, 1)
	f.Seal(job)
	if left := f.RemoveJob(job); left != 17_000 {
		t.Errorf("%d bytes left of 20000 after 3 s at 1000 B/s", left)
	}
	if got := run(t, f); len(got) != 0 {
		t.Errorf("%+v of a job that is gone", got)
	}
	if again := f.AddJob(1); again != job {
		t.Errorf("job %d, want %d again", again, job)
	}
}

// TestFastAllocatesNothing lets a cluster work until everything has its size.
func TestFastAllocatesNothing(t *testing.T) {
	l := newLoad(t, 30, work{72, 5 * model.MiB, 2}, 1000)
	for range 1000 {
		l.second()
	}
	if n := testing.AllocsPerRun(50, l.second); n > 0 {
		t.Errorf("%g allocations a second", n)
	}
}

// What is done may be answered at once, with more and with less.
func TestFastFromDone(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1000, 4)), 1000)
	job := f.AddJob(2)
	f.AddOutput(job, 0, 3000)
	f.AddReduces(job, 1, 1)
	f.AddReduces(job, 2, 1)
	f.AddTransfer(network.MapRead, 0, 1, 100)
	ends := 0
	f.Advance(100_000, func(d network.Done) {
		ends++
		switch d.Kind {
		case network.MapRead:
			f.Seal(job)
			f.AddTransfer(network.Write, 1, 2, 500)
		case network.Write:
			f.RemoveJob(job)
		case network.Shuffle:
			t.Errorf("%+v of a job that is gone", d)
		}
	})
	if _, ok := f.Next(); ok || ends != 2 {
		t.Errorf("%d ends, want the read and the write; more to come: %t", ends, ok)
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	good := many(2, rack(10, 10, 1))
	for name, change := range map[string]func(*network.Config){
		"racks": func(c *network.Config) { c.Racks = nil }, "step": func(c *network.Config) { c.Step = 0 },
		"streams": func(c *network.Config) { c.Streams[network.Write] = 0 },
	} {
		c := network.DefaultConfig(good)
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		change(&c)
		if _, err := network.NewFast(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What has crossed is the same just after a solve and in the middle of a step, and
// whoever asked for it before.
func TestFastTrafficAtAnyTime(t *testing.T) {
	t.Parallel()
	f := newFast(t, many(3, rack(1000, 1e6, 20)), 1000)
	f.AddTransfer(network.Write, 0, 1, 4500)
	f.AddTransfer(network.MapRead, 0, 2, 4500)
	for _, at := range []model.Time{0, 500, 1000, 1000, 1700, 2000, 4000} {
		f.Advance(at, func(d network.Done) { t.Errorf("%+v is done", d) })
		got := f.Traffic(nil)
		if want := model.Bytes(at / 2); got[0].Up[network.Write] != want || got[2].Down[network.MapRead] != want {
			t.Errorf("at %d ms: %+v, want %d bytes of each", at, got, want)
		}
	}
}
