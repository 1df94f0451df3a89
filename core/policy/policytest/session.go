package policytest

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Session shows one cluster to a policy, offer by offer.
type Session struct {
	cluster *state.Cluster
	policy  policy.Policy
	in      policy.Input
	now     model.Time
}

// NewSession builds the scene's cluster and sets the clock to Epoch.
func NewSession(p policy.Policy, s Scene) *Session {
	c := s.Cluster()
	return &Session{cluster: c, policy: p, now: Epoch, in: policy.Input{View: c.View()}}
}

// View returns what the policy sees.
func (s *Session) View() state.View { return s.in.View }

// Pass lets time pass and samples the uplinks.
func (s *Session) Pass(d model.Duration) {
	s.now = s.now.Add(d)
	s.cluster.Advance(s.now)
}

// Ask offers a node to the policy; empty kinds is any task.
func (s *Session) Ask(node model.NodeID, kinds model.Stage) []model.Placement {
	s.in.Offer, s.in.Jobs = policy.Offer{Node: s.in.View.Node(node), Kinds: kinds}, nil
	return s.policy.Place(&s.in)
}

// Offer lets time pass, then offers a node.
func (s *Session) Offer(node model.NodeID, kinds model.Stage, after model.Duration) []model.Placement {
	s.Pass(after)
	return s.Ask(node, kinds)
}

// Plan asks for the plans of all live jobs, none of a policy that does not plan.
func (s *Session) Plan() []model.Plan {
	planner, ok := s.policy.(policy.Planner)
	if !ok {
		return nil
	}
	s.in.Offer, s.in.Jobs = policy.Offer{}, s.in.View.Jobs()
	return planner.Plan(&s.in)
}

// Assume supposes a placement carried out, as a round of the engine does.
func (s *Session) Assume(p model.Placement) { s.cluster.Assume(p) }
