package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
)

// MapOutput is the map output of one job by rack: the job counter
// MAP_OUTPUT_MATERIALIZED_BYTES, of which the part that attempts reported lies
// where those attempts ran, and the rest is spread evenly over the completed
// maps that reported nothing.
type MapOutput struct {
	ByRack   []model.Bytes // by rack number; may be shorter than the number of racks
	Total    model.Bytes   // as the job counter says; model.Unknown until it was read
	Reported model.Bytes   // the part known from attempts
	Unplaced model.Bytes   // of maps whose rack no source has told
	Version  int           // changes whenever any of this does
}

// OutputOn returns the map output that lies on a node, as far as attempts
// reported theirs.
func (s *Stage) OutputOn(n *Node) model.Bytes { return s.done.onHost.at(n.number) }

// refreshOutput recomputes the job's map output by rack, and its ratio.
func (j *Job) refreshOutput() {
	o, done := &j.Output, &j.Map.done
	done.moved = false
	o.Version++
	o.ByRack = grown(o.ByRack[:0], len(done.tasks)-1)
	o.Reported = shuffle.Total(done.output)
	o.Total, o.Unplaced = j.told.counters.MapOutput, 0
	if !j.told.counted && o.Reported == 0 {
		o.Total = model.Unknown
	}
	silent, all := 0, 0 // completed maps without a reported output, and all of them
	for r, n := range done.tasks {
		o.ByRack[r] = done.output[r]
		silent += n - done.known[r]
		all += n
	}
	if rest := o.Total - o.Reported; rest > 0 {
		switch {
		case silent > 0:
			spread(o.ByRack, rest, silent, func(r int) int { return done.tasks[r] - done.known[r] })
		case all > 0:
			spread(o.ByRack, rest, all, func(r int) int { return done.tasks[r] })
		default:
			o.Unplaced = rest
		}
	} else if o.Reported > o.Total {
		o.Total = o.Reported // the job counter is older than the attempts'
	}
	j.setRatio()
}

// spread adds rest to byRack in proportion to count, which sums to total.
func spread(byRack []model.Bytes, rest model.Bytes, total int, count func(rack int) int) {
	for r := range byRack {
		byRack[r] += model.Bytes(float64(rest) * float64(count(r)) / float64(total))
	}
}
