package rm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// entry is an element of a list.
type entry struct{ id, value int }

// Whoever puts whole and partial lists together has, after each, the list as it is.
func TestChangesMakeTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s sent[int, entry]
		known := map[int]entry{}
		partials := 0
		for range rapid.IntRange(1, 3*wholeEvery).Draw(t, "rounds") {
			list := map[int]entry{}
			for range rapid.IntRange(0, 4).Draw(t, "entries") {
				id := rapid.IntRange(0, 4).Draw(t, "id")
				list[id] = entry{id, rapid.IntRange(0, 2).Draw(t, "value")}
			}
			all := make([]entry, 0, len(list))
			for _, e := range list { // order-free: the receiver keeps a map
				all = append(all, e)
			}
			changed, partial := s.changes(all, func(e *entry) int { return e.id })
			if !partial {
				clear(known)
				partials = 0
			} else if partials++; partials >= wholeEvery {
				t.Fatalf("%d partial lists in a row", partials)
			}
			for _, e := range changed {
				known[e.id] = e
			}
			if diff := cmp.Diff(list, known, cmp.AllowUnexported(entry{})); diff != "" {
				t.Fatalf("put together (-list +known):\n%s", diff)
			}
		}
	})
}

// A list that stays as it is is sent whole at first and once in so many rounds.
func TestUnchangedListsAreEmpty(t *testing.T) {
	t.Parallel()
	var s sent[int, entry]
	list, whole := []entry{{1, 1}, {2, 1}}, 0
	for range 2 * wholeEvery {
		changed, partial := s.changes(list, func(e *entry) int { return e.id })
		if !partial {
			whole++
		}
		if partial != (len(changed) == 0) {
			t.Errorf("partial %v, %d changed", partial, len(changed))
		}
	}
	if whole != 2 {
		t.Errorf("%d whole lists", whole)
	}
}
