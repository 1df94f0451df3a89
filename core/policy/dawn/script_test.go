package dawn_test

import (
	"testing"

	"heddle/core/policy/dawn"
	"heddle/core/policy/policytest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, dawn.New)
}
