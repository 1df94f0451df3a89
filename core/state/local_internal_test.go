package state

import (
	"testing"

	"pgregory.net/rapid"
)

// What is counted by stage and by host is the same, whatever stages come to want
// hosts, cease to, and are forgotten in between.
func TestLocalIndexTellsWhatItWasTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			host  hostNumber
			stage stageNumber
		}
		var x localIndex
		stages := make([]wanted, 6)
		for i := range stages {
			stages[i] = wanted{local: &x, stage: stageNumber(i)}
			x.register(&stages[i])
		}
		want := map[key]int32{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			s := rapid.IntRange(0, len(stages)-1).Draw(t, "stage")
			if rapid.IntRange(0, 9).Draw(t, "what") == 0 {
				stages[s].clear()
				for k := range want { // order-free: each entry is looked at on its own
					if int(k.stage) == s {
						delete(want, k)
					}
				}
				continue
			}
			k := key{hostNumber(rapid.IntRange(0, 20).Draw(t, "host")), stageNumber(s)}
			tasks := rapid.IntRange(-2, 2).Draw(t, "tasks")
			stages[s].addOn(k.host, tasks)
			want[k] = max(want[k]+int32(tasks), 0)
			asked := hostNumber(rapid.IntRange(0, 20).Draw(t, "asked"))
			for i := range rapid.IntRange(0, 2*spreadAfter).Draw(t, "times") {
				w := &stages[i%len(stages)]
				if got := x.has(asked, w); got != (want[key{asked, w.stage}] > 0) {
					t.Fatalf("host %d, stage %d: has tasks %v, want %d", asked, w.stage, got, want[key{asked, w.stage}])
				}
			}
		}
		listed := 0
		for host := range hostNumber(21) {
			for _, e := range x.at(host) {
				listed++
				if k := (key{host, e.stage}); want[k] == 0 {
					t.Fatalf("%v: in the index, without tasks", k)
				}
			}
		}
		wanting := 0
		for k, n := range want { // order-free: each entry is looked at on its own
			if got := stages[k.stage].on(k.host); got != n {
				t.Fatalf("%v: %d tasks, want %d", k, got, n)
			}
			wanting += int(min(n, 1))
		}
		places := 0
		for i := range stages {
			places += stages[i].placesOn
		}
		if listed != wanting || places != wanting {
			t.Fatalf("%d entries in the index, %d hosts counted, want %d", listed, places, wanting)
		}
	})
}

// A table of hosts holds what a map would.
func TestHostTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var table hostTable[int]
		want := map[hostNumber]int{}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			host := hostNumber(rapid.IntRange(0, 60).Draw(t, "host") * rapid.SampledFrom([]int{1, 64, 4096}).Draw(t, "stride"))
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0:
				table.empty()
				clear(want)
			default:
				*table.entry(host)++
				want[host]++
			}
			if got := table.at(host); got != want[host] {
				t.Fatalf("host %d: %d, want %d", host, got, want[host])
			}
		}
		n := 0
		for host, v := range table.all() {
			n++
			if *v != want[host] {
				t.Fatalf("host %d: %d, want %d", host, *v, want[host])
			}
		}
		if n != len(want) || table.find(noHost) != nil {
			t.Fatalf("%d hosts, want %d; something is kept of no host: %v", n, len(want), table.find(noHost))
		}
	})
}
