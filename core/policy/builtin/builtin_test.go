package builtin_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/policy/shufflewatcher"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := builtin.Registry()
	for _, name := range []string{"fifo", "fair", "capacity", "delay", "drf", "shufflewatcher", "nas", "dawn", "num"} { // configurations name these
		if _, ok := r.Lookup(name); !ok {
			t.Errorf("no policy %s", name)
		}
	}
	if diff := cmp.Diff(slices.Compact(slices.Sorted(slices.Values(r.Names()))), r.Names()); diff != "" {
		t.Errorf("names are not sorted, or one is there twice (-sorted +got):\n%s", diff)
	}
	for _, e := range r {
		if e.Summary == "" || e.Paper == "" {
			t.Errorf("%s: says too little: %+v", e.Name, e)
		}
		raw, err := json.Marshal(e.Params)
		if err != nil {
			t.Fatalf("%s: defaults: %v", e.Name, err)
		}
		for _, section := range []json.RawMessage{nil, raw} {
			if p, err := r.New(e.Name, section); err != nil || p == nil {
				t.Errorf("%s: build from %q: %v", e.Name, section, err)
			}
		}
		if _, err := r.New(e.Name, []byte(`{"no_such_key":1}`)); err == nil {
			t.Errorf("%s: an unknown key is taken", e.Name)
		}
	}
}

// The preset paper is the rule as printed, which whatever is given besides
// changes.
func TestPreset(t *testing.T) {
	t.Parallel()
	e, _ := builtin.Registry().Lookup(shufflewatcher.Name)
	for given, want := range map[string]func(*shufflewatcher.Params){
		`{"preset":"paper"}`:                        func(*shufflewatcher.Params) {},
		`{"preset":"paper","wait_for_targets_s":7}`: func(p *shufflewatcher.Params) { p.WaitForTargetsS = 7 },
	} {
		raw, err := e.Expand([]byte(given))
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		got, wanted := shufflewatcher.DefaultParams(), shufflewatcher.PrintedParams()
		want(&wanted)
		if err := policy.Decode(raw, &got); err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
	}
	for _, e := range builtin.Registry() {
		if _, err := builtin.Registry().New(e.Name, []byte(`{"preset":"paper"}`)); err != nil {
			t.Error(err)
		}
		if _, err := builtin.Registry().New(e.Name, []byte(`{"preset":"papers"}`)); err == nil {
			t.Errorf("%s: an unknown preset is taken", e.Name)
		}
	}
}
