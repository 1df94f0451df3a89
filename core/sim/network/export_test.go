package network

import (
	"heddle/core/model"
	"heddle/core/topology"
)

// Load returns what a rack's links carry now, background aside. Over a time,
// the difference of two Traffic is exact.
func (f *Fast) Load(rack int) topology.Link {
	f.settle()
	racks := len(f.net.config.Racks)
	out, in := 0.0, 0.0
	for i := range f.net.queues {
		q := &f.net.queues[i]
		if int(q.up) == rack {
			f.net.serve(small(i))
			out += q.pace()
		}
		if int(q.down) == racks+rack {
			f.net.serve(small(i))
			in += q.pace()
		}
	}
	return topology.Link{Out: perSecond(out), In: perSecond(in)}
}

func perSecond(rate float64) model.BytesPerSecond {
	return model.BytesPerSecond(rate * float64(model.Second))
}
