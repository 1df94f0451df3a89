package main

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/simulation"
)

const (
	// A job of three maps of 10 s and a reduce of 5 s, and a map-only job that writes.
	simJobs = `{"format":1,"kind":"workload","name":"two"}
{"id":"a","user":"ann","submit_ms":500,"stages":[{"name":"map","tasks":3,"reads":[{"bytes":402653184}],"output_bytes":0,"fixed_ms":10000},{"name":"reduce","tasks":1,"edges":[{"from":"map","kind":"scatter_gather"}],"output_bytes":1000000,"fixed_ms":5000}]}
{"id":"b","user":"bob","submit_ms":100000,"stages":[{"name":"map","tasks":2,"reads":[{"bytes":268435456}],"output_bytes":1000000,"fixed_ms":1000}]}
`
	simCluster1 = "racks=1,nodes=4,containers=2,uplink=1Gbps,nic=1Gbps"
	simCluster4 = "racks=4,nodes=3,containers=2,oversubscription=5,nic=1Gbps"
	simSlots    = "racks=4,nodes=3,map_slots=4,reduce_slots=1,oversubscription=5,nic=1Gbps"
	simSynth    = "synth:fb2010,jobs=60,scale=0.01,seed=3"
)

// simulated runs the command, strictly reads what it prints, and drops what differs from run to run.
func simulated(t *testing.T, args ...string) simulation.Result {
	t.Helper()
	code, out, errs := heddle(t, append([]string{"simulate", "-o", "json"}, args...)...)
	var a simulation.Result
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); code != exit.OK || errs != "" || err != nil || d.More() {
		t.Fatalf("%v: exit %d, %v in %s%s", args, code, err, out, errs)
	}
	for i := range a.Runs {
		r := &a.Runs[i]
		if r.WallS <= 0 || r.PeakRSS < 1<<20 || r.EngineS < 0 || r.EngineS > r.WallS {
			t.Errorf("%v: wall_s %g, engine_s %g, peak_rss_bytes %d", args, r.WallS, r.EngineS, r.PeakRSS)
		}
		r.WallS, r.EngineS, r.PeakRSS = 0, 0, 0
	}
	return a
}

// The result of design 11 with shares added, to the letter: every key of a run, in its order.
const designedRun = `{"policy":"nas","params":{…},"seed":1,"jobs":24442,"finished":24442,
   "makespan_s":0,"throughput_jobs_per_s":0,"jct_s":{"mean":0,"p50":0,"p95":0,"p99":0},
   "jct_by_class_s":{"light":0,"medium":0,"heavy":0},
   "cross_rack_bytes":{"shuffle":0,"map_read":0,"write":0,"total":0},"shuffle_bytes":0,
   "cross_rack_shuffle_fraction":{"by_bytes":0,"by_job":0},
   "locality":{"node":0,"rack":0,"off":0},"congestion":{"samples":0,"onsets":0,"threshold":0.8},
   "map_progress_at_first_reduce":0,"nodes_over_traffic_threshold":0,"fairness_jain":0,
   "shares":{"users":{"count":0,"count_below":0,"windows":0,"windows_below":0,"least":0,"least_of":"","p05":0},
   "queues":{"count":0,"count_below":0,"windows":0,"windows_below":0,"least":0,"least_of":"","p05":0}},
   "bounds":{"makespan_network_s":0,"makespan_compute_s":0,"jct_mean_s":0,"cross_rack_bytes":0},
   "ratio_to_bound":{"makespan":0,"jct_mean":0,"cross_rack_bytes":0},
   "placements":0,"engine_s":0,"wall_s":0,"events":0,"peak_rss_bytes":0}`

func TestSimulateKeys(t *testing.T) {
	t.Parallel()
	_, out, _ := heddle(t, "simulate", "--workload", simSynth, "--cluster", simCluster4, "--policies", "nas", "-o", "json")
	var answer struct {
		Runs []json.RawMessage `json:"runs"`
	}
	var run struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Runs) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	if err := json.Unmarshal(answer.Runs[0], &run); err != nil {
		t.Fatal(err)
	}
	keys := func(text string) string {
		return strings.Join(regexp.MustCompile(`"\w+":|[{}]`).FindAllString(text, -1), "")
	}
	if diff := cmp.Diff(keys(designedRun), keys(strings.Replace(string(answer.Runs[0]), string(run.Params), "{}", 1))); diff != "" {
		t.Errorf("keys of a run (-want +got):\n%s", diff)
	}
	top := regexp.MustCompile(`(?m)^  "\w+":`).FindAllString(out, -1)
	if want := []string{`  "format":`, `  "workload":`, `  "cluster":`, `  "runs":`}; !slices.Equal(top, want) {
		t.Errorf("keys %q, want %q", top, want)
	}
	var params map[string]any
	if err := json.Unmarshal(run.Params, &params); err != nil || params["map_skips"] == nil || params["gamma_remote"] == nil {
		t.Errorf("parameters %s: %v", run.Params, err)
	}
}

// Typed slots are in the cluster of the result, and containers count them all.
func TestSimulateSlots(t *testing.T) {
	t.Parallel()
	a := simulated(t, "--workload", simSynth, "--cluster", simSlots, "--policies", "fair")
	want := []simulation.RackSummary{{Racks: 4, Nodes: 3, Containers: 5, MapSlots: 4, ReduceSlots: 1, Uplink: 75e6, NIC: 125e6}}
	if diff := cmp.Diff(want, a.Cluster.Groups); diff != "" || a.Cluster.Containers != 60 {
		t.Errorf("%d containers (-want +got):\n%s", a.Cluster.Containers, diff)
	}
	if got, want := a.Cluster.Groups[0].String(), "4 racks of 3 nodes of 4 map and 1 reduce slot, uplinks 600Mbps, interfaces 1Gbps"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A step of the network that is given is the length of all of them, be it longer than
// any is without.
func TestSimulateNetworkStep(t *testing.T) {
	t.Parallel()
	on := []string{"--workload", "synth:fb2010,jobs=60,scale=0.1,seed=3", "--cluster", "racks=4,nodes=3,containers=2,uplink=20Mbps,nic=1Gbps", "--policies", "fair"}
	plain := simulated(t, on...)
	for _, step := range []string{"1s", "10s"} {
		if given := simulated(t, append(on, "--network-step", step)...); cmp.Diff(plain.Runs, given.Runs) == "" {
			t.Errorf("--network-step %s changes nothing, where what is on its way takes long", step)
		}
	}
}

// The streams of a reduce are in the result where they are not Hadoop's, and those of
// Hadoop are the default.
func TestSimulateCopies(t *testing.T) {
	t.Parallel()
	on := []string{"--workload", "synth:fb2010,jobs=60,scale=0.1,seed=3", "--cluster", "racks=4,nodes=3,containers=2,uplink=100Mbps,nic=1Gbps", "--policies", "fair"}
	plain := simulated(t, on...)
	if same := simulated(t, append(on, "--parallel-copies", "5")...); cmp.Diff(plain.Runs, same.Runs) != "" || same.Cluster.Copies != 0 {
		t.Errorf("5 copies are not the default: %+v", same.Cluster)
	}
	if more := simulated(t, append(on, "--parallel-copies", "50")...); more.Cluster.Copies != 50 || cmp.Diff(plain.Runs, more.Runs) == "" {
		t.Errorf("50 copies change nothing: %+v", more.Cluster)
	}
	_, table, _ := heddle(t, append([]string{"simulate", "--parallel-copies", "1"}, on...)...)
	if !strings.Contains(table, "\na reduce fetches with 1 stream\n") {
		t.Errorf("no word of the streams in\n%s", table)
	}
}

// Same input, seed and binary: the same bytes, but for the three keys of what a run took.
func TestSimulateIsDeterministic(t *testing.T) {
	t.Parallel()
	took := regexp.MustCompile(`"(engine_s|wall_s|peak_rss_bytes)": [0-9.e+-]+`)
	args := []string{"simulate", "--workload", simSynth, "--cluster", simCluster4, "--policies", "fair,shufflewatcher,num", "--seed", "1,2", "-o"}
	for _, format := range []string{"json", "table"} {
		_, first, _ := heddle(t, append(args, format)...)
		_, again, _ := heddle(t, append(args, format)...)
		if diff := cmp.Diff(took.ReplaceAllString(first, "$1"), took.ReplaceAllString(again, "$1")); diff != "" || first == "" {
			t.Errorf("another answer:\n%s", diff)
		}
	}
}

// A run's result does not depend on which others are asked for; seeds matter.
func TestSimulateRunsAreApart(t *testing.T) {
	t.Parallel()
	on := []string{"--workload", simSynth, "--cluster", simCluster4}
	all := simulated(t, append(on, "--policies", "fair,delay", "--seed", "7,1,2")...)
	var got []string
	for _, r := range all.Runs {
		got = append(got, r.Policy+" "+string(rune('0'+r.Seed)))
	}
	if want := []string{"fair 7", "fair 1", "fair 2", "delay 7", "delay 1", "delay 2"}; !slices.Equal(got, want) {
		t.Fatalf("runs %v, want %v", got, want)
	}
	alone := simulated(t, append(on, "--policies", "delay", "--seed", "1")...)
	if diff := cmp.Diff(all.Runs[4:5], alone.Runs); diff != "" {
		t.Errorf("among others and alone (-others +alone):\n%s", diff)
	}
	if all.Runs[3].CrossRack == all.Runs[4].CrossRack {
		t.Errorf("seeds 7 and 1 give the same: %+v", all.Runs[3].CrossRack)
	}
}

// A workload and a cluster by hand, with every flag that changes the rules.
func TestSimulateByHand(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "two.jsonl", simJobs)
	for _, tt := range []struct {
		flags           string
		jobs            int
		mean, last, p99 float64 // seconds
	}{
		// a: submitted at 0.5 s, seen at 1 s, maps until 11 s, the reduce until 16 s. b: seen at 100 s, until 101 s.
		{"", 2, (15.5 + 1) / 2, 101 - 0.5, 15.5},
		{"--jobs 5", 2, (15.5 + 1) / 2, 101 - 0.5, 15.5},
		{"--jobs 1", 1, 15.5, 15.5, 15.5},
		// Every 8 s: a is seen at 8 s, maps until 18 s, the reduce from 24 s to 29 s.
		{"--jobs 1 --heartbeat 8s", 1, 28.5, 28.5, 28.5},
		{"--jobs 1 --slowstart 1", 1, 15.5, 15.5, 15.5},
	} {
		a := simulated(t, append([]string{"--workload", file, "--cluster", simCluster1, "--policies", "fifo"}, strings.Fields(tt.flags)...)...)
		r := a.Runs[0]
		if a.Workload.Jobs != tt.jobs || r.Jobs != tt.jobs || r.Finished != tt.jobs || r.JCT.Mean != tt.mean || r.Makespan != tt.last || r.JCT.P99 != tt.p99 {
			t.Errorf("%s: %d jobs, %+v; want %+v", tt.flags, a.Workload.Jobs, r.Outcome, tt)
		}
	}
	at := []string{"--workload", file, "--jobs", "1", "--cluster", "racks=2,nodes=2,containers=2,uplink=1Gbps,nic=1Gbps,replication=2", "--policies", "fifo"}
	if w := simulated(t, at...).Runs[0].CrossRack.Write; w != 1000000 { // one copy of what the reduce writes
		t.Errorf("%d bytes written across racks", w)
	}
	if c := simulated(t, append(at, "--no-writes")...); c.Runs[0].CrossRack.Write != 0 || c.Cluster.Writes {
		t.Errorf("--no-writes: %+v of %+v", c.Runs[0].CrossRack, c.Cluster)
	}
	early, late := simulated(t, "--workload", simSynth, "--cluster", simCluster4, "--policies", "fair", "--slowstart", "0"),
		simulated(t, "--workload", simSynth, "--cluster", simCluster4, "--policies", "fair", "--slowstart", "1")
	if late.Runs[0].MapProgress != 1 || early.Runs[0].MapProgress >= 1 || late.Cluster.Slowstart != 1 {
		t.Errorf("map progress at the first reduce: slowstart 0 %g, slowstart 1 %g", early.Runs[0].MapProgress, late.Runs[0].MapProgress)
	}
}

func TestSimulateCluster(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "cluster.yml", `
nodes: 2
containers: 3
nic: 1Gbps
oversubscription: 2
block: 64MiB
replication: 2
groups:
  - racks: 2
  - {nodes: 1, uplink: 800Mbps, background: 80Mbps}
`)
	a := simulated(t, "--workload", writeFile(t, "two.jsonl", simJobs), "--cluster", file, "--policies", "fair", "--heartbeat", "500ms")
	want := simulation.ClusterSummary{
		Racks: 3, Nodes: 5, Containers: 15, Block: 64 << 20, Replication: 2, Writes: true, HeartbeatS: 0.5, Slowstart: 0.05, Slower: 1,
		Groups: []simulation.RackSummary{
			{Racks: 2, Nodes: 2, Containers: 3, Uplink: 125e6, NIC: 125e6},
			{Racks: 1, Nodes: 1, Containers: 3, Uplink: 100e6, NIC: 125e6, Background: 10e6},
		},
	}
	if diff := cmp.Diff(want, a.Cluster); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSimulateTable(t *testing.T) {
	t.Parallel()
	code, out, errs := heddle(t, "simulate", "--workload", writeFile(t, "two.jsonl", simJobs), "--cluster", simCluster1, "--policies", "fifo,fair")
	for _, want := range []string{
		`^two: 2 jobs \(2 light, 0 medium, 0 heavy\) of 2 users over 100 s, 6 tasks; 671\.1 MB of input, 0 B of shuffle, 2\.0 MB of output\n` +
			`1 rack of 4 nodes of 2 containers, uplinks 1Gbps, interfaces 1Gbps\n` +
			`blocks of 128MiB with 3 replicas; writes replicate across racks; a heartbeat every 1 s; reduces start after 5 % of the maps\n\n`,
		`(?m)^POLICY +MAKESPAN s +MEAN JCT s +p95 s +LIGHT s .*\nfifo +100 +8\.2 +15\.5 +8\.2 +- +-\nfair +100 `,
		`(?m)^POLICY +CROSS-RACK MB +SHUFFLE MB .*\nfifo +0\.00 +0\.00 +0\.00 +0\.00 `,
		`(?m)^POLICY +NODE-LOCAL % +RACK % +OFF % +CONGESTED .*\nfifo `,
		`(?m)^POLICY +MAKESPAN/BOUND +JCT/BOUND +CROSS-RACK/BOUND +COFLOW/BOUND +JOBS/h .*\nfifo +1\.000 +1\.031 +- +- +71\.6 `,
	} {
		if code != exit.OK || errs != "" || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("exit %d, no %s in\n%s%s", code, want, out, errs)
		}
	}
	_, out, _ = heddle(t, "simulate", "--workload", simSynth, "--cluster", simCluster4, "--policies", "fair", "--seed", "1,2,3")
	if !regexp.MustCompile(`(?s)median of 3 seeds \(least-most\).*CROSS-RACK GB.*\nfair +[\d.]+ \([\d.]+-[\d.]+\) `).MatchString(out) {
		t.Errorf("no median in\n%s", out)
	}
}

// Ctrl-C ends a simulation without a result.
func TestSimulateStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := execute(ctx, []string{"simulate", "--workload", simSynth, "--cluster", simCluster4, "--policies", "fair,nas"}, &out, &errs)
	if code != exit.Interrupted || out.Len() > 0 || errs.String() != "heddle: interrupted after 0 of 2 runs\n" {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}

// A report is a page with the results and the command that makes them again.
func TestSimulateReport(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "it's", "results")
	args := []string{
		"simulate", "--cluster", simCluster4, "--report", dir, "--policies", `fair,nas{"map_skips": 7}`, "--seed", "1,2", "--param", "nas.skips=count", "--workload", simSynth, "--no-writes",
	}
	code, out, errs := heddle(t, args...)
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || code != exit.OK || errs != "" || !strings.Contains(out, "\n"+filepath.Join(dir, "index.html")+" has the plots\n") {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	text := html.UnescapeString(string(page))
	for _, want := range []string{
		"heddle simulate --workload=" + simSynth + " --cluster=" + simCluster4 + ` --policies='fair,nas{"map_skips": 7}' --param=nas.skips=count --seed=1,2 --no-writes --report='`,
		simSynth + " on 12 nodes", "4 racks of 3 nodes of 2 containers", "60: ", "blocks of 128MiB with 3 replicas",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	_, plain, _ := heddle(t, append([]string{"simulate", "-o", "json"}, args[1:]...)...)
	if !json.Valid([]byte(plain)) {
		t.Errorf("with -o json: %s", plain)
	}
	file := writeFile(t, "taken", "")
	code, out, errs = heddle(t, "simulate", "--workload", simSynth, "--cluster", simCluster4, "--policies", "fair", "--report", file)
	if code != exit.Failed || out != "" || !strings.Contains(errs, "--report: ") || !strings.Contains(errs, file) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// The printed command has every flag there is.
func TestSimulateFlags(t *testing.T) {
	t.Parallel()
	cmd := newSimulate()
	var usage []string
	for _, m := range regexp.MustCompile(`(?m)--([a-z-]+)`).FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		usage = append(usage, m[1])
	}
	want := simulateFlags()
	slices.Sort(want)
	if diff := cmp.Diff(want, usage); diff != "" {
		t.Errorf("(-listed +there):\n%s", diff)
	}
	for text, want := range map[string]string{"synth:a,b=1": "synth:a,b=1", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := shellWord(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Nodes that are lost are named, with what that cost.
func TestSimulateLoses(t *testing.T) {
	t.Parallel()
	args := []string{
		"--workload", writeFile(t, "two.jsonl", simJobs), "--cluster", "racks=2,nodes=1,containers=4,uplink=1Gbps,nic=1Gbps,replication=1", "--policies", "fifo",
		"--lose", "rack=1,at=5s,for=10s", "--lose", "node=2/1,at=6s,for=9s",
	}
	code, out, errs := heddle(t, append([]string{"simulate"}, args...)...)
	for _, text := range []string{"\nrack 1 is lost at 5 s for 10 s\n", "\nnode 1 of rack 2 is lost at 6 s for 9 s\n", "fifo: attempts lost with their node, and restarted: "} {
		if code != exit.OK || errs != "" || !strings.Contains(out, text) {
			t.Errorf("exit %d %s, no %q in\n%s", code, errs, text, out)
		}
	}
	a := simulated(t, args...)
	if diff := cmp.Diff([]simulation.LossSummary{{Rack: 1, AtS: 5, ForS: 10}, {Rack: 2, Node: 1, AtS: 6, ForS: 9}}, a.Cluster.Losses); diff != "" || a.Runs[0].Makespan < 30 {
		t.Errorf("%g s; losses (-want +got):\n%s", a.Runs[0].Makespan, diff)
	}
}

// Extra attempts are counted below the tables.
func TestSimulateSpeculates(t *testing.T) {
	t.Parallel()
	args := []string{"--workload", simSynth, "--cluster", simCluster4, "--policies", "fair", "--straggler", "0.1,20"}
	without := simulated(t, args...)
	args = append(args, "--speculation")
	if a := simulated(t, args...); !a.Cluster.Speculation || a.Runs[0].JCT.Mean >= without.Runs[0].JCT.Mean || a.Runs[0].Placements <= without.Runs[0].Placements {
		t.Errorf("%g s for %d placements, without %g s for %d", a.Runs[0].JCT.Mean, a.Runs[0].Placements, without.Runs[0].JCT.Mean, without.Runs[0].Placements)
	}
	_, out, _ := heddle(t, append([]string{"simulate"}, args...)...)
	for _, text := range []string{"\nstragglers get a speculative attempt\n", "\nfair: speculative attempts: ", "fair: speculative attempts that finished first: "} {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
}
