// Package workload holds the jobs of a run: who submits what, when, on how much
// data, and which job reads the output of which. A workload comes from a SWIM
// trace (ReadSWIM), from heddle's own format (Read), or from a generator
// (Synth); the simulator and the fluid model consume it.
//
// Tasks are not stored. A stage says how many it has and how many bytes it
// moves; Split, Partitions and Cost.Of derive what one of them reads and how
// long it computes. A workload of 25,000 jobs with 8 million tasks costs some
// 41 KiB per hundred jobs.
//
// Every way into this package ends in the same rules (Validate): identifiers
// are there and unique, numbers are in range, parents stand before their
// children, and edges lead from earlier stages to later ones, so that neither
// jobs nor stages can form a cycle.
package workload

import "heddle/core/model"

// DefaultQueue is the queue of jobs that name none.
const DefaultQueue model.QueueID = "root.default"

// Workload is the jobs of one run, by submit time.
type Workload struct {
	Name string
	Jobs []Job
	// Skipped counts the records that a lenient reader left out, by reason, in
	// the order of Reasons; nil from a strict one.
	Skipped []Skip
}

// JobID names a job within its workload ("job17").
type JobID string

// Job is one MapReduce job, or one graph of stages (a Tez DAG).
type Job struct {
	ID     JobID
	Name   string // what it computes ("terasort"); may be empty
	User   model.UserID
	Queue  model.QueueID
	Submit model.Time // since the start of the run
	// Parents are the indices in Workload.Jobs of the jobs whose output this one
	// reads, each smaller than the job's own. It starts when all have finished
	// (Dawn §III-A), never before Submit.
	Parents []int
	// AMRanOn is the node of its ApplicationMaster where it was measured, AMLaunched when it was started
	// there, since the start of the run; zero where that is not known.
	AMRanOn    Node
	AMLaunched model.Time
	Stages     []Stage // in topological order
}

// Stage is the tasks of a job that do the same.
type Stage struct {
	Name  model.Stage
	Tasks int
	// Reads are the files it reads from HDFS; none for most stages that have edges.
	Reads []File
	// Edges lead here from earlier stages of the job.
	Edges []Edge
	// Output is what all its tasks write together. Where another stage reads this
	// one it stays on the nodes, else it goes to HDFS.
	Output    model.Bytes
	Cost      Cost
	Start     model.Duration // from the launch of a container until its task reads from another node or fetches; of one that reads files it is part of what the task computes
	Container model.Resource // of one task
	// Skew is the Zipf exponent of its partitions of every scatter-gather edge:
	// partition k gets a share in proportion to k^-Skew. 0 is even.
	Skew float64
	// Measured is what each task did where it ran; nil where the figures above say it for all.
	Measured []Measured
}

// Edge says that a stage reads all of the output of an earlier one.
type Edge struct {
	From int // index in Job.Stages
	Kind model.EdgeKind
}

// Place says where the blocks of a file lie.
type Place uint8

// The places of a file.
const (
	Everywhere Place = iota // over all racks, as HDFS places what clients all over the cluster write
	OnRacks                 // first replicas over File.Racks racks only; which, whoever runs the workload draws
	ByShares                // first replicas by File.Shares
	OfParent                // where the tasks of job File.Parent wrote it
	OnNode                  // first replicas on the node File.Node only
)

// File is a file, or a table, that a stage reads from HDFS.
type File struct {
	Bytes  model.Bytes
	Place  Place
	Racks  int       // of OnRacks: how many, at least 1
	Parent int       // of OfParent: index in Workload.Jobs, one of Job.Parents
	Shares []float64 // of ByShares: of the bytes, by rack number; their sum is 1
	Node   Node      // of OnNode
}

// Node names one node of the cluster that the workload runs on. A cluster without
// such a node cannot run the workload.
type Node struct {
	Rack   int // number of the rack, from 1
	Number int // of the node in its rack, from 1
}

// Cost is the time a task computes, apart from reading and writing.
type Cost struct {
	Fixed  model.Duration // start of the container, set-up, commit
	PerGiB model.Duration // for every GiB it reads, from HDFS and from other stages
}

// Class is a job's class by the bytes it shuffles (NAS §III-A).
type Class uint8

// The classes.
const (
	Light  Class = iota // below 1 MiB
	Medium              // 1 to 100 MiB, both inclusive
	Heavy               // above 100 MiB
)

// The bounds of class Medium. Binary units: with decimal ones FB-2010 does not
// give the shares that NAS prints (algorithms 0.1).
const (
	MediumFrom = model.MiB
	MediumTo   = 100 * model.MiB
)

// ClassOf returns the class of a job that shuffles so many bytes.
func ClassOf(shuffle model.Bytes) Class {
	switch {
	case shuffle < MediumFrom:
		return Light
	case shuffle <= MediumTo:
		return Medium
	}
	return Heavy
}
