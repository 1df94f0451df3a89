package shufflewatcher

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/state"
)

// mapReduce is the type of applications whose tasks are maps and reduces.
const mapReduce = "MAPREDUCE"

// planExecutors gives racks to the containers of an application that runs its
// tasks inside long-lived ones (Spark). The paper knows maps and reduces only;
// this is its cost T for what an executor is: both at once. Where the asks tell
// of an input, that is SAMP's choice of racks. Without one, no rack reads more
// remotely than another and only the shuffle counts, sigma I (1 - sum p_r^2),
// which is least on the fewest racks: those where the application already runs
// first, then those with most room.
func planExecutors(p *Policy, v state.View, j *state.Job) (plan model.Plan, ok bool) {
	s := j.Other
	if j.Type == mapReduce || s.Pending <= 0 || s.Capability.MemoryMiB <= 0 {
		return plan, false
	}
	plan = model.Plan{App: j.ID, Stage: model.StageOther, Rank: p.jobs.Of(j).rank, Reason: model.ReasonFewestRacks}
	racks := roomyRacks(v, s)
	if m := p.mapChoice(v, j); m.decided {
		plan.Reason = model.ReasonInputRacks
		racks = slices.DeleteFunc(racks, func(r rackRoom) bool { return !m.prefers(r.rack) })
	}
	left := s.Pending
	for _, r := range racks {
		n := min(left, r.room)
		left -= n
		if n += s.Launched(r.rack); n > 0 {
			plan.Racks = append(plan.Racks, model.RackTarget{Rack: v.Racks()[r.rack].ID, Count: n, Share: float64(n) / float64(s.Pending+s.Running)})
		}
	}
	sortTargets(plan.Racks)
	return plan, len(plan.Racks) > 0
}

// rackRoom is how many more containers of one size a rack has room for.
type rackRoom struct{ rack, room int }

// roomyRacks lists the racks with running nodes: those the stage runs on first,
// most containers first, then by falling room.
func roomyRacks(v state.View, s *state.Stage) []rackRoom {
	rooms := make([]rackRoom, 0, len(v.Racks()))
	for i, rack := range v.Racks() {
		if !rack.Runs() {
			continue
		}
		room := 0
		for _, n := range rack.Nodes {
			if n.State.Usable() {
				room += int(n.Free.MemoryMiB / s.Capability.MemoryMiB)
			}
		}
		rooms = append(rooms, rackRoom{i, room})
	}
	slices.SortStableFunc(rooms, func(a, b rackRoom) int {
		return cmp.Or(cmp.Compare(s.Launched(b.rack), s.Launched(a.rack)), cmp.Compare(b.room, a.room))
	})
	return rooms
}
