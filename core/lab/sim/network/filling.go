package network

import (
	"math"
	"slices"
)

// queueDemand is what a queue asks of its links for one step, and what it is given.
type queueDemand struct {
	weight      float64
	limit       float64 // of its level for now
	maxLevel    float64 // the highest level it can ever use
	level       float64 // the result
	up, down    int32
	firstDemand int32 // index of the demand whose second part this is
	isOpen      bool  // no level has been granted yet
}

// linkState is a link while it is shared.
type linkState struct {
	room        float64 // not given away
	weight      float64 // of the open demands
	demand      float64 // of all demands, if each gets its limit
	leastLimit  float64 // no open demand that is listed has a lower limit
	openDemands int32   // demands
	firstMember int32   // where its demands are listed in members
	memberCount int32   // how many, with those that have got their level at another link
	isScarce    bool    // it has not what is wanted
}

// level returns at which level of all its open demands a link is full.
func (p *linkState) level() float64 { return max(p.room, 0) / p.weight }

// linkLevel says at which level a link is full, or a lower level.
type linkLevel struct {
	level float64
	link  int32
}

// filling shares links out, and keeps what it needs for that.
type filling struct {
	demands []queueDemand
	second  []queueDemand // the second filling: what limits left free
	links   []linkState
	members []int32     // the demands of each link that is short, link after link
	levels  []linkLevel // of these links: a heap, lowest first
}

// epsilon is what rounding leaves of a link that is shared out in full, at most, in
// bytes/ms: nothing to share again.
const epsilon = 1e-6

// share fills the links twice: first with what each demand can use in this step,
// then with what that leaves. So queues with little to send end sooner.
func (s *filling) share(capacity []float64) {
	for l, c := range capacity {
		s.links[l].room = c
	}
	s.fill(s.demands)
	s.second = s.second[:0]
	for i := range s.demands {
		if a := &s.demands[i]; a.level < a.maxLevel && min(s.links[a.up].room, s.links[a.down].room) > epsilon {
			s.second = append(s.second, queueDemand{weight: a.weight, limit: a.maxLevel - a.level, up: a.up, down: a.down, firstDemand: toInt32(i)})
		}
	}
	s.fill(s.second)
	for i := range s.second {
		s.demands[s.second[i].firstDemand].level += s.second[i].level
	}
}

// fill gives demands their max-min fair levels of what the links have room for, and
// takes it from them. It is progressive filling, a link at a time: at the link
// that would be full first, the demands whose limit comes before that get their
// limit, and only when there is none the others what the link has for each. No
// link's level falls on the way, so that what is settled stays right, and a level
// that was worked out earlier is a lower bound.
func (s *filling) fill(demands []queueDemand) {
	if len(demands) == 0 {
		return
	}
	s.listMembers(demands)
	for len(s.levels) > 0 {
		p := &s.links[s.levels[0].link]
		if p.openDemands == 0 {
			s.pop()
			continue
		}
		level := p.level()
		if level > s.levels[0].level {
			s.levels[0].level = level
			s.sink(0)
			continue
		}
		if p.leastLimit <= level {
			s.grantLimits(demands, p, level)
			continue
		}
		for _, i := range s.members[p.firstMember : p.firstMember+p.memberCount] {
			if demands[i].isOpen {
				s.grant(&demands[i], level)
			}
		}
		s.pop()
	}
}

// listMembers lists the demands of every link that is short. A demand that
// crosses no scarce link gets its limit at once.
func (s *filling) listMembers(demands []queueDemand) {
	for l := range s.links {
		s.links[l] = linkState{room: s.links[l].room, leastLimit: math.Inf(1)}
	}
	for i := range demands {
		a := &demands[i]
		a.isOpen = true
		for _, l := range [2]int32{a.up, a.down} {
			p := &s.links[l]
			p.weight += a.weight
			p.demand += a.weight * a.limit
			p.openDemands++
		}
	}
	listed := s.findScarce()
	s.members = slices.Grow(s.members[:0], listed)[:listed]
	for i := range demands {
		a := &demands[i]
		up, down := &s.links[a.up], &s.links[a.down]
		if !up.isScarce && !down.isScarce {
			s.grant(a, a.limit)
			continue
		}
		for _, p := range [2]*linkState{up, down} {
			if p.isScarce {
				s.members[p.firstMember+p.memberCount] = toInt32(i)
				p.memberCount++
				p.leastLimit = min(p.leastLimit, a.limit)
			}
		}
	}
}

// findScarce finds the links that have less than is wanted, and returns how many
// demands these have.
func (s *filling) findScarce() int {
	s.levels = s.levels[:0]
	listed := 0
	for l := range s.links {
		if p := &s.links[l]; p.demand > p.room {
			p.isScarce, p.firstMember = true, toInt32(listed)
			listed += int(p.openDemands)
			s.levels = append(s.levels, linkLevel{p.level(), toInt32(l)})
		}
	}
	for i := len(s.levels)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
	return listed
}

// grantLimits gives the demands of a link whose limit is not above a level their limit.
func (s *filling) grantLimits(demands []queueDemand, p *linkState, level float64) {
	p.leastLimit = math.Inf(1)
	kept := p.firstMember
	for _, i := range s.members[p.firstMember : p.firstMember+p.memberCount] {
		switch a := &demands[i]; {
		case !a.isOpen:
		case a.limit <= level:
			s.grant(a, a.limit)
		default:
			p.leastLimit = min(p.leastLimit, a.limit)
			s.members[kept] = i
			kept++
		}
	}
	p.memberCount = kept - p.firstMember
}

// grant gives a demand its level.
func (s *filling) grant(a *queueDemand, level float64) {
	a.level, a.isOpen = level, false
	for _, l := range [2]int32{a.up, a.down} {
		p := &s.links[l]
		p.room -= level * a.weight
		p.weight -= a.weight
		p.openDemands--
	}
}

// pop takes the first link off the heap, sink moves one down to where it belongs.
func (s *filling) pop() {
	last := len(s.levels) - 1
	s.levels[0] = s.levels[last]
	s.levels = s.levels[:last]
	s.sink(0)
}

func (s *filling) sink(i int) {
	for {
		child := 2*i + 1
		if child+1 < len(s.levels) && s.levels[child+1].level < s.levels[child].level {
			child++
		}
		if child >= len(s.levels) || s.levels[child].level >= s.levels[i].level {
			return
		}
		s.levels[i], s.levels[child] = s.levels[child], s.levels[i]
		i = child
	}
}
