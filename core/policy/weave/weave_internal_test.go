package weave

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestCrossing: bytes across racks of a job of which all but a part of the input is on k racks.
func TestCrossing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, shuffle, part, k, want float64 }{
		"all on one rack":                           {100, 500, 0, 1, 0},
		"all on two racks":                          {100, 500, 0, 2, 250},
		"a part is read into the rack":              {100, 500, 0.2, 1, 20},
		"a part is mapped elsewhere and sent":       {100, 50, 0.2, 1, 10},
		"of two racks, a part mapped elsewhere":     {100, 50, 0.2, 2, 10 + 20},
		"nothing is put out, and nothing is read":   {100, 0, 0.2, 1, 0},
		"as much as is read, read rather than sent": {100, 100, 0.2, 1, 20},
	} {
		if got := crossing(c.input, c.shuffle, c.part, c.k); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g bytes, want %g", name, got, c.want)
		}
	}
}

// seconds returns what the busiest uplink takes with reduces placed as counts say, or waves of reduces that were not needed.
func (d *division) seconds(counts []int) float64 {
	most := 0.0
	for i, n := range counts {
		if n > d.room[i] {
			most = max(most, d.each*float64((n+d.holds[i]-1)/d.holds[i]))
		}
		part := float64(n) / float64(d.n)
		most = max(most, max(d.output[i]*(1-part), part*(d.total-d.output[i]))/d.uplink[i])
	}
	return most
}

// ways calls yield with every way to place n reduces on racks with room.
func (d *division) ways(counts []int, left int, yield func([]int)) {
	i := len(counts)
	if i == len(d.room) {
		if left == 0 {
			yield(counts)
		}
		return
	}
	for n := range left + 1 {
		d.ways(append(counts, n), left-n, yield)
	}
}

// TestDivision: of all ways to place reduces, the time of the busiest uplink is least, and of those within a limit the bytes
// across racks are.
func TestDivision(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := division{n: rapid.IntRange(1, 7).Draw(rt, "reduces")}
		for range rapid.IntRange(1, 4).Draw(rt, "racks") {
			m := float64(rapid.IntRange(0, 100).Draw(rt, "output"))
			d.output, d.total = append(d.output, m), d.total+m
			d.uplink = append(d.uplink, float64(rapid.IntRange(1, 3).Draw(rt, "uplink")))
			d.holds = append(d.holds, rapid.IntRange(1, 4).Draw(rt, "room"))
		}
		d.each = float64(rapid.IntRange(1, 60).Draw(rt, "seconds of a reduce"))
		d.makeRoom()
		least := math.Inf(1)
		d.ways(nil, d.n, func(counts []int) { least = min(least, d.seconds(counts)) })
		if got := d.fastest(); d.total > 0 && math.Abs(got-least) > 1e-6*max(least, 1) {
			rt.Fatalf("%+v: the busiest uplink takes %g s, at least %g are possible", d, got, least)
		}
		limit := least * rapid.SampledFrom([]float64{1.0001, 1.15, 2}).Draw(rt, "limit")
		fewest := math.Inf(1)
		d.ways(nil, d.n, func(counts []int) {
			if d.seconds(counts) <= limit {
				fewest = min(fewest, d.crossing(counts))
			}
		})
		counts := d.fewestBytes(nil, limit)
		sum := 0
		for _, n := range counts {
			sum += n
		}
		if sum != d.n || d.seconds(counts) > limit*(1+1e-9) || d.crossing(counts) > fewest*(1+1e-9) {
			rt.Fatalf("%+v: %v take %g s of %g, and send %g bytes; %g are possible", d, counts, d.seconds(counts), limit, d.crossing(counts), fewest)
		}
	})
}
