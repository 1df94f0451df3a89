// Package builtin is the one list of the policies heddle is built with.
package builtin

import (
	"heddle/core/policy"
	"heddle/core/policy/delay"
	"heddle/core/policy/fair"
	"heddle/core/policy/shufflewatcher"
)

// Registry returns every built-in policy.
func Registry() policy.Registry {
	return policy.Registry{
		{
			Name: delay.Name, Params: delay.DefaultParams(), New: delay.New,
			Summary: "fair order; maps wait a little for a node or rack with their input",
			Paper:   "Zaharia et al., Delay Scheduling, EuroSys 2010",
		},
		{
			Name: fair.Name, Params: fair.Params{}, New: fair.New,
			Summary: "least used user first, then the earliest job, wherever the node is",
			Paper:   "Hadoop Fair Scheduler (FairSharePolicy)",
		},
		{
			Name: shufflewatcher.Name, Params: shufflewatcher.DefaultParams(), New: shufflewatcher.New,
			Summary: "delays heavy shuffles while uplinks are saturated, maps on few racks, reduces where the map output is",
			Paper:   "Ahmad et al., ShuffleWatcher, USENIX ATC 2014",
		},
	}
}
