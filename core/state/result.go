package state

import "heddle/core/model"

// Result is a job's output: how much it writes, and where. Its tasks write equal
// parts, and HDFS puts the first replica on the writer's node
// (BlockPlacementPolicyDefault; algorithms.md 1.2).
type Result struct {
	Total model.Bytes // written when the job has ended, else expected
	Known bool        // Total comes from what was written

	tasks  int   // that write it
	byRack []int // those that run or ran; of an ended job those that completed
}

// ResultOf returns what a job writes: HDFS_BYTES_WRITTEN, of a live job scaled
// from its completed tasks to all. Until that says anything it is ratio times
// the job's map output, expected or known. A job that failed writes nothing.
func ResultOf(j *Job, ratio float64) Result {
	if succeeding(j) == nil {
		return Result{}
	}
	s := j.Reduce
	if s.Total == 0 && s.Pending+s.Running+s.Completed == 0 {
		s = j.Map
	}
	r := Result{tasks: max(s.Total, s.Pending+s.Running+s.Completed), byRack: s.launched}
	ended, written := j.State.Final(), j.told.counters.HDFSWritten
	if ended {
		r.tasks = 0
		for _, n := range s.done.tasks {
			r.tasks += n
		}
		r.byRack = s.done.tasks
	}
	switch {
	case !j.told.counted || written < 0, !ended && s.Completed == 0:
		p := j.Predict()
		r.Total = model.Bytes(ratio * float64(p.Shuffle))
	case ended:
		r.Total, r.Known = written, true
	default:
		r.Total, r.Known = model.Bytes(float64(written)/float64(s.Completed)*float64(max(r.tasks, s.Completed))), true
	}
	return r
}

// On returns the part of the output that the tasks that run or ran on a rack write.
func (r *Result) On(rack int) model.Bytes {
	n := at(r.byRack, rack)
	if n == 0 || r.tasks == 0 {
		return 0
	}
	return model.Bytes(float64(r.Total) * float64(n) / float64(r.tasks))
}

// CompletedIn returns how many tasks completed on a rack, by its number.
func (s *Stage) CompletedIn(rack int) int { return at(s.done.tasks, rack) }
