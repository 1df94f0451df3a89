package asks_test

import (
	"fmt"
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
)

// pinned is a table with reduces pinned to a rack of 40 hosts.
func pinned() *rig {
	r := newRig(limits(), site(1, 40, 4))
	r.plans[model.StageReduce] = asks.Target{Racks: on("/r1", 20)}
	r.ask(row(10, "*", 20))
	r.ask()
	return r
}

// BenchmarkEmpty: a call without asks of an attempt that waits for nothing.
func BenchmarkEmpty(b *testing.B) {
	r := newRig(limits(), site(1, 40, 4))
	r.ask()
	heartbeats(b, r)
}

// BenchmarkIdle: a call without asks while reduces are pinned to 40 hosts.
func BenchmarkIdle(b *testing.B) { heartbeats(b, pinned()) }

func heartbeats(b *testing.B, r *rig) {
	b.Helper()
	b.ReportAllocs()
	request := asks.Request{}
	for b.Loop() {
		request.ResponseID++
		if e := r.table.Request(r.now, &request, &r.intent); !e.Same {
			b.Fatal("not as it came")
		}
	}
}

// BenchmarkIdleNewSite: the same, and the cluster was published anew.
func BenchmarkIdleNewSite(b *testing.B) {
	r := pinned()
	b.ReportAllocs()
	sites := []*asks.Site{site(1, 40, 4), site(1, 40, 4)}
	request := asks.Request{}
	for b.Loop() {
		request.ResponseID++
		r.intent.Site = sites[request.ResponseID%2]
		if e := r.table.Request(r.now, &request, &r.intent); !e.Same {
			b.Fatal("not as it came")
		}
	}
}

// BenchmarkPin: reduces are asked for and pinned to 40 hosts.
func BenchmarkPin(b *testing.B) {
	r := pinned()
	b.ReportAllocs()
	request := asks.Request{Rows: []asks.Row{row(10, "*", 20)}}
	for b.Loop() {
		request.ResponseID++
		if e := r.table.Request(r.now, &request, &r.intent); len(e.Rows) != 42 {
			b.Fatal(len(e.Rows))
		}
	}
}

// BenchmarkMaps: 200 rows of maps are said and trimmed to one of five racks of 40 hosts.
func BenchmarkMaps(b *testing.B) {
	r := newRig(limits(), site(5, 40, 4))
	r.plans[model.StageMap] = asks.Target{Racks: on("/r1", 1000)}
	request := asks.Request{Rows: []asks.Row{row(20, "*", 195)}}
	for i := 1; i <= 5; i++ {
		for h := 1; h <= 39; h++ {
			request.Rows = append(request.Rows, row(20, fmt.Sprintf("w%d%d", i, h), 5))
		}
		request.Rows = append(request.Rows, row(20, fmt.Sprintf("/r%d", i), 195))
	}
	b.ReportAllocs()
	for b.Loop() {
		request.ResponseID++
		if e := r.table.Request(r.now, &request, &r.intent); len(e.Rows) != 41 {
			b.Fatal(len(e.Rows))
		}
	}
}

// TestAllocations: calls that change nothing allocate nothing.
func TestAllocations(t *testing.T) {
	for name, r := range map[string]*rig{"empty": newRig(limits(), site(1, 40, 4)), "pinned": pinned()} {
		r.ask()
		r.ask()
		request := asks.Request{ResponseID: r.id}
		if n := testing.AllocsPerRun(100, func() {
			request.ResponseID++
			r.table.Request(r.now, &request, &r.intent)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
