package workload_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

func synth(t *testing.T, spec string) *workload.Workload {
	t.Helper()
	w, err := workload.Synth(spec)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSynthErrors(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"fb2010":                         `workload "fb2010": want synth:NAME[,key=value…]`,
		"synth:":                         `no generator is called ""; there are dawn-ml, dawn-tpch, fb2010, lognormal, shufflewatcher`,
		"synth:fb2011":                   `no generator is called "fb2011"; there are dawn-ml, dawn-tpch, fb2010, lognormal, shufflewatcher`,
		"synth:fb2010,job=3":             `fb2010 has no key "job"; it has jobs, seed, users, scale, block_mib, reduce_mib, racks, skew`,
		"synth:fb2010,":                  `"": want key=value`,
		"synth:fb2010,jobs":              `"jobs": want key=value`,
		"synth:fb2010,jobs=3,jobs=4":     `key jobs is there twice`,
		"synth:fb2010,jobs=0":            `jobs=0: want a whole number, 1 to 1000000`,
		"synth:fb2010,jobs=1e3":          `jobs=1e3: want a whole number, 1 to 1000000`,
		"synth:fb2010,jobs=-1":           `jobs=-1: want a whole number`,
		"synth:fb2010,scale=NaN":         `scale=NaN: want a number, 1e-06 to 100`,
		"synth:fb2010,seed=x":            `seed=x: want a whole number, 0 to 9007199254740992`,
		"synth:shufflewatcher,mix=4":     `mix=4: want one of 1, 2, 3`,
		"synth:dawn-tpch,form=spark":     `form=spark: want one of tez, mr`,
		"synth:shufflewatcher,mix=1,a=b": `shufflewatcher has no key "a"; it has mix, users, jobs_per_user, mean_s, arrivals, scale, seed,`,
		"synth:shufflewatcher,users=10000,jobs_per_user=1000": `users times jobs_per_user is 10000000; want at most 1000000`,
		"synth:fb2010,scale=100,block_mib=1,jobs=24442":       `tasks: want 1 to 67108864`,
	} {
		if _, err := workload.Synth(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", spec, err, want)
		}
	}
}

// Every generator: the same seed gives the same workload, another seed another
// one, defaults are among what keys allow, users and sizing keys do what they say.
func TestGenerators(t *testing.T) {
	t.Parallel()
	for _, g := range workload.Generators() {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			spec := workload.SynthPrefix + g.Name
			small := ""
			if g.Name == "fb2010" {
				small = ",jobs=500"
			}
			pairs := []string{spec + small}
			for _, k := range g.Keys {
				if k.Name != "jobs" && k.Name != "seed" {
					pairs = append(pairs, k.Name+"="+k.Default)
				}
			}
			explicit := strings.Join(pairs, ",")
			one, same, other := synth(t, explicit), synth(t, explicit), synth(t, explicit+",seed=2")
			if !cmp.Equal(one, same) {
				t.Error("the same keys give two workloads")
			}
			if cmp.Equal(one.Jobs, other.Jobs) {
				t.Error("another seed gives the same jobs")
			}
			if !cmp.Equal(one.Jobs, synth(t, spec+small).Jobs) {
				t.Error("the defaults, written out, give other jobs")
			}
			blocks := synth(t, spec+small+",block_mib=16,reduce_mib=32")
			if a, b := one.Describe(), blocks.Describe(); b.Tasks <= a.Tasks || b.Input != a.Input || b.Shuffle != a.Shuffle {
				t.Errorf("smaller blocks: from %+v to %+v", a, b)
			}
			checkPlaces(t, synth(t, spec+small+",racks=3,skew=1"))
		})
	}
}

// checkPlaces wants every input of a job on three racks, and skewed reduces.
func checkPlaces(t *testing.T, w *workload.Workload) {
	t.Helper()
	onRacks, skewed := 0, 0
	for _, j := range w.Jobs {
		for _, s := range j.Stages {
			for _, f := range s.Reads {
				if f.Place == workload.OnRacks && f.Racks == 3 {
					onRacks++
				} else if f.Place != workload.OfParent {
					t.Fatalf("job %s reads %+v", j.ID, f)
				}
			}
			if len(s.Edges) > 0 && s.Skew == 1 {
				skewed++
			}
		}
	}
	if onRacks == 0 || skewed == 0 {
		t.Errorf("%d files on racks, %d skewed stages", onRacks, skewed)
	}
}

// near checks a value against a published one with a relative tolerance.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: got %.4g, published %.4g, tolerance %g %%", what, got, want, 100*tolerance)
	}
}

// The generated FB-2010 against the table of algorithms 6. Counts are exact;
// sums within 1 %, quantiles within 5 % (10 % from p99.9 on), the largest jobs'
// share of the shuffle within one point, for every seed.
func TestFB2010Generator(t *testing.T) {
	t.Parallel()
	for _, seed := range []string{"1", "2", "3"} {
		w := synth(t, "synth:fb2010,seed="+seed)
		got := w.Describe()
		if want := (workload.ClassCounts{Light: 16792, Medium: 3074, Heavy: 4576}); got.Classes != want || smallInput(w) != 12226 || got.Users != 200 {
			t.Errorf("got %+v, %d with small input, %d users; published %+v, 12,226, 200", got.Classes, smallInput(w), got.Users, want)
		}
		if diff := cmp.Diff(publishedHours(), perHour(w)); diff != "" {
			t.Errorf("jobs per hour (-published +got):\n%s", diff)
		}
		near(t, "input bytes", float64(got.Input), 1.082621755e15, .01)
		near(t, "shuffle bytes", float64(got.Shuffle), 4.37891231e14, .01)
		near(t, "output bytes", float64(got.Output), 3.39413095e14, .01)
		near(t, "maps", float64(sum(sizes(w, maps))), 8_084_865, .01)
		checkQuantiles(t, w)
		checkConcentration(t, sizes(w, shuffle))
		checkDependence(t, w)
	}
}

func checkQuantiles(t *testing.T, w *workload.Workload) {
	t.Helper()
	ps := []float64{.05, .1, .25, .5, .75, .9, .95, .99, .999}
	for _, tc := range []struct {
		name  string
		of    func(*workload.Job) int64
		zeros int
		want  []float64
		most  float64
	}{
		{"input", input, 418, []float64{111, 533, 15_766, 10_441_553, 1.743e9, 3.057e10, 1.311e11, 1.114e12, 4.085e12}, 1.1718e13},
		{"shuffle", shuffle, 8324, []float64{0, 0, 0, 856, 14_754_937, 7.884e8, 7.143e9, 2.271e11, 3.063e12}, 2.9792e13},
		{"output", output, 1136, []float64{20, 136, 780, 60_651, 1.704e7, 1.113e9, 5.687e9, 1.319e11, 1.943e12}, 8.5090e13},
	} {
		all := sizes(w, tc.of)
		for i, p := range ps {
			tolerance := .05
			if p > .99 {
				tolerance = .1
			}
			near(t, tc.name+" quantile", float64(at(all, p)), tc.want[i], tolerance)
		}
		near(t, tc.name+" maximum", float64(all[len(all)-1]), tc.most, .001)
		if zeros, _ := slices.BinarySearch(all, 1); zeros != tc.zeros {
			t.Errorf("%s: %d jobs have none, published %d", tc.name, zeros, tc.zeros)
		}
	}
}

func checkConcentration(t *testing.T, all []int64) {
	t.Helper()
	total := float64(sum(all))
	for top, want := range map[int]float64{1: 6.8, 3: 20, 10: 30.6, 24: 42.3, 100: 71.5, 244: 87.6, 1000: 98.6} {
		if got := 100 * float64(sum(all[len(all)-top:])) / total; math.Abs(got-want) > 1 {
			t.Errorf("the %d largest jobs have %.1f %% of the shuffle, published %.1f", top, got, want)
		}
	}
}

// checkDependence checks how input and shuffle hang together. They are drawn
// within coarse classes: the shares of the input are within 5 points, of jobs
// that shuffle more than they read within 4, the quantiles of the ratio within
// a factor of 2 up to p90. So is the median output of light, medium and heavy
// jobs, and of those that shuffle nothing, as counted in the trace.
func checkDependence(t *testing.T, w *workload.Workload) {
	t.Helper()
	var byClass [3]float64
	var outputs [4][]int64 // of the classes, and of the jobs without shuffle
	var ratios []float64
	noInput, more := 0, 0
	for i := range w.Jobs {
		in, sh := float64(w.Jobs[i].Input()), float64(w.Jobs[i].Shuffle())
		class := workload.ClassOf(model.Bytes(sh))
		byClass[class] += in
		outputs[class] = append(outputs[class], output(&w.Jobs[i]))
		if sh == 0 {
			outputs[3] = append(outputs[3], output(&w.Jobs[i]))
		}
		if in > 0 {
			ratios = append(ratios, sh/in)
		} else if sh > 0 {
			noInput++
		}
		if sh > in {
			more++
		}
	}
	total := byClass[0] + byClass[1] + byClass[2]
	for c, want := range []float64{33.7, 4.3, 62.0} {
		if got := 100 * byClass[c] / total; math.Abs(got-want) > 5 {
			t.Errorf("%v jobs read %.1f %% of the input, published %.1f", workload.Class(c), got, want)
		}
	}
	if got := 100 * float64(more) / float64(len(w.Jobs)); math.Abs(got-20.9) > 4 {
		t.Errorf("%.1f %% of the jobs shuffle more than they read, published 20.9", got)
	}
	if noInput < 5 || noInput > 15 {
		t.Errorf("%d jobs shuffle without input, published 9", noInput)
	}
	for i, want := range []int64{30_187, 79_452, 88_923_957, 1_011_436} {
		slices.Sort(outputs[i])
		if got := at(outputs[i], .5); got < want/2 || got > want*2 {
			t.Errorf("median output of group %d: got %d, in the trace %d", i, got, want)
		}
	}
	slices.Sort(ratios)
	for p, want := range map[float64]float64{.5: .029, .75: .744, .9: 2.06} {
		if got := ratios[int(p*float64(len(ratios)))]; got < want/2 || got > want*2 {
			t.Errorf("shuffle/input at p%g: got %.3g, published %.3g", 100*p, got, want)
		}
	}
}

// Fewer jobs keep the shares; scale multiplies bytes and keeps classes apart.
func TestFB2010Keys(t *testing.T) {
	t.Parallel()
	w := synth(t, "synth:fb2010,jobs=1000,users=7")
	got := w.Describe()
	if want := (workload.ClassCounts{Light: 687, Medium: 126, Heavy: 187}); got.Classes != want || got.Jobs != 1000 || got.Users != 7 {
		t.Errorf("got %+v, want %+v of 1,000", got, want)
	}
	tenth := synth(t, "synth:fb2010,jobs=1000,users=7,scale=0.1").Describe()
	near(t, "a tenth of the input", float64(tenth.Input), float64(got.Input)/10, 1e-6)
	near(t, "a tenth of the shuffle", float64(tenth.Shuffle), float64(got.Shuffle)/10, 1e-6)
	if one := synth(t, "synth:fb2010,jobs=1"); len(one.Jobs) != 1 {
		t.Errorf("got %d jobs, want 1", len(one.Jobs))
	}
}

// The documentation names every generator and every key with its default.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(data), "\n### ")
	for _, g := range workload.Generators() {
		i := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, "`"+g.Name+"`") })
		if i < 0 {
			t.Errorf("docs/workloads.md has no section ### `%s`", g.Name)
			continue
		}
		for _, k := range g.Keys {
			if row := "| `" + k.Name + "` | " + k.Default + " | " + k.Doc + " | " + k.Allowed() + " |"; !strings.Contains(sections[i], row) {
				t.Errorf("docs/workloads.md, %s: no row\n%s", g.Name, row)
			}
		}
	}
}

// The example of the format in the documentation is one.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	w, err := read(example, false)
	if err != nil || len(w.Jobs) != 2 {
		t.Errorf("got %+v, %v", w, err)
	}
	_, rest, _ = strings.Cut(string(data), "```\n")
	example, _, _ = strings.Cut(rest, "```")
	if w, err = swim(t, example); err != nil || len(w.Jobs) != 2 {
		t.Errorf("got %+v, %v", w, err)
	}
}
