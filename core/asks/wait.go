package asks

import "heddle/core/model"

// wait is how long a key has waited for its planned racks while other nodes could
// have served it, since a container of it was granted last. On a full cluster
// nothing is lost by waiting, and no time counts.
type wait struct {
	Counted model.Duration // before From
	From    model.Time     // since when time counts; 0 does not
}

// observe counts the time until now, and counts on if other nodes could serve the key.
func (w *wait) observe(now model.Time, servedElsewhere bool) (changed bool) {
	if servedElsewhere == (w.From != 0) {
		return false
	}
	if w.From != 0 {
		w.Counted, w.From = w.counted(now), 0
	} else {
		w.From = max(now, 1)
	}
	return true
}

// restart begins anew: a container was granted.
func (w *wait) restart(now model.Time) {
	w.Counted = 0
	if w.From != 0 {
		w.From = max(now, 1)
	}
}

// counted is the time that counts.
func (w *wait) counted(now model.Time) model.Duration {
	if w.From == 0 {
		return w.Counted
	}
	return w.Counted + max(0, now.Sub(w.From))
}

// ends is when the time that counts reaches a limit, if it goes on counting.
func (w *wait) ends(limit model.Duration) model.Time {
	if w.From == 0 {
		return never
	}
	return w.From.Add(limit - w.Counted)
}

// waitedOut reports whether a key has waited for its planned racks as long as it
// may: then all that it waits for now is asked for as the application does.
// Otherwise it returns when that will be, if nothing changes.
func waitedOut(p *racks, limit model.Duration) (ends model.Time, over bool) {
	k := p.k
	if k.Wait.observe(p.now, servedElsewhere(p)) {
		p.change()
	}
	if areFull(p) {
		limit = min(limit, max(limit/fullPart, p.limits.FullAfter))
	}
	ends = k.since().Add(p.limits.WaitMax)
	if at := k.Wait.ends(limit); at < ends {
		ends = at
	}
	over = p.now >= ends || k.Wait.Counted >= limit
	p.wake(ends)
	return ends, over
}

// fullPart is which part of the time it may wait an ask waits for racks that have no
// room and grant nothing: they are full of work that may last.
const fullPart = 3

// servedElsewhere reports whether the key could be served if it were not steered:
// the application may have a container more, and a node has room that the key is not asked for on.
func servedElsewhere(p *racks) bool {
	if p.k.NoHeadroom {
		return false
	}
	for i := range p.in.Site.Racks {
		rack := &p.in.Site.Racks[i]
		if p.denied[string(rack.ID)] || asksOn(p, rack.ID) {
			continue
		}
		for h := range rack.Hosts {
			host := &rack.Hosts[h]
			if host.idle(p.k.Capability, p.in.Site.VCores) && p.admits(host.Name) {
				return true
			}
		}
	}
	return false
}

// asksOn reports whether a key is asked for on a rack.
func asksOn(p *racks, id model.RackID) bool {
	for i := range p.list {
		if p.list[i].id == id {
			return p.list[i].quota > 0
		}
	}
	return false
}

// areFull reports whether no rack that the key is asked for on has room.
func areFull(p *racks) bool {
	for i := range p.list {
		if at := &p.list[i]; at.quota > 0 && at.free > 0 {
			return false
		}
	}
	return true
}

// giveUp ends the wait for all containers that are waited for now.
func giveUp(k *key) {
	for i := range k.Batches {
		k.Batches[i].GivenUp = true
	}
	k.Wait = wait{}
}

// hasGivenUp reports whether the oldest container that is waited for is not steered any more.
func (k *key) hasGivenUp() bool { return len(k.Batches) > 0 && k.Batches[0].GivenUp }

// setHeadroom takes the room that the scheduler says the application has: only none of it means that no container would be
// granted. Of a queue above its capacity CapacityScheduler's limit of a user is what the queue uses and one minimum
// allocation (UsersManager.computeUserLimit), which is smaller than most containers, and it goes on granting: it compares
// the limit with what is used, and not with the request (LeafQueue.canAssignToUser). What is left of a queue's maximum does
// have to hold the request (RegularContainerAllocator.checkHeadroom); the headroom does not say which of the two it is, and
// where it is that one an ask may give up its racks for nothing.
func setHeadroom(k *key, room *model.Resource, site *Site) (changed bool) {
	if room == nil {
		return false
	}
	was := k.NoHeadroom
	k.NoHeadroom = !site.SoftHeadroom && (room.MemoryMiB <= 0 || site.VCores && room.VCores <= 0)
	return k.NoHeadroom != was
}
