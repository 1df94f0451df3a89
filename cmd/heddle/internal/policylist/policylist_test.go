package policylist

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type gap struct {
	Gap float64 `json:"gap_s" doc:"the gap"`
}

// ownText writes itself.
type ownText struct{ text string }

// MarshalJSON implements json.Marshaler.
func (o ownText) MarshalJSON() ([]byte, error) { return json.Marshal(o.text) }

// The parameters come in the order of the fields, sections and embedded structs
// included.
func TestPolicyParams(t *testing.T) {
	t.Parallel()
	type given struct {
		Mode string `json:"mode" doc:"how, in a word"`
		gap
		Inner gap     `json:"section"`
		Bare  []int   `json:"bare,omitempty"`
		Own   ownText `json:"own" doc:"itself"`
		Skip  int     `json:"-"`
	}
	list, err := params(nil, "", reflect.ValueOf(given{Mode: "ab", gap: gap{1.5}, Inner: gap{2}, Own: ownText{"x"}}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		got = append(got, d.Key+" = "+string(d.Default)+" : "+d.Doc)
	}
	want := []string{`mode = "ab" : how, in a word`, "gap_s = 1.5 : the gap", "section.gap_s = 2 : the gap", "bare = null : ", `own = "x" : itself`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := params(nil, "", reflect.ValueOf(struct {
		F func() `json:"f"`
	}{})); err == nil {
		t.Error("a parameter that cannot be printed is taken")
	}
}
