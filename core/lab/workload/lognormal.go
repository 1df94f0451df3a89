package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"heddle/core/model"
)

// The distributions of NUM §5.1: job size x has mean 1 and standard deviation
// 3.65, shuffle size is x times a factor with mean 1 and standard deviation 3.29.
const (
	mapSD    = 3.65
	factorSD = 3.29
)

// lognormal makes the synthetic jobs of NUM: lognormal sizes, Poisson arrivals.
func lognormal() Generator {
	return Generator{
		Name: "lognormal",
		Doc:  "The synthetic jobs of NUM: lognormal map and shuffle sizes, Poisson arrivals.",
		Keys: slices.Concat([]Key{
			{Name: "lambda", Default: "0.75", Doc: "arrivals a second; the load of a map capacity of one unit a second", Min: 1e-6, Max: 1000},
			{Name: "jobs", Default: "2000", Doc: "jobs", Min: 1, Max: maxJobs, Whole: true},
			{Name: "unit_mib", Default: "1024", Doc: "the unit of size, which is the mean input of a job, in MiB", Min: 1, Max: 1 << 20, Whole: true},
			seedKey(),
			usersKey(DefaultUsers),
		}, sizingKeys(DefaultSizing())),
		make: makeLognormal,
	}
}

func makeLognormal(s settings) (*Workload, error) {
	unit := float64(s.whole("unit_mib")) * float64(model.MiB)
	mean := float64(model.Second) / s.real("lambda")
	sizes, gaps := randFor(s.seed(), "sizes"), randFor(s.seed(), "arrivals")
	users := newUserPool(s.whole("users"), s.seed())
	z := s.sizing()
	w := &Workload{}
	var at float64
	for i := range s.whole("jobs") {
		at += exponential(gaps, mean)
		x := drawLognormal(sizes, mapSD)
		y := x * drawLognormal(sizes, factorSD)
		w.Jobs = append(w.Jobs, Job{
			ID:     JobID(fmt.Sprintf("job%d", i)),
			User:   users.draw(),
			Queue:  DefaultQueue,
			Submit: model.Time(at),
			// NUM leaves reduces out: nothing is written.
			Stages: z.MapReduce(z.Input(scaled(x, unit)), scaled(y, unit), 0),
		})
	}
	return w, nil
}

// drawLognormal draws from the lognormal distribution with mean 1 and a
// standard deviation.
func drawLognormal(r *rand.Rand, sd float64) float64 {
	variance := math.Log(1 + sd*sd)
	return math.Exp(math.Sqrt(variance)*r.NormFloat64() - variance/2)
}
