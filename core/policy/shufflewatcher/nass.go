package shufflewatcher

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/state"
)

// line is a line of Fig. 3, in the order of the branch it belongs to: a lower
// line is served first. The two kinds of local map of lines 5 and 17 are lines
// of their own, because node-local goes before rack-local (§3.1).
type line uint8

const (
	satPreferredMap    line = iota // 4
	satNodeLocalMap                // 5
	satRackLocalMap                // 5
	satAnyMap                      // 6
	satLightReduce                 // 7
	satPreferredReduce             // 8
	satAnyReduce                   // 9

	freePreferredReduce // 13
	freeHeavyReduce     // 14
	freeLightReduce     // 15
	freePreferredMap    // 16
	freeNodeLocalMap    // 17
	freeRackLocalMap    // 17
	freeAnyMap          // 18

	noLine
)

// first returns the best line of a branch.
func first(saturated bool) line {
	if saturated {
		return satPreferredMap
	}
	return freePreferredReduce
}

// good reports whether a line is a hit for which relaxed fairness does not wait
// (algorithms.md 2.1.6). elsewhere says that the job has racks that it prefers for
// such a task, of which the node's, or one that it still prefers, is none, and that
// users wait for those.
func (l line) good(elsewhere bool) bool {
	switch l {
	case satPreferredMap, satLightReduce, satPreferredReduce, freePreferredReduce, freePreferredMap:
		return true
	case satNodeLocalMap, satRackLocalMap, freeNodeLocalMap, freeRackLocalMap, freeHeavyReduce:
		return !elsewhere
	default:
		return false
	}
}

// unpreferred reports whether a line is for racks that neither SAMP nor SARP chose.
func (l line) unpreferred() bool {
	switch l {
	case satPreferredMap, satPreferredReduce, freePreferredReduce, freePreferredMap:
		return false
	default:
		return true
	}
}

func (l line) reason() model.Reason {
	switch l {
	case satPreferredMap, freePreferredMap:
		return model.ReasonPreferredMapRack
	case satNodeLocalMap, satRackLocalMap, freeNodeLocalMap, freeRackLocalMap:
		return model.ReasonLocalMap
	case satAnyMap, freeAnyMap:
		return model.ReasonAnyMap
	case satLightReduce, freeLightReduce:
		return model.ReasonLightReduce
	case satPreferredReduce, freePreferredReduce:
		return model.ReasonPreferredReduce
	case freeHeavyReduce:
		return model.ReasonHeavyReduce
	default:
		return model.ReasonAnyReduce
	}
}

// Passes implements dispatch.Rule: NASS tries an offer once, with both kinds of
// task in the order of their lines.
//
// Deviation from line 1: the paper takes the one user the fairness policy names. A
// user without a runnable task would leave the node idle, so the next in fair
// order is asked (algorithms.md 2.1.1e).
//
// The paper runs ShuffleWatcher with delay scheduling's relaxed fairness of 5 s
// (§5.2) and prints no mechanism (algorithms.md 2.1.6): a user without a good hit
// lets offers pass for the slack.
func (r *rule) Passes(in *policy.Input) []dispatch.Pass {
	r.saturated = r.params.Scope.Saturated(in.View, in.Offer.Node.Rack)
	if r.saturated {
		return r.mapsFirst
	}
	return r.reducesFirst
}

// Startable implements dispatch.Rule: there is no gate in the saturated branch.
func (r *rule) Startable(_ state.View, _ *state.Job, s *state.Stage) bool {
	return s.Kind != model.StageOther
}

// Order implements dispatch.Rule: the lowest line of Fig. 3 under which the task
// comes. Within a line jobs go by arrival (§3.1).
func (r *rule) Order(in *policy.Input, c *dispatch.Candidate) bool {
	var l line
	switch {
	case c.Stage.Kind == model.StageReduce:
		l = r.reduceLine(in, c.Job, c.Found)
	case r.saturated:
		l = r.mapLine(in, c.Job, satPreferredMap, c.Found)
	default:
		l = r.mapLine(in, c.Job, freePreferredMap, c.Found)
	}
	if int(l) >= c.Found || l == noLine {
		return false
	}
	waitsForTargets := c.Job.Heavy && r.params.WaitForTargetsS > 0 && (c.Stage.Kind == model.StageReduce || in.Offer.Kinds == "")
	elsewhere := (waitsForTargets || r.params.RelaxFor == ForPreferred) && l.unpreferred() && r.hasTargets(in.View, c.Job, c.Stage)
	c.Key = dispatch.Key{
		Line: int(l), Reason: l.reason(), Least: l == first(r.saturated),
		Good: l.good(elsewhere && r.params.RelaxFor == ForPreferred), Elsewhere: elsewhere && waitsForTargets, Everywhere: l == freeLightReduce,
	}
	return true
}

// hasTargets reports whether SAMP or SARP chose racks for a stage.
func (r *rule) hasTargets(v state.View, j *state.Job, s *state.Stage) bool {
	if s.Kind == model.StageMap {
		return r.mapChoice(v, j).decided
	}
	return len(r.reduceChoice(v, j, true).counts) > 0
}

// Wanted implements dispatch.Waiter: SAMP's racks, and those with fewer of SARP's
// reduces than wanted.
func (r *rule) Wanted(v state.View, j *state.Job, s *state.Stage, racks []int) []int {
	if s.Kind == model.StageMap {
		for rack, preferred := range r.mapChoice(v, j).set {
			if preferred {
				racks = append(racks, rack)
			}
		}
		return racks
	}
	for rack, count := range r.reduceChoice(v, j, true).counts {
		if count > 0 && j.Reduce.Launched(rack) < count {
			racks = append(racks, rack)
		}
	}
	return racks
}

// mapLine returns lines 4 to 6 or 16 to 18, which differ by their number only.
// Within line 4 the job's arrival decides, and then the job's best locality
// (algorithms.md 2.1.1b).
//
// Deviation from algorithms.md 2.1.3d and f: for a job SAMP made no choice for,
// PreferredMapRacks is every rack there, which would let line 4 launch remote
// reads while other jobs have local maps. Line 4 may do so only because "SAMP
// may explicitly decide" it (§3.1), so such jobs go by lines 5 and 6.
func (r *rule) mapLine(in *policy.Input, j *state.Job, preferred line, found int) line {
	if found <= int(preferred) {
		return noLine
	}
	if r.mapChoice(in.View, j).prefers(in.Offer.Node.Rack.Index) {
		return preferred
	}
	if found <= int(preferred)+1 {
		return noLine
	}
	level, _ := j.Map.Locality(in.Offer.Node)
	return preferred + 1 + line(level)
}

// reduceLine returns lines 7 to 9 or 13 to 15. In the saturated branch the order
// alone delays reduces, and a user who gets there has a slot no map wants, which
// is when the paper enables them (§3.3; algorithms.md 2.1.1d).
func (r *rule) reduceLine(in *policy.Input, j *state.Job, found int) line {
	rack := in.Offer.Node.Rack.Index
	switch {
	case r.saturated && found <= int(satLightReduce), !r.saturated && found <= int(freePreferredReduce):
		return noLine
	case r.saturated && !j.Heavy:
		return satLightReduce
	case r.saturated && r.unmet(in.View, j, rack):
		return satPreferredReduce
	case r.saturated:
		return satAnyReduce
	case !enabled(j):
		return noLine
	case !j.Heavy:
		return freeLightReduce
	case r.unmet(in.View, j, rack):
		return freePreferredReduce
	}
	return freeHeavyReduce
}

// enabled is the gate of the unsaturated branch, for which the paper gives no
// figure: at least one map and Hadoop's slowstart share of them are complete
// (algorithms.md 2.1.1d). A job that has not told its number of maps asks for
// reduces only when its own gate is passed.
func enabled(j *state.Job) bool {
	return j.Map.Total == 0 || (j.Map.Completed >= 1 && j.ReducesDue())
}
