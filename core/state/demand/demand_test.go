package demand_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/state/demand"
	"heddle/core/state/nodes"
)

// The counts by stage and by host agree, whatever stages come to want hosts, cease
// to, and are cleared in between.
func TestDemandByHost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			host  nodes.Host
			stage demand.StageNumber
		}
		var x demand.Index
		stages := make([]*demand.Stage, 6)
		for i := range stages {
			stages[i] = &demand.Stage{}
			stages[i].Init(&x, demand.StageNumber(i))
		}
		want := map[key]int{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			s := demand.StageNumber(rapid.IntRange(0, len(stages)-1).Draw(t, "stage"))
			if rapid.IntRange(0, 9).Draw(t, "what") == 0 {
				stages[s].Clear()
				for k := range want { // order-free: each entry on its own
					if k.stage == s {
						delete(want, k)
					}
				}
				continue
			}
			k := key{nodes.Host(rapid.IntRange(0, 20).Draw(t, "host")), s}
			tasks := rapid.IntRange(-2, 2).Draw(t, "tasks")
			stages[s].AddOnHost(k.host, tasks)
			want[k] = max(want[k]+tasks, 0)
		}
		places := make([]int, len(stages))
		for host := range nodes.Host(21) {
			listed := map[demand.StageNumber]bool{}
			for _, e := range x.OnHost(host) {
				listed[e.Stage] = true
			}
			if len(listed) != len(x.OnHost(host)) {
				t.Fatalf("host %d: %d stages, of %d entries", host, len(listed), len(x.OnHost(host)))
			}
			for i, s := range stages {
				n := want[key{host, demand.StageNumber(i)}]
				if s.OnHost(host) != n || listed[demand.StageNumber(i)] != (n > 0) {
					t.Fatalf("host %d, stage %d: %d tasks, listed %t, want %d", host, i, s.OnHost(host), listed[demand.StageNumber(i)], n)
				}
				places[i] += min(n, 1)
			}
		}
		for i, s := range stages {
			if s.Places() != places[i] {
				t.Fatalf("stage %d: %d places, want %d", i, s.Places(), places[i])
			}
		}
	})
}
