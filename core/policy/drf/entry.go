package drf

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), New: New,
		Summary: "the user whose larger part of all memory or of all vcores is the least goes first",
		Paper:   "Ghodsi et al., Dominant Resource Fairness, NSDI 2011",
		About: "A user's dominant share is the larger of the user's parts of all memory and of all vcores. The user with the least dominant share" +
			" over weight is served first, a user's jobs by arrival, reduces that are due before maps.",
		Changed: []string{
			"Where the next task does not fit, the paper stops. A cluster is offered node by node, so others are tried; `stop: paper` does not.",
			"A task must fit in memory and in vcores, whatever the cluster's own resource calculator counts.",
		},
	}
}
