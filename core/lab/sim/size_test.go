package sim_test

import (
	"fmt"
	"testing"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// BenchmarkSize runs a hundredth of FB-2010's day on 60 nodes, and ten and a
// hundred times as many jobs on as many times the nodes: of the same racks, and
// of more of them.
//
//	go test -run '^$' -bench Size -benchtime 1x -cpu 1 ./core/lab/sim
func BenchmarkSize(b *testing.B) {
	const nic = 31.25e6
	for _, size := range []struct{ jobs, racks, nodes int }{
		{200, 3, 20}, {2_000, 3, 200}, {20_000, 3, 2_000}, {2_000, 30, 20}, {20_000, 30, 200}, {20_000, 100, 60}, {20_000, 300, 20},
	} {
		b.Run(fmt.Sprintf("jobs=%d/racks=%d/nodes=%d", size.jobs, size.racks, size.racks*size.nodes), func(b *testing.B) {
			w, err := workload.Synth(fmt.Sprintf("synth:fb2010,jobs=%d,scale=0.2", size.jobs))
			if err != nil {
				b.Fatal(err)
			}
			for range b.N {
				r := run(b, sim.DefaultParams(), sim.Uniform(size.racks, size.nodes, 6, model.BytesPerSecond(size.nodes)*nic/5, nic), w, "fair")
				b.ReportMetric(float64(r.Placements), "tasks")
			}
		})
	}
}
