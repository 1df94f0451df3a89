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

// filling is what solving needs of every queue and link, and keeps.
type filling struct {
	weight  []float64 // by queue; 0 when it has its level, or nothing to send
	limit   []float64 // by queue: of its level
	level   []float64 // by queue: the result
	open    []float64 // by link: weight of the queues that have no level
	queues  []int     // by link: how many those are
	first   []int     // by link: where its queues begin in members
	members []int32   // the queues of each link, link after link
}

func newFilling(queues, links int) filling {
	return filling{
		weight: make([]float64, queues), limit: make([]float64, queues), level: make([]float64, queues),
		open: make([]float64, links), queues: make([]int, links), first: make([]int, links+1),
	}
}

// solve gives every queue its rate from now on.
func (f *fabric) solve() {
	f.share()
	f.solved, f.forced, f.quiet = f.now, false, false
	for _, i := range f.busy {
		f.refresh(int(i))
	}
}

// share shares the links among the queues: what each can use in a step first,
// then what that leaves, so that who has little to send is done sooner. While
// any has something to send, rates are solved again after the step: who ends on
// the way is not always known.
func (f *fabric) share() {
	s := &f.filling
	copy(f.links.spare, f.links.capacity)
	f.rest()
	f.changed = len(f.busy) > 0
	for _, i := range f.busy {
		q := &f.queues[i]
		q.rate = 0
		inStep := max(q.backlog, 1) / float64(f.config.Step) / q.weight
		s.weight[i], s.limit[i] = q.weight, min(q.limit, inStep)
	}
	f.fill()
	for _, i := range f.busy {
		q := &f.queues[i]
		if s.level[i] < q.limit && f.links.free(q) > crumb {
			s.weight[i], s.limit[i] = q.weight, q.limit-s.level[i]
		}
	}
	f.fill()
}

// crumb is what rounding leaves of a link that is shared out in full, at most, in
// bytes/ms: nothing to share again.
const crumb = 1e-6

// fill adds to the rate of every queue that has a weight its max-min fair part
// of what the links have spare, and takes it from them. It is progressive
// filling, a link at a time: at the link that would be full first, the queues
// whose limit comes before that get their limit, and only when there is none the
// others what the link has for each. No link's level falls on the way, so what
// is settled stays right.
func (f *fabric) fill() {
	s := &f.filling
	s.gather(f.busy, f.queues)
	for {
		link, level := s.fullest(f.links.spare)
		if link == none {
			return
		}
		if !f.settle(link, level, true) {
			f.settle(link, level, false)
		}
	}
}

// gather lists the queues with a weight by link.
func (s *filling) gather(busy []int32, queues []queue) {
	clear(s.open)
	clear(s.queues)
	for _, i := range busy {
		if w := s.weight[i]; w > 0 {
			for _, l := range [2]int32{queues[i].up, queues[i].down} {
				s.open[l] += w
				s.queues[l]++
			}
		}
	}
	end := 0
	for l, n := range s.queues {
		end += n
		s.first[l] = end // filled from the end
	}
	s.first[len(s.queues)] = end
	s.members = slices.Grow(s.members[:0], end)[:end]
	for _, i := range busy {
		if s.weight[i] > 0 {
			for _, l := range [2]int32{queues[i].up, queues[i].down} {
				s.first[l]--
				s.members[s.first[l]] = i
			}
		}
	}
}

// fullest returns the link that is full first when the levels of all open queues
// rise together, and at which level.
func (s *filling) fullest(spare []float64) (link int, level float64) {
	link = none
	for l, n := range s.queues {
		if n > 0 && (link == none || spare[l]*s.open[link] < spare[link]*s.open[l]) {
			link = l
		}
	}
	if link == none {
		return none, 0
	}
	return link, max(spare[link], 0) / s.open[link]
}

// settle gives the open queues of a link their level: those whose limit is not
// above it, or all. It reports whether there were any.
func (f *fabric) settle(link int, level float64, limited bool) bool {
	s := &f.filling
	found := false
	for _, i := range s.members[s.first[link]:s.first[link+1]] {
		if s.weight[i] > 0 && (!limited || s.limit[i] <= level) {
			found = true
			f.settleOne(int(i), min(level, s.limit[i]))
		}
	}
	return found
}

func (f *fabric) settleOne(queue int, level float64) {
	s := &f.filling
	q, w := &f.queues[queue], s.weight[queue]
	s.weight[queue], s.level[queue] = 0, level
	s.take(int(q.up), w)
	s.take(int(q.down), w)
	f.links.grant(q, level*w)
}

// take takes a queue off what is open on a link.
func (s *filling) take(link int, weight float64) {
	s.open[link] -= weight
	if s.queues[link]--; s.queues[link] == 0 {
		s.open[link] = 0
	}
}
