package uplink

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	prom "github.com/prometheus/common/model"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// direction is a side of an uplink, and the value of the direction label.
type direction string

const (
	outward direction = "out" // leaving the rack
	inward  direction = "in"  // entering the rack
)

// collector puts the series of one or two answers together into samples.
type collector struct {
	rackLabel      prom.LabelName
	directionLabel prom.LabelName
	known          map[model.RackID]bool // nil allows any rack
	limit          int                   // series in all
	series         int
	rates          map[model.RackID]map[direction]model.BytesPerSecond
	duplicated     map[model.RackID]bool // racks with two series for one direction
	errors         rest.ErrorList        // of series that cannot be used
}

// add adds the series of an answer. The direction is that of the query, or "" if the
// series carry it in a label. Series that cannot be used are recorded as errors and
// left out; an answer that is no vector at all is an error.
func (c *collector) add(value prom.Value, of direction) error {
	if value == nil {
		return errors.New("the answer holds no result")
	}
	vector, ok := value.(prom.Vector)
	if !ok {
		return fmt.Errorf("the query gives a %s: it must give an instant vector", value.Type())
	}
	if len(vector) == 0 {
		return errors.New("the query gives no series: see what it gives in Prometheus itself")
	}
	if c.series += len(vector); c.series > c.limit {
		return fmt.Errorf("%w: more than %d series: aggregate with sum by (%s)", errTooLarge, c.limit, c.rackLabel)
	}
	for _, sample := range vector {
		if sample == nil {
			c.errors.Add(errors.New("a series is null"))
			continue
		}
		c.errors.Add(c.addSample(sample, of))
	}
	return nil
}

func (c *collector) addSample(sample *prom.Sample, of direction) error {
	rack, err := c.rack(sample.Metric)
	if err != nil {
		return err
	}
	if of == "" {
		switch label := direction(sample.Metric[c.directionLabel]); label {
		case outward, inward:
			of = label
		default:
			return fmt.Errorf("series %s: label %s is %q, want %s or %s", sample.Metric, c.directionLabel, label, outward, inward)
		}
	}
	rate := float64(sample.Value)
	if sample.Histogram != nil {
		return fmt.Errorf("series %s: it is a histogram", sample.Metric)
	}
	if math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 {
		return fmt.Errorf("series %s: %v is no rate in bytes per second", sample.Metric, rate)
	}
	if c.rates[rack] == nil {
		c.rates[rack] = map[direction]model.BytesPerSecond{}
	}
	if _, twice := c.rates[rack][of]; twice {
		c.duplicated[rack] = true
		return fmt.Errorf("rack %s has more than one series %s: aggregate with sum by (%s)", rack, of, c.rackLabel)
	}
	c.rates[rack][of] = model.BytesPerSecond(rate)
	return nil
}

// rack returns the rack a series is about.
func (c *collector) rack(metric prom.Metric) (model.RackID, error) {
	value, ok := metric[c.rackLabel]
	if !ok || value == "" {
		return "", fmt.Errorf("series %s has no label %s: keep it in the aggregation, or set another name for it", metric, c.rackLabel)
	}
	rack := model.RackID(value)
	if c.known == nil || c.known[rack] {
		return rack, nil
	}
	if with := model.RackID("/" + strings.Trim(string(value), "/")); c.known[with] {
		return "", fmt.Errorf("series %s: no rack is called %q, but one is %q: add what is missing with label_replace", metric, value, with)
	}
	return "", fmt.Errorf("series %s: no rack is called %q", metric, value)
}

// samples returns a sample for each rack that has both directions, by rack,
// and what was wrong with others.
func (c *collector) samples() ([]model.UplinkSample, error) {
	samples := make([]model.UplinkSample, 0, len(c.rates))
	for _, rack := range slices.Sorted(maps.Keys(c.rates)) {
		out, hasOut := c.rates[rack][outward]
		in, hasIn := c.rates[rack][inward]
		switch {
		case c.duplicated[rack]:
		case hasOut && hasIn:
			samples = append(samples, model.UplinkSample{Rack: rack, Out: out, In: in})
		case hasOut:
			c.errors.Add(fmt.Errorf("rack %s has no series %s", rack, inward))
		default:
			c.errors.Add(fmt.Errorf("rack %s has no series %s", rack, outward))
		}
	}
	return samples, c.errors.Err()
}
