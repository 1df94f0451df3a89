package network

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
)

// TestCalendar compares the calendar of a growing number of things with a search
// through all times.
func TestCalendar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "things")
		c := newCalendar()
		var at []model.Time
		for range rapid.IntRange(1, 50).Draw(t, "changes") {
			i := rapid.IntRange(0, n-1).Draw(t, "thing")
			for len(at) <= i {
				at = append(at, never)
			}
			c.grow(len(at))
			at[i] = model.Time(rapid.IntRange(0, 9).Draw(t, "at"))
			c.set(i, at[i])
			first := slices.Index(at, slices.Min(at))
			if thing, when := c.earliest(); thing != first || when != at[first] {
				t.Fatalf("%d at %d is the earliest of %v, want %d", thing, when, at, first)
			}
		}
	})
}
