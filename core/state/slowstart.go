package state

import "math"

// ReducesDue reports whether enough maps are complete for Hadoop's
// ApplicationMaster to ask for reduces: completed >= ceil(slowstart x total)
// (RMContainerAllocator.scheduleReduces; algorithms.md 1.5). It is true for a
// job whose number of maps is not known: what it asks for is due.
func (j *Job) ReducesDue() bool {
	// A product that is a whole number may come out a hair above it.
	return j.Map.Completed >= int(math.Ceil(j.Slowstart*float64(j.Map.Total)-1e-9))
}
