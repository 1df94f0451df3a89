package shufflewatcher_test

import (
	"testing"

	"heddle/core/policy/policytest"
	"heddle/core/policy/shufflewatcher"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, shufflewatcher.New)
}
