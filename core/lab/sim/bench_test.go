package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/policy/builtin"
)

// facebook reads the first jobs of the public trace FB-2010.
func facebook(tb testing.TB, jobs int) *workload.Workload {
	tb.Helper()
	folder := os.Getenv("HEDDLE_TRACES")
	if folder == "" {
		tb.Skip("HEDDLE_TRACES is not set: no public traces to simulate (docs/workloads.md says where they come from)")
	}
	f, err := os.Open(filepath.Join(folder, "FB-2010_samples_24_times_1hr_0.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w, err := workload.ReadSWIM(f, workload.DefaultSWIMOptions())
	if err != nil {
		tb.Fatal(err)
	}
	w.Jobs = w.Jobs[:min(jobs, len(w.Jobs))]
	return w
}

// BenchmarkFB2010 runs the first jobs of the public trace, and all 24,442, on
// the cluster of NAS §IV-A: 600 nodes on 30 racks, 6 containers a node,
// 1 Gbit/s an uplink and 250 Mbit/s an interface.
//
//	HEDDLE_TRACES=… go test -run '^$' -bench FB2010 -benchtime 1x -cpu 1 ./core/lab/sim
func BenchmarkFB2010(b *testing.B) { benchFacebook(b, sim.Uniform(30, 20, 6, 125e6, 31.25e6)) }

// BenchmarkFB2010Wide is the same with links four times as fast, which carry the
// load.
func BenchmarkFB2010Wide(b *testing.B) { benchFacebook(b, sim.Uniform(30, 20, 6, 500e6, 125e6)) }

func benchFacebook(b *testing.B, c sim.Cluster) {
	b.Helper()
	for _, jobs := range []int{2_000, 6_000, 24_442} {
		for _, e := range builtin.Registry() {
			b.Run(fmt.Sprintf("policy=%s/jobs=%d", e.Name, jobs), func(b *testing.B) {
				w := facebook(b, jobs)
				for range b.N {
					r := run(b, sim.DefaultParams(), c, w, e.Name)
					b.ReportMetric(float64(r.Events)/b.Elapsed().Seconds(), "events/s")
					b.ReportMetric(float64(r.Placements)/b.Elapsed().Seconds(), "placements/s")
					b.ReportMetric(r.JCT.Mean, "jct_s")
					b.ReportMetric(r.Makespan, "makespan_s")
					b.ReportMetric(float64(r.Preempted), "preempted")
					b.ReportMetric(r.ShuffleFraction.ByBytes, "crossed/byte")
				}
			})
		}
	}
}
