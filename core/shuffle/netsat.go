package shuffle

import (
	"errors"
	"math"

	"heddle/core/model"
)

// SaturationParams are NetSat's settings (ShuffleWatcher §3.1, §4.2;
// algorithms.md 2.1.2). The paper gives the threshold only; period, smoothing
// and hysteresis are heddle's resolution.
type SaturationParams struct {
	Threshold  float64        // utilisation at which a rack becomes saturated, 0..1
	Period     model.Duration // between two samples
	EWMA       model.Duration // time constant of the smoothing; 0 takes each sample as it is
	Hysteresis float64        // how far below Threshold the flag clears; 0 is none
}

// DefaultSaturation returns appendix C's values: 0.80, 1 s, 5 s, 0.05.
func DefaultSaturation() SaturationParams {
	return SaturationParams{Threshold: 0.80, Period: model.Second, EWMA: 5 * model.Second, Hysteresis: 0.05}
}

// Validate reports every setting that is out of range.
func (p SaturationParams) Validate() error {
	var errs []error
	if p.Threshold <= 0 || p.Threshold > 1 {
		errs = append(errs, errors.New("saturation: must be above 0 and at most 1"))
	}
	if p.Period <= 0 {
		errs = append(errs, errors.New("period: must be above 0"))
	}
	if p.EWMA < 0 {
		errs = append(errs, errors.New("ewma: must not be negative"))
	}
	if p.Hysteresis < 0 || p.Hysteresis >= p.Threshold {
		errs = append(errs, errors.New("hysteresis: must be at least 0 and below saturation"))
	}
	return errors.Join(errs...)
}

// Meter smooths the load of one uplink and says whether it is saturated. The
// zero value is an idle link that has not been sampled.
type Meter struct {
	Out, In   model.BytesPerSecond // smoothed
	Saturated bool
	last      model.Time
	sampled   bool
}

// Sample takes the load of the uplink over the time up to now. A clock that
// stands still or jumps back counts as one period.
func (m *Meter) Sample(p SaturationParams, now model.Time, out, in model.BytesPerSecond) {
	keep := 0.0
	if m.sampled && p.EWMA > 0 {
		dt := now.Sub(m.last)
		if dt <= 0 {
			dt = p.Period
		}
		keep = math.Exp(-float64(dt) / float64(p.EWMA))
	}
	m.Out = model.BytesPerSecond(keep)*m.Out + model.BytesPerSecond(1-keep)*out
	m.In = model.BytesPerSecond(keep)*m.In + model.BytesPerSecond(1-keep)*in
	m.last, m.sampled = now, true
}

// Judge sets the flag for an uplink of the given capacities and returns the
// utilisation of its busier direction. A capacity of 0 is not known: that
// direction never saturates.
func (m *Meter) Judge(p SaturationParams, capOut, capIn model.BytesPerSecond) float64 {
	util := max(Ratio(m.Out, capOut), Ratio(m.In, capIn))
	switch {
	case util >= p.Threshold:
		m.Saturated = true
	case util < p.Threshold-p.Hysteresis || p.Hysteresis == 0:
		m.Saturated = false
	}
	return util
}

// Ratio returns load over capacity, 0 for a capacity that is not known.
func Ratio(load, capacity model.BytesPerSecond) float64 {
	if capacity <= 0 {
		return 0
	}
	return float64(load) / float64(capacity)
}
