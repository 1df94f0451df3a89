package shufflewatcher

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), Printed: PrintedParams(), New: New,
		Live:    policy.MapRacks | policy.ReduceRacks | policy.ExecutorRacks | policy.Holds,
		Summary: "delays heavy shuffles while uplinks are saturated, maps on few racks, reduces where the map output is",
		Paper:   "Ahmad, Chakradhar, Raghunathan, Vijaykumar, ShuffleWatcher, USENIX ATC 2014",
		About: "**NASS** serves the user that fair order names. While the rack's uplink is saturated it runs that user's maps first, then" +
			" reduces of shuffle-light jobs, then of heavy ones; otherwise reduces of heavy jobs first. A job is heavy when its map output is" +
			" more than its map input. **SAMP** chooses the racks for a job's maps that make remote reads plus cross-rack shuffle least." +
			" **SARP** wants reduces on each rack in proportion to the job's map output there; for 90/10 of 100 GB and ten reduces that is" +
			" 9/1, and 18 GB cross racks where an even split sends 50.",
		Changed: []string{
			"SAMP as printed stops at a local minimum: on uniform input over 30 racks it takes one rack and reads 93 % of the input remotely." +
				" heddle looks at all prefixes.",
			"A job whose ratio has been measured neither on itself nor on an earlier job of its user and name is left to map locality, because" +
				" at the initial ratio of 1.0 SAMP picks one rack for nearly every job.",
			"Containers that are neither maps nor reduces (Spark's executors) get racks too: those of their input, or the fewest with room.",
			"A shuffle-heavy job waits up to `wait_for_targets_s` for its racks, because lines 5, 6, 9, 14, 17 and 18 as printed undo SAMP and SARP at once; its maps take what nobody else does ([note](notes/0003-bounded-waiting.md)).",
			"A user without a runnable task does not leave the node idle.",
		},
	}
}
