package dawn

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), Printed: PrintedParams(), New: New,
		Live:    policy.MapRacks | policy.ReduceRacks | policy.ExecutorRacks,
		Summary: "maps where most of the input lies, reduces where the jobs that read their output will want it while the network has room",
		Paper:   "Wang, Zhou, Zhang, Jiang, Network-Adaptive Scheduling of Data-Intensive Parallel Jobs with Dependencies in Clusters",
		About: "Every job prefers one rack for its maps, the one with most of its input, and up to two for its reduces: the one with most of" +
			" its map output, and the one from which the jobs that read its output have least to fetch, together with what the other jobs they" +
			" read put out. While the uplink is saturated a free container goes to the preferring job with the least traffic, by the first" +
			" of the two; while it is not, to the one with the most, by the second.",
		Changed: []string{
			"Dependencies come from paths and from the workflow that Hive and Pig report, not from the benchmarks' documentation; sizes of outputs from counters.",
			"A rack nobody prefers is served in fair order with delay scheduling; the paper's loop runs off its list.",
			"Users are served in the queue's order, with ShuffleWatcher's starvation window: the paper has no rule of fairness.",
			"Traffic is that of the tasks still to be launched, in bytes; jobs of equal traffic must prefer the same rack.",
			"Plans made ahead give a rack no more tasks than it holds; the paper has no concurrency floor, and placements have none by default (waves).",
			"A job may wait a bounded time for the rack it prefers before it takes one that nobody prefers (`wait_for_targets_s`); 0, the default, is the paper's.",
		},
	}
}
