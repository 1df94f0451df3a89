package asks

import (
	"slices"

	"heddle/core/model"
)

// Bounds of what is remembered of hosts.
const (
	maxDenied = 1 << 13 // blacklisted hosts and racks; further ones are not looked at
	maxLost   = 1 << 10
)

// lostFor is how long a host that the ResourceManager reported as gone is left
// out although the site still lists it: by then the site was read anew, and the host is back.
const lostFor = model.Minute

// hosts are the names that must not be asked for although the site lists them.
type hosts struct {
	denied map[string]bool       // the application's blacklist: hosts and racks
	lost   map[string]model.Time // reported as gone, until the site says so too
}

// updateBlacklist takes changes of the application's blacklist.
func (h *hosts) updateBlacklist(add, remove []string) (changed bool) {
	for _, name := range add {
		if !h.denied[name] && len(h.denied) < maxDenied {
			h.denied[name] = true
			changed = true
		}
	}
	for _, name := range remove {
		if h.denied[name] {
			delete(h.denied, name)
			changed = true
		}
	}
	return changed
}

// addLost takes hosts that are not usable any more.
func (h *hosts) addLost(now model.Time, names []string) {
	for _, name := range names {
		if _, known := h.lost[name]; known || len(h.lost) < maxLost {
			h.lost[name] = now
		}
	}
}

// expireLost forgets lost hosts that the site does not list as usable any more, or
// still lists after lostFor.
func (h *hosts) expireLost(a *alarm, site *Site) (changed bool) {
	if site == nil {
		return false
	}
	for host, at := range h.lost { // order-free: each is judged alone
		if a.now.Sub(at) >= lostFor || !site.lists(host) {
			delete(h.lost, host)
			changed = true
			continue
		}
		a.wake(at.Add(lostFor))
	}
	return changed
}

// admits reports whether a host may be named.
func (h *hosts) admits(host string) bool {
	if h.denied[host] {
		return false
	}
	_, lost := h.lost[host]
	return !lost
}

// lists reports whether a host is usable.
func (s *Site) lists(host string) bool {
	rack := s.rack(s.RackOf[host])
	return rack != nil && slices.ContainsFunc(rack.Hosts, func(h Host) bool { return h.Name == host })
}

// rack returns a rack with usable nodes, nil when there is none.
func (s *Site) rack(id model.RackID) *Rack {
	i := slices.IndexFunc(s.Racks, func(r Rack) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Racks[i]
}

// unlimited is how many containers a node holds whose size is not known.
const unlimited = 1 << 16

// containers is how many containers of a size fit into a node.
func containers(node, size model.Resource, vcores bool) int64 {
	n := int64(unlimited)
	if size.MemoryMiB > 0 {
		n = min(n, node.MemoryMiB/size.MemoryMiB)
	}
	if vcores && size.VCores > 0 {
		n = min(n, node.VCores/size.VCores)
	}
	return max(0, n)
}

// Idle is what is left of a node's room that nobody took between two looks.
func Idle(before, now model.Resource) model.Resource {
	return model.Resource{MemoryMiB: min(before.MemoryMiB, now.MemoryMiB), VCores: min(before.VCores, now.VCores)}
}

// HasNewRoom reports whether a host has room that is not idle yet.
func (s *Site) HasNewRoom() bool {
	return slices.ContainsFunc(s.Racks, func(r Rack) bool {
		return slices.ContainsFunc(r.Hosts, func(h Host) bool { return h.Idle != h.Free })
	})
}

// idle reports whether a container of a size has room that is left by everybody.
func (h *Host) idle(size model.Resource, vcores bool) bool {
	return h.Total.IsZero() || containers(h.Idle, size, vcores) > 0
}

// capacity is how many containers of a size a host holds when empty, and how many more now.
func (h *Host) capacity(size model.Resource, vcores bool) (total, free int64) {
	if h.Total.IsZero() {
		return unlimited, unlimited
	}
	return containers(h.Total, size, vcores), containers(h.Free, size, vcores)
}
