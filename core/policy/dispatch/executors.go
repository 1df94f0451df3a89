package dispatch

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// mapReduce is the type of applications whose tasks are maps and reduces.
const mapReduce = "MAPREDUCE"

// Executors is where an application's executors were planned last. The scheduler
// may have granted what was asked for on the strength of it, so that the racks
// have less room, before the application has heard of it and asks for less.
type Executors struct {
	made     model.Time // when it was made or anything last came of it
	pending  int        // asked for then; 0 without a plan
	launched int
	total    int   // containers in all
	counts   []int // of them, by rack number
}

// planHolds is how long an executor plan holds without a launch: longer
// than applications take to ask again (spark.yarn.scheduler.heartbeat.interval-ms is 3 s).
const planHolds = 10 * model.Second

// holds reports whether the plan still counts.
func (k *Executors) holds(now model.Time) bool {
	age := now.Sub(k.made)
	return k.pending > 0 && age >= 0 && age < planHolds
}

// wanted returns how many containers an application is to have in all. What it
// asks for and what runs are told by different sources: a container may be in
// both for a while, or in neither. So while the plan holds it is what was
// planned, and more only as more is asked for.
func (k *Executors) wanted(now model.Time, pending, launched int) int {
	all := pending + launched
	if !k.holds(now) {
		return all
	}
	return max(k.total, min(all, k.total+pending-k.pending))
}

// on returns how many containers were planned on a rack.
func (k *Executors) on(rack int) int {
	if rack < len(k.counts) {
		return k.counts[rack]
	}
	return 0
}

// Targets gives racks to the containers of an application that runs its tasks inside long-lived ones (Spark). Where something is known of
// its input, prefers tells the racks that are good for it. Where nothing is, and prefers is nil, no rack reads more remotely than another and only
// the shuffle counts, sigma I (1 - sum p_r^2), which is least on the fewest racks: those it was planned on, those where the
// application already runs, then those with most room.
func (k *Executors) Targets(v state.View, j *state.Job, journal *policy.Journal, prefers func(rack int) bool) (t Targets, ok bool) {
	s := j.Other
	if j.Type == mapReduce || s.Capability.MemoryMiB <= 0 {
		return t, false
	}
	policy.Save(journal, k)
	if s.Pending <= 0 {
		*k = Executors{}
		return t, false
	}
	launched := 0
	for _, n := range s.LaunchedByRack() {
		launched += n
	}
	next := Executors{made: k.made, pending: s.Pending, launched: launched, total: k.wanted(v.Now(), s.Pending, launched), counts: make([]int, len(v.Racks()))}
	t.Reason = model.ReasonFewestRacks
	racks := roomyRacks(v, s, k)
	if prefers != nil {
		t.Reason = model.ReasonInputRacks
		racks = slices.DeleteFunc(racks, func(room rackRoom) bool { return !prefers(room.rack) })
	}
	left := max(next.total-launched, 0)
	for _, room := range racks {
		n := min(left, room.room)
		left -= n
		if n += s.Launched(room.rack); n > 0 {
			next.counts[room.rack] = n
			t.Racks = append(t.Racks, model.RackTarget{Rack: v.Racks()[room.rack].ID, Count: n, Share: float64(n) / float64(next.total)})
		}
	}
	if next.pending != k.pending || next.launched != k.launched || !slices.Equal(next.counts, k.counts) {
		next.made = v.Now()
	}
	*k = next
	return t, len(t.Racks) > 0
}

// rackRoom is how many more containers of one size a rack has room for, what it
// was planned included.
type rackRoom struct{ rack, planned, room int }

// roomyRacks lists the racks with running nodes: those planned for most first, then
// those the stage runs on, most containers first, then by falling room.
func roomyRacks(v state.View, s *state.Stage, kept *Executors) []rackRoom {
	rooms, holds := make([]rackRoom, 0, len(v.Racks())), kept.holds(v.Now())
	for i, rack := range v.Racks() {
		if !rack.Runs() {
			continue
		}
		r := rackRoom{rack: i}
		for _, n := range rack.Nodes {
			if n.State.Usable() {
				r.room += int(n.Free.MemoryMiB / s.Capability.MemoryMiB)
			}
		}
		if holds {
			r.planned = kept.on(i)
			r.room = max(r.room, r.planned-s.Launched(i))
		}
		rooms = append(rooms, r)
	}
	slices.SortStableFunc(rooms, func(a, b rackRoom) int {
		return cmp.Or(cmp.Compare(b.planned, a.planned), cmp.Compare(s.Launched(b.rack), s.Launched(a.rack)), cmp.Compare(b.room, a.room))
	})
	return rooms
}
