package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"heddle/core/lab/sim"
	"heddle/core/model"
)

// sample makes results of so many policies and seeds that look like those of a
// simulation, always the same.
func sample(policies []string, seeds, jobs int) Input {
	in := Input{
		Title:    "Facebook 2010, 30 racks",
		Command:  "heddle simulate --workload synth:fb2010 --cluster 'racks=30,nodes=20,containers=6,uplink=1Gbps,nic=250Mbps' --policies fair,delay,shufflewatcher,nas,dawn --seed 1,2,3 --report out",
		Version:  "0.3.0",
		Workload: []Row{{"source", "synth:fb2010"}, {"jobs", strconv.Itoa(jobs)}, {"shuffle", "437.9 TB"}},
		Cluster:  []Row{{"racks", "30"}, {"nodes of a rack", "20"}, {"containers of a node", "6"}, {"uplink", "1 Gbit/s"}},
	}
	for i, p := range policies {
		for seed := range seeds {
			in.Runs = append(in.Runs, sampleRun(p, i, uint64(seed+1), jobs))
		}
	}
	return in
}

func sampleRun(policy string, nth int, seed uint64, jobs int) sim.Run {
	rng := rand.New(rand.NewPCG(seed, uint64(nth)))
	nth %= 5
	r := sim.Run{Policy: policy, Seed: seed}
	r.Uplinks.Step = 60
	slow := 1.6 - .13*float64(nth) + .03*rng.Float64()
	sum := 0.0
	for range jobs {
		t := slow * math.Round(1e3*(20+math.Exp(3+2*rng.NormFloat64()))) / 1e3
		r.Responses = append(r.Responses, t)
		sum += t
	}
	mean := sum / float64(max(jobs, 1))
	r.Jobs, r.Finished, r.Makespan, r.Throughput = jobs, jobs, 86400*slow, float64(jobs)/(86400*slow)
	r.JCT = sim.Distribution{Mean: mean, P50: mean / 4, P95: 3 * mean, P99: 9 * mean}
	r.JCTByClass = sim.ByClass{Light: mean / 6, Medium: mean * 1.5, Heavy: mean * 12 * slow}
	tb := model.Bytes(1e12)
	r.CrossRack = sim.CrossRack{Shuffle: tb * model.Bytes(300-30*nth), MapRead: 41 * tb, Write: 12 * tb, Total: tb * model.Bytes(353-30*nth+rng.IntN(9))}
	r.ShuffleBytes = 438 * tb
	r.ShuffleFraction = sim.Fractions{ByBytes: .9 - .07*float64(nth), ByJob: .8 - .06*float64(nth)}
	r.Locality = sim.Locality{Node: .7, Rack: .2, Off: .1}
	r.Congestion = sim.Congestion{Samples: 120 - 9*nth, Onsets: 31 - nth, Threshold: .8}
	r.MapProgress, r.OverThreshold, r.Fairness = .31, .02, .97
	r.Bounds = sim.Bounds{MakespanNetwork: 48800, MakespanCompute: 61000, JCTMean: mean / slow / 1.2, CrossRack: 183 * tb}
	r.Ratio = sim.Ratios{Makespan: r.Makespan / 61000, JCTMean: 1.2 * slow, CrossRack: float64(r.CrossRack.Shuffle+r.CrossRack.MapRead) / float64(183*tb)}
	r.Effort = sim.Effort{Placements: 2_345_678, EngineS: 12.3, WallS: 45.6, Events: 9_876_543, PeakRSS: 812e6}
	for rack := range 30 {
		r.Uplinks.Racks = append(r.Uplinks.Racks, model.RackID(fmt.Sprintf("/dc1/rack%02d", rack)))
		var row []float64
		for m := range int(1440 * slow) {
			row = append(row, min(1, max(0, .5+.4*math.Sin(float64(m)/200+float64(rack)/9)-.05*float64(nth)+.15*rng.NormFloat64())))
		}
		r.Uplinks.Used = append(r.Uplinks.Used, row)
	}
	return r
}

func fivePolicies() []string { return []string{"fair", "delay", "shufflewatcher", "nas", "dawn"} }
