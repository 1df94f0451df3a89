package sim

import (
	"errors"
	"fmt"

	"heddle/core/model"
)

// pools count something by kind of place for tasks. Where places are containers,
// which any task takes, all of it is in the first; where slots are typed, maps
// are in the first and all other tasks in the second.
type pools [2]int

func (p pools) sum() int { return p[0] + p[1] }

// plus returns the sum of pools, of the others so many times.
func (p pools) plus(o pools, times int) pools {
	return pools{p[0] + times*o[0], p[1] + times*o[1]}
}

// places are what a rack's nodes have each, by kind.
func (r *Rack) places() pools {
	if r.Slots.Typed() {
		return pools{r.Slots.Maps, r.Slots.Reduces}
	}
	return pools{r.Containers}
}

// Typed reports whether the cluster has map slots and reduce slots in place of
// containers.
func (c *Cluster) Typed() bool { return len(c.Racks) > 0 && c.Racks[0].Slots.Typed() }

// WithSlots returns the cluster with typed slots in place of containers on every
// node.
func (c Cluster) WithSlots(of model.Slots) Cluster { //nolint:gocritic // a copy is what it returns
	c.Racks = append([]Rack(nil), c.Racks...)
	for i := range c.Racks {
		c.Racks[i].Containers, c.Racks[i].Slots = 0, of
	}
	return c
}

// Slots returns how many maps, and how many other tasks, can run at once where
// slots are typed; else none.
func (c *Cluster) Slots() model.Slots {
	var sum model.Slots
	for i := range c.Racks {
		sum = sum.Add(c.Racks[i].Slots, c.Racks[i].Nodes)
	}
	return sum
}

// slotsByNode returns the slots by node, none where they are not typed.
func (l *layout) slotsByNode(c *Cluster) map[model.NodeID]model.Slots {
	if !l.typed() {
		return nil
	}
	of := map[model.NodeID]model.Slots{}
	for i := range l.nodes {
		of[l.nodes[i].id] = c.Racks[l.nodes[i].rack].Slots
	}
	return of
}

// kinds returns what the offers of a node's free places are limited to, one for
// each kind of place: typed slots are offered apart, maps first as a JobTracker
// assigns them; of containers an offer is for any task.
func (c *Cluster) kinds() []model.Stage {
	if c.Typed() {
		return []model.Stage{model.StageMap, model.StageReduce}
	}
	return []model.Stage{""}
}

// validatePlaces reports what is wrong with a rack's containers or slots.
func (c *Cluster) validatePlaces(i int) error {
	r := &c.Racks[i]
	switch s := r.Slots; {
	case s.Typed() != c.Typed():
		return fmt.Errorf("cluster: rack %d: slots are typed on some racks only: give all of them map and reduce slots, or none", i+1)
	case s.Typed() && r.Containers != 0:
		return fmt.Errorf("cluster: rack %d: %d containers beside typed slots: give one of the two", i+1, r.Containers)
	case s.Typed() && (s.Maps <= 0 || s.Reduces <= 0):
		return fmt.Errorf("cluster: rack %d: %d map and %d reduce slots a node: give at least one of each", i+1, s.Maps, s.Reduces)
	case r.Nodes <= 0 || !s.Typed() && r.Containers <= 0:
		return fmt.Errorf("cluster: rack %d: %d nodes of %d containers: give at least one of each", i+1, r.Nodes, r.Containers)
	}
	return nil
}

// fits reports rules of Hadoop that a cluster cannot have.
func (p *Params) fits(c *Cluster) error {
	if p.AMStart > 0 && c.Typed() {
		return errors.New("start of an ApplicationMaster: a cluster of map and reduce slots has none")
	}
	return nil
}

// pool returns where the tasks of a kind are counted.
func (l *layout) pool(kind model.Stage) int {
	if len(l.offerKinds) > 1 && kind != model.StageMap {
		return 1
	}
	return 0
}

// typed reports whether slots are typed.
func (l *layout) typed() bool { return len(l.offerKinds) > 1 }

// canStart reports whether one of the free places is of a kind that a pending task needs.
func (d *pendingUpdates) canStart(free *pools) bool {
	return d.demand[0] > 0 && free[0] > 0 || d.demand[1] > 0 && free[1] > 0
}
