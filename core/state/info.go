package state

import "heddle/core/model"

// clusterInfo is what is known of the ResourceManager itself.
type clusterInfo struct {
	fact       model.ClusterFact
	localities model.LocalityCounts // since heddle started, across ResourceManager restarts
	last       model.LocalityCounts // as last read
}

// apply takes an answer of the ResourceManager about itself. It reports whether
// that is another ResourceManager than before, or the same one started anew.
func (i *clusterInfo) apply(f model.ClusterFact) (restarted bool) {
	restarted = i.fact.Started != 0 && (f.Started != i.fact.Started || f.Address != i.fact.Address)
	if f.Localities == nil {
		f.Localities = i.fact.Localities
	} else {
		i.count(*f.Localities)
	}
	if f.Queues == nil {
		f.Queues = i.fact.Queues
	}
	if f.Scheduler == "" {
		f.Scheduler = i.fact.Scheduler
	}
	i.fact = f
	return restarted
}

// count adds what the scheduler allocated since the last reading. The
// ResourceManager's own counters start at zero again after a restart.
func (i *clusterInfo) count(now model.LocalityCounts) {
	i.localities.NodeLocal += increase(i.last.NodeLocal, now.NodeLocal)
	i.localities.RackLocal += increase(i.last.RackLocal, now.RackLocal)
	i.localities.OffSwitch += increase(i.last.OffSwitch, now.OffSwitch)
	i.last = now
}

// increase returns how far a counter moved, taking a fall for a restart at 0.
func increase(last, now int64) int64 {
	if now < last {
		return now
	}
	return now - last
}

// countsVCores reports whether containers have to fit by vcores too:
// CapacityScheduler asks its resource calculator (RegularContainerAllocator),
// FairScheduler looks at every resource (FSAppAttempt.assignContainer).
func (c *Cluster) countsVCores() bool {
	return c.cfg.CountVCores || c.info.fact.Scheduler == "fairScheduler"
}

// view returns what a snapshot says of the ResourceManager itself.
func (i *clusterInfo) view() ClusterView {
	f := &i.fact
	return ClusterView{
		Started: f.Started, Version: f.Version, HAState: f.HAState, Address: f.Address, Scheduler: f.Scheduler,
		Queues: f.Queues, Localities: i.localities,
	}
}
