package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/core/lab/sim"
)

// unit says how the values of a figure are written.
type unit uint8

const (
	count   unit = iota
	seconds      // s
	data         // bytes, in one decimal multiple for the whole row
	share        // 0 to 1, written in percent
	ratio        // to a bound, 0 where there is none
	rate         // 1/s
	index        // without a unit
)

// figure is one row of the table of results.
type figure struct {
	group, name string
	unit        unit
	of          func(*sim.Run) float64
}

// allFigures are the figures of a run, in the order of the result object of
// `heddle simulate -o json`, which has each of them.
func allFigures() []figure {
	return slices.Concat(jobFigures(), trafficFigures(), networkFigures(), boundFigures(), effortFigures())
}

func jobFigures() []figure {
	const g = "Jobs"
	return []figure{
		{g, "jobs", count, func(r *sim.Run) float64 { return float64(r.Jobs) }},
		{g, "finished", count, func(r *sim.Run) float64 { return float64(r.Finished) }},
		{g, "makespan", seconds, func(r *sim.Run) float64 { return r.Makespan }},
		{g, "throughput", rate, func(r *sim.Run) float64 { return r.Throughput }},
		{g, "completion time, mean", seconds, func(r *sim.Run) float64 { return r.JCT.Mean }},
		{g, "completion time, median", seconds, func(r *sim.Run) float64 { return r.JCT.P50 }},
		{g, "completion time, 95th percentile", seconds, func(r *sim.Run) float64 { return r.JCT.P95 }},
		{g, "completion time, 99th percentile", seconds, func(r *sim.Run) float64 { return r.JCT.P99 }},
		{g, "mean of jobs with a light shuffle", seconds, func(r *sim.Run) float64 { return r.JCTByClass.Light }},
		{g, "mean of jobs with a medium shuffle", seconds, func(r *sim.Run) float64 { return r.JCTByClass.Medium }},
		{g, "mean of jobs with a heavy shuffle", seconds, func(r *sim.Run) float64 { return r.JCTByClass.Heavy }},
	}
}

func trafficFigures() []figure {
	const g = "Traffic across racks"
	return []figure{
		{g, "shuffle", data, func(r *sim.Run) float64 { return float64(r.CrossRack.Shuffle) }},
		{g, "map input", data, func(r *sim.Run) float64 { return float64(r.CrossRack.MapRead) }},
		{g, "output", data, func(r *sim.Run) float64 { return float64(r.CrossRack.Write) }},
		{g, "all", data, func(r *sim.Run) float64 { return float64(r.CrossRack.Total) }},
		{g, "shuffled, within racks too", data, func(r *sim.Run) float64 { return float64(r.ShuffleBytes) }},
		{g, "share of shuffled bytes that crossed", share, func(r *sim.Run) float64 { return r.ShuffleFraction.ByBytes }},
		{g, "the same, mean over jobs", share, func(r *sim.Run) float64 { return r.ShuffleFraction.ByJob }},
	}
}

func networkFigures() []figure {
	const locality, congestion = "Locality of maps", "Congestion and fairness"
	return []figure{
		{locality, "node-local", share, func(r *sim.Run) float64 { return r.Locality.Node }},
		{locality, "rack-local", share, func(r *sim.Run) float64 { return r.Locality.Rack }},
		{locality, "off-rack", share, func(r *sim.Run) float64 { return r.Locality.Off }},
		{congestion, "threshold", share, func(r *sim.Run) float64 { return r.Congestion.Threshold }},
		{congestion, "samples of an uplink above it", count, func(r *sim.Run) float64 { return float64(r.Congestion.Samples) }},
		{congestion, "times an uplink came to it", count, func(r *sim.Run) float64 { return float64(r.Congestion.Onsets) }},
		{congestion, "maps done at a job's first reduce", share, func(r *sim.Run) float64 { return r.MapProgress }},
		{congestion, "nodes over the traffic threshold", share, func(r *sim.Run) float64 { return r.OverThreshold }},
		{congestion, "mean time of a shuffle across racks", seconds, func(r *sim.Run) float64 { return r.Coflows.Mean }},
		{congestion, "fairness between users (Jain)", index, func(r *sim.Run) float64 { return r.Fairness }},
	}
}

func boundFigures() []figure {
	const bound, over = "Lower bounds", "Ratio to the lower bound"
	return []figure{
		{bound, "makespan, network", seconds, func(r *sim.Run) float64 { return r.Bounds.MakespanNetwork }},
		{bound, "makespan, computing", seconds, func(r *sim.Run) float64 { return r.Bounds.MakespanCompute }},
		{bound, "mean completion time", seconds, func(r *sim.Run) float64 { return r.Bounds.JCTMean }},
		{bound, "shuffle and map input across racks", data, func(r *sim.Run) float64 { return float64(r.Bounds.CrossRack) }},
		{bound, "mean shuffle across racks, as placed", seconds, func(r *sim.Run) float64 { return r.Coflows.Bound }},
		{over, "makespan", ratio, func(r *sim.Run) float64 { return r.Ratio.Makespan }},
		{over, "mean completion time", ratio, func(r *sim.Run) float64 { return r.Ratio.JCTMean }},
		{over, "shuffle and map input across racks", ratio, func(r *sim.Run) float64 { return r.Ratio.CrossRack }},
		{over, "mean shuffle across racks, as placed", ratio, func(r *sim.Run) float64 { return r.Coflows.Ratio }},
	}
}

func effortFigures() []figure {
	const g = "What the run took"
	return []figure{
		{g, "placements", count, func(r *sim.Run) float64 { return float64(r.Placements) }},
		{g, "time in the engine", seconds, func(r *sim.Run) float64 { return r.EngineS }},
		{g, "time in all", seconds, func(r *sim.Run) float64 { return r.WallS }},
		{g, "events", count, func(r *sim.Run) float64 { return float64(r.Events) }},
		{g, "most memory of the process", data, func(r *sim.Run) float64 { return float64(r.PeakRSS) }},
	}
}

// multiple is a multiple of a byte or a second.
type multiple struct {
	name string
	size float64
}

// multipleFor returns the largest decimal multiple of a byte that is not above
// the largest value.
func multipleFor(largest float64) multiple {
	best := multiple{"B", 1}
	for _, m := range []multiple{{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}} {
		if largest >= m.size {
			best = m
		}
	}
	return best
}

// text writes a value; in is the multiple of bytes, for data alone.
func (u unit) text(v float64, in multiple) string {
	switch u {
	case count:
		return grouped(strconv.FormatFloat(v, 'f', -1, 64))
	case data:
		return number(v / in.size)
	case share:
		return number(100*v) + " %"
	case ratio:
		if v == 0 {
			return "–"
		}
	case seconds, rate, index:
	}
	return number(v)
}

// symbol returns what stands behind the name of a row.
func (u unit) symbol(in multiple) string {
	switch u {
	case seconds:
		return "s"
	case data:
		return in.name
	case rate:
		return "1/s"
	case count, share, ratio, index:
	}
	return ""
}

// number writes a value with four digits, or all that are before the point.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	decimals := min(max(3-int(math.Floor(math.Log10(math.Abs(v)))), 0), 9)
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return grouped(text)
}

// grouped puts a comma before every third digit from the point.
func grouped(text string) string {
	whole, rest, _ := strings.Cut(text, ".")
	if rest != "" {
		rest = "." + rest
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + rest
}
