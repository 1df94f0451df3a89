package sim

import (
	"errors"
	"fmt"
	"slices"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
	"heddle/core/state"
)

// Consistent reports what does not fit together while a node is offered: counts of
// tasks and what is known of them, what is on lost nodes, and what the scheduler
// was told.
func (s *Sim) Consistent(v state.View, offered *state.Node) error {
	var errs []error
	check := func(what string, is, want int) {
		if is != want {
			errs = append(errs, fmt.Errorf("%s: %d, want %d", what, is, want))
		}
	}
	demand := 0
	for _, j := range s.jobs.live {
		local, inRack := 0, 0
		n := &s.layout.nodes[s.layout.byID[offered.ID]]
		for i := range j.stages {
			t := &j.stages[i]
			name := fmt.Sprintf("%s stage %d: ", j.id, i)
			demand += t.pending()
			var count [3]int
			var left model.Bytes
			for task, is := range t.state {
				count[is]++
				if is == done {
					left += t.outputOf(task)
				}
				if is != waiting && !t.extraWaiting(task) || t.kind != model.StageMap {
					continue
				}
				at := func(on func(n int32) bool) bool {
					return slices.ContainsFunc(s.layout.knownReplicas(t.in.replicas(task)), on)
				}
				local += toInt(!j.amLost && at(func(on int32) bool { return s.layout.nodes[on].id == n.id }))
				inRack += toInt(!j.amLost && at(func(on int32) bool { return s.layout.nodes[on].rack == n.rack }))
				for _, on := range s.layout.knownReplicas(t.in.replicas(task)) {
					if s.layout.nodes[on].losses == 0 && is == waiting {
						check(name+"a task with a block there that is not listed", toInt(t.byNode.first(int(on), t.state) < 0 || t.byRack.first(s.layout.nodes[on].rack, t.state) < 0), 0)
					}
				}
			}
			on := 0
			for a := range s.running.list {
				if attempt := &s.running.list[a]; attempt.job == j && !attempt.isAM && int(attempt.stage) == i {
					on += t.units(int(attempt.task))
				}
			}
			for task, is := range t.state {
				if is == done {
					on += t.units(task)
				}
			}
			for r := range t.launchedOn {
				on -= t.launchedOn[r]
			}
			check(name+"units on no rack", on, 0)
			check(name+"running", t.running, count[running])
			check(name+"completed", t.completed, count[done])
			check(name+"left", int(t.outputDone), int(left))
			byRack := 0
			for r := range t.outputByRack {
				byRack += int(t.outputByRack[r])
			}
			check(name+"left by rack", byRack, int(left))
		}
		if told := v.Job(j.id); told != nil {
			m, r := j.count(model.StageMap), j.count(model.StageReduce)
			check(string(j.id)+": told pending maps", told.Map.Pending, m.pending())
			check(string(j.id)+": told pending reduces", told.Reduce.Pending, r.pending())
			check(string(j.id)+": told local maps", told.Map.PendingOn(offered), local)
			check(string(j.id)+": told maps of the rack", told.Map.PendingIn(offered.Rack.Index), inRack)
			for r := range s.layout.rackIDs {
				on, want := 0, 0
				for i := range j.stages {
					if t := &j.stages[i]; t.kind == model.StageMap {
						want += int(t.inputOn(&s.layout)[r])
					}
				}
				if at := v.RackOf(s.layout.rackIDs[r]).Index; at < len(told.Input.ByRack) {
					on = int(told.Input.ByRack[at])
				}
				check(string(j.id)+": told input of a rack", on, want)
			}
		}
	}
	check("demand", s.updates.demand.sum(), demand)
	had, used := 0, 0
	for _, a := range s.stats.shares.active {
		had += a.has
	}
	for _, of := range s.used() {
		used += of.sum()
	}
	check("containers of users that have jobs", had, used)
	for i, used := range s.used() {
		check("containers that are used", s.layout.nodes[i].used[0], used[0])
		check("slots that are used by others than maps", s.layout.nodes[i].used[1], used[1])
		check("more used than there is", toInt(s.layout.nodes[i].total[0] < used[0] || s.layout.nodes[i].total[1] < used[1]), 0)
	}
	for a := range s.running.list {
		if attempt := &s.running.list[a]; attempt.job != nil {
			check("lost node with an attempt", s.layout.nodes[attempt.node].losses, 0)
		}
	}
	for id, a := range s.owners.transfers {
		if a < 0 {
			continue
		}
		kind, _, to := s.net.Route(network.ID(id))
		if kind == network.MapRead {
			check("lost node that is read", s.layout.nodes[s.running.list[a].source].losses, 0)
		}
		check("transfer to a rack without nodes", toInt(s.faults != nil && s.faults.liveNodes[to] == 0), 0)
	}
	return errors.Join(errs...)
}

// used counts what attempts and ApplicationMasters have of every node.
func (s *Sim) used() []pools {
	of := make([]pools, len(s.layout.nodes))
	for a := range s.running.list {
		switch attempt := &s.running.list[a]; {
		case attempt.job == nil:
		case attempt.isAM: // it starts
			of[attempt.node][0]++
		default:
			of[attempt.node][s.layout.pool(attempt.job.stages[attempt.stage].kind)]++
		}
	}
	for _, j := range s.jobs.live {
		if j.amNode != noNode && !j.amLost {
			of[j.amNode][0]++
		}
	}
	return of
}

// Idle reports what is not as it was before the run: containers that are not free,
// attempts, transfers and events that are left, tasks that are asked for.
func (s *Sim) Idle() error {
	var errs []error
	check := func(what string, is, want int) {
		if is != want {
			errs = append(errs, fmt.Errorf("%s: %d, want %d", what, is, want))
		}
	}
	check("free containers", s.jobs.free.sum(), s.faults.containers(&s.layout))
	used, attempts := 0, 0
	for i := range s.layout.nodes {
		used += s.layout.nodes[i].used.sum()
		check("output of running maps", int(s.layout.nodes[i].runningOutput), 0)
	}
	for i := range s.running.list {
		attempts += toInt(s.running.list[i].job != nil)
	}
	users := 0
	for _, u := range s.stats.users {
		users += u.containers + u.activeJobs
	}
	for _, a := range s.stats.shares.accounts { // order-free: a sum
		users += a.has + a.jobs
	}
	check("containers in use", used, 0)
	check("attempts", attempts, 0)
	check("containers of users", users, 0)
	check("masters", s.jobs.appMasters, 0)
	check("demand", s.updates.demand.sum(), 0)
	check("events", s.events.heap.Len(), 0)
	for _, a := range s.owners.transfers {
		check("transfer", int(a), -1)
	}
	for _, g := range s.owners.groups {
		check("group", toInt(g != nil), 0)
	}
	return errors.Join(errs...)
}
