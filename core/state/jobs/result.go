package jobs

import (
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
)

// Result is a job's output: how much it writes, and where. Its tasks write equal
// parts, and HDFS puts the first replica on the writer's node
// (BlockPlacementPolicyDefault; algorithms.md 1.2).
type Result struct {
	Total model.Bytes // written if the job has ended, else expected
	Known bool        // Total derives from bytes that were written

	tasks  int   // tasks that write it
	byRack []int // of them, by rack number: running or done; for an ended job those that completed
}

// Result returns what a job writes: HDFS_BYTES_WRITTEN, of a live job scaled from
// its completed tasks to all. Before the first reading it is ratio times the job's
// map output, expected or known, before it was compressed. A job that failed writes nothing.
func (j *Job) Result(ratio float64) Result {
	if j.Failed() {
		return Result{}
	}
	s := j.Reduce
	if s.Total == 0 && s.known() == 0 {
		s = j.Map
	}
	r := Result{tasks: max(s.Total, s.known()), byRack: s.launched}
	ended, written := j.State.Final(), j.reported.counters.HDFSWritten
	if ended {
		r.tasks = 0
		for _, n := range s.completed.ByRack() {
			r.tasks += n
		}
		r.byRack = s.completed.ByRack()
	}
	switch {
	case !j.reported.hasCounters || written < 0, !ended && s.Completed == 0:
		p := j.Predict()
		r.Total = model.Bytes(ratio * float64(p.Shuffle) * expansion(j))
	case ended:
		r.Total, r.Known = written, true
	default:
		r.Total, r.Known = model.Bytes(float64(written)/float64(s.Completed)*float64(max(r.tasks, s.Completed))), true
	}
	return r
}

// AddTo adds what the job has written, or will where its tasks run or ran, to what a reader reads, and returns how much that is. It goes
// over the racks that to has.
func (r Result) AddTo(to *shuffle.Inflow) (bytes model.Bytes) {
	for rack := range to.ByRack {
		b := r.On(rack)
		to.ByRack[rack] += b
		bytes += b
	}
	to.Total += bytes
	return bytes
}

// On returns the part of the output that the tasks that run or ran on a rack write.
func (r Result) On(rack int) model.Bytes {
	n := topology.At(r.byRack, rack)
	if n == 0 || r.tasks == 0 {
		return 0
	}
	return model.Bytes(float64(r.Total) * float64(n) / float64(r.tasks))
}

// expansion returns how many bytes of map output there were, before they were compressed, for a byte that is shuffled: 1 where
// that is not known.
func expansion(j *Job) float64 {
	plain, output := j.reported.counters.MapOutputPlain, j.reported.counters.MapOutput
	if plain <= 0 || output <= 0 {
		return 1
	}
	return max(float64(plain)/float64(output), 1)
}
