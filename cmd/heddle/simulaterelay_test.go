package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
)

// With --relay the scheduler runs as it is, and the policies in front of it: the
// job whose blocks are on one rack sends less across racks with a plan.
func TestSimulateRelay(t *testing.T) {
	t.Parallel()
	jobs := filepath.Join(t.TempDir(), "jobs.jsonl")
	text := `{"format":1,"kind":"workload","name":"one"}
{"id":"sort","user":"ann","submit_ms":0,"stages":[{"name":"map","tasks":4,"reads":[{"bytes":536870912,"racks":1}],"output_bytes":536870912,"fixed_ms":4000},` +
		`{"name":"reduce","tasks":2,"edges":[{"from":"map","kind":"scatter_gather"}],"output_bytes":1,"fixed_ms":4000}]}
`
	if err := os.WriteFile(jobs, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := simulated(t, "--workload", jobs, "--cluster", "racks=3,nodes=3,containers=2,uplink=100Mbps,nic=1Gbps,replication=1",
		"--policies", "capacity,shufflewatcher", "--param", "shufflewatcher.assume_unknown=true", "--relay", "capacity")
	if len(a.Runs) != 2 || a.Runs[0].Policy != "capacity" || a.Runs[1].Policy != "shufflewatcher@capacity" {
		t.Fatalf("runs %+v", a.Runs)
	}
	if alone, with := a.Runs[0].CrossRack.Total, a.Runs[1].CrossRack.Total; with > alone/2 {
		t.Errorf("%d bytes crossed racks with the relay, %d without", with, alone)
	}
}

// With --relay-order NUM, which names no racks, changes what the scheduler does: the small job goes first.
func TestSimulateRelayOrder(t *testing.T) {
	t.Parallel()
	mean := func(flags ...string) float64 {
		args := append([]string{"--workload", "synth:shufflewatcher,scale=0.01,users=6,mean_s=10", "--cluster", simCluster4, "--policies", "num", "--relay", "fair"}, flags...)
		return simulated(t, args...).Runs[0].JCT.Mean
	}
	without, with := mean(), mean("--relay-order", "--relay-hold", "1h")
	if with > 0.9*without {
		t.Errorf("the mean completion time is %.1f s with the order, %.1f s without", with, without)
	}
}

// What cannot be is refused.
func TestSimulateRelayRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flags []string
		says  string
	}{
		{[]string{"--relay", "yarn"}, `--relay: policy "yarn": unknown`},
		{[]string{"--relay", "capacity", "--relay-pin", "0s"}, "must be above 0"},
		{[]string{"--relay", "capacity", "--relay-order"}, "above 0 with --relay-order"},
		{[]string{"--relay", "capacity", "--cluster", simSlots}, "--relay: not with map_slots and reduce_slots"},
		{[]string{"--am-start", "1s", "--cluster", simSlots}, "--am-start: not with map_slots and reduce_slots"},
	} {
		args := append([]string{"simulate", "--workload", simSynth, "--cluster", simCluster4, "--policies", "nas"}, tc.flags...)
		if code, _, errs := heddle(t, args...); code != exit.Usage || !strings.Contains(errs, tc.says) {
			t.Errorf("%v: exit %d, %q, want %q", tc.flags, code, errs, tc.says)
		}
	}
}
