package frontier_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/frontier"
	"heddle/core/lab/sim"
	"heddle/core/model"
)

// perJob returns a variant with a run for each seed, of which it has what came of each job.
func perJob(name string, slowstart float64, runs ...frontier.PerJob) frontier.Variant {
	v := variant(name, slowstart, make([]float64, len(runs))...)
	for i := range runs {
		v.Runs[i].PerJob = &runs[i]
	}
	return v
}

func windows(n int, below, least float64, of string, p05 float64) sim.ShareWindows {
	w := sim.ShareWindows{Count: 3, Windows: n, WindowsBelow: below, Least: least, LeastOf: of, P05: p05}
	if below > 0 {
		w.CountBelow = 1
	}
	return w
}

// Jobs are compared with the same seed of fair, by whether their user had more than its share under weave; figures of shares
// are the worst ones of all seeds.
func TestFairness(t *testing.T) {
	t.Parallel()
	s := setup(t, "fb2010-o5") // of four jobs
	weave := perJob("weave", 0.05,
		frontier.PerJob{
			JCT: []float64{31, 30, 100, 7}, More: []int{2},
			Shares: sim.Shares{Users: windows(10, 0, 0.95, "ann", 1), Queues: windows(5, 0.2, 0.8, "q", 0.9)},
		},
		frontier.PerJob{JCT: []float64{10, 45, 10, -1}, Shares: sim.Shares{Users: windows(30, 0.4, 0.5, "bob", 0.7)}})
	fair := perJob("fair", 0.05,
		frontier.PerJob{JCT: []float64{10, 10, 10, -1}, Shares: sim.Shares{Users: windows(8, 0, 0.99, "ann", 1)}},
		frontier.PerJob{JCT: []float64{20, 10, 40, 9}})
	r := frontier.NewResult(s, []frontier.Variant{perJob("fair", 1, frontier.PerJob{}, frontier.PerJob{}), fair, weave})
	want := &frontier.Fairness{
		Shares: sim.Shares{
			Users:  sim.ShareWindows{Count: 3, CountBelow: 1, Windows: 40, WindowsBelow: 0.3, Least: 0.5, LeastOf: "bob", P05: 0.7},
			Queues: windows(5, 0.2, 0.8, "q", 0.9),
		},
		OfFair: sim.Shares{Users: windows(8, 0, 0.99, "ann", 1)},
		// 31, 30 of 10 with the first seed, the latter not beyond; 10 of 20, 45 of 10, 10 of 40 with the second.
		Jobs: frontier.LongerJobs{Jobs: 5, Beyond: 2, Largest: 4.5, LargestOf: string(s.Work.Jobs[1].ID), AtSubject: 45, AtFair: 10},
		More: frontier.LongerJobs{Jobs: 1, Beyond: 1, Largest: 10, LargestOf: string(s.Work.Jobs[2].ID), AtSubject: 100, AtFair: 10},
	}
	if diff := cmp.Diff(want, r.Fairness); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, v := range r.Variants {
		if v.Runs[0].PerJob != nil {
			t.Error("the report keeps each job")
		}
	}
	report := frontier.NewReport([]frontier.Result{r}, 1, 2)
	var page strings.Builder
	if err := report.Markdown(&page, "frontier"); err != nil {
		t.Fatal(err)
	}
	row := "| fb2010-o5 | 0.50, 0.70, 30.0 % | 0.99, 1.00, 0.0 % | 0.80, 0.90, 20.0 % | no windows | 2 of 5 | 4.50 (10.0 to 45.0 s) | 1 of 1 |\n"
	if !strings.Contains(page.String(), row) {
		t.Errorf("no %q in %s", row, page.String())
	}
	for _, without := range [][]frontier.Variant{{perJob("weave", 0.05, frontier.PerJob{})}, {perJob("weave", 0.05, frontier.PerJob{}), perJob("fair", 1, frontier.PerJob{})}} {
		if r := frontier.NewResult(s, without); r.Fairness != nil {
			t.Errorf("compared with no fair: %+v", r.Fairness)
		}
	}
}

// Every perturbation runs, and what is simulated of it changes what comes of a run.
func TestPerturb(t *testing.T) {
	t.Parallel()
	s := setupPart(t, "fb2010-o5", 0.02) // of some half an hour: racks are lost after ten minutes
	p := newPolicy(t, "weave", "{}")
	seen := map[string]string{}
	for _, of := range frontier.Perturbations() {
		perturbed, err := s.Perturb(&of)
		if err != nil {
			t.Fatal(err)
		}
		spec := perturbed.Spec(p, 0.05, 2)
		if want := of.Name; want != "none" && spec.Perturbation != want || want == "none" && spec.Perturbation != "" {
			t.Errorf("%s is named %q", want, spec.Perturbation)
		}
		r, err := perturbed.Run(&spec, p, nil)
		if err != nil || r.Finished != len(s.Work.Jobs) || of.Doc == "" {
			t.Errorf("%s: %v, %d jobs finished", of.Name, err, r.Finished)
		}
		figures := fmt.Sprint(r.PerJob.JCT, r.CrossRack, r.Placements)
		if seen[figures] != "" {
			t.Errorf("%s comes to the same as %s", of.Name, seen[figures])
		}
		seen[figures] = of.Name
	}
	if s.Work.Jobs[0].Stages[1].Skew != 0 {
		t.Error("a perturbation changes the jobs of others")
	}
}

// perturbedRuns returns three variants with a mean time and traffic each.
func perturbedRuns(weave, fair, delay float64, traffic [3]float64) []frontier.Variant {
	v := []frontier.Variant{variant("weave", 0.05, weave), variant("fair", 0.05, fair), variant("delay", 0.05, delay)}
	for i := range v {
		v[i].Runs[0].CrossRack.Total = model.Bytes(1e9 * traffic[i])
		v[i].Runs[0].Finished = 4
	}
	return v
}

// Under perturbations the mean is compared with fair's, and traffic with delay's, which may be exceeded by 3 %.
func TestRobustness(t *testing.T) {
	t.Parallel()
	failing := perturbedRuns(9, 10, 1, [3]float64{9, 9, 9})
	failing[2].Runs[0].Finished = 3
	r := &frontier.Robustness{Scale: 0.5, Seeds: 1, Missing: []string{"fb2009-o3"}, Results: []frontier.PerturbedResult{
		frontier.NewPerturbedResult("a", "none", perturbedRuns(10, 10, 1, [3]float64{103, 50, 100})),
		frontier.NewPerturbedResult("a", "node-loss", nil),
		frontier.NewPerturbedResult("b", "none", perturbedRuns(40, 10, 100, [3]float64{103.5, 200, 100})),
		frontier.NewPerturbedResult("b", "node-loss", failing),
	}}
	for i, want := range [][]bool{{true, true}, nil, {false, false}, {true, true}} {
		var met []bool
		for _, c := range r.Results[i].Comparisons {
			met = append(met, c.Met)
		}
		if diff := cmp.Diff(want, met); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
	var page strings.Builder
	if err := r.Markdown(&page); err != nil {
		t.Fatal(err)
	}
	golden(t, "robust.md", page.String())
}

// What is left without a part is compared with the whole on each workload.
func TestAblations(t *testing.T) {
	t.Parallel()
	var a, b []frontier.Variant
	for i, of := range frontier.Ablations() {
		p := newPolicy(t, "weave", of.Params)
		if _, err := p.New(); err != nil {
			t.Errorf("%s: %v", of.Name, err)
		}
		a = append(a, variant("weave", 0.05, 100+float64(i)))
		b = append(b, variant("weave", 0.05, 50*4/float64(4+i)))
	}
	r := frontier.NewAblationReport([]string{"a", "b"}, [][]frontier.Variant{a, b}, 1, 2)
	m := r.Results[3].Metrics[0] // the fourth part: 1.04, and 1/2
	if m.Metric != "jct_mean_s" || m.Largest != 1.04 || m.LargestOn != "a" || m.Least != 0.5 || m.LeastOn != "b" || m.Mean < 0.7211 || m.Mean > 0.7212 || len(m.Ratios) != 2 {
		t.Errorf("%+v", m)
	}
	var page strings.Builder
	if err := r.Markdown(&page); err != nil {
		t.Fatal(err)
	}
	golden(t, "ablations.md", page.String())
}
