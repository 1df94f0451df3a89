// Package delay implements delay scheduling (Zaharia, Borthakur, Sen Sarma,
// Elmeleegy, Shenker, Stoica: "Delay Scheduling: A Simple Technique for
// Achieving Locality and Fairness in Cluster Scheduling", EuroSys 2010) on top
// of fair order (algorithms.md 2.5.3).
//
// Users are served in fair order and a user's jobs by arrival, as package fair
// does. A job whose best map for the offered node is not node-local lets the
// offer pass, for so many offers or so long, before it takes a rack-local and
// later any map. Reduces have no local node and do not wait.
//
// What is changed: the paper orders jobs by running tasks, here users are in
// fair order (the papers that compare with it do the same); mode simple uses D
// for the step from node to rack and again from rack to any node, where the
// paper has one step (algorithms.md 2.5.3); and a job whose pending maps name
// no node or rack at all does not wait, because nothing better can come (YARN
// asks such tasks at "*").
//
// Mode yarn is what YARN's Fair Scheduler made of it (policy.Levels).
//
// Place costs O(U + J) for the users and jobs it has to look at. It trusts the
// users' usage and the pending maps by host and rack in the cluster state.
package delay

import (
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "delay"

// Policy is delay scheduling.
type Policy struct {
	params Params
	w1, w2 model.Duration

	levels *policy.Levels // of mode yarn

	jobs  policy.Jobs[policy.Wait]
	last  model.Time     // of the heartbeat before
	waits []*policy.Wait // of the jobs that heartbeat passed over
	// ticked tells that the present offer has been counted as a heartbeat: it is one only if a map was weighed
	// for it, so that nodes without room for any do not stop the clock of jobs that wait.
	ticked bool
	maxD   int // skips per level in mode simple, for the nodes at hand
}

var _ policy.Policy = (*Policy)(nil)

// Place implements policy.Policy.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	p.jobs.Prune(in.View)
	p.levels.Prune(in.View)
	p.ticked = false
	if !in.Offer.Usable() {
		return nil
	}
	p.maxD = p.skips(in.View)
	for _, u := range in.View.Users() {
		for _, j := range u.Jobs() {
			s := in.Next(j)
			if s == nil {
				continue
			}
			if s.Kind != model.StageMap {
				return in.Launch(j, s, model.ReasonFairShare)
			}
			if reason := p.launch(in, j); reason != "" {
				return in.Launch(j, s, reason)
			}
		}
	}
	return nil
}

// launch decides whether the job takes its best map for the offered node, and
// returns why; "" is to let the offer pass.
func (p *Policy) launch(in *policy.Input, j *state.Job) model.Reason {
	if p.params.Mode == YARN {
		reason, _ := p.levels.Take(in, j)
		return reason
	}
	p.tick(in)
	level, _ := j.Map.Locality(in.Offer.Node)
	w := in.Journal.Edit(p.jobs.Of(j))
	if !p.take(w, level) {
		if level == model.OffSwitch && !hasPlace(in.View, j.Map) {
			return model.ReasonFairShare
		}
		w.Skips++
		p.waits = append(p.waits, w)
		return ""
	}
	return policy.Waited(level)
}

// take decides by the mode, and takes note of what is launched.
func (p *Policy) take(w *policy.Wait, level model.Locality) bool {
	if p.params.Mode == TwoLevel {
		return p.twoLevel(w, level)
	}
	return p.simple(w, level)
}

// simple is the paper's Algorithm 2 with a rack level: a node-local launch
// resets the count, any other leaves it, so that a job that has waited goes on
// launching until locality comes back.
func (p *Policy) simple(w *policy.Wait, level model.Locality) bool {
	if level == model.NodeLocal {
		w.Skips = 0
		return true
	}
	return w.Skips >= p.maxD*int(level)
}

// twoLevel is the form of the Hadoop Fair Scheduler (the paper's Algorithm 3).
func (p *Policy) twoLevel(w *policy.Wait, level model.Locality) bool {
	switch {
	case level == model.NodeLocal:
	case level == model.RackLocal && (w.Level >= model.RackLocal || w.Spent >= p.w1):
	case w.Level == model.OffSwitch, w.Level == model.RackLocal && w.Spent >= p.w2, w.Spent >= p.w1+p.w2:
	default:
		return false
	}
	w.Spent, w.Level = 0, level
	return true
}

// tick adds the time since the heartbeat before to the wait of every job that
// was passed over by it. A clock that was set back adds nothing.
func (p *Policy) tick(in *policy.Input) {
	if p.ticked {
		return
	}
	p.ticked = true
	now := in.View.Now()
	if in.Journal.Asking() {
		policy.Save(in.Journal, &p.last)
		policy.Save(in.Journal, &p.waits)
		p.waits = slices.Clone(p.waits)
	}
	dt := max(now.Sub(p.last), 0)
	for i, w := range p.waits {
		in.Journal.Edit(w).Spent += dt
		p.waits[i] = nil
	}
	p.waits = p.waits[:0]
	p.last = now
}

// skips returns D.
func (p *Policy) skips(v state.View) int {
	if p.params.D != Auto {
		return p.params.D
	}
	return int(math.Ceil(SkipsFor(len(v.Nodes()), Replicas, Locality, Tasks)))
}

// hasPlace reports whether any pending task of the stage would be local on any
// rack.
func hasPlace(v state.View, s *state.Stage) bool {
	for i := range v.Racks() {
		if s.PendingIn(i) > 0 {
			return true
		}
	}
	return false
}
