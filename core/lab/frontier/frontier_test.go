package frontier_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/frontier"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

var update = flag.Bool("update", false, "write what is compared")

// variant returns a policy's runs, one for each mean completion time; its other figures follow from them.
func variant(name string, slowstart float64, means ...float64) frontier.Variant {
	v := frontier.NewVariant(&frontier.Policy{Name: name, Label: name}, slowstart)
	for _, mean := range means {
		var r frontier.Run
		r.JCT.Mean, r.JCT.P95, r.CrossRack.Total, r.Makespan = mean, 3*mean, model.Bytes(1e9*(500-mean)), 100
		v.Runs = append(v.Runs, r)
	}
	return v
}

func setup(tb testing.TB, name string) *frontier.Setup {
	tb.Helper()
	return setupPart(tb, name, 0.002)
}

func setupPart(tb testing.TB, name string, part float64) *frontier.Setup {
	tb.Helper()
	all := frontier.Workloads()
	w := &all[slices.IndexFunc(all, func(w frontier.Workload) bool { return w.Name == name })]
	work, err := w.Select(nil, part)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := frontier.NewSetup(w, work)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// The best other is chosen for each metric by the median over the seeds, among all policies but weave.
func TestNewResult(t *testing.T) {
	t.Parallel()
	s := setup(t, "fb2010-o5")
	r := frontier.NewResult(s, []frontier.Variant{
		variant("fair", 0.05, 300, 50, 100), variant("weave", 0.05, 80, 90, 100), variant("fair", 1, 85, 95, 99), variant("weave", 0.05, 1, 1, 1),
	})
	want := []frontier.Comparison{
		{Metric: "jct_mean_s", Subject: 90, Best: 95, By: "fair 1", Ratio: 90. / 95, Met: true},
		{Metric: "jct_p95_s", Subject: 270, Best: 285, By: "fair 1", Ratio: 270. / 285, Met: true},
		{Metric: "cross_rack_bytes", Subject: 410e9, Best: 400e9, By: "fair 0.05", Ratio: 410. / 400},
		{Metric: "makespan_s", Subject: 100, Best: 100, By: "fair 0.05", Ratio: 1, Met: true},
	}
	if diff := cmp.Diff(want, r.Comparisons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := frontier.NewResult(s, []frontier.Variant{variant("fair", 1, 5)}); len(r.Comparisons) > 0 {
		t.Errorf("compares without weave: %+v", r.Comparisons)
	}
	if r := frontier.NewResult(s, []frontier.Variant{variant("weave", 0.05, 5)}); len(r.Comparisons) > 0 {
		t.Errorf("compares without others: %+v", r.Comparisons)
	}
}

// The makespan may be 5 % above the best other one, and nothing else may be above it.
func TestNewResultLimits(t *testing.T) {
	t.Parallel()
	s := setup(t, "fb2010-o5")
	for _, tc := range []struct {
		makespan, mean float64
		want           []bool
	}{{105, 90, []bool{true, true, true, true}}, {105.1, 90, []bool{true, true, true, false}}, {105, 90.1, []bool{false, false, true, true}}} {
		weave := variant("weave", 0.05, tc.mean)
		weave.Runs[0].Makespan = tc.makespan
		weave.Runs[0].CrossRack.Total = 410e9
		var got []bool
		for _, c := range frontier.NewResult(s, []frontier.Variant{weave, variant("num", 1, 90)}).Comparisons {
			got = append(got, c.Met)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("makespan %g, mean %g: met %v, want %v", tc.makespan, tc.mean, got, tc.want)
		}
	}
}

// p95 must be met on four workloads of five, rounded up, all else on every one.
func TestJudge(t *testing.T) {
	t.Parallel()
	results := make([]frontier.Result, 8)
	for i := range results[:7] { // the last one was not compared
		for k, m := range frontier.Metrics() {
			results[i].Comparisons = append(results[i].Comparisons, frontier.Comparison{Metric: m.Key, Met: i >= k})
		}
	}
	want := []frontier.Verdict{
		{Metric: "jct_mean_s", Met: 7, Of: 7, Needed: 7, OK: true}, {Metric: "jct_p95_s", Met: 6, Of: 7, Needed: 6, OK: true},
		{Metric: "cross_rack_bytes", Met: 5, Of: 7, Needed: 7}, {Metric: "makespan_s", Met: 4, Of: 7, Needed: 7},
	}
	if diff := cmp.Diff(want, frontier.Judge(results)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fifteen := slices.Repeat(results[:1], 15)
	if v := frontier.Judge(fifteen)[1]; v.Needed != 12 {
		t.Errorf("p95 must be met on %d of 15, want 12", v.Needed)
	}
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-file +got); -update writes it:\n%s", name, diff)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	results := []frontier.Result{
		frontier.NewResult(setup(t, "fb2010-o5"), []frontier.Variant{variant("weave", 0.05, 90, 91), variant("fair", 0.05, 120, 130), variant("num", 1, 88, 89)}),
		frontier.NewResult(setup(t, "uneven-racks"), []frontier.Variant{variant("weave", 0.05, 90, 91), variant("fair", 0.05, 120, 130), variant("fair", 1, 450)}),
	}
	report := frontier.NewReport(results, 0.5, 2)
	report.Missing = []string{"fb2009-o3"}
	var page strings.Builder
	if err := report.Markdown(&page, "frontier"); err != nil {
		t.Fatal(err)
	}
	golden(t, "page.md", page.String())
	golden(t, "plot.svg", results[1].Plot())
}

// A policy whose label has signs of XML, values that are all alike, and none at all are drawn too.
func TestPlotOfLittle(t *testing.T) {
	t.Parallel()
	odd := variant(`nas{"a":"<&>"}`, 0.8, 70)
	for _, variants := range [][]frontier.Variant{{odd}, {variant("fair", 0.05, 0), variant("num", 0.05, 0)}, {variant("fair", 0.05, 500)}} {
		r := frontier.NewResult(setup(t, "fb2010-o5"), variants)
		plot := r.Plot()
		if strings.Contains(plot, "NaN") || strings.Contains(plot, "Inf") || strings.Contains(plot, "<&") {
			t.Error(plot)
		}
	}
}

// At most half of the workloads are for training; of each kind that is wanted there is one, and all can be simulated.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	all := frontier.Workloads()
	training := 0
	names := map[string]bool{}
	for i := range all {
		w := &all[i]
		if w.Training {
			training++
		}
		if names[w.Name] || w.Doc == "" {
			t.Errorf("%s is there twice, or says nothing", w.Name)
		}
		names[w.Name] = true
		if err := w.Cluster.Validate(); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
		if w.Trace() != "" {
			continue
		}
		if _, err := w.Select(nil, 0.002); err != nil {
			t.Error(err)
		}
	}
	if len(all) < 15 || len(all)-training < 8 {
		t.Errorf("%d workloads, %d for training", len(all), training)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	trace := &workload.Workload{}
	for i := range 10 {
		j := workload.Job{Submit: model.Time(1000 * i), Stages: []workload.Stage{{Cost: workload.Cost{Fixed: 3, PerGiB: 5}}}}
		trace.Jobs = append(trace.Jobs, j)
	}
	w := frontier.Workload{Name: "w", Source: "trace.tsv", Skip: 4, Jobs: 5, Compute: 2}
	got, err := w.Select(trace, 0.6)
	if err != nil || len(got.Jobs) != 3 || got.Jobs[0].Submit != 0 || got.Jobs[2].Submit != 2000 || got.Jobs[1].Stages[0].Cost != (workload.Cost{Fixed: 6, PerGiB: 10}) {
		t.Errorf("%v: %+v", err, got)
	}
	if j := trace.Jobs[5]; j.Submit != 5000 || j.Stages[0].Cost.Fixed != 3 {
		t.Errorf("changes the trace: %+v", j)
	}
	trace.Jobs[5].Parents = []int{1}
	if _, err := w.Select(trace, 1); err == nil || !strings.Contains(err.Error(), "which may be left out") {
		t.Error(err)
	}
	w.Skip = 10
	if _, err := w.Select(trace, 1); err == nil || !strings.Contains(err.Error(), "trace.tsv has 10 jobs") {
		t.Error(err)
	}
}

func newPolicy(tb testing.TB, name, params string) *frontier.Policy {
	tb.Helper()
	e, ok := builtin.Registry().Lookup(name)
	if !ok {
		tb.Fatal("no policy " + name)
	}
	return &frontier.Policy{Name: name, Label: name, Params: json.RawMessage(params), New: func() (policy.Policy, error) { return e.New(json.RawMessage(params)) }}
}

// A result is the same when it is read from its file; a file that is cut, changed or of another run is refused.
func TestRunEncodes(t *testing.T) {
	t.Parallel()
	s, p := setup(t, "fb2010-o5"), newPolicy(t, "fair", "{}")
	spec := s.Spec(p, 0.8, 3)
	r, err := s.Run(&spec, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Finished != len(s.Work.Jobs) || r.JCT.Mean <= 0 || r.Makespan <= 0 {
		t.Errorf("%+v", r)
	}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := frontier.Decode(text, &spec)
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if r.PerJob != nil {
		t.Error("each job of a run that nothing is compared with")
	}
	other := s.Spec(p, 1, 3)
	for want, broken := range map[string]string{ // order-free: each on its own
		"no result of a run: unexpected EOF": string(text[:len(text)/2]),
		"no result of a run: EOF":            "",
		"unknown field":                      strings.Replace(string(text), `"jobs"`, `"jbos"`, 1),
		"lacks fields or has more":           string(text) + string(text),
		"lacks fields":                       string(text[:strings.LastIndex(string(text), `,"placements"`)]) + "}\n",
	} {
		if _, err := frontier.Decode([]byte(broken), &spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := frontier.Decode(text, &other); err == nil || !strings.Contains(err.Error(), "the result of another run") {
		t.Error(err)
	}
	if _, err := s.Run(&spec, p, func() bool { return false }); err == nil {
		t.Error("does not stop")
	}
}

// A result of weave, and of fair with Hadoop's slowstart, has what came of each job.
func TestRunPerJob(t *testing.T) {
	t.Parallel()
	s := setup(t, "fb2010-o5")
	for _, name := range []string{"weave", "fair"} {
		p := newPolicy(t, name, "{}")
		spec := s.Spec(p, 0.05, 1)
		r, err := s.Run(&spec, p, nil)
		if err != nil || r.PerJob == nil || len(r.PerJob.JCT) != len(s.Work.Jobs) || slices.Min(r.PerJob.JCT) <= 0 {
			t.Fatalf("%s: %v, %+v", name, err, r.PerJob)
		}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := frontier.Decode(text, &spec)
		if diff := cmp.Diff(r, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// Whatever a result depends on, another value of it gives another name.
func TestFileName(t *testing.T) {
	t.Parallel()
	s, p := setup(t, "fb2010-o5"), newPolicy(t, "fair", "{}")
	more, err := s.Select(nil, 0.003)
	if err != nil {
		t.Fatal(err)
	}
	wider := *s.Workload
	wider.Cluster.BackgroundMoves = model.Minute
	seen := map[string]bool{}
	add := func(spec frontier.Spec) {
		name, err := spec.FileName()
		if err != nil || seen[name] || strings.ContainsAny(name, `/\ `) {
			t.Errorf("%s, %v", name, err)
		}
		seen[name] = true
	}
	add(s.Spec(p, 0.05, 1))
	add(s.Spec(p, 0.05, 2))
	add(s.Spec(p, 0.8, 1))
	add(s.Spec(newPolicy(t, "fair", `{"a":1}`), 0.05, 1))
	add(s.Spec(newPolicy(t, "num", "{}"), 0.05, 1))
	for _, changed := range []struct {
		w    *frontier.Workload
		work *workload.Workload
	}{{s.Workload, more}, {&wider, s.Work}} {
		other, err := frontier.NewSetup(changed.w, changed.work)
		if err != nil {
			t.Fatal(err)
		}
		add(other.Spec(p, 0.05, 1))
	}
	for _, of := range frontier.Perturbations()[1:] {
		perturbed, err := s.Perturb(&of)
		if err != nil {
			t.Fatal(err)
		}
		spec := perturbed.Spec(p, 0.05, 1)
		add(spec)
		spec.Perturbation = "another name" // what it is counts, too
		if plain := s.Spec(p, 0.05, 1); spec.Setup == plain.Setup {
			t.Errorf("%s has the digest of no perturbation", of.Name)
		}
	}
	if spec := s.Spec(p, 0.05, 1); spec.Format != 1 {
		t.Error("a new format: raise the number here")
	}
	if got := newPolicy(t, "weave", "{}").Slowstarts([]float64{0.8, 1}); !slices.Equal(got, []float64{0.05}) {
		t.Errorf("weave runs with slowstart %v", got)
	}
}
