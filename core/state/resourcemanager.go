package state

import (
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// resourceManager is what is known of the ResourceManager itself.
type resourceManager struct {
	fact       model.ClusterFact
	localities model.LocalityCounts // since heddle started, across ResourceManager restarts
	last       model.LocalityCounts // as last read
}

// apply takes an answer of the ResourceManager about itself. It reports whether
// that is another ResourceManager than before, or the same one restarted.
func (r *resourceManager) apply(f model.ClusterFact) (restarted bool) {
	restarted = r.fact.Started != 0 && (f.Started != r.fact.Started || f.Address != r.fact.Address)
	if f.Localities == nil {
		f.Localities = r.fact.Localities
	} else {
		r.count(*f.Localities)
	}
	if f.Queues == nil {
		f.Queues = r.fact.Queues
	}
	if f.Scheduler == "" {
		f.Scheduler = r.fact.Scheduler
	}
	r.fact = f
	return restarted
}

// count adds what the scheduler allocated since the last reading. The
// ResourceManager's own counters start at zero again after a restart.
func (r *resourceManager) count(now model.LocalityCounts) {
	r.localities.NodeLocal += increase(r.last.NodeLocal, now.NodeLocal)
	r.localities.RackLocal += increase(r.last.RackLocal, now.RackLocal)
	r.localities.OffSwitch += increase(r.last.OffSwitch, now.OffSwitch)
	r.last = now
}

// increase returns how far a counter moved, taking a fall for a restart at 0.
func increase(last, now int64) int64 {
	if now < last {
		return now
	}
	return now - last
}

// publish returns what a snapshot says of the ResourceManager itself.
func (r *resourceManager) publish() snapshot.Cluster {
	f := &r.fact
	return snapshot.Cluster{
		Started: f.Started, Version: f.Version, HAState: f.HAState, Address: f.Address, Scheduler: f.Scheduler,
		Queues: f.Queues, Localities: r.localities,
	}
}
