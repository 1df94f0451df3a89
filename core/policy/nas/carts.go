package nas

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// reduceTask is the reduce one job could launch on the offered node.
type reduceTask struct {
	job      *state.Job
	category int // of Algorithm 3, from 1
	turn     int // within the category: lower first
	size     model.Bytes
}

// Categories of Algorithm 3: those below reached have their ReduceNum not
// reached.
const (
	firstCategory = 1
	reached       = 4
)

func category(c class, full bool) int {
	if full {
		return reached + int(c) // light, medium, heavy
	}
	return reached - 1 - int(c) // heavy, medium, light
}

// before is the order of Algorithm 3: category, delayed or complete, the larger
// shuffle while ReduceNum is not reached and the smaller from then on, arrival.
func (t *reduceTask) before(o *reduceTask) bool {
	switch {
	case o.job == nil:
		return true
	case t.category != o.category:
		return t.category < o.category
	case t.turn != o.turn:
		return t.turn < o.turn
	case t.category < reached:
		return t.size > o.size
	}
	return t.size < o.size
}

// caRTS is Algorithm 3.
//
// Deviation: line 1 selects one user and no rule says what happens if that user
// has no reduce. The next is asked, or the node would stay idle
// (algorithms.md 2.3.5).
func (rs *reduceScheduler) caRTS(in *policy.Input) []model.Placement {
	for _, u := range in.View.Users() {
		var t reduceTask
		if rs.ready(u) {
			t = rs.bestReduce(in, u)
		}
		if t.job != nil {
			reason := model.ReasonBelowReduceNum
			if t.category >= reached {
				reason = model.ReasonReduceNumReached
			}
			return rs.launchReduce(in, t.job, reason)
		}
		if rs.params.FirstUserOnly {
			return nil
		}
	}
	return nil
}

func (rs *reduceScheduler) bestReduce(in *policy.Input, u *state.User) reduceTask {
	var best reduceTask
	for _, j := range u.Jobs() { // by arrival, so the first of equals is the earliest
		if rs.startable(in, j) == nil {
			continue
		}
		predicted := predict(j)
		full := !rs.wanted(in.View, j, &predicted, in.Offer.Node.Rack.Index)
		t := reduceTask{job: j, category: category(rs.classes.of(&predicted), full), turn: rs.turn(j), size: predicted.Shuffle}
		if t.before(&best) {
			best = t
		}
	}
	return best
}

// turn is a job's place within a category: the delayed ones and those whose
// maps are all complete first.
func (rs *reduceScheduler) turn(j *state.Job) int {
	late, done := 1, 1
	if s := rs.jobs.Find(j); s != nil && s.delayed > 0 {
		late = 0
	}
	if j.Map.Total > 0 && j.Map.Completed >= j.Map.Total {
		done = 0
	}
	switch rs.params.Priority {
	case CompleteFirst:
		return 2*done + late
	case Either:
		return min(late, done)
	case DelayedFirst:
	}
	return 2*late + done
}

// launchReduce launches a reduce. One delayed reduce less is left.
func (rs *reduceScheduler) launchReduce(in *policy.Input, j *state.Job, reason model.Reason) []model.Placement {
	if s := rs.jobs.Find(j); s != nil && s.delayed > 0 {
		s.delayed = min(s.delayed, j.Reduce.Pending) - 1
	}
	return in.Launch(j, j.Reduce, reason)
}

// spread is how a job's reduces are to lie over the racks: ReduceNum.
type spread struct {
	known  bool      // some map output is known or predicted
	share  []float64 // MapOutputPortion by rack number; sums to 1
	counts []int     // ReduceNum by rack number; sums to the job's reduces; by counted
	due    int       // completed maps from which on the reduces may start
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

// near reports whether what was computed from other facts still stands: all are
// the same but for a few running maps, whose output is only predicted. A job of
// thousands of maps would go through all racks at each launch else.
func (f *spreadFacts) near(o *spreadFacts) bool {
	moved := f.running - o.running
	same := *o
	same.running = f.running
	return *f == same && max(moved, -moved)*slack <= f.running+f.completed
}

// spreadOf returns the job's spread, computed anew when its facts changed.
func (rs *reduceScheduler) spreadOf(v state.View, j *state.Job, predicted *state.Prediction) *spread {
	s := &rs.jobs.Of(j).spread
	now := spreadFacts{
		reduces: j.Reduce.Tasks(), maps: predicted.Maps, running: j.Map.Running, completed: j.Map.Completed,
		output: j.Output.Version, racks: v.Capacity().Racks,
	}
	if !s.read || !now.near(&s.from) {
		s.read, s.from = true, now
		rs.divide(j, predicted, s)
		s.due = rs.dueAt(v, j, predicted, s)
	}
	return s
}

// divide computes MapOutputPortion (equation 4). A rack without running nodes has
// none, whatever it stores. Maps of which no size is known count alike.
func (rs *reduceScheduler) divide(j *state.Job, predicted *state.Prediction, s *spread) {
	s.share = s.share[:0]
	each := max(predicted.MapOutput(), 1)
	sum := 0.0
	for r, runs := range rs.cluster.runs {
		output := 0.0
		if runs {
			output = float64(rs.outputOn(j, r, each))
			sum += output
		}
		s.share = append(s.share, output)
	}
	s.known = sum > 0
	if s.fresh = false; !s.known {
		return
	}
	for r := range s.share {
		s.share[r] /= sum
	}
}

// counted returns ReduceNum (equation 4): fractions by largest remainder
// (algorithms.md 2.3.5), computed when they are asked for. It is empty as long as
// no map output is known.
func (s *spread) counted() []int {
	if !s.fresh {
		s.fresh, s.counts = true, s.counts[:0]
		if s.known {
			s.counts = shuffle.Apportion(s.share, s.from.reduces)
		}
	}
	return s.counts
}

// outputOn returns the job's map output on a rack as the portion counts it.
func (rs *reduceScheduler) outputOn(j *state.Job, rack int, each model.Bytes) model.Bytes {
	if rs.params.Portion == PortionPredicted {
		return j.OutputOn(rack, each)
	}
	if rack < len(j.Output.ByRack) {
		return j.Output.ByRack[rack]
	}
	return 0
}

// wanted reports whether the job's ReduceNum is not reached on a rack. As long
// as no map output is known it is reached nowhere.
func (rs *reduceScheduler) wanted(v state.View, j *state.Job, predicted *state.Prediction, rack int) bool {
	s := rs.spreadOf(v, j, predicted)
	counts := s.counted()
	return !s.known || (rack < len(counts) && j.Reduce.Launched(rack) < counts[rack])
}
