package network_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// load is a cluster at work, as a simulator drives it: jobs one after another,
// so many at a time, each with a reduce on every rack; maps end and leave output,
// some of them read a block from another rack, reduces write to another rack.
type load struct {
	f       *network.Fast
	rng     *rand.Rand
	racks   int
	now     model.Time
	jobs    []network.JobID
	maps    []int // still to come, by place in jobs
	changes int
	work
}

// work is what happens in a second.
type work struct {
	ends      int         // of maps
	output    model.Bytes // of each
	transfers int         // of 128 MiB
}

// newLoad returns a load on 30 racks of 20 nodes, 1 Gbit/s a rack and 250 Mbit/s
// a node (algorithms.md 3.3).
func newLoad(tb testing.TB, jobs int, w work, step model.Duration) *load {
	tb.Helper()
	racks := many(30, rack(125e6, 31.25e6, 20))
	l := &load{f: newFast(tb, racks, step), rng: rand.New(rand.NewPCG(1, 2)), racks: len(racks), work: w}
	for range jobs {
		l.jobs = append(l.jobs, l.f.AddJob(1))
		l.maps = append(l.maps, 0)
	}
	return l
}

// second lets a second pass.
func (l *load) second() {
	from, all := l.now, l.ends+l.transfers
	for i := range all {
		l.advance(from + model.Time(i*1000/all))
		if l.rng.IntN(all) < l.ends {
			l.mapEnds()
		} else {
			l.f.AddTransfer(network.MapRead+network.Kind(l.rng.IntN(2)), l.rng.IntN(l.racks), l.rng.IntN(l.racks), 128*model.MiB)
			l.changes++
		}
	}
	l.advance(from + 1000)
}

func (l *load) advance(to model.Time) {
	for {
		at, ok := l.f.Next()
		if !ok || at > to {
			break
		}
		l.f.Advance(at, func(network.Done) { l.changes++ })
	}
	l.f.Advance(to, func(network.Done) { l.changes++ })
	l.now = to
}

func (l *load) mapEnds() {
	i := l.rng.IntN(len(l.jobs))
	if l.maps[i] == 0 { // a new job in the place of the old one
		l.f.RemoveJob(l.jobs[i])
		l.jobs[i] = l.f.AddJob(60)
		l.maps[i] = 1 + l.rng.IntN(1000)
		for r := range l.racks {
			l.f.AddReduces(l.jobs[i], r, 2)
			l.changes++
		}
	}
	l.f.AddOutput(l.jobs[i], l.rng.IntN(l.racks), l.output)
	l.changes++
	if l.maps[i]--; l.maps[i] == 0 {
		l.f.Seal(l.jobs[i])
	}
}

// BenchmarkFast is a simulated second of a cluster of 30 racks of 20 nodes with
// 300 jobs shuffling: lightly loaded, half and about full, with queues that only
// grow, and with thousands of transfers at once. FB-2010 over 113,000 s is 72
// maps a second that leave 54 MB each (algorithms.md 0.7, 6).
func BenchmarkFast(b *testing.B) {
	for _, bc := range []struct {
		name string
		jobs int
		work work
		step model.Duration
	}{
		{"light", 300, work{72, 5 * model.MiB, 2}, 1000},
		{"half", 300, work{72, 20 * model.MiB, 4}, 1000},
		{"full", 300, work{72, 40 * model.MiB, 4}, 1000},
		{"over", 300, work{72, 54 * model.MiB, 20}, 1000},
		{"over, 5s", 300, work{72, 54 * model.MiB, 20}, 5000},
	} {
		b.Run(bc.name, func(b *testing.B) {
			l := newLoad(b, bc.jobs, bc.work, bc.step)
			for range 100 {
				l.second()
			}
			l.changes = 0
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				l.second()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(l.changes), "ns/change")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "simulated-s/s")
		})
	}
}

// BenchmarkExact is an end of a flow and the start of the next, with so many
// flows at once on the same cluster.
func BenchmarkExact(b *testing.B) {
	for _, flows := range []int{100, 1000} {
		b.Run(strconv.Itoa(flows), func(b *testing.B) {
			x := newExact(b, many(30, rack(125e6, 31.25e6, 20)))
			rng := rand.New(rand.NewPCG(1, 2))
			another := func() {
				node := func() network.Node { return network.Node{Rack: rng.IntN(30), Number: rng.IntN(20)} }
				start(b, x, network.Flow{From: node(), To: node(), Bytes: model.Bytes(1 + rng.IntN(int(128*model.MiB))), Weight: 1})
			}
			for range flows {
				another()
			}
			b.ReportAllocs()
			for b.Loop() {
				at, _ := x.Next()
				x.Advance(at, func(network.Done) { another() })
			}
		})
	}
}
