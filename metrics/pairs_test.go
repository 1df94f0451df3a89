package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

func traffic(racks int, bytes [][]float64) snapshot.Traffic {
	t := snapshot.Traffic{Bytes: map[snapshot.TrafficKind][][]float64{snapshot.TrafficShuffle: bytes}}
	for i := range racks {
		t.Racks = append(t.Racks, model.RackID(fmt.Sprintf("/r%03d", i)))
	}
	return t
}

// series returns the shuffle series of a dump by name.
func series(t fataler, dump string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for line := range strings.Lines(dump) {
		if strings.HasPrefix(line, "heddle_cross_rack_bytes_total{") && strings.Contains(line, `kind="shuffle"`) {
			name, _, _ := strings.Cut(line, " ")
			out[name], _ = value(dump, name)
		}
	}
	return out
}

const otherShuffle = `heddle_cross_rack_bytes_total{dst_rack="other",kind="shuffle",src_rack="other"}`

func TestPairsWithinTheLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 6)
	r.snap = &snapshot.Snapshot{Seq: 1, Traffic: traffic(3, [][]float64{{7, 1, 2}, {3}})}
	d := r.dump(t)
	want(t, d, `heddle_cross_rack_bytes_total{dst_rack="/r001",kind="shuffle",src_rack="/r000"}`, 1)
	want(t, d, `heddle_cross_rack_bytes_total{dst_rack="/r000",kind="shuffle",src_rack="/r001"}`, 3)
	want(t, d, otherShuffle, 0)
	if n := len(series(t, d)); n != 4 {
		t.Errorf("%d shuffle series, want 3 pairs and other; what stays on a rack is none:\n%s", n, d)
	}
}

// TestPairsBeyondTheLimit: the largest pairs get the series, the rest is one
// figure, and a pair that grows later starts where "other" leaves it.
func TestPairsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	rows := [][]float64{{0, 100, 1}, {50, 0, 2}, {3, 4, 0}}
	r.snap = &snapshot.Snapshot{Seq: 1, Traffic: traffic(3, rows)}
	d := r.dump(t)
	want(t, d, `heddle_cross_rack_bytes_total{dst_rack="/r001",kind="shuffle",src_rack="/r000"}`, 100)
	want(t, d, otherShuffle, 60) // 50 is less than half of 160: no series yet
	if n := len(series(t, d)); n != 2 {
		t.Errorf("%d series, want 2:\n%s", n, d)
	}
	rows = [][]float64{{0, 101, 1}, {500, 0, 2}, {3, 4, 0}}
	r.snap = &snapshot.Snapshot{Seq: 2, Traffic: traffic(3, rows)}
	d = r.dump(t)
	want(t, d, `heddle_cross_rack_bytes_total{dst_rack="/r000",kind="shuffle",src_rack="/r001"}`, 0)
	want(t, d, otherShuffle, 510)
	rows = [][]float64{{0, 101, 1}, {520, 0, 900}, {3, 4, 0}}
	r.snap = &snapshot.Snapshot{Seq: 3, Traffic: traffic(3, rows)}
	d = r.dump(t)
	want(t, d, `heddle_cross_rack_bytes_total{dst_rack="/r000",kind="shuffle",src_rack="/r001"}`, 20)
	want(t, d, otherShuffle, 1408) // the limit is met: 900 has no series
	if n := len(series(t, d)); n != 3 {
		t.Errorf("%d series, want the limit of 2 and other:\n%s", n, d)
	}
}

// TestOtherOutlivesRounding: when a pair grows so large that the rest is lost
// in the rounding of the sum, "other" stays where it was.
func TestOtherOutlivesRounding(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.snap = &snapshot.Snapshot{Seq: 1, Traffic: traffic(3, [][]float64{{0, 9, 5}, {1, 0}})}
	want(t, r.dump(t), otherShuffle, 6)
	r.snap = &snapshot.Snapshot{Seq: 2, Traffic: traffic(3, [][]float64{{0, 1e17, 5}, {1, 0}})}
	want(t, r.dump(t), otherShuffle, 6)
}

// TestPairsNeverGoBack: whatever traffic grows where, no series shrinks or
// disappears, all of them sum to the traffic, and the limit holds.
func TestPairsNeverGoBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		racks, limit := rapid.IntRange(2, 6).Draw(rt, "racks"), rapid.IntRange(1, 12).Draw(rt, "limit")
		r := newRig(t, limit)
		rows := make([][]float64, racks)
		for i := range rows {
			rows[i] = make([]float64, racks)
		}
		var before map[string]float64
		total := 0.0
		for step := range rapid.IntRange(1, 8).Draw(rt, "steps") {
			for range rapid.IntRange(0, 5).Draw(rt, "flows") {
				s, d := rapid.IntRange(0, racks-1).Draw(rt, "src"), rapid.IntRange(0, racks-1).Draw(rt, "dst")
				b := rapid.Float64Range(0, 1e12).Draw(rt, "bytes")
				rows[s][d] += b
				if s != d {
					total += b
				}
			}
			r.snap = &snapshot.Snapshot{Seq: uint64(step + 1), Traffic: traffic(racks, rows)}
			now := series(rt, r.dump(rt))
			sum := 0.0
			for name, v := range now {
				sum += v
				if v < before[name] {
					rt.Fatalf("%s went back from %v to %v", name, before[name], v)
				}
			}
			for name := range before {
				if _, ok := now[name]; !ok {
					rt.Fatalf("%s disappeared", name)
				}
			}
			if len(now) > limit+1 {
				rt.Fatalf("%d series with a limit of %d", len(now), limit)
			}
			if diff := sum - total; diff > 1 || diff < -1 {
				rt.Fatalf("series sum to %v, traffic is %v", sum, total)
			}
			before = now
		}
	})
}
