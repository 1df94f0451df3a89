package num

import (
	"heddle/core/policy"
	"heddle/core/policy/num/schedule"
)

// Papers that more than one of the policies is from.
const (
	numPaper = "Blanca, Shin, Optimizing Network Usage in MapReduce Scheduling, UC Berkeley 2013"
	linPaper = "Lin, Tan, Wierman, Zhang, Joint optimization of overlapping phases in MapReduce, Performance Evaluation 2013"
)

// Entries say what package builtin lists of NUM and of each schedule alone.
func Entries() []policy.Entry {
	return []policy.Entry{
		{
			Name: Name, Params: DefaultParams(), New: New,
			Summary: "shortest jobs first, with as much of the jobs that shuffle most as keeps the network busy",
			Paper:   numPaper,
			About: "Two schedules order the jobs. P1 (MaxSRPT) is good for response time, P2 (SplitSRPT) for the network. Maps go to " +
				"P1's pick; while no map output waits to be fetched and P1's pick puts out less than the network can take, P2's pick " +
				"gets the part of the containers that makes up for it, at most theta. Reduces go in P1's order.",
			Changed: []string{
				"Jobs are whole tasks, not fluid: shares are kept by counting containers, running containers are not taken back, and a " +
					"second's worth of unfetched output counts as none.",
				"Reduces, which the model leaves out, go before maps if there is output to fetch, after them if not.",
				"An empty buffer with both schedules above the network's capacity falls in none of the paper's cases: P1 alone is served.",
			},
		},
		{
			Name: MaxSRPT, Params: DefaultSizes(), New: Alone(schedule.MaxSRPT),
			Summary: "the job with the least left in the larger of its map and shuffle work goes first",
			Paper:   linPaper,
			About: "Map and shuffle of a job overlap, so that it cannot end before the longer of the two: what is left of its maps, in seconds of all" +
				" containers, or of its shuffle, in seconds of all uplinks. The job where that is least gets every container. It is good for mean" +
				" response time; the network idles whenever that job shuffles little.",
			Changed: []string{
				"Jobs are whole tasks, running containers are not taken back, and a job whose tasks all run leaves the rest to the next.",
				"What a job reads and shuffles is predicted until it is measured.",
			},
		},
		{
			Name: SplitSRPT, Params: DefaultSizes(), New: Alone(schedule.SplitSRPT),
			Summary: "half the maps to the map-heavy job with the least map work left, half to the shuffle-heavy one with the least shuffle left",
			Paper:   linPaper,
			About: "A job whose maps take longer than its shuffle is map-heavy, any other shuffle-heavy, by its sizes at the start. Half of the" +
				" containers for maps go to the map-heavy job with the least map work left, half to the shuffle-heavy one with the least shuffle left;" +
				" while there is no job of one class the other has all. Reduces go to the job with the least shuffle left.",
			Changed: []string{
				"The halves are inferred from the proof of the paper and fit NUM's figures; its text was not at hand.",
				"The classes take turns, container by container; what is not taken by one goes to the other.",
			},
		},
		{
			Name: UOPT, Params: DefaultSizes(), New: Alone(schedule.UOPT),
			Summary: "the job whose maps put out the most shuffle per second goes first: the yardstick of network use",
			Paper:   numPaper,
			About: "Containers for maps go to the job with the most shuffle for a second of mapping, so that at every moment as much as possible is" +
				" there for the network to carry. No schedule uses the network more; jobs that shuffle little wait for all others.",
			Changed: []string{"Jobs are whole tasks, and a job whose maps all run leaves the rest to the next."},
		},
		{
			Name: Fair, Params: DefaultSizes(), New: Alone(schedule.Fair),
			Summary: "all jobs get the same of the map and of the reduce containers, whoever owns them",
			Paper:   numPaper,
			About: "The processor sharing that NUM is compared with: the next container goes to the job whose running tasks of the stage hold the least" +
				" memory. Unlike `fair` it knows neither users nor queues.",
			Changed: []string{"The fluid model divides capacity without a rest; here it comes in containers, and running ones are not taken back."},
		},
	}
}
