package nas_test

import (
	"testing"

	"heddle/core/policy/nas"
	"heddle/core/policy/policytest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, nas.New)
}
