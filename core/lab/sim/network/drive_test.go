package network_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// drive does random things to a network, and keeps what it must answer.
type drive struct {
	f      *network.Fast
	racks  []network.Rack
	now    model.Time
	moving map[network.ID]transferred
	groups map[network.ID]int // rack
	want   []network.Traffic  // transfers that are done or removed
	jobs   []*driven
	log    []network.Done
}

type transferred struct {
	kind     network.Kind
	from, to int
	bytes    model.Bytes
}

type driven struct {
	id      network.JobID
	reduces int
	started []int // by rack
	output  []model.Bytes
}

func newDrive(t *rapid.T, racks []network.Rack, step model.Duration) *drive {
	d := &drive{f: newFast(t, racks, step), racks: racks, moving: map[network.ID]transferred{}, groups: map[network.ID]int{}}
	d.want = make([]network.Traffic, len(racks))
	return d
}

func (d *drive) count(x transferred, bytes model.Bytes) {
	if x.from != x.to {
		d.want[x.from].Up[x.kind] += bytes
		d.want[x.to].Down[x.kind] += bytes
	}
}

func (d *drive) done(x network.Done) {
	d.log = append(d.log, x)
	if x.Kind == network.Shuffle {
		delete(d.groups, x.ID)
		return
	}
	d.count(d.moving[x.ID], d.moving[x.ID].bytes)
	delete(d.moving, x.ID)
}

// step does one random thing.
func (d *drive) step(t *rapid.T) {
	rackOf := func() int { return rapid.IntRange(0, len(d.racks)-1).Draw(t, "rack") }
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0, 1:
		x := transferred{network.Kind(rapid.IntRange(1, 2).Draw(t, "kind")), rackOf(), rackOf(), model.Bytes(rapid.IntRange(0, 9000).Draw(t, "bytes"))}
		d.moving[d.f.AddTransfer(x.kind, x.from, x.to, x.bytes)] = x
	case 2:
		n := rapid.IntRange(1, 7).Draw(t, "reduces")
		d.jobs = append(d.jobs, &driven{d.f.AddJob(n), n, make([]int, len(d.racks)), make([]model.Bytes, len(d.racks))})
	case 3, 4:
		for _, j := range d.jobs {
			r, b := rackOf(), model.Bytes(rapid.IntRange(1, 20_000).Draw(t, "output"))
			j.output[r] += b
			d.f.AddOutput(j.id, r, b)
		}
	case 5:
		for _, j := range d.jobs {
			if j.reduces > 0 {
				r, n := rackOf(), rapid.IntRange(1, j.reduces).Draw(t, "start")
				j.reduces -= n
				j.started[r] += n
				d.groups[d.f.AddReduces(j.id, r, n)] = r
			}
		}
	case 6:
		id := network.ID(rapid.IntRange(0, 3).Draw(t, "remove"))
		if x, ok := d.moving[id]; ok {
			d.count(x, x.bytes-d.f.RemoveTransfer(id))
			delete(d.moving, id)
		}
	}
	d.now += model.Time(rapid.IntRange(0, 4000).Draw(t, "wait"))
	d.f.Advance(d.now, d.done)
}

// finish starts what is left, seals all jobs, and goes on to the end.
func (d *drive) finish(t *rapid.T) {
	for i, j := range d.jobs {
		if i%2 == 0 {
			d.f.Seal(j.id)
		}
		if j.reduces > 0 {
			j.started[0] += j.reduces
			d.groups[d.f.AddReduces(j.id, 0, j.reduces)] = 0
		}
		d.f.Seal(j.id)
	}
	for range 100_000 {
		at, ok := d.f.Next()
		if !ok {
			return
		}
		d.now = at.Add(10 * model.Second) // many a step
		d.f.Advance(d.now, d.done)
	}
	t.Fatal("it does not come to an end")
}

// TestFastConserves does random things to the fast form and wants every byte
// counted once, on the links it crossed, no link above its capacity from one
// moment to the next, and everything done in the end.
func TestFastConserves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := drawRacks(t)
		faster(racks, 20)
		d := newDrive(t, racks, model.Duration(rapid.SampledFrom([]int{20, 300, 1000, 5000}).Draw(t, "step")))
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			before, from := d.f.Traffic(nil), d.now
			d.step(t)
			checkCapacity(t, racks, before, d.f.Traffic(nil), d.now-from)
			for r := range racks {
				if l := d.f.Load(r); l.Out > racks[r].Uplink.Out*(1+1e-9) || l.In > racks[r].Uplink.In*(1+1e-9) {
					t.Errorf("rack %d of %+v carries %+v", r, racks[r], l)
				}
			}
		}
		d.finish(t)
		if len(d.moving) > 0 || len(d.groups) > 0 {
			t.Errorf("%d transfers and %d groups are not done", len(d.moving), len(d.groups))
		}
		checkShuffled(t, d)
	})
}

// checkShuffled compares what has crossed with the transfers, exactly, and with
// each job's output, for every rack within a byte a group and exactly in sum.
func checkShuffled(t *rapid.T, d *drive) {
	got := d.f.Traffic(nil)
	shuffled := make([]model.Bytes, len(d.racks))
	slack := make([]model.Bytes, len(d.racks))
	for _, j := range d.jobs {
		n := model.Bytes(sumInts(j.started))
		for r, out := range j.output {
			shuffled[r] += out - out*model.Bytes(j.started[r])/n
			slack[r] += n // rounding, at most one for each time reduces start
		}
	}
	var up, down model.Bytes
	for r := range got {
		up += got[r].Up[network.Shuffle]
		down += got[r].Down[network.Shuffle]
		if off := got[r].Up[network.Shuffle] - shuffled[r]; off > slack[r] || off < -slack[r] {
			t.Errorf("rack %d sent %d bytes of shuffles, want %d", r, got[r].Up[network.Shuffle], shuffled[r])
		}
		got[r].Up[network.Shuffle], got[r].Down[network.Shuffle] = 0, 0
	}
	if up != down {
		t.Errorf("%d bytes of shuffles went up and %d down", up, down)
	}
	if !slices.Equal(got, d.want) {
		t.Errorf("transfers: %v, want %v", got, d.want)
	}
}

func sumInts(ns []int) (all int) {
	for _, n := range ns {
		all += n
	}
	return all
}
