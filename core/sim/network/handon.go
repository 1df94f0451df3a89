package network

import (
	"math/bits"

	"heddle/core/model"
)

// flush hands on what the jobs of a list have, and empties it.
func (s *shuffles) flush(list *[]JobID) {
	for _, id := range *list {
		s.handOn(id)
	}
	*list = (*list)[:0]
}

// handOn gives the groups of a job their parts of all map output, and of what
// came since for those that had the rest. What a group is given of a rack's
// output is rounded to bytes such that all groups together have all of it.
func (s *shuffles) handOn(id JobID) {
	j := &s.jobs[id]
	j.handed, j.awaiting, j.urgent = s.net.now, false, false
	s.rows = s.rows[:0]
	for r, bytes := range j.fresh {
		if bytes > 0 {
			n := model.Bytes(j.reduces)
			s.rows = append(s.rows, row{r, bytes / n, bytes % n})
			j.output[r] += bytes
			j.total += bytes
		}
	}
	weigh := j.total-j.weighed > j.weighed/growth
	if weigh {
		j.weighed = j.total
	}
	for _, g := range j.groups {
		s.handTo(j, g, weigh)
	}
	clear(j.fresh)
}

// handTo gives one group of a job its parts.
func (s *shuffles) handTo(j *job, id ID, weigh bool) {
	g := &s.groups[id]
	joining := g.joining
	g.joining = 0
	g.reduces += joining
	if weigh || joining > 0 {
		s.weigh(j, id)
	}
	if joining == 0 {
		for i := range s.rows {
			s.give(j, id, s.rows[i].rack, j.fresher(&s.rows[i], g.reduces))
		}
	} else {
		for r, output := range j.output {
			if output > 0 {
				s.give(j, id, r, j.part(r, joining, g.reduces))
			}
		}
		g.owed += j.missing(joining)
	}
	if j.sealed && !g.followed {
		s.follow(id)
	}
}

// part returns what reduces fetch of a rack's output: of all of it those that
// have joined, of what is fresh all of them. What is less than a byte is carried.
func (j *job) part(rack int, joined, reduces int32) model.Bytes {
	older := j.output[rack] - j.fresh[rack]
	hi, lo := product(older, joined)
	h, l := product(j.fresh[rack], reduces)
	lo, c := bits.Add64(lo, l, 0)
	hi, _ = bits.Add64(hi, h, c)
	lo, c = bits.Add64(lo, j.carry[rack], 0)
	bytes, rest := bits.Div64(hi+c, lo, uint64(j.reduces)) //nolint:gosec // above 0
	j.carry[rack] = rest
	return model.Bytes(bytes) //nolint:gosec // at most the output, where no more reduces start than there are
}

// fresher returns the part of a rack's fresh output alone.
func (j *job) fresher(r *row, reduces int32) model.Bytes {
	n, of := model.Bytes(reduces), model.Bytes(j.reduces)
	rest := r.rest*n + model.Bytes(j.carry[r.rack]) //nolint:gosec // less than all reduces
	j.carry[r.rack] = uint64(rest % of)             //nolint:gosec // neither is below 0
	return r.each*n + rest/of
}

func product(bytes model.Bytes, reduces int32) (hi, lo uint64) {
	return bits.Mul64(uint64(bytes), uint64(reduces)) //nolint:gosec // neither is below 0
}

// give adds bytes to a group's flow from a rack.
func (s *shuffles) give(j *job, id ID, rack int, bytes model.Bytes) {
	if bytes == 0 {
		return
	}
	at := small(int(id)*s.racks + rack)
	fetch := &s.net.fetches[at]
	weight := s.weight(j, &s.groups[id], rack)
	if fetch.slot != idle {
		s.net.queueOf(fetch).more(fetch, bytes)
		if weight > fetch.weight*(1+1./growth) {
			s.reweigh(at, weight)
		}
		return
	}
	fetch.weight = weight
	s.net.insert(s.net.fetches, at, bytes)
}

// weight returns the streams of a group's reduces that fetch from a rack: in
// proportion to the map output there.
func (s *shuffles) weight(j *job, g *group, rack int) float64 {
	return s.net.config.Streams[Shuffle] * float64(g.reduces) * float64(j.output[rack]) / float64(j.total)
}

// weigh sets the weights of a group's flows anew.
func (s *shuffles) weigh(j *job, id ID) {
	g := &s.groups[id]
	for r := range s.racks {
		at := small(int(id)*s.racks + r)
		if s.net.fetches[at].slot != idle {
			s.reweigh(at, s.weight(j, g, r))
		}
	}
}

// reweigh sets the weight of a flow, if it has not ended.
func (s *shuffles) reweigh(at int32, weight float64) {
	fetch := &s.net.fetches[at]
	s.net.serve(s.net.routes[fetch.route])
	if fetch.slot != idle {
		s.net.queueOf(fetch).reweigh(s.net.fetches, at, weight)
		s.net.adjust(s.net.routes[fetch.route])
	}
}

// shrink takes a part of what a flow has to send away, and of its weight. It
// returns the bytes.
func (s *shuffles) shrink(at int32, part float64) model.Bytes {
	fetch := &s.net.fetches[at]
	if fetch.slot != idle {
		s.net.serve(s.net.routes[fetch.route])
	}
	if fetch.slot == idle { // by now
		return 0
	}
	q := s.net.queueOf(fetch)
	bytes := model.Bytes(s.net.left(fetch) * part)
	q.less(s.net.fetches, at, bytes)
	s.reweigh(at, fetch.weight*(1-part))
	return bytes
}

// least is the least part of a group's streams that a flow gets, lest its weight
// is nothing.
const least = 1e-6

// watch turns the streams of a group's reduces to the racks it has yet to fetch
// from, in proportion to the bytes, and makes the end of one of its flows known,
// the one that is to end last at the present rates: when that has ended it is
// time to look again. It reports false when all flows have ended.
func (s *shuffles) watch(id ID) bool {
	first, left := int(id)*s.racks, 0.0
	for at := first; at < first+s.racks; at++ {
		fetch := &s.net.fetches[at]
		if fetch.slot != idle {
			s.net.serve(s.net.routes[fetch.route])
		}
		if fetch.slot != idle { // still
			left += s.net.left(fetch)
		}
	}
	last, latest := int32(none), -1.0
	streams := s.net.config.Streams[Shuffle] * float64(s.groups[id].reduces)
	for at := first; at < first+s.racks; at++ {
		fetch := &s.net.fetches[at]
		if fetch.slot == idle {
			continue
		}
		q := s.net.queueOf(fetch)
		q.reweigh(s.net.fetches, small(at), streams*max(s.net.left(fetch)/left, least))
		s.net.adjust(s.net.routes[fetch.route])
		if wait := (fetch.due - q.served) * q.weight / q.pace(); wait > latest {
			last, latest = small(at), wait
		}
	}
	if last == none {
		return false
	}
	s.net.watch(s.net.fetches, last)
	return true
}

// detach takes a group without flows off its job.
func (s *shuffles) detach(id ID) {
	g := &s.groups[id]
	j := &s.jobs[g.job]
	if j.here[g.rack] == id {
		j.here[g.rack] = none
	}
	last := j.groups[len(j.groups)-1]
	j.groups[g.place] = last
	s.groups[last].place = g.place
	j.groups = j.groups[:len(j.groups)-1]
}
