package state

import (
	"iter"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// View is what policies read. Everything reached through it belongs to the
// cluster: policies read it within the round, change nothing, and retain nothing
// but ids.
type View struct{ c *Cluster }

// Now returns the time of the newest observation.
func (v View) Now() model.Time { return v.c.now }

// Racks returns every rack, indexed by its number in the topology tree. A rack
// whose nodes have all left is still listed, without nodes.
func (v View) Racks() []*Rack { return v.c.nodes.Racks() }

// RackOf returns the rack of an id, nil if no node or block was ever in it.
func (v View) RackOf(id model.RackID) *Rack { return v.c.nodes.Rack(id) }

// Nodes returns every node in the order of their ids.
func (v View) Nodes() []*Node { return v.c.nodes.Nodes() }

// Node returns a node, nil if there is none of that id.
func (v View) Node(id model.NodeID) *Node { return v.c.nodes.Node(id) }

// Capacity returns what the running nodes have in all, and how many they are.
func (v View) Capacity() Capacity { return v.c.nodes.Capacity() }

// Saturation returns NetSat's settings.
func (v View) Saturation() shuffle.SaturationParams { return v.c.cfg.Saturation }

// Job returns a job, live or lately ended, nil if there is none of that id.
func (v View) Job(id model.AppID) *Job { return v.c.jobs.Job(id) }

// Jobs returns the live jobs by submit time, then id.
func (v View) Jobs() []*Job { return v.c.jobs.Live() }

// Changed appends the jobs that changed since a revision, and returns the present
// one. A job may come twice. Jobs that ended since are among them until they are
// forgotten. For a revision that is too old or of another cluster all live jobs are
// returned. The assumptions of a what-if count as changes.
func (v View) Changed(since Revision, jobs []*Job) ([]*Job, Revision) {
	return v.c.jobs.Changes.Since(since, jobs, v.c.jobs.Live())
}

// FirstSubmit returns the submit time of the first job ever seen: the origin of
// ShuffleWatcher's starvation windows (algorithms.md 2.1.5).
func (v View) FirstSubmit() model.Time { return v.c.jobs.FirstSubmit() }

// Users returns the users with live jobs in fair order: least usage over weight
// first, then earliest job, then name (algorithms.md 2.5.2).
func (v View) Users() []*User { return v.c.jobs.Users.In(ByMemory) }

// UsersBy returns the users with live jobs in an order, which is maintained from
// the first time it is asked for.
func (v View) UsersBy(o UserOrder) []*User { return v.c.jobs.Users.In(o) }

// Root returns the queue of all live jobs, with the scheduler's queues as leaves.
func (v View) Root() *Queue { return v.c.jobs.Queues }

// RunningMaps returns the maps that run on a node, by job in no order.
func (v View) RunningMaps(n *Node) []RunningMaps { return v.c.jobs.RunningMaps(n.HostNumber()) }

// StagesLocalTo returns how many stages have pending tasks that would be node-local
// on a node: what MapsLocalTo goes through.
func (v View) StagesLocalTo(n *Node) int { return v.c.jobs.StagesLocalTo(n.HostNumber()) }

// MapsLocalTo yields the jobs with pending maps that would be node-local on a node, by
// their numbers and in no order. It does not touch the jobs, some of which may have ended.
func (v View) MapsLocalTo(n *Node) iter.Seq2[int, *Job] { return v.c.jobs.MapsLocalTo(n.HostNumber()) }

// Dependents returns the jobs that read a job's output (Dawn's Next), as far as is
// known. The slice belongs to the cluster; it changes when a job comes, goes or
// reports its configuration.
func (v View) Dependents(j *Job) []Dependent { return v.c.dependencies.Dependents(j) }

// Parents returns the jobs whose output a job reads, as far as is known.
func (v View) Parents(j *Job) []Parent { return v.c.dependencies.Parents(j) }

// CountsVCores reports whether the scheduler counts vcores beside memory.
func CountsVCores(v View) bool { return v.c.countsVCores() }

// Fits reports whether a task of a stage fits into free resources under the
// scheduler's rules.
func (v View) Fits(s *Stage, free model.Resource) bool {
	return s.Capability.Fits(free, v.c.countsVCores())
}
