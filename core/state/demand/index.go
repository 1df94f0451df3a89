// Package demand indexes where pending tasks would be local: by stage and host or
// rack, and by host, so that an offer finds the stages that want the offered node
// without asking every job.
package demand

import (
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// StageNumber numbers the stages of one cluster.
type StageNumber int32

// Index holds the stages with pending tasks by the hosts those would be node-local
// on.
type Index struct {
	onHost [][]Entry // by host number, in no order
	stages []*Stage  // by stage number
}

// Entry says that a stage has pending tasks that would be node-local on a host.
type Entry struct {
	Stage StageNumber
	Taken bool // the current what-if assumes all of them to run
}

// Add makes a stage known under its number. A later stage of the same number
// replaces it.
func (x *Index) Add(s *Stage) {
	x.stages = topology.Extend(x.stages, int(s.number))
	x.stages[s.number] = s
}

// OnHost returns the entries of a host, in no order. They change with the cluster.
func (x *Index) OnHost(host nodes.Host) []Entry { return topology.At(x.onHost, int(host)) }

// insert adds an entry for a stage on a host.
func (x *Index) insert(host nodes.Host, s StageNumber, c *count) {
	x.onHost = topology.Extend(x.onHost, int(host))
	x.onHost[host] = append(x.onHost[host], Entry{Stage: s})
	c.place = int32(len(x.onHost[host])) //nolint:gosec // bounded by the number of stages
}

// remove deletes the entry of a stage on a host. The last entry moves to its place.
func (x *Index) remove(host nodes.Host, c *count) {
	list := x.onHost[host]
	last := len(list) - 1
	if at := int(c.place) - 1; at < last {
		list[at] = list[last]
		x.stages[list[at].Stage].onHost.Find(host).place = c.place
	}
	x.onHost[host] = list[:last]
	c.place = 0
}
