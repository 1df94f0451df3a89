package uplink

import (
	"time"

	"heddle/core/model"
)

// meter turns the successive values of one byte counter into a rate.
type meter struct {
	value int64
	at    time.Time // when value was read; zero before the first
	rate  model.BytesPerSecond
	rated bool // rate is that of the span that ended at at
}

// reading is how a new value of a counter was taken.
type reading uint8

const (
	first   reading = iota // nothing to compare with
	rated                  // a rate was computed
	restart                // the counter fell: the daemon started anew
	jump                   // the clock went back, or much time has passed
	tooFast                // faster than any link
)

// read applies a new value. Only rated gives a rate; all others start again
// from this value, so that no rate is ever negative or spans a restart.
func (m *meter) read(value int64, at time.Time, forget time.Duration, limit model.BytesPerSecond) reading {
	old := *m
	*m = meter{value: value, at: at}
	span := at.Sub(old.at)
	switch {
	case old.at.IsZero():
		return first
	case value < old.value:
		return restart
	case span <= 0 || span > forget:
		return jump
	}
	rate := model.BytesPerSecond(float64(value-old.value) / span.Seconds())
	if rate > limit {
		return tooFast
	}
	m.rate, m.rated = rate, true
	return rated
}

// fresh returns the rate, if there is one that is not older than forget.
func (m *meter) fresh(now time.Time, forget time.Duration) (model.BytesPerSecond, bool) {
	age := now.Sub(m.at)
	return m.rate, m.rated && age >= 0 && age <= forget
}
