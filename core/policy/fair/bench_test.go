package fair_test

import (
	"testing"

	"heddle/core/policy/fair"
	"heddle/core/policy/policytest"
)

// BenchmarkPlace offers nodes to 2,000 jobs of 50 users that all have work.
func BenchmarkPlace(b *testing.B) { policytest.BenchPlace(b, fair.New, "", true) }

// BenchmarkPlaceNothing offers nodes to 2,000 jobs none of which has: the whole
// search.
func BenchmarkPlaceNothing(b *testing.B) { policytest.BenchPlace(b, fair.New, "", false) }
