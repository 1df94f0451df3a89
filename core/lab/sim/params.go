package sim

import (
	"errors"
	"fmt"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// Params are the rules of the simulated Hadoop that are no part of the cluster.
type Params struct {
	Heartbeat model.Duration // of every node; the scheduler answers it
	// Multiple lets one heartbeat start as many containers as fit; else it is one (yarn.scheduler.fair.assignmultiple).
	Multiple  bool
	Slowstart float64 // mapreduce.job.reduce.slowstart.completedmaps
	RampUp    float64 // yarn.app.mapreduce.am.job.reduce.rampup.limit
	// MinSource and MaxSource are the parts of a source's tasks that are done when Tez schedules the first and the last
	// task that gathers from it (tez.shuffle-vertex-manager.min-src-fraction, max-src-fraction).
	MinSource, MaxSource float64
	// AMStart is how long an ApplicationMaster takes from its container's launch until it asks for tasks; with 0 it takes
	// no time and no container.
	AMStart model.Duration
	AMShare float64 // of all containers that ApplicationMasters may have, one at least (maximum-am-resource-percent)
	Faults
	// Starved is how long a job may have pending maps, none running and no container free before it gives a rack's
	// reduces up for them (RMContainerAllocator's preemption of reduces).
	Starved model.Duration
	Network
	Congestion float64 // an uplink at or above it counts as congested
	Saturation float64 // the share of an uplink at which policies see it as saturated (ShuffleWatcher §4.2)
	// Sample is how often node-level figures are taken.
	Sample model.Duration
	Seed   uint64
	// Clock returns seconds since any moment; with it the time spent in the engine is measured. Nil measures nothing
	// (I1).
	Clock func() float64
}

// Network is how the network is shared (package network).
type Network struct {
	NetworkStep    model.Duration // how often rates are shared out again
	LongestStep    model.Duration // the same, where what is on its way takes long
	ParallelCopies int            // streams of a reduce (mapreduce.reduce.shuffle.parallelcopies)
}

// mostCopies is more than any cluster is set to.
const mostCopies = 1000

// Faults are what goes wrong in a run.
type Faults struct {
	// Straggler is the part of all attempts that compute StragglerFactor times as long as their task costs; which ones
	// is drawn. 0 is none.
	Straggler, StragglerFactor float64
	Losses                     []Loss // of nodes
	Misprediction              Misprediction
	Speculation                bool // extra attempts of tasks that are late (mapreduce.map.speculative, reduce.speculative)
}

func (p *Params) clock() float64 {
	if p.Clock == nil {
		return 0
	}
	return p.Clock()
}

// DefaultParams returns Hadoop's defaults and those of algorithms.md 1.5 and 1.6.
func DefaultParams() Params {
	return Params{
		Heartbeat: model.Second, Slowstart: 0.05, RampUp: 0.5, MinSource: 0.25, MaxSource: 0.75, AMShare: 0.1, Starved: 5 * model.Second,
		Faults: Faults{StragglerFactor: 1}, Network: Network{NetworkStep: model.Second, LongestStep: 5 * model.Second, ParallelCopies: 5}, Congestion: 0.8, Saturation: shuffle.DefaultSaturation().Threshold, Sample: 10 * model.Second, Seed: 1,
	}
}

// Validate reports every parameter that is out of range.
func (p *Params) Validate() error {
	var errs []error
	for _, d := range []struct {
		name string
		of   model.Duration
	}{{"heartbeat", p.Heartbeat}, {"starved", p.Starved}, {"network step", p.NetworkStep}, {"sample", p.Sample}} {
		if d.of <= 0 {
			errs = append(errs, fmt.Errorf("%s: must be above 0", d.name))
		}
	}
	if p.LongestStep < p.NetworkStep {
		errs = append(errs, errors.New("network step: the longest must not be below the least"))
	}
	for _, f := range []struct {
		name string
		of   float64
	}{{"slowstart", p.Slowstart}, {"ramp-up limit", p.RampUp}, {"least part of a source", p.MinSource}, {"most of a source", p.MaxSource}, {"ApplicationMasters' share", p.AMShare}, {"congestion threshold", p.Congestion}, {"part of stragglers", p.Straggler}} {
		if !(f.of >= 0 && f.of <= 1) {
			errs = append(errs, fmt.Errorf("%s: must be between 0 and 1, is %g", f.name, f.of))
		}
	}
	if low := shuffle.DefaultSaturation().Hysteresis; !(p.Saturation > low && p.Saturation <= 1) {
		errs = append(errs, fmt.Errorf("saturation: must be above %g and at most 1, is %g", low, p.Saturation))
	}
	if p.Straggler > 0 && !(p.StragglerFactor >= 1 && p.StragglerFactor <= 1000) {
		errs = append(errs, fmt.Errorf("factor of stragglers: must be between 1 and 1000, is %g", p.StragglerFactor))
	}
	if p.ParallelCopies < 1 || p.ParallelCopies > mostCopies {
		errs = append(errs, fmt.Errorf("parallel copies: must be between 1 and %d, is %d", mostCopies, p.ParallelCopies))
	}
	errs = append(errs, p.Misprediction.validate())
	if p.AMStart < 0 {
		errs = append(errs, errors.New("start of an ApplicationMaster: must not be negative"))
	}
	return errors.Join(errs...)
}
