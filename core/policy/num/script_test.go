package num_test

import (
	"encoding/json"
	"testing"

	"heddle/core/policy"
	"heddle/core/policy/num"
	"heddle/core/policy/policytest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, num.New)
}

// Settings far from the defaults conform as well.
func TestVariantsConform(t *testing.T) {
	t.Parallel()
	var variants policy.Registry
	for _, params := range []string{
		`{"p2":"uopt","theta":1,"buffer_s":0,"map_rate":1e6}`, `{"p1":"psfair","p2":"uopt","theta":0.5}`,
		`{"p1":"splitsrpt","p2":"psfair","uplink":1e6}`, `{"p1":"uopt","p2":"maxsrpt","theta":0}`,
	} {
		variants = append(variants, policy.Entry{Name: params, New: func(json.RawMessage) (policy.Policy, error) {
			return num.New([]byte(params))
		}})
	}
	policytest.Run(t, variants)
}
