package rmmodel

import (
	"maps"
	"slices"

	"heddle/core/asks"
	"heddle/core/model"
)

// Heartbeat offers a node to the attempt and returns what was allocated on it:
// with CapacityScheduler containers until one was off-switch or none was
// assigned, with FairScheduler, assignmultiple being off, at most one.
func (rm *RM) Heartbeat(host string) []*Container {
	n := rm.cluster.Node(host)
	if n == nil || !n.Usable {
		return nil
	}
	var got []*Container
	most, off := rm.settings.MaxAssign, 0
	if rm.settings.Scheduler == Fair {
		most = 1
	}
	for len(got) < most && off < rm.settings.OffSwitch {
		key, level, found := rm.assign(n)
		if !found {
			break
		}
		if level == model.OffSwitch {
			off++
		}
		got = append(got, rm.allocate(key, n, level))
	}
	return got
}

// liveKeys are the keys a node is offered to, in order.
func (s *scheduling) liveKeys() []asks.Key {
	var live []asks.Key
	for _, key := range slices.SortedFunc(maps.Keys(s.keys), compareKeys) {
		if s.keys[key].live {
			live = append(live, key)
		}
	}
	return live
}

// allocate commits a container.
func (rm *RM) allocate(key asks.Key, n *Node, level model.Locality) *Container {
	k := rm.keys[key]
	anyRow := k.rows[model.AnyName]
	c := &Container{
		Grant: asks.Grant{ID: asks.ContainerID{Attempt: 1, ID: rm.next}, Key: key, Host: n.Host},
		Size:  anyRow.capability, Level: level, Strict: !anyRow.relax,
	}
	c.rows = k.take(level, n)
	rm.next++
	if len(k.rows) == 0 {
		delete(rm.keys, key)
	}
	n.Used = n.Used.Add(c.Size)
	rm.containers[c.ID] = c
	rm.fresh = append(rm.fresh, c)
	return c
}

// outcome is what became of offering a node to a key (AllocationState).
type outcome uint8

const (
	localitySkipped outcome = iota // try the coarser row
	prioritySkipped                // try the next key
	appSkipped                     // leave the application alone on this node; also what a reservation comes to here
	allocated
)

// assign offers a node and returns the key that takes one container, if any.
func (s *scheduling) assign(n *Node) (asks.Key, model.Locality, bool) {
	if s.refuses(n) {
		return asks.Key{}, 0, false // APP_SKIPPED
	}
	if s.settings.Scheduler == Fair {
		return s.assignFair(n)
	}
	return s.assignCapacity(n)
}

// assignCapacity is RegularContainerAllocator.assignContainers.
func (s *scheduling) assignCapacity(n *Node) (asks.Key, model.Locality, bool) {
	if n.Free().MemoryMiB < s.settings.MinMiB {
		return asks.Key{}, 0, false // a full node is not offered
	}
	for _, key := range s.liveKeys() {
		s.misses[key]++
		level, out := s.tryCapacity(key, n)
		switch out {
		case allocated:
			if level != model.OffSwitch { // rack-locality-full-reset is true
				s.misses[key] = 0
			}
			return key, level, true
		case prioritySkipped, localitySkipped:
			s.misses[key] = max(s.misses[key]-1, 0) // not an opportunity
		case appSkipped:
			return asks.Key{}, 0, false
		}
	}
	return asks.Key{}, 0, false
}

// tryCapacity is RegularContainerAllocator.assignContainersOnNode.
func (s *scheduling) tryCapacity(key asks.Key, n *Node) (model.Locality, outcome) {
	k := s.keys[key]
	if k.count(n.Host) > 0 {
		if out := s.assignAt(key, n, model.NodeLocal); out != localitySkipped {
			return model.NodeLocal, out
		}
	}
	if k.count(string(n.Rack)) > 0 {
		if !k.mayDelayTo(string(n.Rack)) {
			return model.RackLocal, prioritySkipped
		}
		if out := s.assignAt(key, n, model.RackLocal); out != localitySkipped {
			return model.RackLocal, out
		}
	}
	if !k.mayDelayTo(model.AnyName) {
		return model.OffSwitch, prioritySkipped
	}
	out := s.assignAt(key, n, model.OffSwitch)
	if out == localitySkipped {
		out = appSkipped
	}
	return model.OffSwitch, out
}

// assignAt is assignNodeLocalContainers and its siblings, with assignContainer.
func (s *scheduling) assignAt(key asks.Key, n *Node, level model.Locality) outcome {
	k := s.keys[key]
	need := k.rows[model.AnyName].capability
	switch {
	case !s.delayIsOver(key, n, level) || !k.mayAllocate(level, n):
		return localitySkipped
	case !need.Fits(n.Total, s.cluster.VCores):
		return localitySkipped
	case !s.cluster.fits(n, need):
		if level != model.OffSwitch {
			s.misses[key] = 0 // a reservation resets them too
		}
		return appSkipped
	}
	return allocated
}

// delayIsOver is RegularContainerAllocator.canAssign.
func (s *scheduling) delayIsOver(key asks.Key, n *Node, level model.Locality) bool {
	k := s.keys[key]
	nodes := s.cluster.Usable()
	missed := s.misses[key]
	switch level {
	case model.NodeLocal:
		return k.count(string(n.Rack)) > 0 && k.count(n.Host) > 0
	case model.RackLocal:
		return k.count(string(n.Rack)) > 0 && min(nodes, s.settings.NodeDelay) < missed
	case model.OffSwitch:
	}
	if len(k.rows) == 1 {
		return true // only ANY
	}
	if s.settings.RackDelay >= 0 {
		return missed > min(nodes, s.settings.NodeDelay+s.settings.RackDelay)
	}
	factor := min(float32(len(k.rows)-1)/float32(nodes), 1)
	return min(float32(nodes), float32(k.count(model.AnyName))*factor) < float32(missed)
}

// assignFair is FSAppAttempt.assignContainer.
func (s *scheduling) assignFair(n *Node) (asks.Key, model.Locality, bool) {
	for _, key := range s.liveKeys() {
		k := s.keys[key]
		if !s.hasContainerFor(k, n) {
			continue
		}
		s.misses[key]++
		level, found := fairLevel(k, n)
		if !found {
			continue
		}
		if !s.cluster.fits(n, k.rows[model.AnyName].capability) {
			break // below the size it would reserve for, and no other key is tried
		}
		return key, level, true
	}
	return asks.Key{}, 0, false
}

// hasContainerFor is FSAppAttempt.hasContainerForNode.
func (s *scheduling) hasContainerFor(k *keyRows, n *Node) bool {
	anyRow := k.rows[model.AnyName]
	rack, hasRack := k.rows[string(n.Rack)]
	return anyRow.count > 0 &&
		(anyRow.relax || rack.count > 0) &&
		(!hasRack || rack.relax || k.count(n.Host) > 0) &&
		anyRow.capability.Fits(n.Total, s.cluster.VCores)
}

// fairLevel is the level at which a node is taken, every level being allowed at once
// (locality thresholds of -1).
func fairLevel(k *keyRows, n *Node) (model.Locality, bool) {
	rack, hasRack := k.rows[string(n.Rack)]
	switch {
	case rack.count > 0 && k.count(n.Host) > 0:
		return model.NodeLocal, true
	case hasRack && !rack.relax:
		return 0, false
	case rack.count > 0:
		return model.RackLocal, true
	case !k.rows[model.AnyName].relax:
		return 0, false
	}
	return model.OffSwitch, true
}
