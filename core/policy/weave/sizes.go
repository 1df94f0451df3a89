package weave

import (
	"heddle/core/model"
	"heddle/core/state"
)

// size is what a job is expected to read, put out and take.
type size struct {
	maps, reduces  int
	input, shuffle float64 // bytes
	mapOutput      float64 // bytes; less than the shuffle where stages gather what others gathered
	predicted      bool    // the shuffle is, from maps of its own or an earlier run
	mapS, reduceS  float64 // seconds that a map and a reduce take, without what they wait for uplinks
	work, left     float64 // container seconds of all its tasks, and of what is not complete
}

// measure sizes a job by what is predicted of it, and by how long its tasks and those of others took.
func (e *entry) measure(rates *rates, p *Params, now model.Time) {
	j, z := e.job, &e.size
	is := j.Predict()
	z.maps, z.reduces = max(is.Maps, 1), j.Reduce.Tasks()
	z.input, z.shuffle, z.predicted = float64(is.Input), float64(is.Shuffle), is.Predicted
	ratio := is.Ratio
	if complete := j.Map.Total > 0 && j.Map.Completed >= j.Map.Total; !complete && !z.predicted && rates.maps.in > 0 {
		ratio = rates.maps.ratio()
		z.shuffle = ratio * z.input
	}
	z.mapOutput = z.shuffle
	if g := j.Graph; g != nil {
		e.stages.follow(g, ratio, rates)
		e.stages.due = e.stages.inTurn(g, j.Reduce, func(int, int) {})
		z.reduces, z.shuffle, z.mapOutput = max(e.stages.tasks, z.reduces), e.stages.gathered, e.stages.mapOutput
	}
	if z.input <= 0 { // not known, or there is none: a map takes as long as one that reads a block
		z.input = float64(z.maps) * p.BlockMiB * float64(model.MiB)
	}
	if z.reduces == 0 {
		z.shuffle, z.mapOutput = 0, 0
	}
	if ended, seconds := e.times.maps.follow(now, j.Map.Running, j.Map.Completed); ended > 0 {
		rates.complete(ended, seconds, z, p)
	}
	e.times.reduces.follow(now, j.Reduce.Running, j.Reduce.Completed)
	z.mapS = e.times.maps.mean(rates.of(z.input/float64(z.maps), p))
	z.reduceS = rates.of(z.shuffle/float64(max(z.reduces, 1)), p)
	reduceS := e.times.reduces.mean(z.reduceS)
	z.left = rest(j.Map, z.maps)*z.mapS + rest(j.Reduce, z.reduces)*reduceS
	if j.Graph != nil {
		left := e.stages.left(j.Graph, rates, p)*reduceS/max(z.reduceS, 1e-9) - float64(j.Reduce.Running)/2*reduceS
		z.left = rest(j.Map, z.maps)*z.mapS + max(left, 0)
	}
	if !p.Remaining {
		z.left = 0 // jobs with as much left go by arrival
	}
	z.work = float64(z.maps)*z.mapS + float64(z.reduces)*reduceS
}

// rest returns how many tasks of a stage are left, those that run as halves.
func rest(s *state.Stage, tasks int) float64 {
	return max(float64(tasks-s.Completed)-float64(s.Running)/2, 0)
}

// seconds returns how long a task of a stage takes.
func (z *size) seconds(s *state.Stage) float64 {
	if s.Kind == model.StageReduce {
		return z.reduceS
	}
	return z.mapS
}

// outputOfMap returns the map output that is expected of one map.
func (z *size) outputOfMap() float64 { return z.mapOutput / float64(z.maps) }

// cluster is what racks can do, by rack number; 0 for one without running nodes.
type cluster struct {
	racks  uint64 // as state.Capacity tells racks apart
	total  model.Resource
	memory []float64 // MiB
	uplink []float64 // bytes/s
	runs   int       // racks with running nodes
	all    struct{ memory, uplink float64 }
	busy   float64 // mean utilization of uplinks
	busyAt model.Time
}

// unknownUplink is the capacity in bytes/s that an uplink of unknown capacity counts with.
const unknownUplink = 125e6

// update reports whether nodes came or went.
func (c *cluster) update(v state.View) bool {
	now := v.Capacity()
	if c.racks == now.Racks && c.total == now.Total && len(c.memory) == len(v.Racks()) {
		return false
	}
	c.racks, c.total, c.runs, c.busyAt = now.Racks, now.Total, 0, 0
	c.memory, c.uplink = c.memory[:0], c.uplink[:0]
	c.all.memory, c.all.uplink = 0, 0
	for _, rack := range v.Racks() {
		memory, uplink := 0.0, 0.0
		if rack.Runs() {
			c.runs++
			memory = float64(rack.Total.MemoryMiB)
			if uplink = float64(rack.Link.Out); uplink <= 0 {
				uplink = unknownUplink
			}
		}
		c.memory, c.uplink = append(c.memory, memory), append(c.uplink, uplink)
		c.all.memory += memory
		c.all.uplink += uplink
	}
	return true
}

// containers returns how many tasks of a stage a rack holds.
func (c *cluster) containers(rack int, s *state.Stage) float64 {
	return max(c.memory[rack]/float64(max(s.Capability.MemoryMiB, 1)), 1)
}

// utilization returns the mean utilization of the uplinks of racks with running nodes, 1 at most for each. It is sampled
// as time goes on.
func (c *cluster) utilization(v state.View) float64 {
	if c.busyAt == v.Now() {
		return c.busy
	}
	sum := 0.0
	for _, rack := range v.Racks() {
		if rack.Runs() {
			sum += min(rack.Utilization, 1)
		}
	}
	c.busy, c.busyAt = sum/float64(max(c.runs, 1)), v.Now()
	return c.busy
}
