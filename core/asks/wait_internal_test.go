package asks

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
)

// The time that counts is that of the intervals in which others could serve the key,
// from the last grant on; and the end that is given for it is when the limit is reached.
func TestWait(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w wait
		now, counts := model.Time(0), false
		want := model.Duration(0)
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			step := model.Duration(rapid.IntRange(1, 5000).Draw(t, "step"))
			if counts {
				want += step
			}
			now = now.Add(step)
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				w.restart(now)
				want = 0
			default:
				next := rapid.Bool().Draw(t, "served elsewhere")
				if changed := w.observe(now, next); changed != (next != counts) {
					t.Fatalf("changed %v, from %v to %v", changed, counts, next)
				}
				counts = next
			}
			limit := model.Duration(rapid.IntRange(1, 60_000).Draw(t, "limit"))
			switch got, ends := w.counted(now), w.ends(limit); {
			case got != want:
				t.Fatalf("%d ms count, want %d", got, want)
			case !counts && ends != never:
				t.Fatalf("it ends at %d although no time counts", ends)
			case counts && ends != now.Add(limit-want):
				t.Fatalf("it ends at %d, want %d", ends, now.Add(limit-want))
			}
		}
	})
}
