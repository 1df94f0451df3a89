package weave

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), New: New,
		Live:    policy.MapRacks | policy.ReduceRacks | policy.ExecutorRacks,
		Summary: "least work left first, maps and reduces on racks chosen together, reduces as the uplinks have room for their shuffle",
		Paper:   "none: heddle's own",
		About: "The job with the least container time left goes first. The jobs of a user that has gone without ten seconds of its **share** of its queue go before others" +
			" until it has had all, and so does a job that at an equal share would have taken half as long; three fifths of the cluster go on in the plain order meanwhile. **Racks** for its maps and reduces are chosen together: as few as make the time it" +
			" takes on them and the delay its bytes put on others least. A task **waits** for a rack on which it costs fewer bytes as long as these" +
			" are worth. **Quotas** divide reduces so that the busiest uplink carries least, then so that the fewest bytes cross racks; what later jobs of" +
			" a workflow read together with the output draws them as map output does. In a graph of **stages** the tasks of those that read others" +
			" count as reduces, and the work of all that is to come is predicted." +
			" A reduce is **admitted** once its uplinks have little left to carry for the running reduces of jobs up to its own.",
		Changed: []string{
			"A share is no promise: while all users want more than theirs, those with the least work left have more of the cluster than others, for up to an hour. A user that was denied an hour of its share goes before all.",
			"What tasks take is learned from those of the job that are complete, and from the complete maps of all jobs.",
		},
	}
}
