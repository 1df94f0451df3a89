package simulation

import (
	"bytes"
	"context"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/policyflag"
	"heddle/cmd/heddle/internal/workloadfile"
	"heddle/core/lab/sim"
	"heddle/core/model"
)

func TestCells(t *testing.T) {
	t.Parallel()
	c := column{"", 1, false, func(r *sim.Run) float64 { return r.Makespan }}
	runs := func(seconds ...float64) []sim.Run {
		all := make([]sim.Run, len(seconds))
		for i, s := range seconds {
			all[i].Makespan = s
		}
		return all
	}
	for want, of := range map[string][]sim.Run{
		"3.0": runs(3), "3.0 (1.0-9.0)": runs(9, 1, 3), "2.5 (1.0-9.0)": runs(1, 9, 3, 2), "1.0": runs(1.01, 1.02, 0.99),
	} {
		if got := c.cell(of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	a := Result{policies: []policyflag.Policy{{Label: "fair"}, {Label: "nas"}}, seeds: []uint64{1, 2}, Runs: make([]sim.Run, 4)}
	a.Runs[2].Seed, a.Runs[2].Preempted = 1, 3
	a.Runs[3].Seed, a.Runs[3].Preempted, a.Runs[3].Rejected = 2, 14, 1
	var out bytes.Buffer
	a.printNotes(&out)
	if want := "\nnas: reduces preempted for maps of their own job, and restarted: 3 with seed 1, 14 with seed 2\n" +
		"nas: placements that the engine rejected: 1 with seed 2\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	for most, want := range map[model.Bytes]string{0: "MB", 999e6: "MB", 1e9: "GB", 5e12: "TB"} {
		a.Runs[1].CrossRack.Total = most
		if got, _ := a.sizeUnit(); got != want {
			t.Errorf("%d bytes in %s, want %s", most, got, want)
		}
	}
}

// A run ends when its context does.
func TestRunStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := Options{
		Workload: "synth:fb2010,jobs=60,scale=0.01,seed=3", Cluster: "racks=4,nodes=3,containers=2,oversubscription=5,nic=1Gbps", Policies: "fair", Seeds: []string{"1"},
		Hadoop: Hadoop{Heartbeat: time.Second}, Network: Network{time.Second, 5},
	}
	s, err := o.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if s.work, err = workloadfile.Open(o.Workload, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.runOne(ctx, &s.policies[0], 1, func(float64) {}); err == nil {
		t.Error("a run goes on to its end")
	}
}

func TestLinkSpeed(t *testing.T) {
	t.Parallel()
	for rate, want := range map[model.BytesPerSecond]string{
		125e6: "1Gbps", 75e6: "600Mbps", 156.25e6: "1.25Gbps", 1.25e9: "10Gbps", 31.25e6: "250Mbps", 1000: "8kbps", 0: "0bps", 1e9 / 3: "2.667Gbps",
	} {
		if got := linkSpeed(rate); got != want {
			t.Errorf("%v bytes a second: %s, want %s", rate, got, want)
		}
	}
}
