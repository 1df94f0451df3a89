package num

import (
	"math"

	"heddle/core/policy/num/schedule"

	"heddle/core/model"
	"heddle/core/state"
)

// capacity is what the cluster can do.
type capacity struct {
	memory  float64 // MiB of all running nodes
	slots   int     // for maps, where slots are typed
	network float64 // bytes/s of all uplinks of racks with running nodes
}

func (s *Sizes) capacity(v state.View) capacity {
	var c capacity
	for _, r := range v.Racks() {
		if r.Total.MemoryMiB <= 0 {
			continue
		}
		c.memory += float64(r.Total.MemoryMiB)
		c.slots += r.Slots.Maps
		if r.Link.Out > 0 {
			c.network += float64(r.Link.Out)
		} else {
			c.network += s.Uplink
		}
	}
	return c
}

// maps returns how many bytes/s the cluster maps if it runs nothing but maps of
// one job.
func (c *capacity) maps(j *state.Job, rate float64) float64 {
	if c.slots > 0 {
		return float64(c.slots) * rate
	}
	return max(c.memory/float64(max(j.Map.Capability.MemoryMiB, 1)), 1) * rate
}

// measure sizes a job in the model's units: seconds it would have the whole map
// capacity for, if all containers were its own, and seconds it would have all
// uplinks for. A shuffled byte counts in full, though one that stays in its rack
// uses no uplink: where reduces will run is not known.
func (s *Sizes) measure(e *entry, j *state.Job, c *capacity) {
	p := j.Predict()
	input, output := s.bytes(j, &p)
	left := 1.0
	if p.Maps > 0 {
		left = 1 - min(float64(j.Map.Completed)/float64(p.Maps), 1)
	}
	network := max(c.network, 1)
	whole := schedule.Arrival{Map: input / c.maps(j, s.MapRate), Shuffle: output / network}.Job()
	produced := output * (1 - left)
	if j.Output.Total >= 0 && shuffles(j) {
		produced = float64(j.Output.Total)
	}
	e.fluid = schedule.Job{
		Map: whole.Map * left, Ratio: whole.Ratio,
		Buffer: max(produced-float64(p.Fetched), 0) / network,
	}
	e.ratio = int64(math.Round(min(e.fluid.Ratio, ratioMax) / ratioUnit))
	e.reducesDue = j.ReducesDue()
	e.buffered = 0
	if e.reducesDue {
		e.buffered = int64(math.Round(e.fluid.Buffer / bufferUnit))
	}
	e.ready = e.fluid.Ready() || (j.Map.Total > 0 && j.Map.Completed >= j.Map.Total)
}

// bytes returns a job's map input and shuffle.
func (s *Sizes) bytes(j *state.Job, p *state.Prediction) (input, output float64) {
	input, output = float64(p.Input), float64(p.Shuffle)
	if p.Input <= 0 { // not known, or there is none: a map takes as long as one that reads a block
		input = float64(p.Maps) * s.BlockMiB * float64(model.MiB)
		switch {
		case p.Shuffle > 0: // as its maps have shown
		case j.Output.Total >= 0 && j.Map.Completed > 0:
			output = float64(j.Output.Total) / float64(j.Map.Completed) * float64(p.Maps)
		default:
			output = p.Ratio * input
		}
	}
	if !shuffles(j) {
		output = 0
	}
	return input, output
}

// shuffles reports whether the job has reduces, as far as is known: one that
// nothing is known of is taken to have some.
func shuffles(j *state.Job) bool {
	return j.Reduce.Total > 0 || j.Reduce.Pending > 0 || j.Reduce.Running > 0 || j.Map.Total == 0
}
