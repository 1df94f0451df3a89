package drf_test

import (
	"strings"
	"testing"

	"heddle/core/policy/drf"
	"heddle/core/policy/policytest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, drf.New)
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{`{}`, nil},
		{`{"stop":"paper","compare":"vector"}`, nil},
		{`{"halt":"paper"}`, []string{"halt"}},
		{`{"stop":"never","compare":"memory"}`, []string{"stop:", "compare:"}},
	} {
		p, err := drf.New([]byte(tc.raw))
		for _, w := range tc.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v, want it to name %s", tc.raw, err, w)
			}
		}
		if (p != nil) != (len(tc.want) == 0) {
			t.Errorf("%s: %v, %v", tc.raw, p, err)
		}
	}
}
