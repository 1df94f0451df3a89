package shufflewatcher

import (
	"heddle/core/model"
	"heddle/core/policy"
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

// elsewhere says so of a hit, which is on no preferred rack where it matters.
func (p *Policy) elsewhere(in *policy.Input, h hit) bool {
	switch {
	case p.params.RelaxFor != ForPreferred:
		return false
	case h.line.stage() == model.StageMap:
		return p.mapChoice(in.View, h.job).decided
	}
	return len(p.targets(in.View, h.job, true).counts) > 0
}

func (l line) stage() model.Stage {
	switch l {
	case satLightReduce, satPreferredReduce, satAnyReduce, freePreferredReduce, freeHeavyReduce, freeLightReduce:
		return model.StageReduce
	default:
		return model.StageMap
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

// hit is a task NASS found.
type hit struct {
	job      *state.Job
	line     line
	overtook bool // the starvation window put it before a better line of a later job
}

// Place implements policy.Policy: NASS, Fig. 3.
//
// Deviation from line 1: the paper takes the one user the fairness policy
// names. A user without a runnable task would leave the node idle, so the next
// in fair order is asked (algorithms.md 2.1.1e); with relaxed fairness a user
// without a good task is passed over for a while as well (relax.go).
func (p *Policy) Place(in *policy.Input) []model.Placement {
	follow(p, in.View)
	if in.Offer.Node == nil || !in.Offer.Node.State.Usable() {
		return nil
	}
	saturated, now := p.params.Scope.Saturated(in.View, in.Offer.Node.Rack), in.View.Now()
	for _, u := range p.params.Fairness.Users(in.View) {
		kept := p.users.Of(u)
		if kept.waiting(now, p.relax) && !kept.prospects.may(in.Offer.Node.Rack.Index, saturated) {
			continue
		}
		h := p.search(in, u, saturated)
		if h.job == nil || !kept.accept(h.line.good(p.elsewhere(in, h)), now, p.relax) {
			continue
		}
		return place(in, h)
	}
	return nil
}

func place(in *policy.Input, h hit) []model.Placement {
	s := h.job.Map
	if h.line.stage() == model.StageReduce {
		s = h.job.Reduce
	}
	reason := h.line.reason()
	if h.overtook {
		reason = model.ReasonWindow
	}
	return in.Launch(h.job, s, reason)
}

// search finds the user's best task for the offer: the earliest window that has
// any, in it the lowest line, in that the earliest job (§3.1: "within each
// category, the tasks are ordered by job arrival times").
func (p *Policy) search(in *policy.Input, u *state.User, saturated bool) hit {
	chosen, best := hit{line: noLine}, hit{line: noLine}
	w := policy.Windows(in.View, p.window, p.params.WindowMode)
	for _, j := range u.Jobs() { // by arrival, so windows come one after the other
		if w.Next(j) && best.job != nil && chosen.job == nil {
			chosen = best
		}
		l := p.bestLine(in, j, saturated, best.line)
		if l >= best.line {
			continue
		}
		best = hit{job: j, line: l}
		if chosen.job != nil {
			chosen.overtook = true
			return chosen
		}
		if l == first(saturated) {
			return best
		}
	}
	if chosen.job == nil {
		return best
	}
	return chosen
}

// bestLine returns the lowest line under which the job has a task for the
// offer, noLine if it has none below a line that is found already.
func (p *Policy) bestLine(in *policy.Input, j *state.Job, saturated bool, found line) line {
	maps, reduces := in.Admits(j.Map), in.Admits(j.Reduce)
	if (!maps && !reduces) || j.Blacklisted(in.Offer.Node.Host) {
		return noLine
	}
	if saturated {
		if maps {
			return p.mapLine(in, j, satPreferredMap, found)
		}
		return p.satReduceLine(in, j)
	}
	if reduces && enabled(j) {
		return p.freeReduceLine(in, j)
	}
	if maps {
		return p.mapLine(in, j, freePreferredMap, found)
	}
	return noLine
}

// mapLine returns lines 4 to 6 or 16 to 18, which differ by their number only.
// Within line 4 the job's arrival decides, and then the job's best locality
// (algorithms.md 2.1.1b).
//
// Deviation from algorithms.md 2.1.3d and f: for a job SAMP made no choice for,
// PreferredMapRacks is every rack there, which would let line 4 launch remote
// reads while other jobs have local maps. Line 4 may do so only because "SAMP
// may explicitly decide" it (§3.1), so such jobs go by lines 5 and 6.
func (p *Policy) mapLine(in *policy.Input, j *state.Job, preferred, found line) line {
	if found <= preferred {
		return noLine
	}
	if p.mapChoice(in.View, j).prefers(in.Offer.Node.Rack.Index) {
		return preferred
	}
	if found <= preferred+1 {
		return noLine
	}
	level, _ := in.View.Locality(j.Map, in.Offer.Node)
	return preferred + 1 + line(level)
}

// satReduceLine returns lines 7 to 9. There is no gate: the order alone delays
// reduces, and a user who gets here has a slot no map of the job wants, which
// is when the paper enables them (§3.3; algorithms.md 2.1.1d).
func (p *Policy) satReduceLine(in *policy.Input, j *state.Job) line {
	switch {
	case !j.Heavy:
		return satLightReduce
	case p.unmet(in.View, j, in.Offer.Node.Rack.Index):
		return satPreferredReduce
	}
	return satAnyReduce
}

func (p *Policy) freeReduceLine(in *policy.Input, j *state.Job) line {
	switch {
	case !j.Heavy:
		return freeLightReduce
	case p.unmet(in.View, j, in.Offer.Node.Rack.Index):
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
