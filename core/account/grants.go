package account

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// grants judges reduces at the moment they are first seen to be granted, by the closed forms of package shuffle, with the
// map output as it was expected then.
type grants struct {
	forecast shuffle.Forecast
	fresh    []int // by rack number
}

// newOf returns how many tasks of a stage were granted on each rack since the last look.
func (g *grants) newOf(started *[]int, s *state.Stage, racks int) (fresh []int, found bool) {
	g.fresh = g.fresh[:0]
	for rack := range racks {
		*started = topology.Extend(*started, rack)
		n := s.Started(rack)
		more := max(n-(*started)[rack], 0)
		(*started)[rack] = n
		g.fresh, found = append(g.fresh, more), found || more > 0
	}
	return g.fresh, found
}

// settles is how long after a plan first names racks, or is in force again, a container may be seen that was granted
// before: the application makes its call within a second, and the container is seen at the poll after.
const settles = 3 * model.Second

// judge adds to the sums of a job its reduces that were granted since the last look, if a plan named racks for them and
// it may be in force: not of a job that goes around the relay, nor while a relay that was started again has not steered
// it yet. The reduces of a graph of stages have other inputs than maps, and are not judged.
func (g *grants) judge(of *jobPlaced, v state.View, j *state.Job, plan *model.Plan) {
	fresh, found := g.newOf(&of.started, j.Reduce, len(v.Racks()))
	if plan == nil || len(plan.Racks) == 0 || j.Graph != nil || !j.ReducesTied() {
		of.namedSince = 0
		return
	}
	if of.namedSince == 0 {
		of.namedSince = v.Now()
	}
	if !found || v.Now().Sub(of.namedSince) < settles {
		return
	}
	sums := &of.granted
	known := j.Forecast(&g.forecast, len(v.Racks()))
	// What is put where the jobs that read it have least to fetch may be away from map output, and use an uplink more (engine.doubt).
	known = known && plan.Reason != model.ReasonDependents
	busier := known && g.forecast.Busier(policy.MaxBusier, policy.Counts(v, plan), policy.EvenSpread(v, j.Reduce.Tasks()))
	for rack, n := range fresh {
		switch {
		case n == 0:
		case known && g.forecast.ByRack[rack] <= 0 && g.roomAtOutput(v, j.Reduce):
			sums.NoOutput += n
		case busier:
			sums.Busier += n
		default:
			sums.OK += n
		}
	}
}

// roomAtOutput reports whether a rack where map output is expected has room for a task of a stage.
func (g *grants) roomAtOutput(v state.View, s *state.Stage) bool {
	for i, r := range v.Racks() {
		if g.forecast.ByRack[i] > 0 && r.Runs() && policy.HasRoom(v, r, s, 1) {
			return true
		}
	}
	return false
}
