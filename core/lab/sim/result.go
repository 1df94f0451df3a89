package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"heddle/core/engine"
	"heddle/core/lab/bounds"
	"heddle/core/lab/sim/network"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Run is the result of one run, as scripts read it (docs/simulator.md).
type Run struct {
	Policy string `json:"policy"`
	Params any    `json:"params"`
	Seed   uint64 `json:"seed"`
	Outcome
	Traffic
	Shares Shares `json:"shares"`
	Bounds Bounds `json:"bounds"`
	Ratio  Ratios `json:"ratio_to_bound"`
	Effort
	Detail `json:"-"`
}

// Outcome is what became of the jobs.
type Outcome struct {
	Jobs       int          `json:"jobs"`
	Finished   int          `json:"finished"`
	Makespan   float64      `json:"makespan_s"`
	Throughput float64      `json:"throughput_jobs_per_s"`
	JCT        Distribution `json:"jct_s"`
	JCTByClass ByClass      `json:"jct_by_class_s"`
}

// Traffic is what became of the network.
type Traffic struct {
	CrossRack       CrossRack   `json:"cross_rack_bytes"`
	ShuffleBytes    model.Bytes `json:"shuffle_bytes"`
	ShuffleFraction Fractions   `json:"cross_rack_shuffle_fraction"`
	Locality        Locality    `json:"locality"`
	Congestion      Congestion  `json:"congestion"`
	MapProgress     float64     `json:"map_progress_at_first_reduce"`
	OverThreshold   float64     `json:"nodes_over_traffic_threshold"`
	Fairness        float64     `json:"fairness_jain"`
}

// Effort is what the run took.
type Effort struct {
	Placements int     `json:"placements"`
	EngineS    float64 `json:"engine_s"`
	WallS      float64 `json:"wall_s"`
	Events     int     `json:"events"`
	PeakRSS    int64   `json:"peak_rss_bytes"`
}

// Detail is what is not printed.
type Detail struct {
	Preempted        int          // reduces that gave their container up for maps
	Lost             int          // attempts that ended with their node
	ExtraAttempts    int          // extra attempts of tasks that were late
	ExtraWon         int          // of those, how many were done before the first
	Redone           int          // tasks that were done and ran again, since their output was lost
	Rejected         int64        // placements that broke a rule of the engine
	Responses        []float64    // by job of the workload, seconds
	PerJob           []JobTraffic // the same, of those that are done
	JobShares        []JobShare   // the same
	ContainerSeconds float64      // container-seconds that attempts and ApplicationMasters held
	ByRack           []network.Traffic
	Uplinks          Uplinks
	Coflows          Coflows
}

// Coflows are the jobs' shuffles across racks, in seconds: how long one took on
// average, from the launch of the first task that fetches on, and the least that is
// with tasks placed as they were (B5 of algorithms.md 4.5), and how many times as
// long it took. All are 0 where there was none, and the last two where nodes were
// lost.
type Coflows struct {
	Mean, Bound, Ratio float64
}

// Uplinks is how full the uplinks were: by rack, the mean share of capacity of
// the busier direction in every step from time 0 on.
type Uplinks struct {
	Racks []model.RackID
	Step  float64 // seconds
	Used  [][]float64
}

// Distribution of seconds over jobs.
type Distribution struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
}

// ByClass is the mean over the jobs of each class of shuffle size (NAS Fig. 2).
type ByClass struct {
	Light  float64 `json:"light"`
	Medium float64 `json:"medium"`
	Heavy  float64 `json:"heavy"`
}

// CrossRack is what crossed racks, in bytes.
type CrossRack struct {
	Shuffle model.Bytes `json:"shuffle"`
	MapRead model.Bytes `json:"map_read"`
	Write   model.Bytes `json:"write"`
	Total   model.Bytes `json:"total"`
}

// Fractions of the shuffled bytes that crossed racks: of all bytes, and the mean
// over the jobs that shuffle.
type Fractions struct {
	ByBytes float64 `json:"by_bytes"`
	ByJob   float64 `json:"by_job"`
}

// Locality is the share of maps at each level.
type Locality struct {
	Node float64 `json:"node"`
	Rack float64 `json:"rack"`
	Off  float64 `json:"off"`
}

// Congestion counts (rack, heartbeat) pairs with the uplink at or above the
// threshold, and how often one got there.
type Congestion struct {
	Samples   int     `json:"samples"`
	Onsets    int     `json:"onsets"`
	Threshold float64 `json:"threshold"`
}

// Bounds no policy gets below (B1 to B4 of algorithms.md 4.5).
type Bounds struct {
	MakespanNetwork float64     `json:"makespan_network_s"`
	MakespanCompute float64     `json:"makespan_compute_s"`
	JCTMean         float64     `json:"jct_mean_s"`
	CrossRack       model.Bytes `json:"cross_rack_bytes"`
}

// Ratios of what was measured to its bound; 0 where the bound is 0.
type Ratios struct {
	Makespan  float64 `json:"makespan"`
	JCTMean   float64 `json:"jct_mean"`
	CrossRack float64 `json:"cross_rack_bytes"`
}

func (s *Sim) result() Run {
	b, t := &s.stats, &s.stats.totals
	r := Run{Policy: s.engine.Name(), Seed: s.params.Seed}
	r.Outcome = Outcome{Jobs: len(s.work.Jobs), Finished: s.jobs.finished, Makespan: max(b.last.Sub(b.first).Seconds(), 0)}
	r.Effort = Effort{Placements: b.placements, Events: b.events, EngineS: b.engineSeconds}
	r.Detail = Detail{Preempted: t.preemptedReduces, Lost: t.lostAttempts, Redone: t.redoneTasks, ExtraAttempts: t.extraAttempts, ExtraWon: t.extraWon, Responses: b.responses, PerJob: b.traffic, ContainerSeconds: b.containerSeconds(), ByRack: s.net.Traffic(nil)}
	r.Uplinks = Uplinks{s.layout.rackIDs, usedStep.Seconds(), b.links.used}
	r.ShuffleBytes, r.Congestion = t.shuffled, Congestion{t.congestedSamples, t.onsets, s.params.Congestion}
	r.Throughput = ratio(float64(r.Finished), r.Makespan)
	r.responses(s.work, b.responses)
	for _, rack := range r.ByRack {
		r.CrossRack.Shuffle += rack.Up[network.Shuffle]
		r.CrossRack.MapRead += rack.Up[network.MapRead]
		r.CrossRack.Write += rack.Up[network.Write]
	}
	r.CrossRack.Total = r.CrossRack.Shuffle + r.CrossRack.MapRead + r.CrossRack.Write
	r.ShuffleFraction = Fractions{ratio(t.crossed, float64(t.shuffled)), ratio(t.crossedFractionSum, float64(t.shufflingJobs))}
	maps := float64(t.localityCounts[0] + t.localityCounts[1] + t.localityCounts[2])
	r.Locality = Locality{ratio(float64(t.localityCounts[0]), maps), ratio(float64(t.localityCounts[1]), maps), ratio(float64(t.localityCounts[2]), maps)}
	r.MapProgress = ratio(t.mapProgressSum, float64(t.reducingJobs))
	r.OverThreshold = ratio(float64(t.overThreshold), float64(t.nodeSamples))
	r.Fairness = b.jain()
	r.Shares, r.JobShares = Shares{b.shares.ofUsers.result(), b.shares.ofQueues.result()}, b.shares.jobs
	r.Rejected = rejected(s)
	s.bound(&r)
	return r
}

// rejected returns how many proposals of the policy were dropped.
func rejected(s *Sim) int64 {
	engines := []*engine.Engine{s.engine}
	if s.jobs.steering != nil {
		engines = append(engines, s.jobs.steering.planner)
	}
	sum := int64(0)
	for _, e := range engines {
		for _, n := range e.Log().Rejected() { // order-free: a sum
			sum += n
		}
	}
	return sum
}

// responses fills in the job completion times of those that are done.
func (r *Run) responses(w *workload.Workload, of []float64) {
	var all []float64
	var sum, n [3]float64
	for i, seconds := range of {
		if seconds < 0 {
			continue
		}
		all = append(all, seconds)
		class := workload.ClassOf(w.Jobs[i].Shuffle())
		sum[class] += seconds
		n[class]++
	}
	slices.Sort(all)
	total := 0.0
	for _, seconds := range all {
		total += seconds
	}
	r.JCT = Distribution{ratio(total, float64(len(all))), quantile(all, 0.5), quantile(all, 0.95), quantile(all, 0.99)}
	r.JCTByClass = ByClass{
		ratio(sum[workload.Light], n[workload.Light]), ratio(sum[workload.Medium], n[workload.Medium]), ratio(sum[workload.Heavy], n[workload.Heavy]),
	}
}

// quantile returns the smallest of sorted values that so large a part of them
// does not exceed; 0 without values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9)) // from 1; the product may be a hair above a whole number
	return sorted[max(rank, 1)-1]
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// jain is Jain's index over users of the containers each used on average while
// it had jobs: 1 when all used the same.
func (b *runStats) jain() float64 {
	sum, squares, n := 0.0, 0.0, 0.0
	for _, id := range slices.SortedFunc(maps.Keys(b.users), cmp.Compare[model.UserID]) { // order-free: sorted
		u := b.users[id]
		if u.activeSeconds <= 0 {
			continue
		}
		x := u.containerSeconds / u.activeSeconds
		sum += x
		squares += x * x
		n++
	}
	return ratio(sum*sum, n*squares)
}

// bound fills in the lower bounds and how far the run is above them.
func (s *world) bound(r *Run) {
	supply := bounds.Supply{Uplinks: s.cluster.uplinks(), Containers: s.cluster.Containers(), Slots: s.cluster.Slots()}
	r.Coflows.Mean, r.Coflows.Bound = s.stats.coflows.means(s.cluster)
	if s.faults != nil { // what was lost has moved from elsewhere than where it was in the end
		r.Coflows.Bound = 0
	}
	r.Coflows.Ratio = ratio(r.Coflows.Mean, r.Coflows.Bound)
	d := s.stats.finishedDemands()
	for i := range d {
		r.Bounds.CrossRack += d[i].CrossRack
	}
	r.Bounds.MakespanNetwork = bounds.NetworkMakespan(d, supply, nil)
	r.Bounds.MakespanCompute = bounds.ComputeMakespan(d, supply)
	r.Bounds.JCTMean = bounds.MeanResponse(d, supply)
	r.Ratio = Ratios{
		ratio(r.Makespan, max(r.Bounds.MakespanNetwork, r.Bounds.MakespanCompute)), ratio(r.JCT.Mean, r.Bounds.JCTMean),
		ratio(float64(r.CrossRack.Shuffle+r.CrossRack.MapRead), float64(r.Bounds.CrossRack)),
	}
}

// roundingSlack returns the bytes by which rounding may keep what crosses racks below its
// bound: less than one for every rack that a group of tasks fetches from, and one
// for every task.
func (b *runStats) roundingSlack() model.Bytes {
	return model.Bytes(len(b.links.loads)*b.totals.fetchGroups + b.placements)
}

// verify returns an error that names the bound a run is below. No policy can get
// there: it is a fault of the simulator. Times are whole milliseconds, and sums of
// seconds are exact to a thousand millionth.
func (r *Run) verify(slack model.Bytes) error {
	var errs []error
	for _, c := range []struct {
		what, bound, unit string
		is, least, slack  float64
	}{
		{"makespan", "makespan_network_s", "s", r.Makespan, r.Bounds.MakespanNetwork, 1e-3},
		{"makespan", "makespan_compute_s", "s", r.Makespan, r.Bounds.MakespanCompute, 1e-3},
		{"mean job completion time", "jct_mean_s", "s", r.JCT.Mean, r.Bounds.JCTMean, 1e-3},
		{"mean shuffle across racks", "for that placement", "s", r.Coflows.Mean, r.Coflows.Bound, 2e-3},
		{"traffic across racks", "cross_rack_bytes", "bytes", float64(r.CrossRack.Shuffle + r.CrossRack.MapRead), float64(r.Bounds.CrossRack), float64(slack)},
	} {
		if c.is < c.least-c.slack-1e-9*c.least {
			errs = append(errs, fmt.Errorf("the %s, %.15g %s, is below its bound %s, %.15g %s: a fault of the simulator, please report it", c.what, c.is, c.unit, c.bound, c.least, c.unit))
		}
	}
	return errors.Join(errs...)
}
