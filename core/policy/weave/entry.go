package weave

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), New: New,
		Live:    policy.MapRacks | policy.ReduceRacks,
		Summary: "least work left first, maps and reduces on racks chosen together, reduces as the uplinks have room for their shuffle",
		Paper:   "none: heddle's own",
		About: "The job with the least container time left goes first, unless a user has been without its share for a minute. **Racks** for its maps and reduces are chosen together: as few as make the time it" +
			" takes on them and the delay its bytes put on others least. A task **waits** for a rack on which it costs fewer bytes as long as these" +
			" are worth. **Quotas** divide reduces so that the busiest uplink carries least, then so that the fewest bytes cross racks." +
			" A reduce is **admitted** once its uplinks have little left to carry for the running reduces of jobs up to its own.",
		Changed: []string{
			"Users have equal shares by weight; queues count for nothing.",
			"What tasks take is by fixed rates; orders and racks depend on their proportions alone.",
		},
	}
}
