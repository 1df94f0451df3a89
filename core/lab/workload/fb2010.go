package workload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"heddle/core/model"
)

// fb2010 makes jobs like those of FB-2010: the same distribution of input,
// shuffle and output bytes, the same classes, nearly the same dependence among
// the three, and the same arrivals by hour (algorithms 6). It needs no trace.
func fb2010() Generator {
	z := DefaultSizing()
	return Generator{
		Name: "fb2010",
		Doc:  "MapReduce jobs with the statistics of the Facebook trace of 2010 that NAS and NUM use.",
		Keys: slices.Concat([]Key{
			{Name: "jobs", Default: strconv.Itoa(traceJobs), Doc: "jobs, over the same 24 hours", Min: 1, Max: maxJobs, Whole: true},
			seedKey(),
			usersKey(DefaultUsers),
			{Name: "scale", Default: "1", Doc: "factor on all bytes", Min: 1e-6, Max: 100},
		}, sizingKeys(z)),
		make: makeFB2010,
	}
}

func makeFB2010(s settings) (*Workload, error) {
	n := s.whole("jobs")
	z, scale := s.sizing(), s.real("scale")
	users := newUserPool(s.whole("users"), s.seed())
	sizes := fb2010Sizes(n, randFor(s.seed(), "sizes"))
	w := &Workload{Jobs: make([]Job, n)}
	for i, at := range arrivals(n, randFor(s.seed(), "arrivals")) {
		var b [3]model.Bytes
		for k := range b {
			b[k] = scaled(float64(sizes[i][k]), scale)
		}
		w.Jobs[i] = Job{
			ID:     JobID(fmt.Sprintf("job%d", i)),
			User:   users.draw(),
			Queue:  DefaultQueue,
			Submit: at,
			Stages: z.MapReduce(z.Input(b[0]), b[1], b[2]),
		}
	}
	return w, nil
}

// scaled returns a size times a factor; what is more than nothing stays a byte at least.
func scaled(bytes, factor float64) model.Bytes {
	if bytes == 0 {
		return 0
	}
	return max(1, model.Bytes(math.Round(bytes*factor)))
}

// arrivals returns n submit times in order: the shares of the trace's hours,
// spread evenly at random within each.
func arrivals(n int, r *rand.Rand) []model.Time {
	const hour = 60 * model.Minute
	perHour := jobsPerHour()
	weights := make([]float64, len(perHour))
	for i, jobs := range perHour {
		weights[i] = float64(jobs)
	}
	times := make([]model.Time, 0, n)
	for i, jobs := range apportion(weights, n) {
		length := hour
		if i == len(perHour)-1 {
			length = 8 * model.Second
		}
		for range jobs {
			times = append(times, model.Time(i)*model.Time(hour)+model.Time(r.Int64N(int64(length))))
		}
	}
	slices.Sort(times)
	return times
}

// quantile is a size in bytes and the share of jobs below it.
type quantile struct{ rank, bytes float64 }

// marginal is the distribution of one size over the jobs.
type marginal struct {
	zeros int // jobs of the trace that have none
	at    []quantile
}

// value returns the size at a rank. Between two quantiles the logarithm of the
// size is a straight line over the logarithm of the share of jobs above: a
// power law in the tail, which holds the bytes.
func (m *marginal) value(rank float64) float64 {
	first, last := m.at[0], m.at[len(m.at)-1]
	switch {
	case rank < float64(m.zeros)/traceJobs:
		return 0
	case rank <= first.rank:
		return first.bytes
	case rank >= last.rank:
		return last.bytes
	}
	i, _ := slices.BinarySearchFunc(m.at, rank, func(q quantile, rank float64) int {
		if q.rank <= rank {
			return -1
		}
		return 1
	})
	a, b := m.at[i-1], m.at[i]
	t := math.Log((1-a.rank)/(1-rank)) / math.Log((1-a.rank)/(1-b.rank))
	return a.bytes * math.Pow(b.bytes/a.bytes, t)
}

// fb2010Sizes returns input, shuffle and output bytes of n jobs in random order.
//
// Every job first gets a class of input and of shuffle, and of output given
// those, in the proportions of the trace. Within the classes it draws a rank.
// Then the jobs are sorted by each rank, and job k of n gets the size at rank
// (k+1/2)/n: so the three distributions are those of the trace for every seed,
// and chance decides only who gets what.
func fb2010Sizes(n int, r *rand.Rand) [][3]model.Bytes {
	ranks := fb2010Ranks(n, r)
	r.Shuffle(n, func(a, b int) { ranks[a], ranks[b] = ranks[b], ranks[a] })
	sizes := make([][3]model.Bytes, n)
	for k, m := range []marginal{inputQuantiles(), shuffleQuantiles(), outputQuantiles()} {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a][k], ranks[b][k]) })
		for place, i := range order {
			sizes[i][k] = model.Bytes(math.Round(m.value((float64(place) + .5) / float64(n))))
		}
	}
	return sizes
}

// fb2010Ranks returns ranks by input, shuffle and output of n jobs.
func fb2010Ranks(n int, r *rand.Rand) [][3]float64 {
	joint := inputByShuffle()
	columns := len(joint[0])
	counts := apportion(flatten(joint), n)
	ranks := make([][3]float64, 0, n)
	groups := make([][]int, len(joint)+columns) // jobs by what decides on their output
	for cell, jobs := range counts {
		in, sh := cell/columns, cell%columns
		group := in
		if sh > 0 {
			group = len(joint) + sh - 1
		}
		for range jobs {
			groups[group] = append(groups[group], len(ranks))
			ranks = append(ranks, [3]float64{drawRank(inputRanks(), in, r), drawRank(shuffleRanks(), sh, r)})
		}
	}
	given := slices.Concat(outputByInput(), outputByShuffle())
	for group, jobs := range groups {
		if len(jobs) == 0 {
			continue
		}
		r.Shuffle(len(jobs), func(a, b int) { jobs[a], jobs[b] = jobs[b], jobs[a] })
		for out, count := range apportion(flatten(given[group:group+1]), len(jobs)) {
			for _, job := range jobs[:count] {
				ranks[job][2] = drawRank(outputRanks(), out, r)
			}
			jobs = jobs[count:]
		}
	}
	return ranks
}

// drawRank draws a rank within a class.
func drawRank(bounds []float64, class int, r *rand.Rand) float64 {
	lo, hi := 0., 1.
	if class > 0 {
		lo = bounds[class-1]
	}
	if class < len(bounds) {
		hi = bounds[class]
	}
	return lo + r.Float64()*(hi-lo)
}

func flatten(rows [][]int) []float64 {
	var all []float64
	for _, row := range rows {
		for _, v := range row {
			all = append(all, float64(v))
		}
	}
	return all
}
