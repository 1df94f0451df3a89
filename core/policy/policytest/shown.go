package policytest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// showPlans prints plans by rank.
func showPlans(out *strings.Builder, plans []model.Plan) {
	slices.SortStableFunc(plans, func(a, b model.Plan) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, p := range plans {
		fmt.Fprintf(out, "%d. %s %s, %s", p.Rank, p.App, p.Stage, p.Reason)
		if p.Hold {
			fmt.Fprintf(out, " until %gs", p.Until.Sub(Epoch).Seconds())
		}
		if len(p.Racks) == 0 {
			out.WriteString(": any rack")
		}
		for i, r := range p.Racks {
			out.WriteString([]string{": ", ", "}[min(i, 1)])
			fmt.Fprintf(out, "%d on %s (%.2f, %d MiB)", r.Count, r.Rack, r.Share, r.Bytes/model.MiB)
		}
		for _, k := range p.Costs {
			if k.Name == "plan" || k.Name == "not_pinned" || k.Name == "uniform" {
				fmt.Fprintf(out, "; %s crosses %d MiB", k.Name, k.CrossRack/model.MiB)
			}
		}
		out.WriteString("\n")
	}
}

// showRunning prints the maps that run on each node, and what they are predicted to
// put out.
func showRunning(out *strings.Builder, v state.View) {
	for _, n := range v.Nodes() {
		list := slices.SortedFunc(slices.Values(v.RunningMaps(n)), func(a, b state.RunningMaps) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
		if len(list) == 0 {
			continue
		}
		var output model.Bytes
		fmt.Fprintf(out, "%s:", n.Host)
		for i, r := range list {
			predicted := r.Job.Predict()
			output += predicted.MapOutput() * model.Bytes(r.Count)
			fmt.Fprintf(out, "%s %d of %s", []string{"", ","}[min(i, 1)], r.Count, r.Job.ID)
		}
		fmt.Fprintf(out, "; %d MiB\n", output/model.MiB)
	}
}

// showTraffic prints where the reduces of every job with map output were started,
// and what the shuffles send across racks: each, and all together.
func showTraffic(text *strings.Builder, v state.View) {
	out, in := make([]float64, len(v.Racks())), make([]float64, len(v.Racks()))
	for _, j := range v.Jobs() {
		placed, reduces := j.Reduce.LaunchedByRack(), 0
		for _, n := range placed {
			reduces += n
		}
		if reduces == 0 || shuffle.Total(j.Output.ByRack) == 0 {
			continue
		}
		fmt.Fprintf(text, "%s:", j.ID)
		total := float64(shuffle.Total(j.Output.ByRack))
		for r, rack := range v.Racks() {
			f, m := 0.0, 0.0
			if r < len(placed) {
				f = float64(placed[r]) / float64(reduces)
			}
			if r < len(j.Output.ByRack) {
				m = float64(j.Output.ByRack[r])
			}
			out[r] += m * (1 - f)
			in[r] += f * (total - m)
			if f > 0 {
				fmt.Fprintf(text, " %d on %s,", placed[r], rack.ID)
			}
		}
		fmt.Fprintf(text, " %d MiB cross racks\n", shuffle.CrossRack(j.Output.ByRack, placed)/model.MiB)
	}
	all, busiest := 0.0, 0.0
	for r := range out {
		all += out[r]
		busiest = max(busiest, out[r], in[r])
	}
	fmt.Fprintf(text, "all: %.0f MiB cross racks, %.0f over the busiest uplink\n", all/float64(model.MiB), busiest/float64(model.MiB))
}
