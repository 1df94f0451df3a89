package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// sink turns values into metrics of one scrape.
type sink struct {
	ch  chan<- prometheus.Metric
	all *[metricCount]described
}

// put sends one counter or gauge.
func (s sink) put(m metric, v float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(s.all[m].desc, s.all[m].value, v, labels...)
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// source sends the health of one source.
func (s sink) source(v *snapshot.Source, now model.Time) {
	name := string(v.Source)
	s.put(sourceUp, oneIf(v.Result == model.PollOK || v.Result == model.PollBudget), name)
	if v.LastOK != 0 {
		s.put(sourceAge, max(now.Sub(v.LastOK), 0).Seconds(), name)
	}
	count := int64(0)
	for _, r := range model.PollResults() {
		s.put(polls, float64(v.Polls[r]), name, string(r))
		count += v.Polls[r]
	}
	s.put(pollBytes, float64(v.Bytes), name)
	buckets := cumulative(snapshot.DurationBuckets(), v.Buckets)
	s.ch <- prometheus.MustNewConstHistogram(s.all[pollDuration].desc, uint64(count), v.Seconds, buckets, name)
}

// cumulative turns counts per bucket into counts of all up to each bound.
func cumulative(bounds []float64, counts []int64) map[float64]uint64 {
	out := make(map[float64]uint64, len(bounds))
	sum := uint64(0)
	for i, b := range bounds {
		if i < len(counts) {
			sum += uint64(counts[i]) //nolint:gosec // a count
		}
		out[b] = sum
	}
	return out
}

// usualStates are the node states every rack has a figure for, be it 0. The
// others have one only while a node is in them.
func usualStates() []model.NodeState {
	return []model.NodeState{model.NodeRunning, model.NodeUnhealthy, model.NodeLost}
}

// putRack sends one rack, unless it has neither nodes nor replicas any more.
func (s sink) putRack(v *snapshot.Rack, blocks bool) {
	id, known := string(v.ID), v.HDFSBlocks
	for _, n := range v.Nodes { // order-free: a sum
		known += int64(n)
	}
	if known == 0 {
		return
	}
	for _, st := range usualStates() {
		s.put(rackNodes, float64(v.Nodes[st]), id, strings.ToLower(string(st)))
	}
	for st, n := range v.Nodes { // order-free: the registry sorts
		if n > 0 && !slices.Contains(usualStates(), st) {
			s.put(rackNodes, float64(n), id, strings.ToLower(string(st)))
		}
	}
	s.uses(rackMemory, id, float64(model.MiB)*float64(v.Used.MemoryMiB), float64(model.MiB)*float64(v.Total.MemoryMiB))
	s.uses(rackVCores, id, float64(v.Used.VCores), float64(v.Total.VCores))
	for _, st := range []model.Stage{model.StageMap, model.StageReduce, model.StageAM, model.StageOther} {
		s.put(rackContainers, float64(v.Containers[st]), id, string(st))
	}
	s.put(rackPendingMaps, float64(v.PendingMaps), id)
	if blocks {
		s.put(hdfsBlocks, float64(v.HDFSBlocks), id)
	}
	s.uplink(id, &v.Uplink)
}

func (s sink) uses(m metric, rack string, used, total float64) {
	s.put(m, used, rack, "used")
	s.put(m, max(total-used, 0), rack, "free") // an over-committed rack has none
	s.put(m, total, rack, "total")
}

func (s sink) uplink(rack string, u *snapshot.Uplink) {
	s.put(uplinkRate, float64(u.Out), rack, "out", u.Method)
	s.put(uplinkRate, float64(u.In), rack, "in", u.Method)
	s.put(rackSaturated, oneIf(u.Saturated), rack)
	if u.CapacityOut > 0 {
		s.put(uplinkUtilization, float64(u.Out/u.CapacityOut), rack, "out")
	}
	if u.CapacityIn > 0 {
		s.put(uplinkUtilization, float64(u.In/u.CapacityIn), rack, "in")
	}
	if u.CapacityOut > 0 && u.CapacityIn > 0 {
		s.put(uplinkCapacity, float64(min(u.CapacityOut, u.CapacityIn)), rack)
	}
}

// putCounts sends what heddle had to work around.
func (s sink) putCounts(c *snapshot.Counts) {
	s.put(rackMismatches, float64(c.RackMismatches))
	s.put(hostsWithoutRack, float64(c.HostsNoRack))
	s.put(unknownHosts, float64(c.UnknownHosts))
	s.put(clockJumps, float64(c.ClockJumps))
	s.put(restarts, float64(c.Restarts))
	s.put(estimatedLoads, float64(c.EstimatedLoads))
	s.put(untrackedTasks, float64(c.UntrackedTasks))
}
