package fifo

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), New: New,
		Summary: "the first job in line that can use the node, by priority and submission",
		Paper:   "Hadoop JobQueueTaskScheduler and FifoScheduler",
		About: "Jobs stand in line by priority, then by submission, whoever they belong to. The first that can use the offer gets it: a reduce that" +
			" is due, else its best map. After a map from another rack a node is given no further map in that heartbeat.",
		Changed: []string{
			"Of a job the reduces that are due go first, as in YARN's priorities; Hadoop 1 had slots for each kind.",
			"Offers of one node that follow each other at one time are one heartbeat.",
		},
	}
}
