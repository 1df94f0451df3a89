// Package tandem is the overlapping tandem queue model of MapReduce and the
// schedules that are defined in it: MaxSRPT, SplitSRPT, UOPT, Fair and
// NUM(P1, P2, theta) (Blanca, Shin: "Optimizing Network Usage in MapReduce
// Scheduling", after Lin, Tan, Wierman, Zhang: "Joint optimization of
// overlapping phases in MapReduce"; algorithms.md 2.2).
//
// A job is map work that flows through the map queue and comes out as shuffle
// work for the second queue. Both phases overlap. All work is in seconds of the
// whole capacity of its queue, X = x/mu_m and Y = y/mu_s, so that both
// capacities are 1 and the inequalities of the paper hold as printed with
// R = Y/X in place of y/x. Reduces are not part of the model.
//
// Schedules are functions of the jobs at one instant. Nothing here knows of
// clusters, tasks or time.
package tandem

// Empty is the work, in seconds, up to which a queue counts as empty.
const Empty = 1e-9

// Arrival is a job before anything is done of it.
type Arrival struct {
	At      float64 // seconds
	Map     float64 // X
	Shuffle float64 // Y
}

// Job returns the job's state on arrival. A job without map work has its whole
// shuffle ready.
func (a Arrival) Job() Job {
	if a.Map <= Empty {
		return Job{Buffer: a.Shuffle}
	}
	return Job{Map: a.Map, Ratio: a.Shuffle / a.Map}
}

// Job is the state of a job at an instant.
type Job struct {
	Map    float64 // map work left
	Buffer float64 // shuffle work that is ready to be done
	Ratio  float64 // R, the shuffle work that a unit of map work puts out; 0 for a job that had no map work
}

// Shuffle returns the shuffle work left: what is ready and what is to come.
func (j *Job) Shuffle() float64 { return j.Buffer + j.Map*j.Ratio }

// Largest returns the work left in the phase that has more of it.
func (j *Job) Largest() float64 { return max(j.Map, j.Shuffle()) }

// ShuffleHeavy reports X < Y, by the job's original size.
func (j *Job) ShuffleHeavy() bool { return j.Ratio > 1 }

// Mapping reports whether the job is in the map queue.
func (j *Job) Mapping() bool { return j.Map > Empty }

// Ready reports whether the job has buffered shuffle work.
func (j *Job) Ready() bool { return j.Buffer > Empty }

// Scheduler divides both capacities among the jobs of an instant.
type Scheduler interface {
	// MapShares returns each job's share of the map capacity, in dst if that is long enough. The shares sum to
	// 1 if any job is in the map queue.
	MapShares(dst []float64, jobs []Job) []float64
	// ShuffleRates returns the rate at which each job's shuffle is served, in dst if that is long enough, given
	// the shares of MapShares. No job gets more than it has: one without a buffer is limited to what its maps
	// put out. The capacity of 1 is used as far as there is work for it.
	ShuffleRates(dst []float64, jobs []Job, shares []float64) []float64
}

// zeroed returns n zeros, in dst if that is long enough.
func zeroed(dst []float64, n int) []float64 {
	if cap(dst) < n {
		return make([]float64, n)
	}
	dst = dst[:n]
	clear(dst)
	return dst
}

// Output returns the rate at which maps put out shuffle work.
func Output(jobs []Job, shares []float64) float64 {
	sum := 0.0
	for i := range jobs {
		sum += shares[i] * jobs[i].Ratio
	}
	return sum
}

// Buffered returns the shuffle work that is ready, over all jobs.
func Buffered(jobs []Job) float64 {
	sum := 0.0
	for i := range jobs {
		if jobs[i].Ready() {
			sum += jobs[i].Buffer
		}
	}
	return sum
}

// BestUtilization returns the network utilisation of UOPT in this state: 1 if
// anything is buffered, else the largest R of a job in the map queue, at most 1.
func BestUtilization(jobs []Job) float64 {
	best := 0.0
	for i := range jobs {
		if jobs[i].Ready() {
			return 1
		}
		if jobs[i].Mapping() {
			best = max(best, jobs[i].Ratio)
		}
	}
	return min(best, 1)
}

// RelativeUtilization returns the network utilisation at the given shuffle
// rates over UOPT's in the same state, 1 where UOPT's is 0 (§4.1).
func RelativeUtilization(jobs []Job, rates []float64) float64 {
	best := BestUtilization(jobs)
	if best == 0 {
		return 1
	}
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum / best
}
