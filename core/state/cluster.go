// Package state is the one owner of cluster state: it applies observations to
// an indexed Cluster, lets policies read it through a View, and publishes
// immutable snapshots for everyone else.
//
// A Cluster belongs to one goroutine. Its indexes are packages of their own below
// this one: nodes and racks; jobs with their users and queues; inputs; demand;
// map output; dependencies; traffic; sources. They are updated as observations
// arrive, so that a decision never scans.
package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/dependencies"
	"heddle/core/state/inputs"
	"heddle/core/state/jobs"
	"heddle/core/state/nodes"
	"heddle/core/state/snapshot"
	"heddle/core/state/sources"
	"heddle/core/state/traffic"
)

// Cluster is the indexed, mutable state of one Hadoop cluster.
type Cluster struct {
	cfg    Config
	now    model.Time
	counts snapshot.Counts

	resourceManager resourceManager
	nodes           *nodes.Index
	inputs          *inputs.Index
	jobs            *jobs.Index
	dependencies    *dependencies.Index
	traffic         *traffic.Index
	sources         sources.Health
	history         *shuffle.History // of recurring jobs

	published uint64 // snapshots so far
}

// New returns an empty cluster.
func New(cfg Config) *Cluster {
	c := &Cluster{
		cfg: cfg, nodes: nodes.NewIndex(cfg.nodes()), traffic: traffic.NewIndex(), sources: sources.Health{},
		history: shuffle.NewHistory(shuffle.DefaultHistory),
	}
	c.inputs = inputs.NewIndex(c.nodes.Hosts())
	c.jobs = jobs.NewIndex(cfg.jobs(), c.history, jobs.Hooks{
		Forgotten: func(j *Job) {
			c.dependencies.Remove(j)
			c.traffic.Forget(j.ID)
		},
		Replaced: func(old, next *Job) {
			c.dependencies.Remove(old)
			c.dependencies.Set(next)
			c.traffic.StopRates(next.ID)
		},
		Outcome: func(j *Job) { c.dependencies.UpdateOutcome(j) },
	})
	c.dependencies = dependencies.NewIndex(c.jobs.Changes.Add)
	return c
}

// History returns what the runs of recurring jobs were measured at. It belongs to
// the cluster: others read it in the same goroutine, and may keep a clone.
func (c *Cluster) History() *shuffle.History { return c.history }

// View returns the read-only face of the cluster. It stays valid, and follows
// the cluster, as long as the cluster is used by the same goroutine.
func (c *Cluster) View() View { return View{c} }

// Advance samples every rack's uplink at now and sets NetSat's flags. The caller
// calls it once per SaturationParams.Period.
func (c *Cluster) Advance(now model.Time) {
	c.advanceClock(now)
	c.sample()
}

func (c *Cluster) sample() {
	racks := c.nodes.Racks()
	out, in := c.traffic.Rates(c.jobs.Live(), c.now, c.cfg.UplinkMaxAge, len(racks))
	by := nodes.Sampling{Method: c.cfg.UplinkMethod, MaxAge: c.cfg.UplinkMaxAge, Saturation: c.cfg.Saturation}
	c.counts.EstimatedLoads += by.Sample(racks, c.now, out, in)
}

// SourceAge returns how old a source's last good poll is at now; ok is false before
// the first one.
func (c *Cluster) SourceAge(src model.Source, now model.Time) (age model.Duration, ok bool) {
	return c.sources.Age(src, now)
}

// TaskLocality returns the locality level one task of a stage would have on a node;
// false unless the task is pending and its preferred hosts are known.
func (c *Cluster) TaskLocality(s *Stage, index int, n *Node) (model.Locality, bool) {
	return s.TaskLocality(index, n, c.nodes.Hosts())
}

// countsVCores reports whether containers have to fit by vcores too:
// CapacityScheduler asks its resource calculator (RegularContainerAllocator),
// FairScheduler looks at every resource (FSAppAttempt.assignContainer).
func (c *Cluster) countsVCores() bool {
	return c.cfg.CountVCores || c.resourceManager.fact.Scheduler == "fairScheduler"
}
