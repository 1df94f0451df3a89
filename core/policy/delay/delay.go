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
// Mode yarn is what YARN's Fair Scheduler made of it (policy.NewLevels).
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

	waits  *policy.LocalityWaits
	passed []*policy.Wait // of the jobs that the heartbeat before passed over
	last   model.Time     // of that heartbeat
	// ticked is that the present offer has been counted as a heartbeat: it is one only if a map was weighed
	// for it, so that nodes without room for any do not stop the clock of jobs that wait.
	ticked bool
	maxD   int // skips per level in mode simple, for the nodes at hand
}

var _ policy.Policy = (*Policy)(nil)

// Place implements policy.Policy.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	p.waits.Begin(in.View)
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
			p.tick(in)
			if reason, ok := p.waits.Take(in, j); ok {
				return in.Launch(j, s, reason)
			}
		}
	}
	return nil
}

// simple is the paper's Algorithm 2 with a rack level: a node-local launch
// resets the count, any other leaves it, so that a job that has waited goes on
// launching until locality comes back.
func (p *Policy) simple(_ *policy.Input, w *policy.Wait, at model.Locality) bool {
	switch {
	case at == model.NodeLocal:
		w.Skips = 0
	case w.Skips < p.maxD*int(at):
		w.Skips++
		return false
	}
	return true
}

// twoLevel is the form of the Hadoop Fair Scheduler (the paper's Algorithm 3).
func (p *Policy) twoLevel(_ *policy.Input, w *policy.Wait, at model.Locality) bool {
	switch {
	case at == model.NodeLocal:
	case at == model.RackLocal && (w.Level >= model.RackLocal || w.Spent >= p.w1):
	case w.Level == model.OffSwitch, w.Level == model.RackLocal && w.Spent >= p.w2, w.Spent >= p.w1+p.w2:
	default:
		p.passed = append(p.passed, w)
		return false
	}
	w.Spent, w.Level = 0, at
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
		policy.Save(in.Journal, &p.passed)
		p.passed = slices.Clone(p.passed)
	}
	dt := max(now.Sub(p.last), 0)
	for i, w := range p.passed {
		in.Journal.Edit(w).Spent += dt
		p.passed[i] = nil
	}
	p.passed = p.passed[:0]
	p.last = now
}

// skips returns D.
func (p *Policy) skips(v state.View) int {
	if p.params.D != Auto {
		return p.params.D
	}
	return int(math.Ceil(SkipsFor(len(v.Nodes()), Replicas, Locality, Tasks)))
}
