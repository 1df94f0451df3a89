package nas

import (
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// spread is how a job's reduces are to lie over the racks: ReduceNum.
type spread struct {
	known  bool               // some map output is known or predicted
	share  []float64          // MapOutputPortion by rack number; sums to 1
	output float64            // map output in bytes that they are portions of; 0 where only its proportions are known
	counts []int              // ReduceNum by rack number; sums to the job's reduces; by counted
	racks  []int              // where that is not 0
	wants  []model.RackTarget // the same as targets of a plan, in its order; by targets
	due    int                // completed maps from which on the reduces may start
	from   spreadFacts
	read   bool
	fresh  bool // counts are of these facts
}

// spreadFacts is everything a spread depends on. Which racks the maps run on is
// not among them: it changes with how many run, or comes with the map output.
type spreadFacts struct {
	reduces, maps, running, completed int
	output                            int // version of the map output
	racks                             uint64
}

// slack is the part of a job's launched maps that may start or end before its
// spread is computed anew: with fewer than so many maps each counts.
const slack = 16

// stillHolds reports whether what was computed from other facts still stands: all are
// the same but for a few running maps, whose output is only predicted. A job of
// thousands of maps would go through all racks at each launch else.
func (f *spreadFacts) stillHolds(o *spreadFacts) bool {
	moved := f.running - o.running
	same := *o
	same.running = f.running
	return *f == same && max(moved, -moved)*slack <= f.running+f.completed
}

// spreadOf returns the job's spread, computed anew when its facts changed.
func (q reduceRule) spreadOf(v state.View, j *state.Job, predicted *state.Prediction) *spread {
	s := &q.jobs.Of(j).spread
	now := spreadFacts{
		reduces: j.Reduce.Tasks(), maps: predicted.Maps, running: j.Map.Running, completed: j.Map.Completed,
		output: j.Output.Version, racks: v.Capacity().Racks,
	}
	if !s.read || !now.stillHolds(&s.from) {
		if policy.Save(q.journal, s); q.journal.Asking() {
			s.share, s.counts, s.racks, s.wants = nil, nil, nil, nil
		}
		s.read, s.from = true, now
		q.divide(j, s)
		s.due = q.dueAt(v, j, predicted, s)
	}
	return s
}

// divide computes MapOutputPortion (equation 4) of the output expected of all maps,
// by where they were launched. A rack without running nodes has none, whatever it
// stores. Maps of which no size is known count alike.
func (q reduceRule) divide(j *state.Job, s *spread) {
	racks := len(q.cluster.runs)
	s.share, s.output = slices.Grow(s.share[:0], racks)[:racks], 0
	clear(s.share)
	f := &q.forecast
	sum := 0.0
	known := j.ExpectOutput(f, racks)
	for i, output := range f.ByRack {
		if output != 0 && q.cluster.runs[i] { // most racks have none
			s.share[i] = output
			sum += output
		}
	}
	s.known = known && sum > 0
	if s.fresh = false; !s.known {
		return
	}
	for i, output := range s.share {
		if output != 0 {
			s.share[i] = output / sum
		}
	}
	if f.Sized {
		s.output = sum
	}
}

// counted returns ReduceNum (equation 4): fractions rounded so that the busiest uplink
// carries least, computed when they are asked for. It is empty as long as no map
// output is known.
func (q reduceRule) counted(s *spread) []int {
	if !s.fresh {
		s.fresh, s.counts, s.racks, s.wants = true, s.counts[:0], s.racks[:0], s.wants[:0]
		if s.known {
			s.counts = q.leveling.Level(s.counts, s.share, s.from.reduces)
		}
		for rack, count := range s.counts {
			if count > 0 {
				s.racks = append(s.racks, rack)
			}
		}
	}
	return s.counts
}

// targets returns ReduceNum as the racks of a plan, which belong to the spread.
func (q reduceRule) targets(v state.View, s *spread) []model.RackTarget {
	if counts := q.counted(s); len(s.wants) < len(s.racks) {
		for _, i := range s.racks {
			s.wants = append(s.wants, model.RackTarget{Rack: v.Racks()[i].ID, Count: counts[i], Share: s.share[i], Bytes: model.Bytes(s.share[i]*s.output + 0.5)})
		}
		policy.SortTargets(s.wants)
	}
	return s.wants
}

// wanted reports whether the job's ReduceNum is not reached on a rack. As long
// as no map output is known it is reached nowhere.
func (q reduceRule) wanted(v state.View, j *state.Job, predicted *state.Prediction, rack int) bool {
	s := q.spreadOf(v, j, predicted)
	counts := q.counted(s)
	return !s.known || (rack < len(counts) && j.Reduce.Launched(rack) < counts[rack])
}
