package fair

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), New: New,
		Summary: "least used user first, then the least used job, wherever the node is",
		Paper:   "Hadoop Fair Scheduler (FairSharePolicy)",
		About: "Every user has a queue. Queues below their minimum share go first, the others by least memory over weight; inside a queue the job" +
			" with the least memory, or the first submitted. Maps are taken at whatever locality the node gives them, unless both" +
			" locality thresholds are set.",
		Changed: []string{
			"No preemption, and one container an offer: who offers decides how many follow in a heartbeat (assignmultiple).",
		},
	}
}
