package report

import "heddle/core/model"

// Outcome is what became of the jobs.
type Outcome struct {
	Jobs       int
	Finished   int
	Makespan   float64 // seconds
	Throughput float64 // jobs per second
	JCT        Distribution
	JCTByClass ByClass
}

// Distribution of job completion times, in seconds.
type Distribution struct {
	Mean, P50, P95, P99 float64
}

// ByClass is the mean completion time of the jobs of each class of shuffle size,
// in seconds; 0 where there are none.
type ByClass struct {
	Light, Medium, Heavy float64
}

// Traffic is what became of the network.
type Traffic struct {
	CrossRack       CrossRack
	ShuffleBytes    model.Bytes // all that was shuffled, within racks too
	ShuffleFraction Fractions
	Locality        Locality
	Congestion      Congestion
	MapProgress     float64 // share of a job's maps that were done when its first reduce began
	OverThreshold   float64 // share of nodes over NAS's traffic threshold
	Fairness        float64 // Jain's index over users
}

// CrossRack is what crossed racks, by kind.
type CrossRack struct {
	Shuffle, MapRead, Write, Total model.Bytes
}

// Fractions of the shuffled bytes that crossed racks: of all bytes, and the mean
// over jobs.
type Fractions struct {
	ByBytes, ByJob float64
}

// Locality is the share of maps at each level.
type Locality struct {
	Node, Rack, Off float64
}

// Congestion counts samples of a rack's uplink at or above the threshold, and
// how often one got there.
type Congestion struct {
	Samples, Onsets int
	Threshold       float64 // share of the uplink's capacity
}

// Bounds no policy gets below.
type Bounds struct {
	MakespanNetwork float64 // seconds
	MakespanCompute float64 // seconds
	JCTMean         float64 // seconds
	CrossRack       model.Bytes
}

// Ratios of what was measured to its bound; 0 where there is no bound.
type Ratios struct {
	Makespan, JCTMean, CrossRack float64
}

// Coflows are the shuffles of jobs across racks: how long one took on average and
// the least that is with tasks placed as they were, in seconds, and how many times
// as long that is; 0 where there was none.
type Coflows struct {
	Mean, Bound, Ratio float64
}

// Effort is what the run took on the machine that simulated it.
type Effort struct {
	Placements int
	EngineS    float64 // seconds in the engine
	WallS      float64
	Events     int
	PeakRSS    int64 // bytes
}
