package capacity

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), New: New,
		Summary: "least used queue first, its jobs in line within the limits of queue and user; maps wait some offers for a node or rack",
		Paper:   "Hadoop CapacityScheduler",
		About: "The queue that uses the least of its guaranteed capacity is served first, and in it the job that stands first by priority and" +
			" submission, within the queue's limits for a user and for ApplicationMasters. Maps wait for their nodes for 40 offers, or as" +
			" many as there are nodes, then for their racks. A node is given one off-switch container in a heartbeat: offers of a node that follow" +
			" each other at one time are one heartbeat.",
		Changed: []string{
			"Queues stand side by side, each with its share of the whole cluster; live queues without a capacity share what is left equally.",
			"Capacities are of memory. Priorities of queues, node labels and reservations are not there.",
			"No ApplicationMaster is placed; jobs beyond the limit on them wait for their turn all the same.",
		},
	}
}
