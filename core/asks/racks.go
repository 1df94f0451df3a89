package asks

import (
	"slices"

	"heddle/core/model"
)

// place is one rack a key may be put on, in one call.
type place struct {
	id         model.RackID
	rack       *Rack // nil when no node of it can be used
	planned    bool
	want       int32 // containers the plan still wants there
	count      int32 // containers the plan wanted there
	own        int32 // the application's own row
	fits, free int32 // containers its hosts hold in total, and more now
	quota      int32
}

// usable reports whether the rack has a node that can hold a container.
func (p *place) usable() bool { return p.rack != nil }

// rackState is what a key remembers of a rack.
type rackState struct {
	Rack  model.RackID
	Quota int32
	Extra int32 // of the quota, what other racks had no room for
	// Busy is since when the rack has had no room and has granted nothing although it has a quota; 0 is not.
	Busy    model.Time
	Moved   model.Time // when its quota was moved to other racks; 0 is not
	Granted bool       // since it was moved
	Lost    bool       // it had a quota, and no usable node
}

// racks decides on which racks a key is asked for.
type racks struct {
	*round
	k       *key
	list    []place
	weights []int64
	shares  []int32
	loads   []int32
	changed bool // what the key remembers of a rack
}

// start takes the racks the plan wants for a key, with what it still wants there.
func (p *racks) start(r *round, k *key) {
	p.round, p.k, p.list, p.changed = r, k, p.list[:0], false
	for i := range k.plan.target.Racks {
		t := &k.plan.target.Racks[i]
		p.list = append(p.list, place{
			id: t.Rack, planned: true, want: narrow(t.Count - r.tally[tallyKey{k.plan.stage, t.Rack}]), count: narrow(t.Count),
		})
		p.measure(&p.list[i])
	}
}

// narrow is n as a row may have it.
func narrow(n int) int32 {
	const most = 1 << 24 // sums of them do not overflow
	if n < 0 {
		return 0
	}
	if n > most {
		return most
	}
	return int32(n)
}

// measure finds a rack's usable nodes and how many containers they hold.
func (p *racks) measure(at *place) {
	rack := p.in.Site.rack(at.id)
	if rack == nil || p.denied[string(at.id)] {
		return
	}
	var fits, free int64
	for i := range rack.Hosts {
		if h := &rack.Hosts[i]; p.admits(h.Name) {
			total, now := h.capacity(p.k.Capability, p.in.Site.VCores)
			fits, free = fits+total, free+now
		}
	}
	at.fits, at.free = narrow(int(fits)), narrow(int(free))
	if fits > 0 {
		at.rack = rack
	}
}

// arrange gives what the key remembers of racks the order of the list.
func (p *racks) arrange() {
	old := p.k.Racks
	if slices.EqualFunc(old, p.list, func(s rackState, at place) bool { return s.Rack == at.id }) {
		return
	}
	p.changed = true
	p.k.Racks = make([]rackState, len(p.list))
	for i := range p.list {
		id := p.list[i].id
		p.k.Racks[i].Rack = id
		if j := slices.IndexFunc(old, func(s rackState) bool { return s.Rack == id }); j >= 0 {
			p.k.Racks[i] = old[j]
		}
	}
}

// turn decides which racks are passed over because they stayed full, and which
// are back. It reports whether one was newly passed over.
func (p *racks) turn() (moved bool) {
	p.arrange()
	for i := range p.list {
		p.turnBack(&p.list[i], &p.k.Racks[i])
	}
	for i := range p.list {
		s := &p.k.Racks[i]
		if s.Busy == 0 || s.Moved != 0 || p.list[i].free > 0 {
			continue
		}
		if p.now.Sub(s.Busy) < p.limits.FullAfter {
			p.wake(s.Busy.Add(p.limits.FullAfter))
		} else if p.elsewhere() {
			s.Moved, s.Granted = p.stamp(), false
			moved, p.changed = true, true
		}
	}
	return moved
}

// turnBack ends a rack's being passed over once it shows room or grants, but not
// sooner than the time it takes to be passed over.
func (p *racks) turnBack(at *place, s *rackState) {
	if s.Moved == 0 && s.Busy == 0 {
		return
	}
	back := s.Moved != 0 && (at.free > 0 || s.Granted)
	if back {
		p.wake(s.Moved.Add(p.limits.FullAfter))
		back = p.now.Sub(s.Moved) >= p.limits.FullAfter
	}
	if back || !at.usable() {
		s.Moved, s.Busy = 0, 0
		p.changed = true
	}
}

// elsewhere reports whether a rack of the plan has room.
func (p *racks) elsewhere() bool {
	for i := range p.list {
		if at := &p.list[i]; at.planned && at.usable() && at.free > 0 && p.k.Racks[i].Moved == 0 {
			return true
		}
	}
	return false
}

// note keeps what was decided of the racks.
func (p *racks) note() {
	for i := range p.list {
		at, s := &p.list[i], &p.k.Racks[i]
		was := *s
		s.Quota = at.quota
		switch waits := at.quota > 0 && at.usable() && at.free == 0 && s.Moved == 0; {
		case !waits:
			s.Busy = 0
		case s.Busy == 0:
			s.Busy = p.stamp()
			p.wake(s.Busy.Add(p.limits.FullAfter))
		}
		p.changed = p.changed || *s != was
	}
}

// want wants the rows of every rack with a quota, and a strict ANY.
func (p *racks) want(o *outbox, local bool) {
	o.want = o.want[:0]
	for i := range p.list {
		at := &p.list[i]
		switch {
		case at.quota == 0:
			continue
		case p.k.Widened:
			p.pack(o, at)
		case !local:
			p.spread(o, at)
		case !p.ownHosts(o, at): // CapacityScheduler meets a strict ask on named hosts only (hadoop.md 6.3, trap 1)
			p.pack(o, at)
		}
		o.add(p.k.row(string(at.id), at.quota, true))
	}
	o.add(p.k.strictAny())
}

// pack wants every host of a rack with the rack's count.
func (p *racks) pack(o *outbox, at *place) {
	for i := range at.rack.Hosts {
		if name := at.rack.Hosts[i].Name; p.admits(name) {
			o.add(p.k.row(name, at.quota, true))
		}
	}
}

// spread wants hosts of a rack with counts that sum to the rack's: where they
// already do at the ResourceManager as they are, else the hosts with the fewest
// containers of the key first.
func (p *racks) spread(o *outbox, at *place) {
	first := len(o.want)
	sum := int32(0)
	for i := range at.rack.Hosts {
		h := &at.rack.Hosts[i]
		if total, _ := h.capacity(p.k.Capability, p.in.Site.VCores); total > 0 && p.admits(h.Name) {
			have := p.k.RM[h.Name].Count
			sum += have
			o.add(p.k.row(h.Name, have, true))
		}
	}
	rows := o.want[first:]
	if sum != at.quota {
		p.level(rows, at.quota)
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Count == 0 })
	o.want = o.want[:first+len(rows)]
}

// level fills hosts up to one height, the containers that run there included.
func (p *racks) level(rows []Row, n int32) {
	p.loads = slices.Grow(p.loads[:0], len(rows))[:len(rows)]
	clear(p.loads)
	for _, c := range p.running { // order-free: sums
		if c.key != p.k.Key {
			continue
		}
		if i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == c.host }); i >= 0 {
			p.loads[i]++
		}
	}
	for i := range rows {
		rows[i].Count = 0
	}
	for n > 0 {
		low := slices.Min(p.loads)
		for i := range rows {
			if n > 0 && p.loads[i] == low {
				rows[i].Count++
				p.loads[i]++
				n--
			}
		}
	}
}
