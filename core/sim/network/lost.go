package network

import (
	"math/bits"

	"heddle/core/model"
	"heddle/core/topology"
)

// RemoveOutput takes map output of a rack away now, as when the node that held it
// is lost, and opens the job again: RemakeOutput gives it back, and Seal says
// when all of it is there.
//
// What reduces have fetched of it they keep. The outputs of a rack are one flow,
// so what is still to be fetched of that is taken to be of all of them alike.
func (f *Fast) RemoveOutput(id JobID, rack int, bytes model.Bytes) {
	s := &f.shuffles
	s.handOn(id) // nothing is fresh then, and nobody joins
	j := &s.jobs[id]
	j.sealed = false
	if bytes <= 0 {
		return
	}
	part := float64(bytes) / float64(j.output[rack])
	j.output[rack] -= bytes
	j.total -= bytes
	j.lost += bytes
	for _, g := range j.groups {
		s.lose(g, rack, part)
	}
	f.net.mode.changed = true
}

// RemakeOutput adds output that was taken away and has been made again, be it on
// another rack. Reduces that had some of it fetch the rest.
func (f *Fast) RemakeOutput(id JobID, rack int, bytes model.Bytes) {
	s := &f.shuffles
	s.handOn(id) // those that have joined since are owed it, too
	j := &s.jobs[id]
	bytes = min(bytes, j.lost)
	if bytes <= 0 {
		return
	}
	j.output[rack] += bytes
	j.total += bytes
	for _, g := range j.groups {
		owed := &s.groups[g].owed
		hi, lo := bits.Mul64(uint64(*owed), uint64(bytes)) //nolint:gosec // neither is below 0
		due, _ := bits.Div64(hi, lo, uint64(j.lost))       //nolint:gosec // at least bytes
		*owed -= model.Bytes(due)                          //nolint:gosec // at most what is owed
		s.give(j, g, rack, model.Bytes(due))               //nolint:gosec // the same
	}
	j.lost -= bytes
	f.net.mode.changed = true
}

// lose takes a part of what a group has still to fetch from a rack away. The
// group is owed that, and is not done before it has it.
func (s *shuffles) lose(id ID, rack int, part float64) {
	g := &s.groups[id]
	followed := g.followed
	s.unfollow(id)
	at := small(int(id)*s.racks + rack)
	if part < 1 {
		g.owed += s.shrink(at, part)
	} else {
		g.owed += s.net.takeBack(s.net.fetches, at)
	}
	if followed && g.owed == 0 {
		s.follow(id)
	}
}

// missing returns what reduces that join do without for now, rounded up.
func (j *job) missing(joining int32) model.Bytes {
	if j.lost == 0 {
		return 0
	}
	hi, lo := product(j.lost, joining)
	bytes, rest := bits.Div64(hi, lo, uint64(j.reduces)) //nolint:gosec // above 0
	return model.Bytes(bytes + min(rest, 1))             //nolint:gosec // at most the output, where no more reduces start than there are
}

// follow has the end of a group known when it comes.
func (s *shuffles) follow(id ID) {
	s.groups[id].followed = true
	s.net.ended = append(s.net.ended, Done{Kind: Shuffle, ID: id})
}

// unfollow takes that back.
func (s *shuffles) unfollow(id ID) {
	if !s.groups[id].followed {
		return
	}
	s.groups[id].followed = false
	s.net.forget(Shuffle, id)
	for at := int(id) * s.racks; at < (int(id)+1)*s.racks; at++ {
		fetch := &s.net.fetches[at]
		if fetch.timed && fetch.slot != idle {
			s.net.queueOf(fetch).timed--
			s.net.refresh(s.net.routes[fetch.route])
		}
		fetch.timed = false
	}
}

// SetNodes sets how many nodes of a rack have an interface from now on, beside a
// load of other traffic on its links.
func (f *Fast) SetNodes(rack, nodes int, load topology.Link) {
	r := f.net.config.Racks[rack]
	r.Nodes = nodes
	f.net.config.Racks = append([]Rack(nil), f.net.config.Racks...) // the caller's stays what it was
	f.net.config.Racks[rack] = r
	f.net.links.capacity[2*f.net.links.racks+rack] = perMs(r.NIC) * float64(nodes)
	f.SetBackground(rack, load)
}

// Route returns what a transfer carries, and between which racks.
func (f *Fast) Route(id ID) (kind Kind, from, to int) { return f.net.endsOf(f.net.transfers[id].route) }
