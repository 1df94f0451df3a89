package replay

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/model"
)

// peaks finds the highest rate on any uplink in one direction. What lies before the first
// reduce of every job that has not ended is folded into it, so that its memory is that of
// the live jobs.
type peaks struct {
	links map[direction]*link
	added int // changes since the last fold
}

// direction is one direction of a rack's uplink.
type direction struct {
	rack model.RackID
	in   bool
}

// link is the rate of one direction over time.
type link struct {
	level, highest float64 // bytes/s; up to where changes were folded
	changes        []change
}

// change is a change of a rate.
type change struct {
	at   model.Time
	rate float64
}

// foldEvery is how many changes are kept before those that are final are folded.
const foldEvery = 1 << 15

// add spreads the bytes that a job's shuffle sends over each direction evenly over a time.
func (p *peaks) add(from, to model.Time, bytes map[direction]float64) {
	if from == 0 || to <= from {
		return
	}
	for d, sent := range bytes { // order-free: each link on its own
		rate := sent / to.Sub(from).Seconds()
		l := p.links[d]
		if l == nil {
			l = &link{}
			if p.links == nil {
				p.links = map[direction]*link{}
			}
			p.links[d] = l
		}
		l.changes = append(l.changes, change{from, rate}, change{to, -rate})
		p.added += 2
	}
}

// fold folds the changes before a time, before which none will be added.
func (p *peaks) fold(before model.Time) {
	p.added = 0
	for _, l := range p.links { // order-free: each on its own
		slices.SortFunc(l.changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rate, b.rate)) })
		n := 0
		for ; n < len(l.changes) && l.changes[n].at < before; n++ {
			l.level += l.changes[n].rate
			l.highest = max(l.highest, l.level)
		}
		l.changes = slices.Delete(l.changes, 0, n)
	}
}

// end returns the highest rate and its rack; 0 and "" if nothing was added.
func (p *peaks) end() (rate float64, rack model.RackID) {
	p.fold(math.MaxInt64)
	for d, l := range p.links { // order-free: of equal ones the first rack
		if l.highest > rate || (l.highest == rate && d.rack < rack) {
			rate, rack = l.highest, d.rack
		}
	}
	return rate, rack
}
