package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/jobs"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// Config is what a Cluster needs besides observations.
type Config struct {
	Uplinks      topology.Uplinks
	Saturation   shuffle.SaturationParams
	UplinkMethod string         // one of the Method constants
	UplinkMaxAge model.Duration // a load older than this falls back to the estimate
	FinishedJobs int            // ended jobs that stay for their last facts and for readers
	InitialRatio float64        // shuffle/input ratio of a job without an earlier run (ShuffleWatcher §3.1: 1.0)
	CountVCores  bool           // CapacityScheduler fits tasks by vcores too (DominantResourceCalculator)
	Weights      map[model.UserID]float64
	TaskDefault  model.Resource // size of a task until an ask shows it
	// Slots are the typed slots of nodes, where a cluster has them instead of containers (Hadoop 1). Each slot counts as
	// much of the node's memory as one task takes.
	Slots map[model.NodeID]model.Slots
	// Table is the site's own table of racks by host name. Hosts whose rack differs from it are reported; with
	// TableOverrides the table's rack counts.
	Table          map[string]model.RackID
	TableOverrides bool
	MaxTasks       int // tasks of one stage that are tracked one by one; the rest of a larger stage is only counted
	// NoTraffic skips the traffic between racks, where it is not read and MethodEstimate is not used.
	NoTraffic bool
}

// DefaultConfig returns the defaults of appendix C and the limits heddle runs with.
func DefaultConfig() Config {
	return Config{
		Saturation:   shuffle.DefaultSaturation(),
		UplinkMethod: MethodEstimate,
		UplinkMaxAge: 15 * model.Second,
		FinishedJobs: 500,
		InitialRatio: 1.0,
		TaskDefault:  model.Resource{MemoryMiB: 1024, VCores: 1},
		MaxTasks:     200_000,
	}
}

func (c *Config) nodes() nodes.Config {
	return nodes.Config{
		Uplinks: c.Uplinks, UplinkMethod: c.UplinkMethod, Slots: c.Slots, Table: c.Table, TableOverrides: c.TableOverrides,
	}
}

func (c *Config) jobs() jobs.Config {
	return jobs.Config{FinishedJobs: c.FinishedJobs, InitialRatio: c.InitialRatio, Weights: c.Weights, TaskDefault: c.TaskDefault}
}
