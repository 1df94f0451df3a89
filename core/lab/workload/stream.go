package workload

import (
	"hash/fnv"
	"math/rand/v2"
)

// randFor returns the random numbers of one purpose: what one purpose draws
// does not change what another gets from the same seed.
func randFor(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose)) // a hash takes everything
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// exponential draws the time to the next arrival from an exponential
// distribution with a mean, in the mean's unit.
func exponential(r *rand.Rand, mean float64) float64 { return r.ExpFloat64() * mean }
