package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// crowd is a cluster with the jobs of the numbers given, all others ended.
func crowd(c *state.Cluster, numbers ...int) {
	apps := make([]model.App, len(numbers))
	for i, n := range numbers {
		apps[i] = model.App{ID: model.AppID(fmt.Sprintf("application_1_%04d", n)), User: "ann", State: model.AppRunning, Submitted: model.Time(1000 + n)}
	}
	c.Apply(model.Observation{Source: model.SourceRM, At: 1000, Fact: model.AppsFact{Apps: apps}})
}

// TestJobs: a table of jobs is a map by id, whatever numbers the jobs have, and
// every value is seen once when it leaves.
func TestJobs(t *testing.T) {
	t.Parallel()
	reused := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := state.DefaultConfig()
		cfg.FinishedJobs = 2 // so that numbers are given again
		c := state.New(cfg)
		type kept struct {
			id     model.AppID
			number int
		}
		want, left, owner := map[model.AppID]*kept{}, map[*kept]int{}, map[int]model.AppID{}
		table := policy.JobsLeaving(func(v *kept) { left[v]++ })
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			crowd(c, slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.IntRange(0, 30), 0, 6, rapid.ID).Draw(t, "live")))...)
			v := c.View()
			numbers := map[int]bool{}
			for _, j := range v.Jobs() {
				if numbers[j.Number()] {
					t.Fatalf("two live jobs have the number %d", j.Number())
				}
				numbers[j.Number()] = true
				if before := owner[j.Number()]; before != "" && before != j.ID {
					reused++
					if k := want[before]; k != nil && k.number == j.Number() {
						delete(want, before)
					}
				}
				owner[j.Number()] = j.ID
				if k := want[j.ID]; k != nil && k.number != j.Number() {
					delete(want, j.ID) // it was forgotten and came back
				}
				if k := table.Find(j); k != nil && want[j.ID] == nil && k.id == j.ID && left[k] == 0 {
					want[j.ID] = k // it came back, and back to a number it had had: what was kept is its own
				}
				switch k := table.Find(j); {
				case k != want[j.ID]:
					t.Fatalf("%s: found %v, want %v", j.ID, k, want[j.ID])
				case rapid.Bool().Draw(t, "drop"):
					table.Drop(j)
					delete(want, j.ID)
				default:
					k = table.Of(j)
					k.id, k.number = j.ID, j.Number()
					want[j.ID] = k
				}
			}
			table.Prune(v)
			if live := len(v.Jobs()); table.Len() > live {
				t.Fatalf("%d are kept of %d live jobs", table.Len(), live)
			}
			all, rows := map[model.AppID]bool{}, 0
			for id, k := range table.All() { // a job that was forgotten and came back may be there twice until it is pruned
				all[id] = true
				rows++
				if k.id != id || left[k] > 0 {
					t.Fatalf("%s: %v, which left %d times", id, k, left[k])
				}
			}
			for id := range want {
				if !all[id] {
					delete(want, id) // pruned
				}
			}
			if table.Len() != rows {
				t.Fatalf("%d are kept, it says %d", rows, table.Len())
			}
		}
		for k, n := range left {
			if n != 1 {
				t.Fatalf("%v left %d times", k, n)
			}
		}
	})
	if reused < 20 {
		t.Errorf("%d numbers were given to another job: the test is too plain", reused)
	}
}
