// Package jobs indexes the applications of a cluster with their stages, users and
// queues: what each has, asks for and has done, in the orders policies serve them
// in.
package jobs

import (
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/inputs"
	"heddle/core/state/mapoutput"
	"heddle/core/state/snapshot"
)

// Job is one application with its stages. A MapReduce job has maps and reduces;
// what other applications ask for is put into a stage by the relay's rules, and
// into Other (executors, and the rest) where no rule knows better.
type Job struct {
	model.App
	Map, Reduce, Other *Stage              // never nil
	Graph              *shuffle.StageGraph // of a job that is no MapReduce job; nil for one that reported none
	Owner              *User
	Input              *inputs.Input // never nil; shared by jobs that read the same paths
	Output             mapoutput.Output
	Ratio              float64 // shuffle bytes over map input bytes; Config.InitialRatio until one is known
	Predicted          bool    // Ratio was measured on this job's own maps
	Earlier            bool    // Ratio is that of an earlier job of the same user and name
	Heavy              bool    // Ratio is above 1 (ShuffleWatcher §3.1)
	Conf               Conf

	blacklist []string // hosts the application refuses
	reported  reported
	indexes   jobIndexes
}

// Conf is what heddle knows of a job's configuration.
type Conf struct {
	Inputs      []string
	Output      string
	Replication int     // copies of the output; 0 if unknown
	Slowstart   float64 // of maps done before Hadoop asks for reduces; Hadoop's 0.05 until the configuration was read
	Workflow    *model.Workflow
}

// DefaultSlowstart is Hadoop's mapreduce.job.reduce.slowstart.completedmaps.
const DefaultSlowstart = 0.05

// reported is what sources reported last of a job as a whole.
type reported struct {
	key         shuffle.JobKey // under which its runs are remembered
	counters    model.CountersFact
	hasCounters bool
	firstSeen   model.Time // when heddle saw the application first
	mapsBegan   model.Time // when a map was first seen to run or to be complete; 0 before
	live        [stageKinds]liveContainers
	asks        reportedAsks
}

// liveContainers counts the live containers of one stage by rack number.
type liveContainers []int

func (l liveContainers) total() int {
	n := 0
	for _, k := range l {
		n += k
	}
	return n
}

// jobIndexes is where a job is in the indexes over all jobs.
type jobIndexes struct {
	number      int
	queue       *Queue
	queueUser   *QueueUser     // its user's part of the queue
	published   *snapshot.App  // as last published, nil if the job changed since
	forgotten   bool           // the job is in no index any more
	mapsChanged Revision       // see Job.MapsChanged
	assumed     model.Resource // what the current what-if adds to what it has
	listing     uint64         // the last list of applications that had it
}

// stageKinds is how many stages a container can belong to, and stageIndex their
// order.
const stageKinds = 4

func stageIndex(s model.Stage) int {
	switch s {
	case model.StageMap:
		return 0
	case model.StageReduce:
		return 1
	case model.StageAM:
		return 2
	case model.StageOther:
	}
	return 3
}

// Stage returns a stage of the job, nil for the ApplicationMaster's.
func (j *Job) Stage(kind model.Stage) *Stage {
	switch kind {
	case model.StageMap:
		return j.Map
	case model.StageReduce:
		return j.Reduce
	case model.StageOther:
		return j.Other
	case model.StageAM:
	}
	return nil
}

func (j *Job) stages() [3]*Stage { return [3]*Stage{j.Map, j.Reduce, j.Other} }

// Number returns a number from 0 that no other job of the cluster has at the time,
// so that a slice can hold what is known of jobs. Another job gets it once this
// one is forgotten.
func (j *Job) Number() int { return j.indexes.number }

// MapsChanged returns when anything about the job changed last, apart from tasks other than maps that are assumed to run.
// Where its map output will lie stays the same as long as this does.
func (j *Job) MapsChanged() Revision { return j.indexes.mapsChanged }

// Usage returns what the job has, with what the current what-if assumes.
func (j *Job) Usage() model.Resource { return j.Allocated.Add(j.indexes.assumed) }

// Counters returns the job's counters as last read; false before the first
// reading.
func (j *Job) Counters() (model.CountersFact, bool) {
	return j.reported.counters, j.reported.hasCounters
}

// FirstSeen returns when heddle saw the application first.
func (j *Job) FirstSeen() model.Time { return j.reported.firstSeen }

// MapsBegan returns when a map of the job was first seen to run or to be complete,
// 0 before.
func (j *Job) MapsBegan() model.Time { return j.reported.mapsBegan }

// Blacklist returns the hosts the application refuses.
func (j *Job) Blacklist() []string { return j.blacklist }

// Blacklisted reports whether the application refuses a host.
func (j *Job) Blacklisted(host string) bool { return slices.Contains(j.blacklist, host) }

// Failed reports whether the job ended without success.
func (j *Job) Failed() bool { return j.State == model.AppFailed || j.State == model.AppKilled }

// ReducesDue reports whether enough maps are complete for Hadoop's
// ApplicationMaster to ask for reduces: completed >= ceil(slowstart x total)
// (RMContainerAllocator.scheduleReduces; algorithms.md 1.5). It is true for a job
// whose number of maps is unknown.
func (j *Job) ReducesDue() bool {
	// A product that is a whole number may come out a hair above it.
	return j.Map.Completed >= int(math.Ceil(j.Conf.Slowstart*float64(j.Map.Total)-1e-9))
}

// Compare orders jobs by submit time, then id.
func Compare(a, b *Job) int { return model.CompareApps(&a.App, &b.App) }

// Insert adds a job to a list that is ordered by Compare, unless it is there.
func Insert(list []*Job, j *Job) []*Job {
	i, found := slices.BinarySearchFunc(list, j, Compare)
	if found {
		return list
	}
	return slices.Insert(list, i, j)
}

// Remove removes a job from a list that is ordered by Compare.
func Remove(list []*Job, j *Job) []*Job {
	if i, found := slices.BinarySearchFunc(list, j, Compare); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}
