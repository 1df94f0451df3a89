package builtin_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/policy/builtin"
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
