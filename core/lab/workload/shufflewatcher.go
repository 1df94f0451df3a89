package workload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"heddle/core/model"
)

// shuffleWatcher makes the workload of ShuffleWatcher §4.3: its benchmarks
// (Table 1), its input sizes (Table 2), its users and arrivals.
func shuffleWatcher() Generator {
	z := DefaultSizing()
	z.Block = 64 * model.MiB // §4.2
	return Generator{
		Name: "shufflewatcher",
		Doc:  "The benchmarks, input sizes, users and arrivals of ShuffleWatcher.",
		Keys: slices.Concat([]Key{
			{Name: "mix", Default: "2", Doc: "shares of light, medium and heavy jobs: 1 is 20/20/60, 2 is 40/20/40, 3 is 60/20/20 (§5.5)", Words: []string{"1", "2", "3"}},
			{Name: "users", Default: "30", Doc: "users, each with as many jobs", Min: 1, Max: maxUsers, Whole: true},
			{Name: "jobs_per_user", Default: "12", Doc: "jobs of a user", Min: 1, Max: 10_000, Whole: true},
			{Name: "mean_s", Default: "40", Doc: "mean time between two submissions, in seconds", Min: 0.001, Max: 1e6},
			{Name: "arrivals", Default: "user", Doc: "whose submissions are mean_s apart: those of every user, or all of the cluster's taken together", Words: []string{"user", "cluster"}},
			{Name: "scale", Default: "1", Doc: "factor on all bytes", Min: 1e-6, Max: 100},
			seedKey(),
		}, sizingKeys(z)),
		make: makeShuffleWatcher,
	}
}

// benchmark is a row of Table 1. The paper prints names, classes and shares.
// It names neither the ratio of shuffle to input, but for the bound of the
// class (heavy above 1), nor that of output: those here are chosen so that
// every benchmark is in its class and heavy ones differ.
type benchmark struct {
	name    string
	class   Class   // as the paper has it, by the ratio
	share   float64 // of the jobs, in percent (mix 2)
	shuffle float64 // bytes shuffled for a byte of input
	output  float64 // bytes written for a byte of input
}

func benchmarks() []benchmark {
	return []benchmark{
		{"terasort", Heavy, 5, 1.02, 1}, // sorts: everything moves, with a few bytes of framing for each record
		{"ranked-inverted-index", Heavy, 10, 1.2, 1},
		{"self-join", Heavy, 10, 1.1, 0.5},
		{"word-sequence-count", Heavy, 10, 1.8, 0.6}, // three words out for each one in
		{"adjacency-list", Heavy, 5, 1.5, 0.8},       // every edge both ways
		{"inverted-index", Medium, 10, 0.5, 0.2},
		{"term-vector", Medium, 10, 0.4, 0.1},
		{"grep", Light, 15, 0.001, 0.001},
		{"wordcount", Light, 10, 0.05, 0.01}, // combined on the map side
		{"classification", Light, 5, 0.01, 0.01},
		{"histogram-movies", Light, 5, 0.0001, 0.0001},
		{"histogram-ratings", Light, 5, 0.0001, 0.0001},
	}
}

// BenchmarkClass returns the class that Table 1 has a benchmark in; light for
// what is none.
func BenchmarkClass(name string) Class {
	for _, b := range benchmarks() {
		if b.name == name {
			return b.class
		}
	}
	return Light
}

// mixShare returns the share of a class in a mix, in percent (§5.5).
func mixShare(mix string, c Class) float64 {
	shares := map[string][3]float64{"1": {20, 20, 60}, "2": {40, 20, 40}, "3": {60, 20, 20}}
	return shares[mix][c]
}

// sizeRange is a row of Table 2.
type sizeRange struct {
	share    float64 // of the jobs, in percent
	from, to model.Bytes
}

// The open ends of Table 2, which the paper does not give.
const (
	smallestInput = 10 * model.MiB // below it a job is one map that lasts no longer than its start
	// largestInput keeps the mean input near 180 GiB: 360 jobs then read as much as
	// the paper's 400 map slots read in its 4 hours at some 10 MiB/s each.
	largestInput = 2048 * model.GiB
)

func sizeRanges() []sizeRange {
	return []sizeRange{
		{20, smallestInput, 100 * model.MiB},
		{19, 100 * model.MiB, model.GiB},
		{21, model.GiB, 20 * model.GiB},
		{10, 20 * model.GiB, 100 * model.GiB},
		{10, 100 * model.GiB, 200 * model.GiB},
		{7, 200 * model.GiB, 500 * model.GiB},
		{8, 500 * model.GiB, 1024 * model.GiB},
		{5, 1024 * model.GiB, largestInput},
	}
}

func makeShuffleWatcher(s settings) (*Workload, error) {
	users, each := s.whole("users"), s.whole("jobs_per_user")
	n := users * each
	if n > maxJobs {
		return nil, fmt.Errorf("users times jobs_per_user is %d; want at most %d", n, maxJobs)
	}
	z := s.sizing()
	kinds := dealBenchmarks(s["mix"], n, randFor(s.seed(), "benchmarks"))
	inputs := dealInputs(n, randFor(s.seed(), "inputs"))
	w := &Workload{}
	for i, sub := range submissions(s, users, each) {
		b, input := kinds[i], scaled(float64(inputs[i]), s.real("scale"))
		w.Jobs = append(w.Jobs, Job{
			ID:     JobID(fmt.Sprintf("job%d", i)),
			Name:   b.name,
			User:   sub.user,
			Queue:  DefaultQueue,
			Submit: sub.submitted,
			Stages: z.MapReduce(z.Input(input), scaled(float64(input), b.shuffle), scaled(float64(input), b.output)),
		})
	}
	return w, nil
}

// submission is when who submits a job.
type submission struct {
	submitted model.Time
	user      model.UserID
}

// submissions returns the submissions in order. The paper's "mean inter-arrival
// 40 s" can be read in two ways. Of every user: 12 jobs take a user 8 minutes,
// and the cluster then works on them for hours. Of all together: 30·12·40 s are
// the 4 hours of its steady state (algorithms 3.1).
func submissions(s settings, users, each int) []submission {
	r := randFor(s.seed(), "arrivals")
	mean := s.real("mean_s") * float64(model.Second)
	all := make([]submission, 0, users*each)
	var at float64
	for u := range users {
		if s["arrivals"] == "user" {
			at = 0
		}
		for range each {
			at += exponential(r, mean)
			all = append(all, submission{model.Time(at), model.UserID(fmt.Sprintf("user%03d", u+1))})
		}
	}
	if s["arrivals"] == "cluster" {
		r.Shuffle(len(all), func(a, b int) { all[a].user, all[b].user = all[b].user, all[a].user })
	}
	slices.SortStableFunc(all, func(a, b submission) int { return cmp.Compare(a.submitted, b.submitted) })
	return all
}

// dealBenchmarks gives n jobs their benchmarks in the shares of a mix, in random order.
func dealBenchmarks(mix string, n int, r *rand.Rand) []benchmark {
	var inClass [3]float64
	for _, b := range benchmarks() {
		inClass[b.class] += b.share
	}
	var weights []float64
	for _, b := range benchmarks() {
		weights = append(weights, b.share/inClass[b.class]*mixShare(mix, b.class))
	}
	var dealt []benchmark
	for i, count := range apportion(weights, n) {
		dealt = append(dealt, slices.Repeat(benchmarks()[i:i+1], count)...)
	}
	r.Shuffle(n, func(a, b int) { dealt[a], dealt[b] = dealt[b], dealt[a] })
	return dealt
}

// dealInputs gives n jobs their input bytes in the shares of Table 2, in random
// order; within a row the logarithm is uniform.
func dealInputs(n int, r *rand.Rand) []model.Bytes {
	var weights []float64
	for _, row := range sizeRanges() {
		weights = append(weights, row.share)
	}
	var dealt []model.Bytes
	for i, count := range apportion(weights, n) {
		row := sizeRanges()[i]
		for range count {
			dealt = append(dealt, model.Bytes(float64(row.from)*math.Pow(float64(row.to)/float64(row.from), r.Float64())))
		}
	}
	r.Shuffle(n, func(a, b int) { dealt[a], dealt[b] = dealt[b], dealt[a] })
	return dealt
}
