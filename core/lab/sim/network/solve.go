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
		l.setBackground(i, &racks[i], topology.Link{})
		l.capacity[2*len(racks)+i] = perMs(racks[i].NIC) * float64(racks[i].Nodes)
	}
	l.capacity[3*len(racks)] = math.Inf(1)
	l.spare = append([]float64(nil), l.capacity...)
	return l
}

// setBackground sets a rack's links for a background load. What is spare is right again
// after the next solve.
func (l *links) setBackground(i int, rack *Rack, load topology.Link) {
	nodes := perMs(rack.NIC) * float64(rack.Nodes)
	l.capacity[i] = min(remaining(rack.Uplink.Out, load.Out), nodes)
	l.capacity[l.racks+i] = min(remaining(rack.Uplink.In, load.In), nodes)
}

// between returns the links from one rack to another.
func (l *links) between(from, to int) (up, down int32) {
	if from == to {
		return toInt32(2*l.racks + from), toInt32(3 * l.racks)
	}
	return toInt32(from), toInt32(l.racks + to)
}

// spareFor returns what a queue's links have spare.
func (l *links) spareFor(q *queue) float64 { return max(min(l.spare[q.up], l.spare[q.down]), 0) }

// changeRate changes a queue's rate.
func (l *links) changeRate(q *queue, by float64) {
	q.rate += by
	l.spare[q.up] -= by
	l.spare[q.down] -= by
}

// solve gives every queue its rate from now on. While any has something to send,
// rates are solved again after the step: who ends on the way is not always known.
func (f *flowQueues) solve() {
	f.advanceAll()
	step := f.stepLength()
	s := &f.filling
	s.demands = slices.Grow(s.demands[:0], len(f.queues))[:len(f.queues)]
	for i := range f.queues {
		f.queues[i].setDemand(&s.demands[i], float64(step))
	}
	s.share(f.links.capacity)
	for l := range s.links {
		f.links.spare[l] = s.links[l].room
	}
	f.solvedAt, f.solveBy, f.state = f.now, f.now.Add(step), solveState{needed: len(f.queues) > 0}
	for i := range f.queues {
		f.queues[i].rate = s.demands[i].level * s.demands[i].weight
		f.refreshEnd(toInt32(i))
	}
}

// setDemand says what a queue asks of its links for a step: no more than it has to send
// in it.
func (q *queue) setDemand(a *queueDemand, step float64) {
	a.weight, a.limit, a.maxLevel = q.weight, q.limit, q.limit
	a.up, a.down = q.up, q.down
	if all := max(q.backlog, 1); all < q.limit*q.weight*step {
		a.limit = all / (q.weight * step)
	}
}
