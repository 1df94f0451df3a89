package nas

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), Printed: PrintedParams(), New: New, Live: policy.ReduceRacks | policy.Holds,
		Summary: "bounds the map output of each node, reduces where the map output is, light shuffles first while an uplink is congested",
		Paper:   "Li, Shen, Sarker, A Network-aware Scheduler in Data-parallel Clusters for High Performance",
		About: "**MTS** launches a map only where its predicted output and that of the maps already running on the node stay below" +
			" a threshold, the node's part of an average wave of maps. **CA-RTS** wants a job's reduces on each rack in proportion to the" +
			" job's map output there, large shuffles first, while the rack's uplink is below the congestion threshold. **CR-RTS** runs" +
			" reduces of shuffle-light jobs alone while it is at or above the threshold; a user without any is passed over for a few seconds.",
		Changed: []string{
			"The reduces of a medium or heavy job wait up to `wait_for_targets_s` for racks where ReduceNum is not reached; Algorithm 3 exceeds it at once ([note](notes/0003-bounded-waiting.md)).",
			"YARN's containers are untyped: above the congestion threshold maps are tried before reduces, below it the user whose turn it is decides.",
			"A user is passed over for 5 s and not for 135 offers, because how many offers there are a second depends on who asks.",
			"Reduces start when what is left of the map phase is as long as the shuffle: the slides announce an adaptive threshold without a formula.",
			"A user without an eligible reduce does not leave the node idle.",
			"Maps of medium and heavy jobs do not stop on a congested rack: they wait their turn out, and then go by Algorithm 2 from its first step on.",
			"A job's portions are computed anew when its map output has changed, or a sixteenth of its launched maps has started or ended since.",
			"Reduces in proportion to the map output keep the busiest uplink lowest; they do not send the fewest bytes across racks, as the paper claims.",
		},
	}
}
