package state

import (
	"slices"

	"heddle/core/model"
	"heddle/core/state/jobs"
	"heddle/core/state/snapshot"
)

// Snapshot publishes the present state, without what an engine decided. The
// cluster never writes again to what a snapshot refers to (I2).
func (c *Cluster) Snapshot() *snapshot.Snapshot {
	c.published++
	s := &snapshot.Snapshot{
		Seq: c.published, At: c.now, Cluster: c.resourceManager.publish(), Sources: c.sources.Snapshot(), Counts: c.counts,
	}
	s.Counts.RejectedByRule, s.Counts.DecidedByReason = map[model.Rule]int64{}, map[model.Reason]int64{}
	c.nodes.AddTo(s)
	s.Traffic = c.traffic.Snapshot(s.Racks)
	s.Cluster.Restarts, s.Cluster.LiveApps, s.Cluster.VCores = c.counts.Restarts, len(c.jobs.Live()), c.countsVCores()
	for i := range s.Racks {
		s.Cluster.Total, s.Cluster.Used = s.Cluster.Total.Add(s.Racks[i].Total), s.Cluster.Used.Add(s.Racks[i].Used)
	}
	s.Apps = make([]*snapshot.App, 0, len(c.jobs.Live())+len(c.jobs.Ended()))
	publish := func(j *Job) { s.Apps = append(s.Apps, jobs.Publish(j, c.nodes.Hosts(), c.traffic.CrossRack)) }
	for _, j := range c.jobs.Live() {
		jobs.AddToRacks(s.Racks, j)
		publish(j)
	}
	for _, j := range slices.Backward(c.jobs.Ended()) {
		publish(j)
	}
	s.Index()
	return s
}
