package fluid

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Synthetic is the paper's synthetic workload (§5.1.3): lognormal map sizes of
// mean 1, shuffle sizes that are the map size times another lognormal of mean 1,
// arrivals of a Poisson process. It is meant for capacities of 1.
type Synthetic struct {
	Lambda  float64 // arrivals a second
	Jobs    int
	Seed    uint64
	MapSD   float64 // standard deviation of the map size
	RatioSD float64 // standard deviation of shuffle size over map size
}

// PaperSynthetic returns the paper's standard deviations, 3.65 and 3.29, and its
// 2,000 jobs, for a rate of arrivals and a seed.
func PaperSynthetic(lambda float64, seed uint64) Synthetic {
	return Synthetic{Lambda: lambda, Jobs: 2000, Seed: seed, MapSD: 3.65, RatioSD: 3.29}
}

// Validate reports every setting that is out of range.
func (s Synthetic) Validate() error {
	var errs []error
	if !(s.Lambda > 0) || math.IsInf(s.Lambda, 1) {
		errs = append(errs, fmt.Errorf("lambda: must be above 0 and finite, is %g", s.Lambda))
	}
	if s.Jobs < 1 {
		errs = append(errs, fmt.Errorf("jobs: must be at least 1, is %d", s.Jobs))
	}
	for _, sd := range []struct {
		name  string
		value float64
	}{{"map-sd", s.MapSD}, {"ratio-sd", s.RatioSD}} {
		if !(sd.value >= 0) || math.IsInf(sd.value, 1) {
			errs = append(errs, fmt.Errorf("%s: must be at least 0 and finite, is %g", sd.name, sd.value))
		}
	}
	return errors.Join(errs...)
}

// Generate draws the jobs. The same settings give the same jobs.
func (s Synthetic) Generate() ([]Job, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("synthetic workload: %w", err)
	}
	draw := rand.New(rand.NewPCG(s.Seed, 0))
	jobs := make([]Job, s.Jobs)
	now := 0.0
	for i := range jobs {
		now += draw.ExpFloat64() / s.Lambda
		size := lognormal(draw, s.MapSD)
		jobs[i] = Job{Arrival: now, Map: size, Shuffle: size * lognormal(draw, s.RatioSD)}
	}
	return jobs, nil
}

// lognormal draws from the lognormal distribution of mean 1 and a standard
// deviation: sigma^2 = ln(1 + sd^2), mu = -sigma^2/2 (algorithms.md 3.2).
func lognormal(draw *rand.Rand, sd float64) float64 {
	variance := math.Log1p(sd * sd)
	return math.Exp(math.Sqrt(variance)*draw.NormFloat64() - variance/2)
}
