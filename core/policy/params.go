package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"heddle/core/model"
)

// Decode reads a policy's parameters strictly over its defaults, already in p.
// An unknown key, a wrong type or anything after the object is an error.
func Decode[P any](raw json.RawMessage, p *P) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return fmt.Errorf("decode params: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode params: more than one value")
	}
	return nil
}

// Build makes a policy from its section of the configuration, as a Factory does:
// of the defaults, with raw decoded strictly over them. With refuses parameters
// that are out of range.
func Build[P any, Q Policy](raw json.RawMessage, defaults P, with func(P) (Q, error)) (Policy, error) {
	if err := Decode(raw, &defaults); err != nil {
		return nil, err
	}
	built, err := with(defaults)
	if err != nil {
		return nil, err // not a nil Q in a Policy
	}
	return built, nil
}

// OneOf refuses a setting that is none of those wanted.
func OneOf[T ~string](key string, v T, want ...T) error {
	if slices.Contains(want, v) {
		return nil
	}
	return fmt.Errorf("%s: want one of %v, is %q", key, want, v)
}

// MaxSeconds bounds every duration that can be set: a day is beyond any use.
const MaxSeconds = 24 * 60 * 60

// Within refuses a number that is not between two bounds.
func Within(key string, v, lo, hi float64) error {
	if v >= lo && v <= hi { // a NaN is refused too
		return nil
	}
	return fmt.Errorf("%s: must be between %g and %g, is %g", key, lo, hi, v)
}

// Seconds returns the duration of a setting in seconds.
func Seconds(s float64) model.Duration { return model.Duration(s * float64(model.Second)) }
