// Package state is the one owner of cluster state: it applies observations to
// an indexed Cluster, lets policies read it through a View, and publishes
// immutable Snapshots for everyone else.
//
// A Cluster belongs to one goroutine. Indexes (pending tasks by host and rack,
// jobs by class and user, users in fair order, launched reduces and map output
// per rack) are kept as observations arrive, so that a decision never scans.
package state

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
)

// Methods by which uplink load is known (design 5). Loads of the methods other
// than MethodEstimate arrive as model.UplinkFact.
const (
	MethodEstimate   = "estimate"
	MethodShuffleJMX = "shuffle-jmx"
	MethodPrometheus = "prometheus"
)

// Config is what a Cluster needs besides observations.
type Config struct {
	Uplinks      topology.Uplinks
	Saturation   shuffle.SaturationParams
	UplinkMethod string         // one of the Method constants
	UplinkMaxAge model.Duration // a load older than this falls back to the estimate
	FinishedJobs int            // ended jobs kept for their last facts and for readers
	Decisions    int            // decisions kept in the log
	InitialRatio float64        // shuffle/input ratio of a job nothing is known of (ShuffleWatcher §3.1: 1.0)
	CountVCores  bool           // fit tasks by vcores too (DominantResourceCalculator)
	Weights      map[model.UserID]float64
	TaskDefault  model.Resource // size of a task until an ask shows it
	// Table is the site's own table of racks by host name; hosts whose rack
	// differs from it are reported, and take its rack with TableOverrides.
	Table          map[string]model.RackID
	TableOverrides bool
	MaxTasks       int // tasks of one stage tracked one by one; of larger stages the rest is counted only
}

// DefaultConfig returns the defaults of appendix C and the limits heddle runs with.
func DefaultConfig() Config {
	return Config{
		Saturation:   shuffle.DefaultSaturation(),
		UplinkMethod: MethodEstimate,
		UplinkMaxAge: 15 * model.Second,
		FinishedJobs: 500,
		Decisions:    4096,
		InitialRatio: 1.0,
		TaskDefault:  model.Resource{MemoryMiB: 1024, VCores: 1},
		MaxTasks:     200_000,
	}
}

// Cluster is the indexed, mutable state of one Hadoop cluster.
type Cluster struct {
	cfg   Config
	now   model.Time
	tree  *topology.Tree
	nodes nodeIndex
	jobs  jobIndex
	users userIndex

	hdfs    hdfsState
	traffic traffic
	sources map[model.Source]*sourceState
	info    clusterInfo
	undo    []assumption
	log     decisionLog
	counts  Counts
	seq     uint64 // of published snapshots

	published struct { // parts of the last snapshot that can be shared
		nodes []model.Node
		gen   uint64
	}
}

// clusterInfo is what is known of the ResourceManager itself.
type clusterInfo struct {
	fact       model.ClusterFact
	localities model.LocalityCounts // since heddle started, across ResourceManager restarts
	last       model.LocalityCounts // as last read
	restarts   int64
}

// Counts are totals of what heddle had to work around; each is exported.
type Counts struct {
	ClockJumps      int64                  `json:"clock_jumps"`     // observations more than a minute older than the one before
	HostsNoRack     int                    `json:"hosts_no_rack"`   // hosts in the default rack now
	RackMismatches  int                    `json:"rack_mismatches"` // hosts whose rack differs between ResourceManager and NameNode now
	UnknownHosts    int64                  `json:"unknown_hosts"`   // task or replica hosts in no known rack, counted as default-rack
	EstimatedLoads  int64                  `json:"estimated_loads"` // rack samples that fell back to the estimate
	UntrackedTasks  int64                  `json:"untracked_tasks"` // task updates beyond MaxTasks or outside their stage
	Restarts        int64                  `json:"restarts"`        // ResourceManager restarts and failovers seen
	RejectedByRule  map[model.Rule]int64   `json:"rejected_by_rule"`
	DecidedByReason map[model.Reason]int64 `json:"decided_by_reason"`
}

// New builds an empty cluster.
func New(cfg Config) *Cluster {
	return &Cluster{
		cfg:     cfg,
		tree:    topology.New(),
		nodes:   nodeIndex{byID: map[model.NodeID]*Node{}, byHost: map[string]*Node{}},
		jobs:    jobIndex{byID: map[model.AppID]*Job{}},
		users:   userIndex{byID: map[model.UserID]*User{}},
		hdfs:    hdfsState{inputs: map[string]*Input{}},
		sources: map[model.Source]*sourceState{},
		log:     decisionLog{max: cfg.Decisions},
		counts:  Counts{RejectedByRule: map[model.Rule]int64{}, DecidedByReason: map[model.Reason]int64{}},
	}
}

// SetSaturation changes NetSat's settings from the next sample on.
func (c *Cluster) SetSaturation(p shuffle.SaturationParams) { c.cfg.Saturation = p }

// View returns the read-only face of the cluster. It stays valid, and follows
// the cluster, as long as the cluster is used by the same goroutine.
func (c *Cluster) View() View { return View{c} }

// View is what policies read. Everything reached through it belongs to the
// cluster: read it within the round, change nothing, keep nothing but ids.
type View struct{ c *Cluster }

// Now returns the time of the newest observation.
func (v View) Now() model.Time { return v.c.now }

// Racks returns every rack, indexed by its number in the topology tree. A rack
// whose nodes have all left is still listed, without nodes.
func (v View) Racks() []*Rack { return v.c.nodes.racks }

// RackOf returns the rack of an id, nil if no node or block was ever in it.
func (v View) RackOf(id model.RackID) *Rack {
	if i, ok := v.c.tree.Lookup(id); ok && i < len(v.c.nodes.racks) {
		return v.c.nodes.racks[i]
	}
	return nil
}

// Nodes returns every node in the order of their ids.
func (v View) Nodes() []*Node { return v.c.nodes.sorted }

// Node returns a node, nil if there is none of that id.
func (v View) Node(id model.NodeID) *Node { return v.c.nodes.byID[id] }

// Job returns a job, live or lately ended, nil if there is none of that id.
func (v View) Job(id model.AppID) *Job { return v.c.jobs.byID[id] }

// Jobs returns the live jobs by submit time, then id.
func (v View) Jobs() []*Job { return v.c.jobs.live }

// Users returns the users with live jobs in fair order: least usage over weight
// first, then earliest job, then name (algorithms.md 2.5.2).
func (v View) Users() []*User { return v.c.users.fair }

// FirstSubmit returns the submit time of the first job ever seen: the origin of
// ShuffleWatcher's starvation windows (algorithms.md 2.1.5).
func (v View) FirstSubmit() model.Time { return v.c.jobs.firstSubmit }

// Saturation returns NetSat's settings.
func (v View) Saturation() shuffle.SaturationParams { return v.c.cfg.Saturation }

// InitialRatio returns the shuffle/input ratio of a job nothing is known of.
func (v View) InitialRatio() float64 { return v.c.cfg.InitialRatio }

// Fits reports whether a task of a stage fits into free resources under the
// cluster's resource calculator.
func (v View) Fits(s *Stage, free model.Resource) bool {
	return s.Capability.Fits(free, v.c.cfg.CountVCores)
}

// Locality returns the best locality level a pending task of the stage would
// have on the node, false if the stage has no pending task.
func (v View) Locality(s *Stage, n *Node) (model.Locality, bool) { return s.locality(n) }

// Rack is one rack with its nodes and its uplink.
type Rack struct {
	ID          model.RackID
	Index       int            // number in the topology tree
	Nodes       []*Node        // by id
	Total, Used model.Resource // over running nodes
	Link        topology.Link
	Load        shuffle.Meter // smoothed load of the uplink, and NetSat's flag
	Utilization float64       // of the busier direction, 0 when the capacity is not known
	Method      string        // by which Load was sampled last

	sampled model.UplinkSample // newest load of a method other than the estimate
	at      model.Time         // when it was measured
}

// Node is one NodeManager.
type Node struct {
	model.Node
	Free model.Resource // never below zero; less what the current what-if assumes
	Rack *Rack          // by the topology; Node.Rack is the name as reported
}

// nodeIndex holds nodes and racks.
type nodeIndex struct {
	byID   map[model.NodeID]*Node
	byHost map[string]*Node
	sorted []*Node // by id
	racks  []*Rack // by rack number
	gen    uint64  // changes whenever a node changes
}

// rack returns the rack of a number, making it and those below it if needed.
func (c *Cluster) rack(i int) *Rack {
	for len(c.nodes.racks) <= i {
		n := len(c.nodes.racks)
		id := c.tree.ID(n)
		c.nodes.racks = append(c.nodes.racks, &Rack{ID: id, Index: n, Link: c.cfg.Uplinks.Of(id, 0), Method: c.cfg.UplinkMethod})
	}
	return c.nodes.racks[i]
}

// hostRack returns the rack number of a host: where its NodeManager is, else
// where the NameNode has it, else the hint, else the default rack, counted.
func (c *Cluster) hostRack(host string, hint model.RackID) int {
	if i, ok := c.tree.RackOf(host); ok {
		return i
	}
	if hint == "" || hint == model.DefaultRack {
		c.counts.UnknownHosts++
		hint = model.DefaultRack
	}
	i := c.tree.Index(hint)
	c.rack(i)
	return i
}

func (c *Cluster) applyNodes(f model.NodesFact) {
	changed := len(f.Nodes) != len(c.nodes.byID)
	for i := range f.Nodes {
		n := f.Nodes[i]
		if rack, ok := c.cfg.Table[n.Host]; ok && c.cfg.TableOverrides {
			n.Rack = rack
		}
		old := c.nodes.byID[n.ID]
		switch {
		case old == nil:
			c.addNode(n)
			changed = true
		case old.Node != n:
			if old.Node.Rack != n.Rack || old.Host != n.Host {
				changed = true // regrouped below
			}
			old.Node = n
			c.nodes.gen++
		}
	}
	if changed {
		c.regroupNodes(f.Nodes)
	}
	c.sumRacks()
}

func (c *Cluster) addNode(n model.Node) {
	c.nodes.byID[n.ID] = &Node{Node: n}
	c.nodes.gen++
}

// regroupNodes drops nodes that are no longer listed and rebuilds the order of
// nodes and the membership of racks.
func (c *Cluster) regroupNodes(listed []model.Node) {
	keep := make(map[model.NodeID]bool, len(listed))
	for i := range listed {
		keep[listed[i].ID] = true
	}
	clear(c.nodes.byHost)
	c.nodes.sorted = c.nodes.sorted[:0]
	for id, n := range c.nodes.byID { // order-free: sorted below
		if !keep[id] {
			delete(c.nodes.byID, id)
			continue
		}
		c.nodes.sorted = append(c.nodes.sorted, n)
	}
	slices.SortFunc(c.nodes.sorted, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range c.nodes.racks {
		r.Nodes = r.Nodes[:0]
	}
	for _, n := range c.nodes.sorted {
		c.nodes.byHost[n.Host] = n
		c.tree.Place(n.Host, n.Node.Rack)
		n.Rack = c.rack(c.tree.Index(n.Node.Rack))
		n.Rack.Nodes = append(n.Rack.Nodes, n)
	}
	for _, r := range c.nodes.racks {
		r.Link = c.cfg.Uplinks.Of(r.ID, len(r.Nodes))
	}
	c.nodes.gen++
	c.compareRacks()
}

// sumRacks recomputes what depends on the nodes' load.
func (c *Cluster) sumRacks() {
	for _, r := range c.nodes.racks {
		r.Total, r.Used = model.Resource{}, model.Resource{}
		for _, n := range r.Nodes {
			n.Free = model.Resource{}
			if n.State.Usable() {
				n.Free = n.Node.Free()
				r.Total, r.Used = r.Total.Add(n.Total), r.Used.Add(n.Used)
			}
		}
	}
}

// compareRacks counts hosts without a rack and hosts whose rack differs between
// ResourceManager, NameNode and the site's table. The ResourceManager's rack is
// used unless the table overrides it: it is the one its scheduler places by.
func (c *Cluster) compareRacks() {
	c.counts.HostsNoRack = 0
	c.hdfs.mismatches = c.hdfs.mismatches[:0:0]
	dataNodes := make(map[string]model.RackID, len(c.hdfs.dataNodes))
	for i := range c.hdfs.dataNodes {
		dataNodes[c.hdfs.dataNodes[i].Host] = c.hdfs.dataNodes[i].Rack
	}
	for _, n := range c.nodes.sorted {
		if n.Rack.ID == model.DefaultRack {
			c.counts.HostsNoRack++
		}
		m := RackMismatch{Host: n.Host, ResourceManager: n.Rack.ID, NameNode: dataNodes[n.Host], Table: c.cfg.Table[n.Host]}
		if (m.NameNode != "" && m.NameNode != n.Rack.ID) || (m.Table != "" && m.Table != n.Rack.ID) {
			c.hdfs.mismatches = append(c.hdfs.mismatches, m)
		}
	}
	c.counts.RackMismatches = len(c.hdfs.mismatches)
}

// Suppose adds an application made of facts, lets use look at it through the
// View, and takes it out again: the question "what if this job were here". The
// facts must be about app; use must not keep what it is given.
func (c *Cluster) Suppose(app model.App, facts []model.Fact, use func(*Job)) {
	counts, first, info := c.counts, c.jobs.firstSubmit, c.hdfs.inputs
	c.hdfs.inputs = make(map[string]*Input, len(info))
	for p, in := range info { // order-free: a copy
		c.hdfs.inputs[p] = in
	}
	c.addJob(app)
	c.sortUsers()
	j := c.jobs.byID[app.ID]
	for _, f := range facts {
		switch f := f.(type) {
		case model.BlocksFact:
			c.applyBlocks(f)
		case model.CountersFact: // no traffic: nothing has moved
			j.counters, j.counted = f, true
			c.refreshOutput(j)
		default:
			c.applyJobFact(f)
		}
	}
	use(j)
	ended := c.jobs.ended
	c.jobs.ended = nil
	c.endJob(j)
	c.jobs.ended = ended
	delete(c.jobs.byID, j.ID)
	c.sortUsers()
	c.counts, c.jobs.firstSubmit, c.hdfs.inputs = counts, first, info
}
