// Package state is the one owner of cluster state: it applies observations to
// an indexed Cluster, lets policies read it through a View, and publishes
// immutable Snapshots for everyone else.
//
// A Cluster belongs to one goroutine. Indexes (pending tasks by host and rack,
// jobs by class, user and queue, users in fair order, launched reduces and map output
// per rack) are kept as observations arrive, so that a decision never scans.
package state

import (
	"maps"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
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
	CountVCores  bool           // CapacityScheduler fits tasks by vcores too (DominantResourceCalculator)
	Weights      map[model.UserID]float64
	TaskDefault  model.Resource // size of a task until an ask shows it
	// Slots are the typed slots of nodes, where a cluster has them in place of containers (Hadoop 1). Each counts as a
	// task's size of the node's memory.
	Slots map[model.NodeID]model.Slots
	// Table is the site's own table of racks by host name; hosts whose rack
	// differs from it are reported, and take its rack with TableOverrides.
	Table          map[string]model.RackID
	TableOverrides bool
	MaxTasks       int // tasks of one stage tracked one by one; of larger stages the rest is counted only
	// NoTraffic leaves out what jobs move between racks, for who asks neither for it nor for uplinks by MethodEstimate.
	NoTraffic bool
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

// Cluster is the indexed, mutable state of one Hadoop cluster: its parts, each
// with its own rules, and what spans them.
type Cluster struct {
	cfg    Config
	now    model.Time
	counts Counts

	info    clusterInfo
	nodes   nodeIndex
	jobs    jobIndex
	hdfs    hdfsState
	traffic traffic
	sources sourceIndex
	log     decisionLog
	history *shuffle.History // of recurring jobs

	seq uint64 // of published snapshots
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
	c := &Cluster{
		cfg:     cfg,
		hdfs:    hdfsState{inputs: map[string]*Input{}},
		traffic: traffic{none: cfg.NoTraffic, regret: map[string]float64{}},
		sources: sourceIndex{},
		log:     decisionLog{max: cfg.Decisions},
		counts:  Counts{RejectedByRule: map[model.Rule]int64{}, DecidedByReason: map[model.Reason]int64{}},
	}
	c.history = shuffle.NewHistory(shuffle.DefaultHistory)
	c.nodes, c.jobs = newNodeIndex(&c.cfg, &c.counts), newJobIndex(&c.cfg)
	c.jobs.history = c.history
	return c
}

// History returns what the runs of recurring jobs were measured at. It is the
// cluster's: others read it in the same goroutine, and keep a clone at most.
func (c *Cluster) History() *shuffle.History { return c.history }

// SetSaturation changes NetSat's settings from the next sample on.
func (c *Cluster) SetSaturation(p shuffle.SaturationParams) { c.cfg.Saturation = p }

// View returns the read-only face of the cluster. It stays valid, and follows
// the cluster, as long as the cluster is used by the same goroutine.
func (c *Cluster) View() View { return View{c, relations{&c.jobs}} }

// Suppose adds an application made of facts, lets use look at it through the
// View, and takes it out again: the question "what if this job were here". The
// facts must be about app; use must not keep what it is given.
func (c *Cluster) Suppose(app model.App, facts []model.Fact, use func(*Job)) {
	counts, inputs := c.counts, c.hdfs.inputs
	c.hdfs.inputs = maps.Clone(inputs)
	j, takeOut := c.jobs.suppose(app, c.now)
	c.jobs.history = nil // what is supposed of the job is no run of it
	for _, f := range facts {
		switch f := f.(type) {
		case model.BlocksFact:
			c.hdfs.applyBlocks(f, &c.nodes, c.jobs.live)
		case model.CountersFact: // no traffic: nothing has moved
			j.setCounters(f)
		default:
			c.applyJobFact(model.Observation{Source: model.SourceRM, At: c.now, Fact: f})
		}
	}
	use(j)
	takeOut()
	c.counts, c.hdfs.inputs, c.jobs.history = counts, inputs, c.history
}
