package policytest_test

import (
	"testing"

	"heddle/core/policy/builtin"
	"heddle/core/policy/policytest"
)

func TestBuiltinPoliciesConform(t *testing.T) {
	t.Parallel()
	policytest.Run(t, builtin.Registry())
}
