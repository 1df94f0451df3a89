package engine

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// doubt returns why a plan must not tie reduces to its racks, "" when it may:
//
//   - uncertain (I12): it is a guess that no launched map supports; or it wants reduces where no map was launched while
//     racks with maps have room; or its busiest uplink is not sure to stay within MaxBusier of an even spread's,
//     whichever rack has more or less output than is expected;
//   - busier_uplink: it does not stay within that even if all is as expected.
//
// A job with a graph of stages has other inputs of its reduces than maps: its policy alone says what is a guess. And
// what is put where the jobs that read it have least to fetch is to save bytes of those: the shuffle alone does not
// tell whether it does.
func (e *Engine) doubt(j *state.Job, p *model.Plan, o *jobForecast) model.Reason {
	switch {
	case len(p.Racks) == 0:
	case j.Graph != nil:
		if p.Reason == model.ReasonTentative {
			return model.ReasonUncertain
		}
	case p.Reason == model.ReasonDependents:
	case !o.known || leavesOutput(e.in.View, j, o):
		return model.ReasonUncertain
	default:
		return o.busierReason()
	}
	return ""
}

// leavesOutput reports whether a plan wants reduces on a rack where no map runs, ran or is bound to run, while a rack
// with maps has room for one more than is planned there.
func leavesOutput(v state.View, j *state.Job, o *jobForecast) bool {
	leaves, room := false, false
	for i, r := range v.Racks() {
		left := o.plan[i] - j.Reduce.Launched(i)
		if o.forecast.ByRack[i] <= 0 {
			leaves = leaves || left > 0
		} else {
			room = room || r.Runs() && policy.HasRoom(v, r, j.Reduce, max(left, 0)+1)
		}
	}
	return leaves && room
}
