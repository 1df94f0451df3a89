package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/fluidsweep"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"
)

// Two jobs whose response times are known: over 10 s of span the map capacity is
// 14 bytes a second, so that m has 60/14 s of map work, s 80/14, and s a shuffle
// of 224/14/beta.
const fluidTrace = "m\t0\t0\t60\t0\t0\ns\t0\t0\t80\t224\t0\n"

func fluidJSON(t *testing.T, args ...string) fluidsweep.Result {
	t.Helper()
	code, out, errs := heddle(t, append([]string{"fluid", "-o", "json"}, args...)...)
	var a fluidsweep.Result
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); code != exit.OK || err != nil || d.More() {
		t.Fatalf("%v: exit %d, %v in %s%s", args, code, err, out, errs)
	}
	for i := range a.Runs {
		if a.Runs[i].Wall < 0 {
			t.Errorf("%v: wall_s %g", args, a.Runs[i].Wall)
		}
		a.Runs[i].Wall = 0
	}
	return a
}

var nearly = cmp.Options{cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.IgnoreUnexported(fluidsweep.Result{})}

// traces is read before TestMain takes all settings of heddle out of the
// environment.
var traces = os.Getenv("HEDDLE_TRACES")

func TestFluid(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "two.tsv", fluidTrace)
	got := fluidJSON(t, "--workload", file, "--span", "10s", "--beta", "1,0.5", "--policies", "maxsrpt,uopt")
	m, s := 60./14, 80./14
	run := func(beta float64, policy string, end, last, buffer, idle float64) fluidsweep.Run {
		bound := (m + max(m+s, 16/beta)) / 2
		return fluidsweep.Run{
			Beta: beta, Policy: policy, Jobs: 2, Mean: (end + last) / 2, Bound: bound, Ratio: (end + last) / 2 / bound,
			Utilization: 1 - idle/max(end, last), MaxBuffer: buffer,
		}
	}
	want := fluidsweep.Result{Format: 1, Runs: []fluidsweep.Run{
		run(1, "maxsrpt", m, m+16, 16-s, m), run(1, "uopt", m+s, 16, 16-s, 0),
		run(0.5, "maxsrpt", m, m+32, 32-s, m), run(0.5, "uopt", m+s, 32, 32-s, 0),
	}}
	if diff := cmp.Diff(want, got, nearly); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	code, out, errs := heddle(t, "fluid", "--workload", file, "--span", "10s", "--policies", "maxsrpt")
	for _, want := range []string{`two.tsv: 2 jobs, 140 B of map input, 224 B of shuffle; map capacity 14 B/s\n`, `(?m)^1 +maxsrpt +12\.2857 s +10\.1429 s +1\.2113 +0\.7887 +10\.3 s$`} {
		if code != exit.OK || errs != "" || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("exit %d, no %s in\n%s%s", code, want, out, errs)
		}
	}
}

// The keys of the result are a promise: scripts read them.
func TestFluidKeys(t *testing.T) {
	t.Parallel()
	_, out, _ := heddle(t, "fluid", "--workload", "synth:lognormal,jobs=5", "--policies", "num", "-o", "json")
	keys := strings.Join(regexp.MustCompile(`"\w+":`).FindAllString(out, -1), "")
	want := `"format":"runs":"beta":"policy":"jobs":"mean_response_s":"lower_bound_s":"ratio":"utilization_mean":"max_buffer_s":"wall_s":`
	if keys != want {
		t.Errorf("keys %s, want %s", keys, want)
	}
}

// The same question has the same answer, however the runs fall on the cores, and
// a policy's does not depend on which others are asked for.
func TestFluidIsDeterministic(t *testing.T) {
	t.Parallel()
	const jobs = "synth:lognormal,lambda=1,jobs=300,seed=3"
	first := fluidJSON(t, "--workload", jobs, "--beta", "0.5,1,2")
	if diff := cmp.Diff(first, fluidJSON(t, "--workload", jobs, "--beta", "0.5,1,2"), cmpopts.IgnoreUnexported(fluidsweep.Result{})); diff != "" {
		t.Errorf("another answer:\n%s", diff)
	}
	alone := fluidJSON(t, "--workload", jobs, "--beta", "1", "--policies", "splitsrpt,num:maxsrpt:splitsrpt:0.85")
	if alone.Runs[0] != first.Runs[7] {
		t.Errorf("alone %+v, among others %+v", alone.Runs[0], first.Runs[7])
	}
	named := first.Runs[8]
	named.Policy = alone.Runs[1].Policy
	if alone.Runs[1] != named {
		t.Errorf("in full %+v, by its name %+v", alone.Runs[1], named)
	}
	// The unit of size is also the map capacity: nothing but the rounding to bytes and milliseconds changes with it.
	unit := fluidJSON(t, "--workload", jobs+",unit_mib=512", "--beta", "1", "--policies", "splitsrpt")
	if diff := cmp.Diff(alone.Runs[0], unit.Runs[0], cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Errorf("another unit (-want +got):\n%s", diff)
	}
}

// Both ways to write heddle's own format hold the same jobs as the trace.
func TestFluidReadsItsOwnFormat(t *testing.T) {
	t.Parallel()
	const plain = `{"format":1,"kind":"workload"}
{"id":"m","user":"ann","submit_ms":0,"stages":[{"name":"map","tasks":1,"reads":[{"bytes":60}],"output_bytes":0}]}
{"id":"s","user":"ann","submit_ms":0,"stages":[{"name":"map","tasks":1,"reads":[{"bytes":80}],"output_bytes":224},` +
		`{"name":"reduce","tasks":1,"edges":[{"from":"map","kind":"scatter_gather"}],"output_bytes":0}]}
`
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := fluidJSON(t, "--workload", writeFile(t, "two.tsv", fluidTrace))
	for name, content := range map[string]string{"two.jsonl": plain, "two.jsonl.zst": string(z.EncodeAll([]byte(plain), nil))} {
		if diff := cmp.Diff(want, fluidJSON(t, "--workload", writeFile(t, name, content)), nearly); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFluidLenient(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "odd.tsv", fluidTrace+"x\t1\t1\t-5\t0\t0\ny\t1\n")
	code, _, errs := heddle(t, "fluid", "--workload", file)
	if code != exit.Failed || !strings.Contains(errs, "odd.tsv:3:") {
		t.Errorf("exit %d: %s", code, errs)
	}
	code, out, errs := heddle(t, "fluid", "--workload", file, "--lenient")
	if code != exit.OK || !strings.Contains(out, "2 jobs") || !strings.Contains(errs, "skipped 1 records, the first on line 3: negative") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// Ctrl-C ends a sweep without a result.
func TestFluidStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := execute(ctx, []string{"fluid", "--workload", writeFile(t, "two.tsv", fluidTrace)}, &out, &errs)
	if code != exit.Interrupted || out.Len() > 0 || errs.String() != "heddle: interrupted after 0 of 5 runs\n" {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}

func TestFluidRefuses(t *testing.T) {
	t.Parallel()
	good, empty := writeFile(t, "two.tsv", fluidTrace), writeFile(t, "empty.tsv", "m\t0\t0\t0\t7\t0\n")
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"", exit.Usage, "--workload: name a SWIM trace"},
		{"--workload /no/such.tsv", exit.Failed, "/no/such.tsv"},
		{"--workload " + writeFile(t, "jobs.csv", "x"), exit.Failed, "must end in .tsv"},
		{"--workload " + writeFile(t, "bad.jsonl.zst", "x"), exit.Failed, "bad.jsonl.zst"},
		{"--workload " + empty, exit.Failed, "read nothing"},
		{"--workload synth:nosuch", exit.Usage, "there are dawn-ml"},
		{"--workload synth:lognormal,lambda=x", exit.Usage, "lambda"},
		{"--workload " + good + " --beta 0", exit.Usage, `--beta "0": want numbers above 0`},
		{"--workload " + good + " --beta 0.1,NaN", exit.Usage, `--beta "NaN"`},
		{"--workload " + good + " --beta 1e-320", exit.Failed, "at most 1e+12 s of their capacity"},
		{"--workload " + good + " --beta=", exit.Usage, "name at least one"},
		{"--workload " + good + " --policies fair,srpt", exit.Usage, `--policies: policy "srpt": want one of fair, maxsrpt`},
		{"--workload " + good + " --policies num:num:uopt:1", exit.Usage, "P1: want one of"},
		{"--workload " + good + " --span 0s", exit.Usage, "--span"},
		{"--workload " + good + " -o xml", exit.Usage, "want table or json"},
		{"--workload " + good + " extra", exit.Usage, "extra"},
	} {
		code, out, errs := heddle(t, append([]string{"fluid"}, strings.Fields(tc.args)...)...)
		if code != tc.code || out != "" || !strings.Contains(errs, tc.says) {
			t.Errorf("%s: exit %d, want %d with %q\n%s%s", tc.args, code, tc.code, tc.says, out, errs)
		}
	}
}

// The paper's capacities for the trace of a day, through the whole command: a
// row of the golden table of algorithms.md 2.2.11.
func TestFluidGolden(t *testing.T) {
	t.Parallel()
	if traces == "" {
		t.Skip("HEDDLE_TRACES is not set: set it to the folder with FB-2010_samples_24_times_1hr_0.tsv")
	}
	got := fluidJSON(t, "--workload", filepath.Join(traces, "FB-2010_samples_24_times_1hr_0.tsv"), "--beta", "0.3")
	var ratios []string
	for _, r := range got.Runs {
		ratios = append(ratios, fmt.Sprintf("%s %.4f", r.Policy, r.Ratio))
	}
	want := []string{"fair 4.6186", "maxsrpt 2.0064", "splitsrpt 1.3577", "num 1.2404", "numu 1.5381"}
	if diff := cmp.Diff(want, ratios); diff != "" || got.Runs[0].Jobs != 24442 {
		t.Errorf("%d jobs (-want +got):\n%s", got.Runs[0].Jobs, diff)
	}
}
