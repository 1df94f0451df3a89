package asks

import (
	"slices"

	"heddle/core/model"
)

// pin ties a key to the racks of its plan: hosts, racks and a strict ANY, in one
// message (relay-facts.md 2).
func (p *racks) pin() verdict {
	v := verdict{action: model.ActionPin}
	moved := p.turn()
	p.share(p.k.ask)
	if p.overflow() || moved {
		v.event = model.ActionNextRack
	}
	p.note()
	return v
}

// share gives n out to the planned racks by what they still want. What is more
// than all want goes by what they were planned to get.
func (p *racks) share(n int32) {
	p.weights = p.weights[:0]
	wanted := int64(0)
	for i := range p.list {
		p.weights = append(p.weights, int64(p.list[i].want))
		wanted += p.weights[i]
	}
	if int64(n) <= wanted {
		p.shares = apportion(n, p.weights, p.shares)
		for i := range p.list {
			p.list[i].quota = p.shares[i]
		}
		return
	}
	counted := int64(0)
	for i := range p.list {
		p.weights[i] = int64(p.list[i].count)
		counted += p.weights[i]
	}
	if counted == 0 {
		for i := range p.list {
			p.weights[i] = int64(narrow(int(p.k.plan.target.Racks[i].Share * 1e6)))
		}
	}
	for i := range p.list {
		p.list[i].quota = p.list[i].want
		n -= p.list[i].want
	}
	p.shares = apportion(n, p.weights, p.shares)
	for i := range p.list {
		p.list[i].quota += p.shares[i]
	}
}

// apportion gives n out by weights, which it uses up: by largest remainder, the
// first of equals. When nothing weighs, all weigh the same. It writes into shares.
func apportion(n int32, weights []int64, shares []int32) []int32 {
	sum := int64(0)
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		for i := range weights {
			weights[i] = 1
		}
		sum = int64(len(weights))
	}
	shares = slices.Grow(shares[:0], len(weights))[:len(weights)]
	left := n
	for i, w := range weights {
		shares[i] = int32(int64(n) * w / sum) //nolint:gosec // at most n
		left -= shares[i]
		weights[i] = int64(n) * w % sum // from here on what remains
	}
	for range left {
		best := 0
		for i, rest := range weights {
			if rest > weights[best] {
				best = i
			}
		}
		shares[best]++
		weights[best] = -1
	}
	return shares
}

// overflow moves what a rack cannot hold, or has not taken for long, to the next
// racks of the plan; what fits nowhere stays. It reports whether a rack is newly lost.
func (p *racks) overflow() (lost bool) {
	over := int32(0)
	p.shares = p.shares[:len(p.list)] // from here on what a rack could not take
	for i := range p.list {
		at, s := &p.list[i], &p.k.Racks[i]
		limit := at.fits
		if !at.usable() || s.Moved != 0 {
			limit = 0
		}
		p.shares[i] = max(0, at.quota-limit)
		over += p.shares[i]
		at.quota -= p.shares[i]
		gone := !at.usable() && p.shares[i] > 0
		lost = lost || gone && !s.Lost
		if gone != s.Lost {
			s.Lost, p.changed = gone, true
		}
	}
	over = p.move(over)
	for i := range p.list { // a second wave, until the deadline
		if at := &p.list[i]; at.usable() {
			more := min(over, p.shares[i])
			at.quota += more
			over -= more
		}
	}
	if over > 0 { // of lost racks
		i := slices.IndexFunc(p.list, func(at place) bool { return at.usable() })
		p.list[i].quota += over
	}
	return lost
}

// move gives racks what others have no room for: first where it was given
// before, then where there is room now, then where there is any. It returns what is left.
func (p *racks) move(over int32) int32 {
	for pass := range 3 {
		for i := range p.list {
			at, s := &p.list[i], &p.k.Racks[i]
			before := s.Extra
			room := at.fits - at.quota
			switch pass {
			case 0:
				room = min(room, s.Extra)
				s.Extra = 0
			case 1:
				room = min(room, at.free-at.quota)
			}
			if at.usable() && s.Moved == 0 {
				more := min(over, max(0, room))
				at.quota += more
				s.Extra += more
				over -= more
			}
			p.changed = p.changed || s.Extra != before
		}
	}
	return over
}
