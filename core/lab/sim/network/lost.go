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
	s.flushOutput(id) // nothing is fresh then, and nobody joins
	j := &s.jobs[id]
	j.isSealed = false
	if bytes <= 0 {
		return
	}
	part := float64(bytes) / float64(j.output[rack])
	j.output[rack] -= bytes
	j.total -= bytes
	j.lostBytes += bytes
	for _, g := range j.groups {
		s.loseOutput(g, rack, part)
	}
	f.queues.state.needed = true
}

// RemakeOutput adds output that was taken away and has been made again, be it on
// another rack. Reduces that had some of it fetch the rest.
func (f *Fast) RemakeOutput(id JobID, rack int, bytes model.Bytes) {
	s := &f.shuffles
	s.flushOutput(id) // reduces that have joined since lack it, too
	j := &s.jobs[id]
	bytes = min(bytes, j.lostBytes)
	if bytes <= 0 {
		return
	}
	j.output[rack] += bytes
	j.total += bytes
	for _, g := range j.groups {
		missing := &s.groups[g].missingBytes
		hi, lo := bits.Mul64(uint64(*missing), uint64(bytes)) //nolint:gosec // neither is below 0
		due, _ := bits.Div64(hi, lo, uint64(j.lostBytes))     //nolint:gosec // at least bytes
		*missing -= model.Bytes(due)                          //nolint:gosec // at most what is missing
		s.addToFlow(j, g, rack, model.Bytes(due))             //nolint:gosec // the same
	}
	j.lostBytes -= bytes
	f.queues.state.needed = true
}

// loseOutput takes a part of what a group has still to fetch from a rack away. The
// group lacks that, and is not done before it has it.
func (s *shuffles) loseOutput(id ID, rack int, part float64) {
	g := &s.groups[id]
	followed := g.watched
	s.uncheckEnd(id)
	at := toInt32(int(id)*s.racks + rack)
	if part < 1 {
		g.missingBytes += s.shrinkFlow(at, part)
	} else {
		g.missingBytes += s.queues.removeFlow(s.queues.fetches, at)
	}
	if followed && g.missingBytes == 0 {
		s.checkEnd(id)
	}
}

// missingFor returns what reduces that join do without for now, rounded up.
func (j *shuffleJob) missingFor(joining int32) model.Bytes {
	if j.lostBytes == 0 {
		return 0
	}
	hi, lo := product(j.lostBytes, joining)
	bytes, rest := bits.Div64(hi, lo, uint64(j.reduces)) //nolint:gosec // above 0
	return model.Bytes(bytes + min(rest, 1))             //nolint:gosec // at most the output, where no more reduces start than there are
}

// checkEnd lists a group as ended: report then finds whether all of its flows have
// ended, and else watches the one that ends last.
func (s *shuffles) checkEnd(id ID) {
	s.groups[id].watched = true
	s.queues.ended = append(s.queues.ended, Done{Kind: Shuffle, ID: id})
}

// uncheckEnd undoes checkEnd.
func (s *shuffles) uncheckEnd(id ID) {
	if !s.groups[id].watched {
		return
	}
	s.groups[id].watched = false
	s.queues.dropEnded(Shuffle, id)
	for at := int(id) * s.racks; at < (int(id)+1)*s.racks; at++ {
		fetch := &s.queues.fetches[at]
		if fetch.watched && fetch.slot != idle {
			s.queues.queueOf(fetch).watchedFlows--
			s.queues.refreshEnd(s.queues.routes[fetch.route])
		}
		fetch.watched = false
	}
}

// SetNodes sets how many nodes of a rack have an interface from now on, beside a
// load of other traffic on its links.
func (f *Fast) SetNodes(rack, nodes int, load topology.Link) {
	r := f.queues.config.Racks[rack]
	r.Nodes = nodes
	f.queues.config.Racks = append([]Rack(nil), f.queues.config.Racks...) // the caller's stays what it was
	f.queues.config.Racks[rack] = r
	f.queues.links.capacity[2*f.queues.links.racks+rack] = perMs(r.NIC) * float64(nodes)
	f.SetBackground(rack, load)
}

// Route returns what a transfer carries, and between which racks.
func (f *Fast) Route(id ID) (kind Kind, from, to int) {
	return f.queues.routeEnds(f.queues.transfers[id].route)
}
