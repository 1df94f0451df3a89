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
// Package dispatch serves users and windows by it, has users wait for good hits and
// heavy jobs for their racks.
//
// What is changed, and why, beside each piece of code; the larger ones:
//   - SAMP looks at every prefix of the sorted racks, because the loop of Fig. 4
//     stops in a local minimum (scan=greedy gives the paper's), and does not
//     keep the rack that failed to help.
//   - A job whose shuffle/input ratio has been measured neither on itself nor on
//     an earlier job of its user and name is left to map locality, because SAMP at the initial ratio 1.0 picks one rack for nearly
//     every job (assume_unknown gives the paper's); SAMP runs a second time once
//     the ratio is measured.
//   - SARP follows where maps were launched, as they are (from_launches=false and
//     sarp_refresh=false give the paper's, which counts the output of complete
//     maps, once).
//   - Containers that are neither maps nor reduces (Spark's executors) get racks
//     too (executors.go).
//   - Heavy jobs wait for their racks for a bounded time (wait_for_targets_s; 0 is
//     the paper's), because lines 6, 9, 14 and 18 as printed undo SAMP and SARP.
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
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/shuffle"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "shufflewatcher"

// rule is what the paper says, for package dispatch.
type rule struct {
	params                  Params
	mapsFirst, reducesFirst []dispatch.Pass

	jobs      policy.Jobs[jobState]
	samp      sampScratch
	forecast  shuffle.Forecast // of the job that reduces are placed for
	leveling  shuffle.Leveling
	racks     uint64          // what choices were made for, as state.Capacity tells racks apart
	journal   *policy.Journal // of the present call
	saturated bool            // the uplink, for the present offer
}

// jobState is what is kept of one live job.
type jobState struct {
	maps      mapChoice
	reduces   reduceChoice
	executors dispatch.Executors
}

// Prepare implements dispatch.Rule.
func (r *rule) Prepare(in *policy.Input) {
	r.racks, r.journal = in.View.Capacity().Racks, in.Journal
	r.jobs.Prune(in.View)
}
