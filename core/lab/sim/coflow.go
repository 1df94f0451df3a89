package sim

import (
	"heddle/core/lab/bounds"
	"heddle/core/model"
	"heddle/core/shuffle"
)

// fetching is when a job's shuffle went on: from the launch of the first task that
// fetches until everything is fetched that was.
type fetching struct {
	hasBegun   bool
	begin, end model.Time
}

// beginFetching marks the launch of the first task that fetches, fetchedUntil the end
// of some task's fetching.
func (f *fetching) beginFetching(at model.Time) {
	if !f.hasBegun {
		f.hasBegun, f.begin, f.end = true, at, at
	}
}

func (f *fetching) fetchedUntil(at model.Time) { f.end = max(f.end, at) }

// coflows are the shuffles across racks of the jobs that are done.
type coflows struct {
	list []bounds.Coflow
	took float64 // seconds, all of them together
}

// add adds a job's shuffle: what its scatter-gather edges move over every rack's
// uplink, and after those over every downlink, by where its tasks ran.
func (c *coflows) add(j *job, racks int) {
	bytes, some := make([]model.Bytes, 2*racks), false
	for i := range j.stages {
		t := &j.stages[i]
		drawn := 0
		for _, n := range t.launchedOn {
			drawn += n
		}
		for _, e := range t.inputs {
			if e.kind != model.ScatterGather || drawn == 0 {
				continue
			}
			all := shuffle.Total(e.from.outputByRack)
			for r, out := range e.from.outputByRack {
				here := float64(t.launchedOn[r]) / float64(drawn)
				up, down := model.Bytes(float64(out)*(1-here)), model.Bytes(float64(all-out)*here)
				bytes[r] += up
				bytes[racks+r] += down
				some = some || up > 0
			}
		}
	}
	if some {
		c.list = append(c.list, bounds.Coflow{Arrival: j.begin.Sub(0).Seconds(), Bytes: bytes})
		c.took += j.end.Sub(j.begin).Seconds()
	}
}

// means returns how long a shuffle across racks took on average, and the least that
// is with tasks placed as they were (B5 of algorithms.md 4.5), in seconds; 0 where
// there was none.
func (c *coflows) means(of *Cluster) (took, least float64) {
	if len(c.list) == 0 {
		return 0, 0
	}
	capacities := of.uplinks()
	for i := range of.Racks {
		capacities = append(capacities, of.Racks[i].Uplink.In-of.leastBackground(i).In)
	}
	n := float64(len(c.list))
	return c.took / n, bounds.CoflowSum(c.list, capacities) / n
}
