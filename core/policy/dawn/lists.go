package dawn

import (
	"cmp"
	"slices"

	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// listKey names a list of jobs that prefer a rack in either state of the network,
// by arrival: those of a user, by number, or of everybody.
type listKey struct{ user, rack int }

// everybody is no user's number.
const everybody = -1

// setPreferred derives the stage a job is in and the racks that it prefers for it,
// and puts the job into the lists of these.
func (o *onlinePlan) setPreferred(v state.View, j *state.Job, k *job) {
	before := k.listKeys()
	k.stage, k.max.Rack, k.dep.Rack, k.user = "", shuffle.None, shuffle.None, everybody
	if s := stageOf(j); s != nil {
		c := o.choice(v, j, k, s.Kind)
		k.stage, k.max, k.dep = s.Kind, o.within(v, s, c, c.max), o.within(v, s, c, c.dep)
	}
	if o.params.Among == AmongUser {
		k.user = j.Owner.Number()
	}
	if k.listKeys() != before {
		o.unlist(k, before)
		o.list(k)
	}
}

// stageOf returns the stage a job is in: maps while there are any to launch, then
// reduces (§III-B1: they run one after the other in the plan).
func stageOf(j *state.Job) *state.Stage {
	switch {
	case j.Map.Pending > 0:
		return j.Map
	case j.Reduce.Pending > 0 && j.ReducesDue():
		return j.Reduce
	case j.Graph != nil && j.Other.Pending > 0:
		return j.Other
	}
	return nil
}

// within bounds how many tasks a rack is given to Waves: the rest goes to the rack
// that is next by what draws the stage.
func (o *onlinePlan) within(v state.View, s *state.Stage, c *choice, p shuffle.Pick) shuffle.Pick {
	isFull := func(r int) bool { return s.Launched(r) >= o.params.Waves*s.RoomIn(v.Racks()[r]) }
	if o.params.Waves == 0 || p.Rack == shuffle.None || !isFull(p.Rack) {
		return p
	}
	next := shuffle.Pick{Rack: shuffle.None}
	for r, b := range c.ByRack {
		if r != p.Rack && b > 0 && (next.Rack == shuffle.None || b > c.ByRack[next.Rack]) && !isFull(r) {
			next = shuffle.Pick{Rack: r, Cost: c.Total - b}
		}
	}
	return next
}

// preferred returns where the job's stage is wanted in a state of the network.
func (k *job) preferred(saturated bool) shuffle.Pick {
	if saturated {
		return k.max
	}
	return k.dep
}

// list puts a job into the lists of the racks it prefers.
func (o *onlinePlan) list(k *job) {
	for _, key := range k.listKeys() {
		if key.rack == shuffle.None {
			continue
		}
		o.lists = topology.Extend(o.lists, key.rack)
		ofRack := &o.lists[key.rack]
		if *ofRack == nil {
			*ofRack = map[int][]*job{}
		}
		list := (*ofRack)[key.user]
		if i, found := slices.BinarySearchFunc(list, k, byArrival); !found {
			(*ofRack)[key.user] = slices.Insert(list, i, k)
		}
	}
}

// unlist takes a job out of the lists it is in.
func (o *onlinePlan) unlist(k *job, keys [2]listKey) {
	for _, key := range keys {
		if key.rack == shuffle.None || key.rack >= len(o.lists) {
			continue
		}
		list := o.lists[key.rack][key.user]
		i, found := slices.BinarySearchFunc(list, k, byArrival)
		switch {
		case !found:
		case len(list) == 1:
			delete(o.lists[key.rack], key.user)
		default:
			o.lists[key.rack][key.user] = slices.Delete(list, i, i+1)
		}
	}
}

func (k *job) listKeys() [2]listKey { return [2]listKey{{k.user, k.max.Rack}, {k.user, k.dep.Rack}} }

func byArrival(a, b *job) int {
	return cmp.Or(cmp.Compare(a.submitted, b.submitted), cmp.Compare(a.id, b.id))
}

// forget takes a job that left out of all that is kept.
func (o *onlinePlan) forget(k *job) {
	o.unlist(k, k.listKeys())
	delete(o.tied, k.id)
}
