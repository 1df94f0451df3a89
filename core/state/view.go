package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
)

// View is what policies read. Everything reached through it belongs to the
// cluster: read it within the round, change nothing, keep nothing but ids.
type View struct {
	c *Cluster
	relations
}

// Now returns the time of the newest observation.
func (v View) Now() model.Time { return v.c.now }

// Racks returns every rack, indexed by its number in the topology tree. A rack
// whose nodes have all left is still listed, without nodes.
func (v View) Racks() []*Rack { return v.c.nodes.racks }

// RackOf returns the rack of an id, nil if no node or block was ever in it.
func (v View) RackOf(id model.RackID) *Rack {
	if i, ok := v.c.nodes.tree.Lookup(id); ok && i < len(v.c.nodes.racks) {
		return v.c.nodes.racks[i]
	}
	return nil
}

// Nodes returns every node in the order of their ids.
func (v View) Nodes() []*Node { return v.c.nodes.sorted }

// Node returns a node, nil if there is none of that id.
func (v View) Node(id model.NodeID) *Node { return v.c.nodes.node(id) }

// RunningMaps returns the maps that run on a node, by job in no order that means
// anything.
func (v View) RunningMaps(n *Node) []RunningMaps { return v.c.jobs.running.at(n) }

// Job returns a job, live or lately ended, nil if there is none of that id.
func (v View) Job(id model.AppID) *Job { return v.c.jobs.job(id) }

// Jobs returns the live jobs by submit time, then id.
func (v View) Jobs() []*Job { return v.c.jobs.live }

// Users returns the users with live jobs in fair order: least usage over weight
// first, then earliest job, then name (algorithms.md 2.5.2).
func (v View) Users() []*User { return v.UsersBy(ByMemory) }

// UsersBy returns the users with live jobs in an order. An order that has been
// asked for once is kept from then on.
func (v View) UsersBy(o UserOrder) []*User { return v.c.jobs.users.in(o) }

// Root returns the queue of all live jobs, with the scheduler's queues as leaves.
func (v View) Root() *Queue { return v.c.jobs.root }

// Capacity returns what the running nodes have in all, and how many they are.
func (v View) Capacity() Capacity {
	c := v.c.nodes.capacity
	c.Racks ^= mixed(-len(v.c.nodes.racks))
	c.Mark = NodesMark{v.c.nodes.read, v.c.nodes.read.n}
	return c
}

// FirstSubmit returns the submit time of the first job ever seen: the origin of
// ShuffleWatcher's starvation windows (algorithms.md 2.1.5).
func (v View) FirstSubmit() model.Time { return v.c.jobs.firstSubmit }

// Saturation returns NetSat's settings.
func (v View) Saturation() shuffle.SaturationParams { return v.c.cfg.Saturation }

// InitialRatio returns the shuffle/input ratio of a job nothing is known of.
func (v View) InitialRatio() float64 { return v.c.cfg.InitialRatio }

// Past returns what the runs of a job before it, and its own as far as it has been
// measured, let expect of it; false where none is known.
func (v View) Past(j *Job) (shuffle.Past, bool) { return v.c.history.Expect(j.told.key) }

// Fits reports whether a task of a stage fits into free resources under the
// scheduler's rules.
func (v View) Fits(s *Stage, free model.Resource) bool {
	return s.Capability.Fits(free, v.c.countsVCores())
}

// Locality returns the best locality level a pending task of the stage would
// have on the node, false if the stage has no pending task.
func (v View) Locality(s *Stage, n *Node) (model.Locality, bool) { return s.locality(n) }

// TaskLocality returns the locality level one task of the stage would have on a
// node; false unless the task is pending and its preferred hosts are known.
func (v View) TaskLocality(s *Stage, index int, n *Node) (model.Locality, bool) {
	if index < 0 || index >= len(s.tasks) || s.tasks[index].state != pending {
		return model.OffSwitch, false
	}
	level := model.OffSwitch
	for _, host := range s.preferred.of(s.tasks[index].preferred) {
		if host == n.number {
			return model.NodeLocal, true
		}
		if r, ok := v.c.nodes.rackOf(host); ok && r == n.Rack.Index {
			level = model.RackLocal
		}
	}
	return level, true
}

// Age returns how old a source's last good poll is at now; ok is false before
// there was one. A decision on state older than its limit is not to be made.
func (v View) Age(src model.Source, now model.Time) (age model.Duration, ok bool) {
	s := v.c.sources[src]
	if s == nil || s.lastOK == 0 {
		return 0, false
	}
	return max(now.Sub(s.lastOK), 0), true
}
