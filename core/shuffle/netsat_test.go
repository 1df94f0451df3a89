package shuffle_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/shuffle"
)

func TestDefaultSaturation(t *testing.T) {
	t.Parallel()
	want := shuffle.SaturationParams{Threshold: 0.8, Period: 1000, EWMA: 5000, Hysteresis: 0.05}
	if got := shuffle.DefaultSaturation(); got != want || got.Validate() != nil {
		t.Errorf("defaults %+v (%v), want %+v", got, got.Validate(), want)
	}
}

func TestValidateNamesEverything(t *testing.T) {
	t.Parallel()
	err := shuffle.SaturationParams{Threshold: 1.2, Period: 0, EWMA: -1, Hysteresis: -0.1}.Validate()
	for _, key := range []string{"saturation:", "period:", "ewma:", "hysteresis:"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("error %v does not name %s", err, key)
		}
	}
	if (shuffle.SaturationParams{Threshold: 0.5, Period: 1, Hysteresis: 0.5}).Validate() == nil {
		t.Error("a hysteresis that never clears is taken")
	}
}

// The smoothing: the first sample as it is, then an exponential with the time
// constant, by the time that passed.
func TestEWMA(t *testing.T) {
	t.Parallel()
	p := shuffle.DefaultSaturation()
	var m shuffle.Meter
	m.Sample(p, 1000, 100, 40)
	if m.Out != 100 || m.In != 40 {
		t.Fatalf("first sample %g and %g, want 100 and 40", m.Out, m.In)
	}
	for s := range 5 {
		m.Sample(p, model.Time(2000+1000*s), 0, 0)
	}
	if want := 100 * math.Exp(-1); math.Abs(float64(m.Out)-want) > 1e-9 || math.Abs(float64(m.In)-want*0.4) > 1e-9 {
		t.Errorf("after one time constant %g and %g, want %g and %g", m.Out, m.In, want, want*0.4)
	}
	// One gap of 5 s is as good as five of 1 s.
	var gap shuffle.Meter
	gap.Sample(p, 1000, 100, 40)
	gap.Sample(p, 6000, 0, 0)
	if math.Abs(float64(gap.Out-m.Out)) > 1e-9 {
		t.Errorf("one gap %g, five samples %g", gap.Out, m.Out)
	}
	// A clock that stands still or goes back counts as one period.
	for _, now := range []model.Time{1000, 500} {
		var back shuffle.Meter
		back.Sample(p, 1000, 100, 40)
		back.Sample(p, now, 0, 0)
		if want := 100 * math.Exp(-0.2); math.Abs(float64(back.Out)-want) > 1e-9 {
			t.Errorf("at %d: %g, want %g", now, back.Out, want)
		}
	}
	// No smoothing takes every sample as it is.
	p.EWMA = 0
	m.Sample(p, 9000, 7, 8)
	if m.Out != 7 || m.In != 8 {
		t.Errorf("unsmoothed %g and %g, want 7 and 8", m.Out, m.In)
	}
}

// Set at the threshold, cleared below threshold minus hysteresis, by the busier
// direction.
func TestHysteresis(t *testing.T) {
	t.Parallel()
	p := shuffle.SaturationParams{Threshold: 0.8, Period: 1000, Hysteresis: 0.05}
	none := p
	none.Hysteresis = 0
	for _, tc := range []struct {
		name   string
		p      shuffle.SaturationParams
		in     bool // load the downlink instead
		loads  []model.BytesPerSecond
		states []bool
	}{
		{"set and clear", p, false, []model.BytesPerSecond{79, 80, 79, 76, 75, 74, 79, 81}, []bool{false, true, true, true, true, false, false, true}},
		{"the downlink counts too", p, true, []model.BytesPerSecond{79, 80, 76, 74}, []bool{false, true, true, false}},
		{"no hysteresis", none, false, []model.BytesPerSecond{80, 79, 80}, []bool{true, false, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var m shuffle.Meter
			for i, load := range tc.loads {
				out, in := load, model.BytesPerSecond(1)
				if tc.in {
					out, in = in, out
				}
				m.Sample(tc.p, model.Time(1000*(i+1)), out, in)
				if util := m.Judge(tc.p, 100, 100); util != float64(load)/100 {
					t.Errorf("utilisation %g, want %g", util, float64(load)/100)
				}
				if m.Saturated != tc.states[i] {
					t.Errorf("load %d of 100: saturated %v, want %v", int(load), m.Saturated, tc.states[i])
				}
			}
		})
	}
}

func TestUnknownCapacityNeverSaturates(t *testing.T) {
	t.Parallel()
	var m shuffle.Meter
	p := shuffle.DefaultSaturation()
	m.Sample(p, 1000, 1e12, 1e12)
	if util := m.Judge(p, 0, 0); util != 0 || m.Saturated {
		t.Errorf("utilisation %g, saturated %v", util, m.Saturated)
	}
	if util := m.Judge(p, 0, 1e12); util != 1 || !m.Saturated {
		t.Errorf("the known direction: utilisation %g, saturated %v", util, m.Saturated)
	}
	if shuffle.Ratio(5, 0) != 0 || shuffle.Ratio(5, 10) != 0.5 {
		t.Error("Ratio")
	}
}

// Whatever is sampled, the smoothed load stays between the samples' extremes,
// and the flag changes only when a bound is crossed.
func TestMeterProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := shuffle.DefaultSaturation()
		p.EWMA = model.Duration(rapid.IntRange(0, 20_000).Draw(t, "ewma"))
		var m shuffle.Meter
		now := model.Time(0)
		lo, hi := math.Inf(1), 0.0
		for range rapid.IntRange(1, 30).Draw(t, "samples") {
			load := rapid.Float64Range(0, 200).Draw(t, "load")
			now = now.Add(model.Duration(rapid.IntRange(-2000, 5000).Draw(t, "after")))
			lo, hi = min(lo, load), max(hi, load)
			before := m.Saturated
			m.Sample(p, now, model.BytesPerSecond(load), 0)
			util := m.Judge(p, 100, 100)
			if float64(m.Out) < lo-1e-9 || float64(m.Out) > hi+1e-9 {
				t.Fatalf("smoothed %g outside %g to %g", m.Out, lo, hi)
			}
			if m.Saturated != before && m.Saturated != (util >= p.Threshold) {
				t.Fatalf("became %v at %g", m.Saturated, util)
			}
			if util >= p.Threshold != m.Saturated && (util >= p.Threshold || util < p.Threshold-p.Hysteresis) {
				t.Fatalf("saturated %v at %g", m.Saturated, util)
			}
		}
	})
}
