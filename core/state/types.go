package state

import (
	"heddle/core/state/dependencies"
	"heddle/core/state/inputs"
	"heddle/core/state/jobs"
	"heddle/core/state/mapoutput"
	"heddle/core/state/nodes"
)

type (
	// Job is one application with its stages.
	Job = jobs.Job
	// Stage is a stage of a job.
	Stage = jobs.Stage
	// User is one user with live jobs.
	User = jobs.User
	// UserOrder is one of the orders users can be served in.
	UserOrder = jobs.UserOrder
	// Queue is a queue of the scheduler with live jobs, or the root.
	Queue = jobs.Queue
	// QueueUser is one user in one queue.
	QueueUser = jobs.QueueUser
	// RunningMaps counts the maps of one job that run on a host.
	RunningMaps = jobs.RunningMaps
	// Prediction is what a job's shuffle is expected to be.
	Prediction = jobs.Prediction
	// Result is a job's output: how much it writes, and where.
	Result = jobs.Result
	// Revision is a point in the history of one cluster's jobs.
	Revision = jobs.Revision
	// Parent is a job whose output another one reads.
	Parent = dependencies.Parent
	// Dependent is a job that reads another one's output.
	Dependent = dependencies.Dependent
	// Conf is what heddle knows of a job's configuration.
	Conf = jobs.Conf
	// Input is what is known of a job's input.
	Input = inputs.Input
	// InputBlock is one block of a job's input.
	InputBlock = inputs.Block
	// MapOutput is the map output of one job by rack.
	MapOutput = mapoutput.Output
	// Node is one NodeManager.
	Node = nodes.Node
	// Rack is one rack with its nodes and its uplink.
	Rack = nodes.Rack
	// Capacity is what there is to run anything on.
	Capacity = nodes.Capacity
	// NodesRevision is a state of the nodes and racks of one cluster.
	NodesRevision = nodes.Revision
)

// The orders of users.
const (
	ByMemory        = jobs.ByMemory        // least memory over weight
	ByDominantShare = jobs.ByDominantShare // least dominant share over weight
	ByShares        = jobs.ByShares        // least dominant share, then the least other share
)

// The methods by which uplink load is known.
const (
	MethodEstimate   = nodes.MethodEstimate
	MethodShuffleJMX = nodes.MethodShuffleJMX
	MethodPrometheus = nodes.MethodPrometheus
)

// CompareJobs orders jobs by submit time, then id.
func CompareJobs(a, b *Job) int { return jobs.Compare(a, b) }
