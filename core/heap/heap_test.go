package heap_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/heap"
)

// item is a value that knows its place.
type item struct{ key, id int }

func before(a, b item) bool { return a.key < b.key }

// Whatever is added, changed and removed, the first value is the least there is,
// every value is where moved said, and all come out in order.
func TestAgainstAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		places, values := map[int]int{}, map[int]item{}
		h := heap.NewIndexed(before, func(i item, place int) { places[i.id] = place })
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			id, key := rapid.IntRange(0, 12).Draw(t, "id"), rapid.IntRange(0, 9).Draw(t, "key")
			_, there := values[id]
			switch {
			case !there:
				h.Push(item{key, id})
			case rapid.Bool().Draw(t, "remove"):
				if got := h.Remove(places[id]); got != values[id] {
					t.Fatalf("removed %+v, want %+v", got, values[id])
				}
				delete(values, id)
				continue
			default:
				h.Set(places[id], item{key, id})
			}
			values[id] = item{key, id}
		}
		if h.Len() != len(values) || len(h.Items()) != len(values) {
			t.Fatalf("%d values, want %d", h.Len(), len(values))
		}
		for id, v := range values {
			if h.Items()[places[id]] != v {
				t.Errorf("%+v is at %d, want %+v", h.Items()[places[id]], places[id], v)
			}
		}
		var keys, want []int
		for _, v := range values {
			want = append(want, v.key)
		}
		slices.Sort(want)
		for h.Len() > 0 {
			first := h.First()
			if got := h.Pop(); got != first {
				t.Fatalf("popped %+v, want the first, %+v", got, first)
			}
			keys = append(keys, first.key)
		}
		if !slices.Equal(keys, want) {
			t.Errorf("keys come as %v, want %v", keys, want)
		}
	})
}
