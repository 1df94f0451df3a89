package state

import (
	"testing"

	"pgregory.net/rapid"
)

// The index tells what was put into it, however often in a row it is asked for
// one host and whatever changes in between.
func TestLocalIndexTellsWhatItWasTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			host  hostNumber
			stage stageNumber
		}
		var x localIndex
		want := map[key]int32{}
		draw := func(name string) key {
			return key{
				hostNumber(rapid.IntRange(0, 2).Draw(t, name+" host")),
				stageNumber(rapid.IntRange(0, 20).Draw(t, name+" stage")),
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch k := draw("change"); {
			case rapid.Bool().Draw(t, "add"):
				e, isNew := x.entry(k.host, k.stage)
				if _, known := want[k]; known == isNew {
					t.Fatalf("entry %v: made anew %v", k, isNew)
				}
				e.tasks++
				want[k]++
			case len(x.on) > int(k.host):
				x.drop(k.host, k.stage)
				delete(want, k)
			}
			asked := draw("ask")
			for range rapid.IntRange(0, 2*spreadAfter).Draw(t, "times") {
				if got := x.tasks(asked.host, asked.stage); got != want[asked] {
					t.Fatalf("%v: %d tasks, want %d", asked, got, want[asked])
				}
				asked.stage = (asked.stage + 1) % 21
			}
		}
	})
}
