package uplink

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
)

// near compares rates but for the last bits of a float.
func near() cmp.Option {
	return cmp.Comparer(func(a, b model.BytesPerSecond) bool {
		return math.Abs(float64(a-b)) <= 1e-9*max(1, math.Abs(float64(a)))
	})
}

func TestMeter(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(1795218000000)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	for _, c := range []struct {
		name   string
		values []int64
		at     []float64
		last   reading
		rate   model.BytesPerSecond
	}{
		{"first", []int64{100}, []float64{0}, first, 0},
		{"steady", []int64{100, 600}, []float64{0, 5}, rated, 100},
		{"still", []int64{100, 100}, []float64{0, 5}, rated, 0},
		{"restarted", []int64{100, 600, 50}, []float64{0, 5, 10}, restart, 0},
		{"after a restart", []int64{100, 600, 50, 550}, []float64{0, 5, 10, 15}, rated, 100},
		{"clock back", []int64{100, 600, 1100}, []float64{0, 5, -100}, jump, 0},
		{"after the clock went back", []int64{100, 600, 1100}, []float64{0, -100, -95}, rated, 100},
		{"same instant", []int64{100, 600}, []float64{0, 0}, jump, 0},
		{"clock far ahead", []int64{100, 600}, []float64{0, 3600}, jump, 0},
		{"absurd", []int64{100, 1e12}, []float64{0, 1}, tooFast, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var m meter
			var got reading
			for i, v := range c.values {
				got = m.read(v, at(c.at[i]), 25*time.Second, 1e9)
			}
			rate, ok := m.fresh(at(c.at[len(c.at)-1]), 25*time.Second)
			if got != c.last || rate != c.rate || ok != (c.last == rated) {
				t.Errorf("reading %d, rate %v, %t", got, rate, ok)
			}
			if _, ok := m.fresh(at(c.at[len(c.at)-1]+26), 25*time.Second); ok {
				t.Error("an old rate is fresh")
			}
		})
	}
}

// TestMeterNeverLies reads any values at any times: what comes out is a rate
// that a link can have.
func TestMeterNeverLies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 1e9
		var m meter
		at := time.UnixMilli(1795218000000)
		for i := range rapid.IntRange(1, 20).Draw(t, "readings") {
			value := rapid.Int64Range(0, math.MaxInt64).Draw(t, fmt.Sprint("value ", i))
			at = at.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, fmt.Sprint("span ", i))))
			m.read(value, at, time.Minute, limit)
			if rate, ok := m.fresh(at, time.Minute); ok && !(rate >= 0 && rate <= limit) {
				t.Fatalf("rate %v", rate)
			}
		}
	})
}

// TestSpreadOfAMatrix takes any shuffle in progress: with the shares of its
// own matrix, the estimate is the truth.
func TestSpreadOfAMatrix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "racks")
		matrix := make([][]float64, n)
		var crossing float64
		for a := range matrix {
			matrix[a] = make([]float64, n)
			for b := range matrix[a] {
				matrix[a][b] = float64(rapid.IntRange(0, 1000).Draw(t, "bytes"))
				if a != b {
					crossing += matrix[a][b]
				}
			}
		}
		rack := func(i int) model.RackID { return model.RackID(fmt.Sprintf("/rack%d", i)) }
		index := map[model.RackID]int{}
		loads := map[model.RackID]rackLoad{}
		leaves, enters := make([]float64, n), make([]float64, n)
		for a := range matrix {
			index[rack(a)] = a
			var served float64
			for b, bytes := range matrix[a] {
				served += bytes
				if a != b {
					leaves[a] += bytes
					enters[b] += bytes
				}
			}
			loads[rack(a)] = rackLoad{measured: true, served: model.BytesPerSecond(served)}
		}
		got := estimateUplinks(loads, func(r model.RackID) (float64, float64) {
			i := index[r]
			return leaves[i] / float64(loads[r].served), enters[i] / crossing // 0/0 included
		}, nil)
		for i, s := range got {
			want := model.UplinkSample{Rack: rack(i), Out: model.BytesPerSecond(leaves[i]), In: model.BytesPerSecond(enters[i])}
			if diff := cmp.Diff(want, s, near()); diff != "" {
				t.Fatal(diff)
			}
		}
		if len(got) != n {
			t.Fatalf("%d samples of %d racks", len(got), n)
		}
	})
}

func TestSpreadOfHDFS(t *testing.T) {
	t.Parallel()
	none := func(model.RackID) (float64, float64) { return 0, 0 }
	loads := map[model.RackID]rackLoad{
		"/a": {measured: true, hosts: 2, read: 300},
		"/b": {measured: true, hosts: 1, written: 60},
		"/c": {measured: true, hosts: 1},
	}
	// Of /a's 300 read, 2 of 3 peers are in other racks, evenly in /b and /c.
	// Of /b's 60 written, all come from other racks, 2 of 3 from /a.
	want := []model.UplinkSample{{Rack: "/a", Out: 200 + 40, In: 0}, {Rack: "/b", Out: 0, In: 100 + 60}, {Rack: "/c", Out: 20, In: 100}}
	if diff := cmp.Diff(want, estimateUplinks(loads, none, nil), near()); diff != "" {
		t.Error(diff)
	}
	half := func(model.RackID) float64 { return .5 }
	want = []model.UplinkSample{{Rack: "/a", Out: 150 + 20, In: 0}, {Rack: "/b", Out: 0, In: 75 + 30}, {Rack: "/c", Out: 10, In: 75}}
	if diff := cmp.Diff(want, estimateUplinks(loads, none, half), near()); diff != "" {
		t.Error(diff)
	}
	// One rack alone has no uplink traffic, and shares out of range do no harm.
	alone := map[model.RackID]rackLoad{"/a": {measured: true, hosts: 1, read: 5, written: 5, served: 10}}
	wild := func(model.RackID) (float64, float64) { return 7, math.NaN() }
	if diff := cmp.Diff([]model.UplinkSample{{Rack: "/a", Out: 10}}, estimateUplinks(alone, wild, nil)); diff != "" {
		t.Error(diff)
	}
}
