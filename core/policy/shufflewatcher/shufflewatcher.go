// Package shufflewatcher implements ShuffleWatcher (Ahmad, Chakradhar,
// Raghunathan, Vijaykumar: "ShuffleWatcher: Shuffle-aware Scheduling in
// Multi-tenant MapReduce Clusters", USENIX ATC 2014).
//
// The rule in three sentences. NASS (§3.1, nass.go) serves the user the
// fairness policy names, and runs that user's maps before reduces while the
// uplink is saturated, reduces of shuffle-heavy jobs first while it is not.
// SAMP (§3.2, samp.go) prefers, for each job's maps, the racks that make remote
// reads plus cross-rack shuffle least. SARP (§3.3, sarp.go) prefers reduces on
// each rack in proportion to the job's map output there.
//
// What is changed, and why, beside each piece of code; the larger ones:
//   - SAMP looks at every prefix of the sorted racks, because the loop of Fig. 4
//     stops in a local minimum (scan=greedy gives the paper's), and does not
//     keep the rack that failed to help.
//   - A job whose shuffle/input ratio has not been measured is left to map
//     locality, because SAMP at the initial ratio 1.0 picks one rack for nearly
//     every job (assume_unknown gives the paper's); SAMP runs a second time once
//     the ratio is measured.
//   - SARP follows the map output as it appears (sarp_refresh=false gives the
//     paper's, which counts once).
//   - A user without a runnable task does not leave the node idle: the next
//     user is served.
//
// Place costs O(R + J) for the racks and the jobs it has to look at and
// allocates its result only; a job's racks and counts are computed when its
// facts change.
// Plan costs O(J log J + racks per job). It trusts the map output per rack, the
// ratio, NetSat's flags and the block locations in the cluster state; each may
// be wrong or missing and costs locality, never progress.
package shufflewatcher

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "shufflewatcher"

// Policy is ShuffleWatcher.
type Policy struct {
	params  Params
	window  model.Duration
	relax   model.Duration
	holdMax model.Duration

	jobs    map[model.AppID]*jobState
	skipped map[model.UserID]model.Time // since when a user has been passed over for want of a good task
	samp    sampScratch
	running []bool // racks with running nodes, by rack number
	epoch   int    // counts the changes of running
	order   []ranked
}

var (
	_ policy.Policy  = (*Policy)(nil)
	_ policy.Planner = (*Policy)(nil)
)

// jobState is what is kept of one live job.
type jobState struct {
	maps    mapChoice
	reduces reduceChoice
	hold    hold
	rank    int // of the last Plan
}

// Remembered returns how many jobs and users the policy keeps state of.
func (p *Policy) Remembered() int { return len(p.jobs) + len(p.skipped) }

func (p *Policy) of(j *state.Job) *jobState {
	s := p.jobs[j.ID]
	if s == nil {
		s = &jobState{}
		p.jobs[j.ID] = s
	}
	return s
}

// prune forgets jobs and users that left. With as many entries as live jobs or
// fewer nothing can have been forgotten that the live jobs do not pay for, so
// the state never outgrows the cluster.
func (p *Policy) prune(v state.View) {
	if len(p.jobs) > len(v.Jobs()) {
		for id := range p.jobs { // order-free: each entry is judged on its own
			if j := v.Job(id); j == nil || j.State.Final() {
				delete(p.jobs, id)
			}
		}
	}
	if len(p.skipped) > len(v.Users()) {
		p.pruneUsers(v)
	}
}

func (p *Policy) pruneUsers(v state.View) {
	live := make(map[model.UserID]bool, len(v.Users()))
	for _, u := range v.Users() {
		live[u.ID] = true
	}
	for id := range p.skipped { // order-free: each entry is judged on its own
		if !live[id] {
			delete(p.skipped, id)
		}
	}
}

// look takes note of which racks can run anything. What was chosen for other
// racks is chosen again.
func (p *Policy) look(v state.View) {
	for i, r := range v.Racks() {
		runs := r.Total.MemoryMiB > 0
		if i == len(p.running) {
			p.running = append(p.running, runs)
			p.epoch++
		}
		if p.running[i] != runs {
			p.running[i] = runs
			p.epoch++
		}
	}
}

// tasksOf returns how many tasks a stage has: what the job says, else what is
// known to be asked for.
func tasksOf(s *state.Stage) int {
	if s.Total > 0 {
		return s.Total
	}
	return s.Pending + s.Running + s.Completed
}
