// Package builtin is the one list of the policies heddle is built with.
package builtin

import (
	"cmp"
	"slices"

	"heddle/core/policy/num/schedule"

	"heddle/core/policy"
	"heddle/core/policy/capacity"
	"heddle/core/policy/dawn"
	"heddle/core/policy/delay"
	"heddle/core/policy/drf"
	"heddle/core/policy/fair"
	"heddle/core/policy/fifo"
	"heddle/core/policy/nas"
	"heddle/core/policy/num"
	"heddle/core/policy/shufflewatcher"
)

// Papers that more than one policy is from.
const (
	numPaper = "Blanca, Shin, Optimizing Network Usage in MapReduce Scheduling, UC Berkeley 2013"
	linPaper = "Lin, Tan, Wierman, Zhang, Joint optimization of overlapping phases in MapReduce, Performance Evaluation 2013"
)

// Registry returns every built-in policy, by name.
func Registry() policy.Registry {
	r := slices.Concat(baselines(), phases(), shuffleAware())
	slices.SortFunc(r, func(a, b policy.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// baselines are what schedulers without a look at the network do.
func baselines() []policy.Entry {
	return []policy.Entry{
		{
			Name: capacity.Name, Params: capacity.DefaultParams(), New: capacity.New,
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
		},
		{
			Name: delay.Name, Params: delay.DefaultParams(), New: delay.New,
			Summary: "fair order; maps wait a little for a node or rack with their input",
			Paper:   "Zaharia et al., Delay Scheduling, EuroSys 2010",
			About: "Users in fair order, a user's jobs by arrival. A job whose best map for the offered node is not node-local lets the offer pass," +
				" for so many offers (`simple`), so long (`two-level`, the Hadoop Fair Scheduler's form) or so large a share of the nodes (`yarn`," +
				" YARN's form of it), before it takes a rack-local and later any map. Reduces do not wait.",
			Changed: []string{
				"The paper orders jobs by running tasks; here users are in fair order, as in the papers that compare with it.",
				"`simple` uses D for the step from node to rack and again from rack to any node, where the paper has one step.",
				"A job whose pending maps name no node and no rack does not wait.",
			},
		},
		{
			Name: drf.Name, Params: drf.DefaultParams(), New: drf.New,
			Summary: "the user whose larger part of all memory or of all vcores is the least goes first",
			Paper:   "Ghodsi et al., Dominant Resource Fairness, NSDI 2011",
			About: "A user's dominant share is the larger of the user's parts of all memory and of all vcores. The user with the least dominant share" +
				" over weight is served first, a user's jobs by arrival, reduces that are due before maps.",
			Changed: []string{
				"Where the next task does not fit, the paper stops. A cluster is offered node by node, so others are tried; `stop: paper` does not.",
				"A task must fit in memory and in vcores, whatever the cluster's own resource calculator counts.",
			},
		},
		{
			Name: fair.Name, Params: fair.DefaultParams(), New: fair.New,
			Summary: "least used user first, then the least used job, wherever the node is",
			Paper:   "Hadoop Fair Scheduler (FairSharePolicy)",
			About: "Every user has a queue. Queues below their minimum share go first, the others by least memory over weight; inside a queue the job" +
				" with the least memory, or the first submitted. Maps are taken at whatever locality the node gives them, unless both" +
				" locality thresholds are set.",
			Changed: []string{
				"No preemption, and one container an offer: who offers decides how many follow in a heartbeat (assignmultiple).",
			},
		},
		{
			Name: fifo.Name, Params: fifo.DefaultParams(), New: fifo.New,
			Summary: "the first job in line that can use the node, by priority and submission",
			Paper:   "Hadoop JobQueueTaskScheduler and FifoScheduler",
			About: "Jobs stand in line by priority, then by submission, whoever they belong to. The first that can use the offer gets it: a reduce that" +
				" is due, else its best map. After a map from another rack a node is given no further map in that heartbeat.",
			Changed: []string{
				"Of a job the reduces that are due go first, as in YARN's priorities; Hadoop 1 had slots for each kind.",
				"Offers of one node that follow each other at one time are one heartbeat.",
			},
		},
	}
}

// phases order jobs by their work in maps and on the network, and leave racks alone.
func phases() []policy.Entry {
	return []policy.Entry{
		{
			Name: num.Name, Params: num.DefaultParams(), New: num.New,
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
			Name: num.MaxSRPT, Params: num.DefaultSizes(), New: num.Alone(schedule.MaxSRPT),
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
			Name: num.SplitSRPT, Params: num.DefaultSizes(), New: num.Alone(schedule.SplitSRPT),
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
			Name: num.UOPT, Params: num.DefaultSizes(), New: num.Alone(schedule.UOPT),
			Summary: "the job whose maps put out the most shuffle per second goes first: the yardstick of network use",
			Paper:   numPaper,
			About: "Containers for maps go to the job with the most shuffle for a second of mapping, so that at every moment as much as possible is" +
				" there for the network to carry. No schedule uses the network more; jobs that shuffle little wait for all others.",
			Changed: []string{"Jobs are whole tasks, and a job whose maps all run leaves the rest to the next."},
		},
		{
			Name: num.Fair, Params: num.DefaultSizes(), New: num.Alone(schedule.Fair),
			Summary: "all jobs get the same of the map and of the reduce containers, whoever owns them",
			Paper:   numPaper,
			About: "The processor sharing that NUM is compared with: the next container goes to the job whose running tasks of the stage hold the least" +
				" memory. Unlike `fair` it knows neither users nor queues.",
			Changed: []string{"The fluid model divides capacity without a rest; here it comes in containers, and running ones are not taken back."},
		},
	}
}

// shuffleAware place tasks by what shuffles send across racks.
func shuffleAware() []policy.Entry {
	return []policy.Entry{
		{
			Name: dawn.Name, Params: dawn.DefaultParams(), New: dawn.New,
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
		},
		{
			Name: nas.Name, Params: nas.DefaultParams(), New: nas.New,
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
		},
		{
			Name: shufflewatcher.Name, Params: shufflewatcher.DefaultParams(), New: shufflewatcher.New,
			Summary: "delays heavy shuffles while uplinks are saturated, maps on few racks, reduces where the map output is",
			Paper:   "Ahmad, Chakradhar, Raghunathan, Vijaykumar, ShuffleWatcher, USENIX ATC 2014",
			About: "**NASS** serves the user that fair order names. While the rack's uplink is saturated it runs that user's maps first, then" +
				" reduces of shuffle-light jobs, then of heavy ones; otherwise reduces of heavy jobs first. A job is heavy when its map output is" +
				" more than its map input. **SAMP** chooses the racks for a job's maps that make remote reads plus cross-rack shuffle least." +
				" **SARP** wants reduces on each rack in proportion to the job's map output there; for 90/10 of 100 GB and ten reduces that is" +
				" 9/1, and 18 GB cross racks where an even split sends 50.",
			Changed: []string{
				"SAMP as printed stops at a local minimum: on uniform input over 30 racks it takes one rack and reads 93 % of the input remotely." +
					" heddle looks at all prefixes.",
				"A job whose ratio has been measured neither on itself nor on an earlier job of its user and name is left to map locality, because" +
					" at the initial ratio of 1.0 SAMP picks one rack for nearly every job.",
				"Containers that are neither maps nor reduces (Spark's executors) get racks too: those of their input, or the fewest with room.",
				"A shuffle-heavy job waits up to `wait_for_targets_s` for its racks, because lines 5, 6, 9, 14, 17 and 18 as printed undo SAMP and SARP at once; its maps take what nobody else does ([note](notes/0003-bounded-waiting.md)).",
				"A user without a runnable task does not leave the node idle.",
			},
		},
	}
}
