//go:build linux

package integration

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
	"heddle/core/policy/builtin"
	"heddle/integration/hadoop"
)

// The tests of this file need no cluster: what the experiment computes and how it is set up.

func TestSignFlip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		x, y []float64
		want float64
	}{
		{"all five pairs gain", []float64{1, 2, 3, 4, 5}, []float64{2, 3, 4, 5, 6}, 1.0 / 32},
		{"all five pairs lose", []float64{2, 3, 4, 5, 6}, []float64{1, 2, 3, 4, 5}, 1},
		// Only flipping the smallest one, which lost, gives a larger sum.
		{"the smallest of five loses", []float64{1, 1, 1, 1, 1.1}, []float64{2, 3, 4, 5, 1}, 2.0 / 32},
		// Logarithms in units of log 2: 3, 2, 1, -1, -2, sum 3 of sizes that sum to 9. The sum is as large
		// where sizes of 3 at most have the minus: none, 1, 1, 2, 2, 1+1, 3, and 2+1 in four ways.
		{"three gain, two lose", []float64{1, 1, 1, 2, 4}, []float64{8, 4, 2, 1, 1}, 11.0 / 32},
		{"no difference", []float64{3, 3, 3, 3, 3}, []float64{3, 3, 3, 3, 3}, 1},
		{"ratios count, not differences", []float64{1, 100}, []float64{10, 1000}, 0.25},
		{"one pair", []float64{1}, []float64{2}, 0.5},
	}
	for _, tt := range tests {
		if got := signFlip(tt.x, tt.y); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: p %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRecordsAreKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "below", "runs.jsonl")
	if got, err := readRecords(file); err != nil || len(got) != 0 {
		t.Fatalf("without a file: %v, %v", got, err)
	}
	at := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	first := record{runID{"chain", hadoop.Fair, 20, "weave:holds", 1}, at, []string{"seconds", crossRackMB}, []float64{1.5, 20}, 0.75}
	second := first
	second.Run, second.Values = 2, []float64{2.5, 30}
	again := first
	again.Values = []float64{3.5, 40}
	for _, r := range []record{first, second, again} {
		if err := appendRecord(file, &r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readRecords(file)
	if diff := cmp.Diff([]record{second, again}, got, cmp.AllowUnexported(record{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"{\"scenario\": \"chain\"}\n": ":1: 0 columns and 0 values",
		"\n":                          ":1: unexpected end",
		`{"columns": ["a"], "values": [1]}` + "\n{\"sce": ":2: unexpected end",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRecords(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// runsOf makes runs of one scenario with one column.
func runsOf(arm string, busy float64, seconds ...float64) []record {
	var all []record
	for i, v := range seconds {
		all = append(all, record{runID: runID{"even", hadoop.Capacity, 20, arm, i + 1}, Columns: []string{"seconds"}, Values: []float64{v}, Busy: busy})
	}
	return all
}

func TestExperimentTables(t *testing.T) {
	t.Parallel()
	all := slices.Concat(
		runsOf("weave", 0.5, 40, 50, 60, 70, 80),
		runsOf("stock:0.8", 0.6, 60, 62, 64, 66, 68),
		runsOf("stock", 0.7, 80, 100, 90, 120, 110),
		runsOf("num", 0.8, 100, 110),
		[]record{{runID: runID{"even", hadoop.Fair, 20, "stock", 1}, Columns: []string{"seconds"}, Values: []float64{1}}},
		[]record{{runID: runID{"even", hadoop.Capacity, 10, "stock", 1}, Columns: []string{"seconds"}, Values: []float64{1}}},
	)
	groups := compare(all)
	if len(groups) != 3 {
		t.Fatalf("%d comparisons, want one for each scheduler and rate", len(groups))
	}
	want := `even, capacity scheduler, 20 Mbit/s uplinks; ratio and p against stock:

| arm | runs | seconds: median (least to most) | ratio | p | processors busy |
|:--|--:|:--|--:|--:|--:|
| stock | 5 | 100.0 (80.0 to 120.0) | 1.00 | - | 70 % |
| stock:0.8 | 5 | 64.0 (60.0 to 68.0) | 0.64 | **0.031** | 60 % |
| weave | 5 | 60.0 (40.0 to 80.0) | 0.60 | **0.031** | 50 % |
| num | 2 | 105.0 (100.0 to 110.0) | 1.05 | - | 80 % |

even, capacity scheduler, 20 Mbit/s uplinks; ratio and p against stock:0.8:

| arm | runs | seconds: median (least to most) | ratio | p | processors busy |
|:--|--:|:--|--:|--:|--:|
| stock | 5 | 100.0 (80.0 to 120.0) | 1.56 | 1.00 | 70 % |
| stock:0.8 | 5 | 64.0 (60.0 to 68.0) | 1.00 | - | 60 % |
| weave | 5 | 60.0 (40.0 to 80.0) | 0.94 | 0.22 | 50 % |
| num | 2 | 105.0 (100.0 to 110.0) | 1.64 | - | 80 % |
`
	if diff := cmp.Diff(want, groups[0].text()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTableOfAnInterruptedExperiment: pairs are runs of one number, and other columns are not compared.
func TestTableOfAnInterruptedExperiment(t *testing.T) {
	t.Parallel()
	old := record{runID: runID{"even", hadoop.Capacity, 20, "stock", 7}, Columns: []string{"minutes"}, Values: []float64{1}}
	all := slices.Concat([]record{old}, runsOf("stock", 0, 10, 20, 30, 40, 50), runsOf("weave", 0, 9, 18, 27, 36, 45, 54)[1:])
	c := compare(all)[0]
	x, y := c.pairs("weave", "stock", 0)
	if diff := cmp.Diff([][]float64{{18, 27, 36, 45}, {20, 30, 40, 50}}, [][]float64{x, y}); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if got := len(c.column("stock", 0)); got != 5 {
		t.Errorf("%d runs of stock, want those with the newer columns", got)
	}
}

// TestPendingRuns: arms take turns, and an experiment that was interrupted goes on where it ended.
func TestPendingRuns(t *testing.T) {
	t.Parallel()
	arms, err := armsOf([]string{"weave", "num"})
	if err != nil {
		t.Fatal(err)
	}
	e := &experiment{scheduler: hadoop.Capacity}
	names := func(runs int) (all []string) {
		for _, one := range e.pending(&scenario{name: "even"}, arms, runs) {
			all = append(all, fmt.Sprint(one.arm.name, " ", one.Run))
		}
		return all
	}
	want := []string{"stock 1", "weave 1", "num 1", "weave 2", "num 2", "stock 2", "num 3", "stock 3", "weave 3", "stock 4", "weave 4", "num 4"}
	if diff := cmp.Diff(want, names(4)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e.records = slices.Concat(runsOf("stock", 0, 1, 2), runsOf("weave", 0, 1, 2), runsOf("num", 0, 1))
	e.records[0].Mbit = 10 // over other uplinks it is another run
	e.records[2].Scheduler = hadoop.Fair
	if diff := cmp.Diff([]string{"stock 1", "weave 1", "num 2"}, names(2)); diff != "" {
		t.Errorf("after some runs (-want +got):\n%s", diff)
	}
}

func TestArms(t *testing.T) {
	t.Parallel()
	arms, err := armsOf([]string{"weave", "stock", "stock:0.8", "weave:holds:1.0", "dawn:0"})
	want := []*arm{
		{name: "stock"}, {name: "weave", policy: "weave"}, {name: "stock:0.8", slowstart: "0.8"},
		{name: "weave:holds:1.0", policy: "weave", slowstart: "1.0", holds: true}, {name: "dawn:0", policy: "dawn", slowstart: "0"},
	}
	if diff := cmp.Diff(want, arms, cmp.AllowUnexported(arm{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got := arms[2].settings()["mapreduce.job.reduce.slowstart.completedmaps"]; got != "0.8" {
		t.Errorf("the slowstart of %s is %q", arms[2].name, got)
	}
	if got := arms[1].settings(); len(got) != 0 {
		t.Errorf("%s sets %v", arms[1].name, got)
	}
	for _, names := range [][]string{{"stock:holds"}, {"weave:1.5"}, {"weave:0.8:1"}, {"weave:holds:holds"}, {"warp"}, {""}, {"weave:"}, {"weave", "weave"}} {
		if _, err := armsOf(names); err == nil {
			t.Errorf("%q are arms", names)
		}
	}
}

// TestArmsAreConfigured: heddle takes the configuration of every arm, and it says what the arm does.
func TestArmsAreConfigured(t *testing.T) {
	t.Parallel()
	for _, s := range allScenarios() {
		arms, err := armsOf(append(s.policies, "num:holds", "weave:0.8"))
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		for _, a := range arms {
			if a.policy == "" {
				continue
			}
			file := filepath.Join(t.TempDir(), "heddle.yml")
			if err := os.WriteFile(file, []byte(a.config("10.77.254.2:7930", s)), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, err := configs.Load(configs.Options{File: file, HadoopConfDir: "../configs/testdata/hadoop/single", Env: []string{"JHS_HOST=jhs"}, KnownPolicy: func(name string, params []byte) error {
				_, err := builtin.Registry().New(name, params)
				return err
			}})
			if err != nil {
				t.Errorf("%s of %s: %v", a.name, s.name, err)
				continue
			}
			l := loaded.Config.Relay.Limits
			if loaded.Config.Policy.Name != a.policy || l.HoldByRank != a.holds || (l.HoldMax > 0) != a.holds {
				t.Errorf("%s of %s has policy %s, holds by rank %v for %v", a.name, s.name, loaded.Config.Policy.Name, l.HoldByRank, l.HoldMax)
			}
		}
	}
}

func TestProcessorTime(t *testing.T) {
	t.Parallel()
	before, err := parseProcessorTime([]byte("cpu  100 10 50 800 40 0 5 20 7 0\ncpu0 1 2 3\n"))
	if want := (processorTime{idle: 840, all: 1025}); err != nil || before != want {
		t.Errorf("%+v, %v, want %+v", before, err, want)
	}
	if got := (processorTime{idle: 890, all: 1225}).busySince(before); got != 0.75 {
		t.Errorf("busy %v, want 0.75", got)
	}
	if got := before.busySince(before); got != 0 {
		t.Errorf("busy %v within no time", got)
	}
	for _, text := range []string{"", "intr 1 2 3 4 5 6 7 8\n", "cpu 1 2 3"} {
		if _, err := parseProcessorTime([]byte(text)); err == nil {
			t.Errorf("%q are times of processors", text)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	v := make([]float64, 24)
	for i := range v {
		v[i] = float64(24 - i)
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 12, 0.95: 23, 1: 24} {
		if got := percentile(v, share); got != want {
			t.Errorf("percentile %v is %v, want %v", share, got, want)
		}
	}
}

// TestMixSchedule: each user has the same work, in two queues, and few processes are started.
func TestMixSchedule(t *testing.T) {
	t.Parallel()
	jobs := mixSchedule()
	if len(jobs) != mixJobs || jobs[mixJobs-1].after > time.Minute {
		t.Fatalf("%d jobs, the last after %v", len(jobs), jobs[mixJobs-1].after)
	}
	users, queues, mapsOf, processes, everywhere := map[string]int{}, map[string]int{}, map[string]int{}, 0, 0
	queueOf, shapes := map[string]string{}, map[string]mixJob{}
	for _, j := range jobs {
		users[j.user]++
		queues[j.queue]++
		mapsOf[j.user] += j.files
		processes += 1 + j.files + j.reduces
		if j.replicas == 3 {
			everywhere++
		}
		if q := queueOf[j.user]; q != "" && q != j.queue {
			t.Errorf("%s has the queues %s and %s", j.user, q, j.queue)
		}
		queueOf[j.user] = j.queue
		// Jobs that share an input agree on what it is.
		if old, known := shapes[j.input()]; known && (old.files != j.files || old.size != j.size || old.replicas != j.replicas || j.replicas == 1 && old.rack != j.rack) {
			t.Errorf("%s is the input of %+v and %+v", j.input(), old, j)
		}
		shapes[j.input()] = j
	}
	if diff := cmp.Diff(map[string]int{"ana": 6, "ben": 6, "carla": 6, "dan": 6}, users); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"default": 12, "batch": 12}, queues); diff != "" {
		t.Error(diff)
	}
	for user, n := range mapsOf {
		if n != mapsOf["ana"] {
			t.Errorf("%s has %d maps, ana %d", user, n, mapsOf["ana"])
		}
	}
	if processes > 130 || everywhere != 10 {
		t.Errorf("%d processes, %d jobs of input on all racks", processes, everywhere)
	}
}

func TestMixJobInFull(t *testing.T) {
	t.Parallel()
	jobs := mixSchedule()
	for i := range jobs {
		j := &jobs[i]
		got := j.describe(hadoop.Fair, "/mix/3")
		if got["mapreduce.job.queuename"] != "root."+j.queue || got["mapreduce.output.fileoutputformat.outputdir"] != "/mix/3" || got["mapreduce.input.fileinputformat.inputdir"] != j.input() {
			t.Errorf("%+v is %v", j, got)
		}
		for name, value := range got {
			if strings.ContainsAny(name+value, "\t\n") {
				t.Errorf("%s=%q does not fit on a line", name, value)
			}
		}
	}
	if got := jobs[0].describe(hadoop.Capacity, "/mix/0")["mapreduce.job.queuename"]; got != jobs[0].queue {
		t.Errorf("queue %q", got)
	}
}

func TestMixColumns(t *testing.T) {
	t.Parallel()
	at := func(start, end int) ended { return ended{time.Unix(int64(start), 0), time.Unix(int64(end), 0)} }
	if diff := cmp.Diff([]float64{20, 30, 45}, mixColumns([]ended{at(105, 115), at(110, 130), at(120, 150)})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{20, 30, 50}, mixColumns([]ended{at(105, 115), at(100, 130), at(130, 150)})); diff != "" {
		t.Error(diff)
	}
}
