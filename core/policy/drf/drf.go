// Package drf implements Dominant Resource Fairness (Ghodsi, Zaharia, Hindman,
// Konwinski, Shenker, Stoica: "Dominant Resource Fairness: Fair Allocation of
// Multiple Resource Types", NSDI 2011; algorithms.md 2.5.5). A user's dominant
// share is the larger of the user's parts of all memory and of all vcores; the
// user whose dominant share is least is served first (Algorithm 1). Inside a
// user jobs go by arrival, and inside a job reduces that are due before maps,
// at whatever locality the node gives them.
//
// What is changed, and why:
//   - Algorithm 1 has one pool and stops when the next task of the user at its
//     turn does not fit. A cluster is offered node by node, so the next user is
//     asked instead; stop=paper gives the paper's rule for each offer.
//   - compare=vector orders users as YARN's DominantResourceFairnessPolicy does:
//     where dominant shares are equal the other shares decide.
//   - A task must fit in memory and in vcores, whatever the cluster's resource
//     calculator counts, as in YARN's Fair Scheduler: DRF divides both.
//
// Place costs O(U + J) for the users and jobs it has to look at; users stand in
// their order in the cluster state.
package drf

import (
	"encoding/json"
	"errors"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "drf"

// Stop says what becomes of an offer the next task of the user at its turn does
// not fit into.
type Stop string

// The two rules.
const (
	StopPaper   Stop = "paper"   // nothing is started
	StopCluster Stop = "cluster" // the next task, job or user is tried
)

// Compare says which users are equal.
type Compare string

// The two comparisons. Equals go by earliest job, then by name.
const (
	CompareDominant Compare = "dominant" // by dominant share alone (the paper)
	CompareVector   Compare = "vector"   // by dominant share, then by the other one (YARN)
)

// Params are the policy's own settings.
type Params struct {
	Stop    Stop    `json:"stop"    doc:"when the next task of the user at its turn does not fit: cluster tries others, paper starts nothing (Algorithm 1)"`
	Compare Compare `json:"compare" doc:"users by dominant share alone, or by vector: the other share too where the dominant ones are equal (YARN)"`
}

// DefaultParams returns the rule for clusters and the paper's comparison.
func DefaultParams() Params { return Params{Stop: StopCluster, Compare: CompareDominant} }

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	return errors.Join(policy.OneOf("stop", p.Stop, StopPaper, StopCluster), policy.OneOf("compare", p.Compare, CompareDominant, CompareVector))
}

// Policy is DRF. It keeps no state: the order of users is the cluster's.
type Policy struct{ params Params }

var _ policy.Policy = (*Policy)(nil)

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	return policy.Build(raw, DefaultParams(), func(p Params) (*Policy, error) { return &Policy{params: p}, p.Validate() })
}

// Place implements policy.Policy.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	if !in.Offer.Usable() {
		return nil
	}
	for _, u := range p.users(in.View) {
		for _, j := range u.Jobs() {
			for _, s := range [...]*state.Stage{j.Reduce, j.Map} {
				switch {
				case !wanted(in, j, s):
				case s.Capability.Fits(in.Offer.Node.Free, true):
					return in.Launch(j, s, model.ReasonDominantShare)
				case p.params.Stop == StopPaper:
					return nil
				}
			}
		}
	}
	return nil
}

func (p *Policy) users(v state.View) []*state.User {
	if p.params.Compare == CompareVector {
		return v.UsersBy(state.ByShares)
	}
	return policy.DRF.Users(v)
}

// wanted reports whether a stage asks for containers the node may give, whatever
// their size.
func wanted(in *policy.Input, j *state.Job, s *state.Stage) bool {
	return s.Pending > 0 && (s != j.Reduce || j.ReducesDue()) && in.Within(s) && !j.Blacklisted(in.Offer.Node.Host)
}
