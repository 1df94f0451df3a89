package validation

import (
	"math"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// How long things take. All containers of the experiment share the two cores of
// one machine, so that times are given in seconds of a core, and a task of n at
// once takes n/2 times as long.
const (
	cores = 2

	// A map of 33 MB takes 18 s with 12 at once on an idle machine of this kind: 3 seconds of a core. How much of that is
	// the start of the JVM is from a recorded terasort of 18 maps at once (3.2 MB: 20.5 s; 16.8 MB: 27 s): 38 %.
	taskStart   = 1.15
	mapPerMB    = 0.056
	reducePerMB = 0.021 // merge and reduce: 2.2 s for 34.7 MB, 6 at once, in the same recording

	// However few there are, a task takes so long to start, in seconds: a recorded reduce that fetches 1 MB takes 3.2 to 3.8 s
	// from its launch until it has it.
	leastStart = 3.3

	// The first map of a recorded job starts 5.5 s after its submission: up to 1 s until its ApplicationMaster has a
	// container, up to 1 s until the first map has one.
	masterStart = 4 * model.Second
	// From the job's last task to the end of its application, in the recording.
	unregister = 1.3
)

// mapCost and reduceCost are the times of tasks of which so many run at once.
func mapCost(n int) workload.Cost { return cost(n, mapPerMB, 0) }

// A reduce's JVM starts before it fetches; the simulator has no such phase, and
// adds it after.
func reduceCost(n int) workload.Cost { return cost(n, reducePerMB, unregister) }

func cost(n int, perMB, more float64) workload.Cost {
	share := math.Max(float64(min(n, racks*hostsPerRack*perHost))/cores, 1)
	ms := func(seconds float64) model.Duration { return model.Duration(math.Round(seconds * 1000)) }
	return workload.Cost{Fixed: ms(math.Max(taskStart*share, leastStart) + more), PerGiB: ms(perMB * share * (1 << 30) / megabyte)}
}

// wire is the bytes of an Ethernet frame over what it carries for an application: 1448 of 1514, the others are headers of Ethernet,
// IP and TCP with timestamps. Shaping and the counters of the interfaces see frames.
const wire = 1514.0 / 1448

// Bytes of a row of input: 10 of key, 90 of no meaning, the last a line feed.
const rowBytes = 100

// terasortOutput is a terasort's map output: 104 bytes a row by the counters of
// a recorded one (MAP_OUTPUT_MATERIALIZED_BYTES over HDFS_BYTES_READ).
func terasortOutput(input model.Bytes) model.Bytes { return input / rowBytes * 104 }

// textOutput is the map output of a sort of lines: the line without its line feed
// as key, an empty value, and 4 bytes of lengths: 103 a row.
func textOutput(input model.Bytes) model.Bytes { return input / rowBytes * 103 }

// compressed is the same through zlib, as Hadoop's default codec does it; computed
// from sorted rows of the experiment's input: 8.51 bytes a row.
func compressed(input model.Bytes) model.Bytes { return input / rowBytes * 851 / 100 }

const (
	// wordmeanOutput is what a map of wordmean puts out after combining: two sums. An estimate.
	wordmeanOutput = model.Bytes(100)
	// clientStart is how long the client of a second job takes to submit it. An estimate.
	clientStart = 3 * model.Second
	// besideTerasort is what a job of this size moves over uplinks besides its data: job files, history, RPC, the samples that a terasort's
	// client reads. Measured with another terasort (docs/performance.md, "Against the cluster's own figures").
	besideTerasort = 18 * model.Bytes(megabyte)
)
