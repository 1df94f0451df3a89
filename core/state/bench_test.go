package state_test

import (
	"fmt"
	"testing"

	"heddle/core/model"
	"heddle/core/state"
)

// BenchmarkPoll applies one ResourceManager poll of 5,000 nodes on 100 racks
// and 2,000 applications, all of which moved, and publishes a snapshot.
func BenchmarkPoll(b *testing.B) {
	polls := [2][]model.Fact{bigPoll(0), bigPoll(1)}
	f := newFeed(state.DefaultConfig())
	f.apply(polls[0]...)
	f.c.Snapshot()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.later(model.Second).apply(polls[i%2]...)
		f.c.Advance(f.at)
		f.c.Snapshot()
	}
}

func bigPoll(odd int) []model.Fact {
	n := make([]model.Node, 0, 5000)
	for i := range 5000 {
		h := fmt.Sprintf("node%04d.example.com", i)
		n = append(n, model.Node{
			ID: model.NodeID(h + ":45454"), Host: h, Rack: model.RackID(fmt.Sprintf("/dc1/rack%02d", i/50)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: 65536, VCores: 32}, Used: model.Resource{MemoryMiB: int64(1024 * (i%40 + odd)), VCores: int64(i % 30)}, Containers: i%40 + odd,
		})
	}
	a := make([]model.App, 0, 2000)
	for i := range 2000 {
		x := app(i, fmt.Sprintf("user%02d", i%50), model.Time(900_000+i))
		x.Allocated, x.Containers = model.Resource{MemoryMiB: int64(1024 * (i%70 + odd))}, i%70+odd
		a = append(a, x)
	}
	return []model.Fact{model.NodesFact{Nodes: n}, model.AppsFact{Apps: a}}
}
