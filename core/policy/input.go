package policy

import (
	"slices"

	"heddle/core/model"
	"heddle/core/state"
)

// InputSeen is how an input lay when something was computed from it.
type InputSeen struct {
	input  *state.Input // from which it was computed, or one that lies the same
	byRack []model.Bytes
	blocks int
}

// See takes note of an input.
func See(in *state.Input) InputSeen { return InputSeen{in, in.ByRack, len(in.Blocks)} }

// Fits reports whether an input lies like the one that was seen: blocks may move, and a path may be read again.
func (s *InputSeen) Fits(in *state.Input) bool {
	if s.input == in {
		return true
	}
	if s.input == nil || s.blocks != len(in.Blocks) || !slices.Equal(s.byRack, in.ByRack) {
		return false
	}
	s.input = in
	return true
}
