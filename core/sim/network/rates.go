package network

import (
	"math"
	"slices"

	"heddle/core/topology"
)

// links are the capacities of the racks' links, bytes/ms: uplinks, downlinks,
// what the interfaces of each rack carry within it, and one without an end.
type links struct {
	racks    int
	capacity []float64
	spare    []float64 // not granted
}

func newLinks(racks []Rack) links {
	l := links{racks: len(racks), capacity: make([]float64, 3*len(racks)+1)}
	for i := range racks {
		l.set(i, &racks[i], topology.Link{})
		l.capacity[2*len(racks)+i] = perMs(racks[i].NIC) * float64(racks[i].Nodes)
	}
	l.capacity[3*len(racks)] = math.Inf(1)
	l.spare = append([]float64(nil), l.capacity...)
	return l
}

// set sets a rack's links for a background load. What is spare is right again
// after the next solve.
func (l *links) set(i int, rack *Rack, load topology.Link) {
	nodes := perMs(rack.NIC) * float64(rack.Nodes)
	l.capacity[i] = min(less(rack.Uplink.Out, load.Out), nodes)
	l.capacity[l.racks+i] = min(less(rack.Uplink.In, load.In), nodes)
}

// between returns the links from one rack to another.
func (l *links) between(from, to int) (up, down int32) {
	if from == to {
		return small(2*l.racks + from), small(3 * l.racks)
	}
	return small(from), small(l.racks + to)
}

// free returns what a queue's links have spare.
func (l *links) free(q *queue) float64 { return max(min(l.spare[q.up], l.spare[q.down]), 0) }

// grant changes a queue's rate.
func (l *links) grant(q *queue, by float64) {
	q.rate += by
	l.spare[q.up] -= by
	l.spare[q.down] -= by
}

// solve gives every queue its rate from now on. While any has something to send,
// rates are solved again after the step: who ends on the way is not always known.
func (f *fabric) solve() {
	f.rest()
	step := f.step()
	s := &f.filling
	s.asks = slices.Grow(s.asks[:0], len(f.queues))[:len(f.queues)]
	for i := range f.queues {
		f.queues[i].ask(&s.asks[i], float64(step))
	}
	s.share(f.links.capacity)
	for l := range s.pipes {
		f.links.spare[l] = s.pipes[l].room
	}
	f.solved, f.next, f.mode = f.now, f.now.Add(step), mode{changed: len(f.queues) > 0}
	for i := range f.queues {
		f.queues[i].rate = s.asks[i].level * s.asks[i].weight
		f.refresh(small(i))
	}
}

// ask says what a queue asks of its links for a step: no more than it has to send
// in it.
func (q *queue) ask(a *ask, step float64) {
	a.weight, a.limit, a.most = q.weight, q.limit, q.limit
	a.up, a.down = q.up, q.down
	if all := max(q.backlog, 1); all < q.limit*q.weight*step {
		a.limit = all / (q.weight * step)
	}
}
