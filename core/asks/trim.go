package asks

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// trim keeps maps on those of their own racks that the plan prefers. Nothing is
// asked for on a rack beyond the application's own row of it. Where all local
// rows are on preferred racks the rows stay as they are but for ANY, which loses
// its relaxation: that is what keeps a map from reading across racks.
func (p *racks) trim() verdict {
	p.ownRacks()
	v := verdict{action: model.ActionTrim}
	if p.turn() {
		v.event = model.ActionNextRack
	}
	if cause := p.quotas(); cause != "" {
		return passFor(cause)
	}
	p.note()
	return v
}

// ownRacks adds the application's other racks to those of the plan, most rows first.
func (p *racks) ownRacks() {
	planned := len(p.list)
	for name, r := range p.k.Own { // order-free: sorted below
		n := r.left()
		if n == 0 || !isRack(name) {
			continue
		}
		id := model.RackID(name)
		if i := slices.IndexFunc(p.list[:planned], func(at place) bool { return at.id == id }); i >= 0 {
			p.list[i].own = n
			continue
		}
		p.list = append(p.list, place{id: id, own: n})
	}
	others := p.list[planned:]
	slices.SortFunc(others, func(a, b place) int { return cmp.Or(cmp.Compare(b.own, a.own), cmp.Compare(a.id, b.id)) })
	for i := range others {
		p.measure(&others[i])
	}
}

// quotas gives the key's containers to its racks, no rack more than the
// application's own row of it: what the plan wants, then more on the same racks,
// then on planned racks that stayed full, then elsewhere.
func (p *racks) quotas() model.PassCause {
	n := p.k.ask
	left := p.give(n, func(at *place, s *rackState) int32 { return ifPlanned(at, s, false, at.want) })
	left = p.give(left, func(at *place, s *rackState) int32 { return ifPlanned(at, s, false, at.own) })
	left = p.give(left, func(at *place, s *rackState) int32 { return ifPlanned(at, s, true, at.want) })
	left = p.give(left, func(at *place, s *rackState) int32 { return ifPlanned(at, s, true, at.own) })
	preferred := left < n
	left = p.give(left, func(at *place, _ *rackState) int32 { return at.own })
	switch {
	case left > 0 || !preferred:
		return model.PassLocality
	case everywhere(p.list, p.in.Site) && !slices.ContainsFunc(p.list, func(at place) bool { return at.quota != at.own }):
		return model.PassNoPlan // no rack is avoided, and none gets less than it is asked for
	}
	return ""
}

// everywhere reports whether the plan prefers every rack that has nodes.
func everywhere(list []place, site *Site) bool {
	return !slices.ContainsFunc(site.Racks, func(r Rack) bool {
		return len(r.Hosts) > 0 && !slices.ContainsFunc(list, func(at place) bool { return at.planned && at.id == r.ID })
	})
}

// ifPlanned is a number for a planned rack that was moved or not, 0 for any other.
func ifPlanned(at *place, s *rackState, moved bool, n int32) int32 {
	if !at.planned || (s.Moved != 0) != moved {
		return 0
	}
	return n
}

// give gives containers to racks up to a number each. It returns what is left.
func (p *racks) give(left int32, upTo func(at *place, s *rackState) int32) int32 {
	for i := range p.list {
		if at := &p.list[i]; at.usable() {
			more := min(left, max(0, min(at.own, upTo(at, &p.k.Racks[i]))-at.quota))
			at.quota += more
			left -= more
		}
	}
	return left
}

// ownHosts wants the application's own hosts on a rack. It reports whether there are any.
func (p *racks) ownHosts(o *outbox, at *place) bool {
	first := len(o.want)
	for name, r := range p.k.Own { // order-free: sorted below
		if n := r.left(); n > 0 && isHost(name) && p.in.Site.RackOf[name] == at.id && p.in.Site.lists(name) && p.admits(name) {
			o.add(p.k.row(name, min(n, at.quota), true))
		}
	}
	byName(o.want[first:])
	return len(o.want) > first
}
