package network

import (
	"math"
	"slices"
)

// ask is what a queue asks of its links, and gets.
type ask struct {
	weight   float64
	limit    float64 // of its level for now
	most     float64 // its level can be at all
	level    float64 // the result
	up, down int32
	of       int32 // which ask it is a second part of
	open     bool  // it has no level yet
}

// pipe is a link while it is shared.
type pipe struct {
	room   float64 // not given away
	weight float64 // of the open asks
	wanted float64 // by all asks, if each is to have its limit
	least  float64 // no open ask that is listed has a lower limit
	open   int32   // asks
	first  int32   // where its asks are listed in members
	listed int32   // how many, with those that have got their level at another link
	short  bool    // it has not what is wanted
}

// level returns at which level of all its open asks a link is full.
func (p *pipe) level() float64 { return max(p.room, 0) / p.weight }

// brim says at which level a link is full, or a lower level.
type brim struct {
	level float64
	link  int32
}

// filling shares links out, and keeps what it needs for that.
type filling struct {
	asks    []ask
	more    []ask // for what is left once all asks have their part
	pipes   []pipe
	members []int32 // the asks of each link that is short, link after link
	brims   []brim  // of these links: a heap, lowest first
}

// crumb is what rounding leaves of a link that is shared out in full, at most, in
// bytes/ms: nothing to share again.
const crumb = 1e-6

// share gives every ask its part: what it can use for now first, then what that
// leaves, so that who has little to send is done sooner.
func (s *filling) share(capacity []float64) {
	for l, c := range capacity {
		s.pipes[l].room = c
	}
	s.fill(s.asks)
	s.more = s.more[:0]
	for i := range s.asks {
		if a := &s.asks[i]; a.level < a.most && min(s.pipes[a.up].room, s.pipes[a.down].room) > crumb {
			s.more = append(s.more, ask{weight: a.weight, limit: a.most - a.level, up: a.up, down: a.down, of: small(i)})
		}
	}
	s.fill(s.more)
	for i := range s.more {
		s.asks[s.more[i].of].level += s.more[i].level
	}
}

// fill gives asks their max-min fair levels of what the links have room for, and
// takes it from them. It is progressive filling, a link at a time: at the link
// that would be full first, the asks whose limit comes before that get their
// limit, and only when there is none the others what the link has for each. No
// link's level falls on the way, so that what is settled stays right, and a level
// that was worked out earlier is a lower bound.
func (s *filling) fill(asks []ask) {
	if len(asks) == 0 {
		return
	}
	s.gather(asks)
	for len(s.brims) > 0 {
		p := &s.pipes[s.brims[0].link]
		if p.open == 0 {
			s.drop()
			continue
		}
		level := p.level()
		if level > s.brims[0].level {
			s.brims[0].level = level
			s.sink(0)
			continue
		}
		if p.least <= level {
			s.settle(asks, p, level)
			continue
		}
		for _, i := range s.members[p.first : p.first+p.listed] {
			if asks[i].open {
				s.give(&asks[i], level)
			}
		}
		s.drop()
	}
}

// gather lists the asks of every link that is short. Nobody waits for the others:
// who crosses no link that is short gets all it asks for.
func (s *filling) gather(asks []ask) {
	for l := range s.pipes {
		s.pipes[l] = pipe{room: s.pipes[l].room, least: math.Inf(1)}
	}
	for i := range asks {
		a := &asks[i]
		a.open = true
		for _, l := range [2]int32{a.up, a.down} {
			p := &s.pipes[l]
			p.weight += a.weight
			p.wanted += a.weight * a.limit
			p.open++
		}
	}
	listed := s.findShort()
	s.members = slices.Grow(s.members[:0], listed)[:listed]
	for i := range asks {
		a := &asks[i]
		up, down := &s.pipes[a.up], &s.pipes[a.down]
		if !up.short && !down.short {
			s.give(a, a.limit)
			continue
		}
		for _, p := range [2]*pipe{up, down} {
			if p.short {
				s.members[p.first+p.listed] = small(i)
				p.listed++
				p.least = min(p.least, a.limit)
			}
		}
	}
}

// findShort finds the links that have less than is wanted, and returns how many
// asks these have.
func (s *filling) findShort() int {
	s.brims = s.brims[:0]
	listed := 0
	for l := range s.pipes {
		if p := &s.pipes[l]; p.wanted > p.room {
			p.short, p.first = true, small(listed)
			listed += int(p.open)
			s.brims = append(s.brims, brim{p.level(), small(l)})
		}
	}
	for i := len(s.brims)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
	return listed
}

// settle gives the asks of a link whose limit is not above a level their limit.
func (s *filling) settle(asks []ask, p *pipe, level float64) {
	p.least = math.Inf(1)
	kept := p.first
	for _, i := range s.members[p.first : p.first+p.listed] {
		switch a := &asks[i]; {
		case !a.open:
		case a.limit <= level:
			s.give(a, a.limit)
		default:
			p.least = min(p.least, a.limit)
			s.members[kept] = i
			kept++
		}
	}
	p.listed = kept - p.first
}

// give gives an ask its level.
func (s *filling) give(a *ask, level float64) {
	a.level, a.open = level, false
	for _, l := range [2]int32{a.up, a.down} {
		p := &s.pipes[l]
		p.room -= level * a.weight
		p.weight -= a.weight
		p.open--
	}
}

// drop takes the first link off the heap, sink moves one down to where it belongs.
func (s *filling) drop() {
	last := len(s.brims) - 1
	s.brims[0] = s.brims[last]
	s.brims = s.brims[:last]
	s.sink(0)
}

func (s *filling) sink(i int) {
	for {
		child := 2*i + 1
		if child+1 < len(s.brims) && s.brims[child+1].level < s.brims[child].level {
			child++
		}
		if child >= len(s.brims) || s.brims[child].level >= s.brims[i].level {
			return
		}
		s.brims[i], s.brims[child] = s.brims[child], s.brims[i]
		i = child
	}
}
