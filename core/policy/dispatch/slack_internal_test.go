package dispatch

import (
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// A clock that was set back starts a wait anew.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s := Slack{Time: 5 * model.Second}
	var w policy.Wait
	for _, at := range []model.Time{100_000, 10_000} {
		cluster := state.New(state.DefaultConfig())
		cluster.Advance(at)
		skip(&policy.Input{View: cluster.View()}, &w)
	}
	for _, tc := range []struct {
		now  model.Time
		want bool
	}{{14_999, false}, {15_000, true}} {
		if got := s.over(&w, tc.now); got != tc.want {
			t.Errorf("at %d over: %t", tc.now, got)
		}
	}
	w = policy.Wait{}
	if s.over(&w, 1_000_000) {
		t.Error("over after a reset")
	}
}

// Any number of offers, even none, may bound a wait.
func TestSlackByCount(t *testing.T) {
	t.Parallel()
	s := Slack{ByCount: true, Count: 1}
	var w policy.Wait
	if s.over(&w, 0) {
		t.Error("over before the first offer")
	}
	skip(&policy.Input{View: state.New(state.DefaultConfig()).View()}, &w)
	if !s.over(&w, 0) {
		t.Error("not over after one")
	}
	if none := (Slack{ByCount: true}); !none.over(&policy.Wait{}, 0) || none.none() {
		t.Error("a count of 0 waits")
	}
}
