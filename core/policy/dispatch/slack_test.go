package dispatch_test

import (
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// reluctant is a rule under which every map is a hit that a user takes only once the
// user has let offers pass for long enough.
type reluctant struct{ passes []dispatch.Pass }

func (reluctant) Prepare(*policy.Input) {}

func (reluctant) Startable(_ state.View, _ *state.Job, s *state.Stage) bool {
	return s.Kind == model.StageMap
}

func (r reluctant) Passes(*policy.Input) []dispatch.Pass { return r.passes }

func (reluctant) Order(_ *policy.Input, c *dispatch.Candidate) bool {
	c.Key = dispatch.Key{Reason: model.ReasonAnyMap}
	return true
}

func (reluctant) Targets(state.View, *state.Job, *state.Stage) (dispatch.Targets, bool) {
	return dispatch.Targets{}, false
}

func (reluctant) Hold(state.View, *state.Job, *state.Stage) (dispatch.Hold, bool) {
	return dispatch.Hold{}, false
}

func (reluctant) Rank(state.View, *state.Job) dispatch.Key { return dispatch.Key{} }

// A user lets offers pass for a time, or for so many, even none; a clock that is set back
// starts the time anew.
func TestSlack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		slack dispatch.Slack
		at    []model.Duration // of the offers; the last one is taken
	}{
		{"no slack", dispatch.Slack{}, []model.Duration{0}},
		{"5 s", dispatch.Slack{Time: 5 * model.Second}, []model.Duration{0, 4_999, 5_000}},
		{"5 s, counted from the first offer", dispatch.Slack{Time: 5 * model.Second}, []model.Duration{100_000, 104_999, 105_000}},
		{"the clock is set back", dispatch.Slack{Time: 5 * model.Second}, []model.Duration{100_000, 10_000, 14_999, 15_000}},
		{"no offer", dispatch.Slack{ByCount: true}, []model.Duration{0}},
		{"one offer", dispatch.Slack{ByCount: true, Count: 1}, []model.Duration{0, 0}},
		{"three offers", dispatch.Slack{ByCount: true, Count: 3}, []model.Duration{0, 0, 90_000, 90_000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := reluctant{[]dispatch.Pass{{Kinds: []model.Stage{model.StageMap}, Slack: tt.slack}}}
			s := policytest.NewSession(dispatch.New(r, dispatch.Settings{Fairness: policy.Fair}), oneMap())
			before := model.Duration(0)
			for i, at := range tt.at {
				placed := s.Offer("w1:1", "", at-before)
				before = at
				if want := i == len(tt.at)-1; (len(placed) > 0) != want {
					t.Fatalf("offer %d at %d ms: placed %v, want %t", i+1, at, placed, want)
				}
			}
		})
	}
}

// oneMap is a node with room and a job with one pending map.
func oneMap() policytest.Scene {
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	return policytest.Scene{
		Config: state.DefaultConfig(), Capacity: 1e9,
		Nodes: []model.Node{{ID: "w1:1", Host: "w1", Rack: "/r1", State: model.NodeRunning, Total: model.Resource{MemoryMiB: 4096, VCores: 4}}},
		Apps: []policytest.App{{
			App:     model.App{ID: "application_1_0001", User: "ann", Type: "MAPREDUCE", State: model.AppRunning, Submitted: policytest.Epoch},
			MapTask: one, ReduceTask: one, MapInput: model.Unknown, MapOutput: model.Unknown,
			Maps: []model.Task{{Stage: model.StageMap, State: model.TaskPending, Input: -1, Output: -1, Shuffled: -1}},
		}},
	}
}
