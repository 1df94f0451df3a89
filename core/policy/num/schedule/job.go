package schedule

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
