package builtin_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/policy/builtin"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := builtin.Registry()
	if diff := cmp.Diff([]string{"delay", "fair", "shufflewatcher"}, r.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
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
