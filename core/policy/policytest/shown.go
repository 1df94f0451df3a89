package policytest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// running prints the maps that run on each node, and what they are predicted to
// put out.
func (s *script) running() string {
	v := s.cluster.View()
	var out strings.Builder
	for _, n := range v.Nodes() {
		list := slices.SortedFunc(slices.Values(v.RunningMaps(n)), func(a, b state.RunningMaps) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
		if len(list) == 0 {
			continue
		}
		var output model.Bytes
		fmt.Fprintf(&out, "%s:", n.Host)
		for i, r := range list {
			predicted := r.Job.Predict()
			output += predicted.MapOutput() * model.Bytes(r.Count)
			fmt.Fprintf(&out, "%s %d of %s", []string{"", ","}[min(i, 1)], r.Count, r.Job.ID)
		}
		fmt.Fprintf(&out, "; %d MiB\n", output/model.MiB)
	}
	return out.String()
}

// traffic prints where the reduces of every job with map output were started,
// and what the shuffles send across racks: each, and all together.
func (s *script) traffic(t *testing.T) string {
	t.Helper()
	v := s.cluster.View()
	out, in := make([]float64, len(v.Racks())), make([]float64, len(v.Racks()))
	var text strings.Builder
	for _, j := range v.Jobs() {
		placed, reduces := j.Reduce.LaunchedByRack(), 0
		for _, n := range placed {
			reduces += n
		}
		if reduces == 0 || shuffle.Total(j.Output.ByRack) == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s:", j.ID)
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
				fmt.Fprintf(&text, " %d on %s,", placed[r], rack.ID)
			}
		}
		fmt.Fprintf(&text, " %d MiB cross racks\n", shuffle.CrossRack(j.Output.ByRack, placed)/model.MiB)
	}
	all, busiest := 0.0, 0.0
	for r := range out {
		all += out[r]
		busiest = max(busiest, out[r], in[r])
	}
	fmt.Fprintf(&text, "all: %.0f MiB cross racks, %.0f over the busiest uplink\n", all/float64(model.MiB), busiest/float64(model.MiB))
	return text.String()
}
