package network

import (
	"math/bits"

	"heddle/core/model"
)

// flush gives the groups of all jobs of a list their map output, and empties the list.
func (s *shuffles) flush(list *[]JobID) {
	for _, id := range *list {
		s.flushOutput(id)
	}
	*list = (*list)[:0]
}

// flushOutput gives every group of a job its part of the new map output, and groups
// whose reduces have just started their part of all of it. Parts are rounded to
// bytes such that all groups together get every byte.
func (s *shuffles) flushOutput(id JobID) {
	j := &s.jobs[id]
	j.flushedAt, j.isListed, j.isUrgent = s.queues.now, false, false
	s.rows = s.rows[:0]
	for r, bytes := range j.newOutput {
		if bytes > 0 {
			n := model.Bytes(j.reduces)
			s.rows = append(s.rows, outputRow{r, bytes / n, bytes % n})
			j.output[r] += bytes
			j.total += bytes
		}
	}
	weigh := j.total-j.weighedTotal > j.weighedTotal/reweighGrowth
	if weigh {
		j.weighedTotal = j.total
	}
	for _, g := range j.groups {
		s.flushToGroup(j, g, weigh)
	}
	clear(j.newOutput)
}

// flushToGroup gives one group of a job its parts.
func (s *shuffles) flushToGroup(j *shuffleJob, id ID, weigh bool) {
	g := &s.groups[id]
	joining := g.joining
	g.joining = 0
	g.reduces += joining
	if weigh || joining > 0 {
		s.reweighGroup(j, id)
	}
	if joining == 0 {
		for i := range s.rows {
			s.addToFlow(j, id, s.rows[i].rack, j.newPart(&s.rows[i], g.reduces))
		}
	} else {
		for r, output := range j.output {
			if output > 0 {
				s.addToFlow(j, id, r, j.part(r, joining, g.reduces))
			}
		}
		g.missingBytes += j.missingFor(joining)
	}
	if j.isSealed && !g.watched {
		s.checkEnd(id)
	}
}

// part returns what a group fetches of a rack's output: its joining reduces their
// part of all of it, its other reduces their part of the new output. Fractions of
// a byte are carried to the next group.
func (j *shuffleJob) part(rack int, joined, reduces int32) model.Bytes {
	older := j.output[rack] - j.newOutput[rack]
	hi, lo := product(older, joined)
	h, l := product(j.newOutput[rack], reduces)
	lo, c := bits.Add64(lo, l, 0)
	hi, _ = bits.Add64(hi, h, c)
	lo, c = bits.Add64(lo, j.remainders[rack], 0)
	bytes, rest := bits.Div64(hi+c, lo, uint64(j.reduces)) //nolint:gosec // above 0
	j.remainders[rack] = rest
	return model.Bytes(bytes) //nolint:gosec // at most the output, where no more reduces start than there are
}

// newPart returns a group's part of a rack's new output alone.
func (j *shuffleJob) newPart(r *outputRow, reduces int32) model.Bytes {
	n, of := model.Bytes(reduces), model.Bytes(j.reduces)
	rest := r.rest*n + model.Bytes(j.remainders[r.rack]) //nolint:gosec // less than all reduces
	j.remainders[r.rack] = uint64(rest % of)             //nolint:gosec // neither is below 0
	return r.each*n + rest/of
}

func product(bytes model.Bytes, reduces int32) (hi, lo uint64) {
	return bits.Mul64(uint64(bytes), uint64(reduces)) //nolint:gosec // neither is below 0
}

// addToFlow adds bytes to a group's flow from a rack.
func (s *shuffles) addToFlow(j *shuffleJob, id ID, rack int, bytes model.Bytes) {
	if bytes == 0 {
		return
	}
	at := toInt32(int(id)*s.racks + rack)
	fetch := &s.queues.fetches[at]
	weight := s.flowWeight(j, &s.groups[id], rack)
	if fetch.slot != idle {
		s.queues.queueOf(fetch).addBytes(fetch, bytes)
		if weight > fetch.weight*(1+1./reweighGrowth) {
			s.reweighFlow(at, weight)
		}
		return
	}
	fetch.weight = weight
	s.queues.addFlow(s.queues.fetches, at, bytes)
}

// flowWeight returns the streams of a group's reduces that fetch from a rack: in
// proportion to the map output there.
func (s *shuffles) flowWeight(j *shuffleJob, g *group, rack int) float64 {
	return s.queues.config.Streams[Shuffle] * float64(g.reduces) * float64(j.output[rack]) / float64(j.total)
}

// reweighGroup recomputes the weights of a group's flows.
func (s *shuffles) reweighGroup(j *shuffleJob, id ID) {
	g := &s.groups[id]
	for r := range s.racks {
		at := toInt32(int(id)*s.racks + r)
		if s.queues.fetches[at].slot != idle {
			s.reweighFlow(at, s.flowWeight(j, g, r))
		}
	}
}

// reweighFlow sets the weight of a flow, if it has not ended.
func (s *shuffles) reweighFlow(at int32, weight float64) {
	fetch := &s.queues.fetches[at]
	s.queues.advanceQueue(s.queues.routes[fetch.route])
	if fetch.slot != idle {
		s.queues.queueOf(fetch).reweigh(s.queues.fetches, at, weight)
		s.queues.adjustRate(s.queues.routes[fetch.route])
	}
}

// shrinkFlow takes a part of what a flow has to send away, and of its weight. It
// returns the bytes.
func (s *shuffles) shrinkFlow(at int32, part float64) model.Bytes {
	fetch := &s.queues.fetches[at]
	if fetch.slot != idle {
		s.queues.advanceQueue(s.queues.routes[fetch.route])
	}
	if fetch.slot == idle { // by now
		return 0
	}
	q := s.queues.queueOf(fetch)
	bytes := model.Bytes(s.queues.bytesLeft(fetch) * part)
	q.removeBytes(s.queues.fetches, at, bytes)
	s.reweighFlow(at, fetch.weight*(1-part))
	return bytes
}

// leastStreams is the least part of a group's streams that a flow gets, lest its weight
// is nothing.
const leastStreams = 1e-6

// watchLastFlow turns the streams of a group's reduces to the racks it has yet to fetch
// from, in proportion to the bytes, and makes the end of one of its flows known,
// the one that is to end last at the present rates: when that has ended it is
// time to look again. It reports false when all flows have ended.
func (s *shuffles) watchLastFlow(id ID) bool {
	first, left := int(id)*s.racks, 0.0
	for at := first; at < first+s.racks; at++ {
		fetch := &s.queues.fetches[at]
		if fetch.slot != idle {
			s.queues.advanceQueue(s.queues.routes[fetch.route])
		}
		if fetch.slot != idle { // still
			left += s.queues.bytesLeft(fetch)
		}
	}
	last, latest := int32(none), -1.0
	streams := s.queues.config.Streams[Shuffle] * float64(s.groups[id].reduces)
	for at := first; at < first+s.racks; at++ {
		fetch := &s.queues.fetches[at]
		if fetch.slot == idle {
			continue
		}
		q := s.queues.queueOf(fetch)
		q.reweigh(s.queues.fetches, toInt32(at), streams*max(s.queues.bytesLeft(fetch)/left, leastStreams))
		s.queues.adjustRate(s.queues.routes[fetch.route])
		if wait := (fetch.due - q.served) * q.weight / q.actualRate(); wait > latest {
			last, latest = toInt32(at), wait
		}
	}
	if last == none {
		return false
	}
	s.queues.watchFlow(s.queues.fetches, last)
	return true
}

// detach takes a group without flows off its job.
func (s *shuffles) detach(id ID) {
	g := &s.groups[id]
	j := &s.jobs[g.job]
	if j.openGroups[g.rack] == id {
		j.openGroups[g.rack] = none
	}
	last := j.groups[len(j.groups)-1]
	j.groups[g.place] = last
	s.groups[last].place = g.place
	j.groups = j.groups[:len(j.groups)-1]
}
