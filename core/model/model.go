// Package model holds the plain values every other package speaks in: ids,
// units, resources, nodes, blocks, applications, tasks, and the Observation
// that carries a fact from a source into the cluster state.
//
// Nothing here has behaviour beyond arithmetic, ordering and encoding. Words
// are YARN's words, used as YARN uses them.
package model

import (
	"cmp"
	"strings"
)

// NodeID names a NodeManager as YARN prints it, host:port.
type NodeID string

// Host returns the host of a node's id; the id itself if it has no port.
func (n NodeID) Host() string {
	if i := strings.LastIndexByte(string(n), ':'); i >= 0 {
		return string(n[:i])
	}
	return string(n)
}

// RackID names a rack as the topology prints it, with its leading slash
// ("/dc1/rack01"), exactly as ResourceManager and NameNode print it.
type RackID string

// AppID names a YARN application, application_<cluster timestamp>_<number>.
type AppID string

// UserID names the user an application runs as.
type UserID string

// QueueID names a scheduler queue by its full path ("root.default").
type QueueID string

// DefaultRack is where Hadoop puts a host that its topology does not know
// (NetworkTopology.DEFAULT_RACK). heddle does the same, and counts it.
const DefaultRack RackID = "/default-rack"

// Time is milliseconds since an epoch: the Unix epoch live and in replay, the
// start of the run in a simulation. It only ever enters as data (I1).
type Time int64

// Duration is a span of Time in milliseconds.
type Duration int64

// Spans of time in the unit of Duration.
const (
	Millisecond Duration = 1
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
)

// Sub returns the span from u to t.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Add returns the time d after t.
func (t Time) Add(d Duration) Time { return t + Time(d) }

// Seconds returns d in seconds.
func (d Duration) Seconds() float64 { return float64(d) / float64(Second) }

// Bytes is an amount of data in bytes.
type Bytes int64

// Sizes in bytes. Classifiers of the papers mean binary units (algorithms 0.1).
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// BytesPerSecond is a rate on a link. Link rates are decimal: 1 Gbit/s is
// 125e6 bytes/s.
type BytesPerSecond float64

// Resource is an amount of memory (MiB, YARN's "MB") and virtual cores.
type Resource struct {
	MemoryMiB int64 `json:"memory_mib"`
	VCores    int64 `json:"vcores"`
}

// Add returns r plus o.
func (r Resource) Add(o Resource) Resource {
	return Resource{MemoryMiB: r.MemoryMiB + o.MemoryMiB, VCores: r.VCores + o.VCores}
}

// Sub returns r minus o; components may become negative.
func (r Resource) Sub(o Resource) Resource {
	return Resource{MemoryMiB: r.MemoryMiB - o.MemoryMiB, VCores: r.VCores - o.VCores}
}

// Times returns r multiplied by n.
func (r Resource) Times(n int64) Resource {
	return Resource{MemoryMiB: r.MemoryMiB * n, VCores: r.VCores * n}
}

// Fits reports whether r fits into free by memory alone when vcores is false
// (YARN's DefaultResourceCalculator), by both components when it is true
// (DominantResourceCalculator).
func (r Resource) Fits(free Resource, vcores bool) bool {
	return r.MemoryMiB <= free.MemoryMiB && (!vcores || r.VCores <= free.VCores)
}

// IsZero reports whether both components are zero.
func (r Resource) IsZero() bool { return r == Resource{} }

// Slots are places for tasks by kind, as Hadoop 1 has them: a map takes a map
// slot, any other task a reduce slot. Both are 0 where places are containers,
// which any task takes.
type Slots struct {
	Maps    int // mapred.tasktracker.map.tasks.maximum
	Reduces int // mapred.tasktracker.reduce.tasks.maximum
}

// Typed reports whether there are any.
func (s Slots) Typed() bool { return s != Slots{} }

// Add returns s plus n times o.
func (s Slots) Add(o Slots, n int) Slots {
	return Slots{Maps: s.Maps + o.Maps*n, Reduces: s.Reduces + o.Reduces*n}
}

// Of returns how many of them the tasks of a stage may take.
func (s Slots) Of(kind Stage) int {
	if kind == StageMap {
		return s.Maps
	}
	return s.Reduces
}

// Locality is the level at which an ask was or would be met (YARN's NodeType).
type Locality uint8

// The locality levels, best first.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch
)

// String returns YARN's name of the level.
func (l Locality) String() string {
	switch l {
	case NodeLocal:
		return "NODE_LOCAL"
	case RackLocal:
		return "RACK_LOCAL"
	case OffSwitch:
		return "OFF_SWITCH"
	}
	return "UNKNOWN"
}

// Stage names a stage of a job. MapReduce jobs have StageMap and StageReduce;
// the ApplicationMaster itself and containers of other frameworks are counted
// under StageAM and StageOther.
type Stage string

// The stages heddle knows.
const (
	StageMap    Stage = "map"
	StageReduce Stage = "reduce"
	StageAM     Stage = "am"
	StageOther  Stage = "other"
)

// NodeState is a NodeManager's state as the ResourceManager reports it.
type NodeState string

// Node states (org.apache.hadoop.yarn.api.records.NodeState).
const (
	NodeNew             NodeState = "NEW"
	NodeRunning         NodeState = "RUNNING"
	NodeUnhealthy       NodeState = "UNHEALTHY"
	NodeDecommissioned  NodeState = "DECOMMISSIONED"
	NodeLost            NodeState = "LOST"
	NodeRebooted        NodeState = "REBOOTED"
	NodeDecommissioning NodeState = "DECOMMISSIONING"
	NodeShutdown        NodeState = "SHUTDOWN"
)

// Usable reports whether the scheduler would place a new container there.
func (s NodeState) Usable() bool { return s == NodeRunning }

// Node is one NodeManager as the ResourceManager last reported it.
type Node struct {
	ID          NodeID    `json:"id"`
	Host        string    `json:"host"`
	Rack        RackID    `json:"rack"`
	State       NodeState `json:"state"`
	Total       Resource  `json:"total"`
	Used        Resource  `json:"used"`
	Containers  int       `json:"containers"`
	HTTPAddress string    `json:"http_address,omitempty"` // host:port, empty for inactive nodes
}

// Free returns the resources left on the node, never below zero: a node whose
// capacity was lowered at run time can be over-committed.
func (n *Node) Free() Resource {
	f := n.Total.Sub(n.Used)
	return Resource{MemoryMiB: max(f.MemoryMiB, 0), VCores: max(f.VCores, 0)}
}

// DataNode is one HDFS DataNode as the NameNode reports it.
type DataNode struct {
	Host     string `json:"host"`
	Rack     RackID `json:"rack"`
	Blocks   int64  `json:"blocks"` // replicas stored there
	Capacity Bytes  `json:"capacity_bytes"`
	Used     Bytes  `json:"used_bytes"`
	Live     bool   `json:"live"`
}

// Block is one HDFS block with the places of its replicas. Hosts and Racks are
// parallel: Racks[i] is the NameNode's rack of Hosts[i].
type Block struct {
	Offset  Bytes    `json:"offset"`
	Length  Bytes    `json:"length"`
	Hosts   []string `json:"hosts"`
	Racks   []RackID `json:"racks"`
	Corrupt bool     `json:"corrupt,omitempty"`
}

// AppState is an application's state as the ResourceManager reports it.
type AppState string

// Application states (YarnApplicationState).
const (
	AppNew       AppState = "NEW"
	AppNewSaving AppState = "NEW_SAVING"
	AppSubmitted AppState = "SUBMITTED"
	AppAccepted  AppState = "ACCEPTED"
	AppRunning   AppState = "RUNNING"
	AppFinished  AppState = "FINISHED"
	AppFailed    AppState = "FAILED"
	AppKilled    AppState = "KILLED"
)

// Final reports whether the application has ended.
func (s AppState) Final() bool {
	return s == AppFinished || s == AppFailed || s == AppKilled
}

// App is one application as the ResourceManager lists it.
type App struct {
	ID         AppID    `json:"id"`
	Name       string   `json:"name"`
	User       UserID   `json:"user"`
	Queue      QueueID  `json:"queue"`
	Type       string   `json:"type"` // MAPREDUCE, SPARK, TEZ, …
	State      AppState `json:"state"`
	Submitted  Time     `json:"submitted_ms"`
	Finished   Time     `json:"finished_ms,omitempty"` // 0 while it runs
	Priority   int      `json:"priority,omitempty"`
	Allocated  Resource `json:"allocated"`            // zero when the ResourceManager has no live attempt
	Containers int      `json:"containers,omitempty"` // running containers, the ApplicationMaster's included
	AMNode     NodeID   `json:"am_node,omitempty"`
	Tags       string   `json:"tags,omitempty"` // application tags, separated by commas, as YARN prints them
}

// AskRow is one row of an application's outstanding ask table: absolute, per
// (priority, allocation request id, resource name) (hadoop.md 5.2).
type AskRow struct {
	Priority      int      `json:"priority"`
	RequestID     int64    `json:"allocation_request_id"`
	ResourceName  string   `json:"resource_name"` // "*", "/rack" or a host
	Capability    Resource `json:"capability"`
	Count         int      `json:"count"`
	RelaxLocality bool     `json:"relax_locality"`
	Stage         Stage    `json:"stage,omitempty"` // where the source knows it; else StageOfPriority says
}

// AnyName is the resource name of the row that admits every node.
const AnyName = "*"

// Priorities at which the MapReduce ApplicationMaster asks
// (RMContainerAllocator: PRIORITY_FAST_FAIL_MAP, PRIORITY_REDUCE, PRIORITY_MAP).
const (
	PriorityFailedMap = 5
	PriorityReduce    = 10
	PriorityMap       = 20
)

// StageOfPriority returns the MapReduce stage that asks at a priority, and
// StageOther for any other priority.
func StageOfPriority(priority int) Stage {
	switch priority {
	case PriorityMap, PriorityFailedMap:
		return StageMap
	case PriorityReduce:
		return StageReduce
	case 0:
		return StageAM
	}
	return StageOther
}

// Container is one live container of an application.
type Container struct {
	ID       string   `json:"id"`
	Node     NodeID   `json:"node"`
	Priority int      `json:"priority"` // of the ask it was granted to
	Resource Resource `json:"resource"`
	Started  Time     `json:"started_ms"`
}

// TaskState is where a task is in its life.
type TaskState string

// Task states, MapReduce's states reduced to what placement needs.
const (
	TaskPending   TaskState = "pending"
	TaskRunning   TaskState = "running"
	TaskSucceeded TaskState = "succeeded"
	TaskFailed    TaskState = "failed" // failed or killed for good
)

// Unknown marks a byte count that no source has reported.
const Unknown Bytes = -1

// Task is what is known of one task, by its index within its stage. Host and
// Rack are those of the attempt that runs or that succeeded.
type Task struct {
	Stage    Stage     `json:"stage"`
	Index    int       `json:"index"`
	State    TaskState `json:"state"`
	Host     string    `json:"host,omitempty"`
	Rack     RackID    `json:"rack,omitempty"`
	Progress float64   `json:"progress"` // 0..1
	// Preferred holds the hosts with a replica of the task's input, where that is known per task.
	Preferred []string `json:"preferred,omitempty"`
	Input     Bytes    `json:"input_bytes"`           // read by a map (HDFS_BYTES_READ); Unknown until reported
	Output    Bytes    `json:"output_bytes"`          // of a map, as stored for the shuffle (MAP_OUTPUT_MATERIALIZED_BYTES); Unknown until reported
	Shuffled  Bytes    `json:"shuffle_bytes"`         // fetched by a reduce (REDUCE_SHUFFLE_BYTES); Unknown until reported
	Launched  Time     `json:"launched_ms,omitempty"` // of the attempt, by the cluster's clock as all times here; 0 until known
	Fetched   Time     `json:"fetched_ms,omitempty"`  // when a reduce that succeeded had all map output; 0 until known
	Finished  Time     `json:"finished_ms,omitempty"` // when it succeeded; 0 before
}

// CompareApps orders applications by submit time, then by id.
func CompareApps(a, b *App) int {
	if a.Submitted != b.Submitted {
		return cmp.Compare(a.Submitted, b.Submitted)
	}
	return cmp.Compare(a.ID, b.ID)
}
