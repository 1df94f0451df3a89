package network

import (
	"heddle/core/model"
	"heddle/core/topology"
)

// Load returns what a rack's links carry now, background aside. Over a time,
// the difference of two Traffic is exact.
func (f *Fast) Load(rack int) topology.Link {
	f.flushAndSolve()
	racks := len(f.queues.config.Racks)
	out, in := 0.0, 0.0
	for i := range f.queues.queues {
		q := &f.queues.queues[i]
		if int(q.up) == rack {
			f.queues.advanceQueue(toInt32(i))
			out += q.actualRate()
		}
		if int(q.down) == racks+rack {
			f.queues.advanceQueue(toInt32(i))
			in += q.actualRate()
		}
	}
	return topology.Link{Out: perSecond(out), In: perSecond(in)}
}

func perSecond(rate float64) model.BytesPerSecond {
	return model.BytesPerSecond(rate * float64(model.Second))
}
