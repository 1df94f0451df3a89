// Package engine runs one round: it puts the view and an offer before a policy,
// verifies what comes back (I3), and hands on numbered decisions with their
// reasons. It is the same in the service, in replay and in simulation.
package engine

import (
	"errors"
	"fmt"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// ErrStale is returned instead of decisions when the ResourceManager's last
// good answer is older than Options.MaxAge.
var ErrStale = errors.New("the ResourceManager's state is too old to decide on")

// Options configure an Engine.
type Options struct {
	Name    string         // the policy's registered name
	MaxAge  model.Duration // of the ResourceManager's state in Plan; 0 does not look (replay, simulation)
	MaxHold model.Duration // the longest hold a plan may carry (I9)
	// MaxOffers bounds the virtual offers of one Plan for a policy that has no
	// Plan of its own.
	MaxOffers int
	Decisions int // in the log for readers
	// HoldByRank has plans hold what jobs ask for until those before them by rank have what they ask for.
	HoldByRank bool
	// Recover turns a panic of the policy into an error and a lost round. The
	// service sets it; tests do not.
	Recover bool
}

// DefaultOptions returns the limits the service runs with.
func DefaultOptions(name string) Options {
	return Options{Name: name, MaxAge: 30 * model.Second, MaxHold: 10 * model.Minute, MaxOffers: 5000, Decisions: 4096, Recover: true}
}

// Engine asks one policy about one cluster. It belongs to the goroutine that
// owns the cluster.
type Engine struct {
	opts    Options
	policy  policy.Policy
	cluster *state.Cluster
	in      policy.Input
	journal policy.Journal
	offers  offerCount
	log     *Log

	forecasts jobForecasts
	counts    []int // of the plan at hand, by rack number
	order     order
}

// New builds an engine.
func New(opts Options, p policy.Policy, c *state.Cluster) *Engine {
	e := &Engine{opts: opts, policy: p, cluster: c, log: newLog(opts.Decisions)}
	e.in = policy.Input{View: c.View(), Journal: &e.journal, HoldByRank: opts.HoldByRank}
	return e
}

// Limit limits what is placed from now on to what the asks admit.
func (e *Engine) Limit(l policy.Limits) { e.in.Limits = l }

// Log returns the log of what the engine decided.
func (e *Engine) Log() *Log { return e.log }

// Continue takes over the log of the engine that this one replaces.
func (e *Engine) Continue(old *Engine) { e.log = old.log }

// Name returns the policy's name.
func (e *Engine) Name() string { return e.opts.Name }

// Offer returns the policy's placements for one offer that pass the rules, and
// counts those that do not. It leaves the cluster as it was, and allocates
// nothing beside what the policy does. The slice is valid until the next offer.
// Unless any of the policy's placements stands, the policy remembers none of them.
func (e *Engine) Offer(offer policy.Offer) ([]model.Placement, error) {
	before := e.journal.Begin(false)
	proposed, err := e.ask(offer)
	kept := e.verify(proposed, offer)
	if err != nil || (len(kept) == 0 && len(proposed) > 0) {
		e.journal.Discard(before)
	} else {
		e.journal.Keep(before)
	}
	return kept, err
}

// verify returns the placements that pass the rules, in the memory of those
// proposed.
func (e *Engine) verify(proposed []model.Placement, offer policy.Offer) []model.Placement {
	kept, assumed := proposed[:0], 0
	for i := range proposed {
		p := proposed[i]
		rule := e.check(&p, offer)
		if rule == "" && duplicate(kept, &p) {
			rule = model.RuleDuplicate
		}
		if rule != "" {
			e.log.reject(rule)
			continue
		}
		kept = append(kept, p)
		if i+1 < len(proposed) { // what follows is judged beside it
			e.cluster.Assume(p)
			assumed++
		}
	}
	for _, p := range kept[:assumed] {
		e.cluster.Withdraw(p)
	}
	return kept
}

func (e *Engine) ask(offer policy.Offer) (out []model.Placement, err error) {
	if e.opts.Recover {
		defer e.recovered(&err)
	}
	e.in.Offer, e.in.Jobs = offer, nil
	return e.policy.Place(&e.in), nil
}

func (e *Engine) recovered(err *error) {
	if r := recover(); r != nil {
		e.log.reject(model.RulePanic)
		*err = fmt.Errorf("policy %s panicked: %v", e.opts.Name, r)
	}
}

func duplicate(kept []model.Placement, p *model.Placement) bool {
	if p.Task == model.AnyTask {
		return false
	}
	for i := range kept {
		if k := &kept[i]; k.App == p.App && k.Stage == p.Stage && k.Task == p.Task {
			return true
		}
	}
	return false
}

// check returns the rule a placement breaks, "" if it stands.
func (e *Engine) check(p *model.Placement, offer policy.Offer) model.Rule {
	v := e.in.View
	j := v.Job(p.App)
	if j == nil || j.State.Final() {
		return model.RuleUnknownJob
	}
	n := v.Node(p.Node)
	if n == nil || n != offer.Node || !n.State.Usable() {
		return model.RuleUnusableNode
	}
	s := j.Stage(p.Stage)
	if s == nil || s.Pending <= 0 || (offer.Kinds != "" && offer.Kinds != p.Stage) {
		return model.RuleNoAsk
	}
	if e.in.Limits != nil && !e.in.Limits.Admits(s, n) {
		return model.RuleNoAsk
	}
	if j.Blacklisted(n.Host) {
		return model.RuleBlacklisted
	}
	if !v.Fits(s, n.Free) {
		return model.RuleCapacity
	}
	best, ok := s.Locality(n)
	if p.Task != model.AnyTask {
		best, ok = e.cluster.TaskLocality(s, p.Task, n)
	}
	if !ok {
		return model.RuleNoAsk
	}
	if best != p.Locality { // I7
		return model.RuleLocality
	}
	return ""
}
