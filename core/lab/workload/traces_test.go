package workload_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// trace reads a public trace with a sizing (algorithms 5.1).
func trace(t *testing.T, name string, z workload.Sizing) *workload.Workload {
	t.Helper()
	folder := os.Getenv("HEDDLE_TRACES")
	if folder == "" {
		t.Skip("HEDDLE_TRACES is not set: point it at a folder with the .tsv files of workloadSuite/ of SWIMProjectUCB/SWIM to check the reader against the published statistics")
	}
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opts := workload.DefaultSWIMOptions()
	opts.File, opts.Sizing = name, z
	w, err := workload.ReadSWIM(f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

const (
	fb2009 = "FB-2009_samples_24_times_1hr_0.tsv"
	fb2010 = "FB-2010_samples_24_times_1hr_0.tsv"
)

// sizes are one number of every job, in ascending order.
func sizes(w *workload.Workload, of func(j *workload.Job) int64) []int64 {
	all := make([]int64, len(w.Jobs))
	for i := range w.Jobs {
		all[i] = of(&w.Jobs[i])
	}
	slices.Sort(all)
	return all
}

func input(j *workload.Job) int64   { return int64(j.Input()) }
func shuffle(j *workload.Job) int64 { return int64(j.Shuffle()) }
func output(j *workload.Job) int64  { return int64(j.Output()) }
func maps(j *workload.Job) int64    { return int64(j.Stages[0].Tasks) }

func reduces(j *workload.Job) int64 {
	if len(j.Stages) < 2 {
		return 0
	}
	return int64(j.Stages[1].Tasks)
}

func sum(all []int64) int64 {
	var s int64
	for _, v := range all {
		s += v
	}
	return s
}

// at returns the quantile at p, the value of rank p·n from below.
func at(sorted []int64, p float64) int64 {
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// perHour counts jobs by the hour of their submission.
func perHour(w *workload.Workload) []int {
	hours := make([]int, 25)
	for _, j := range w.Jobs {
		hours[j.Submit/model.Time(60*model.Minute)]++
	}
	return hours
}

// smallInput counts the jobs that NAS calls small: below 10 MiB.
func smallInput(w *workload.Workload) int {
	n, _ := slices.BinarySearch(sizes(w, input), int64(10*model.MiB))
	return n
}

func publishedHours() []int { // algorithms 6
	return []int{
		977, 1600, 1037, 1589, 1039, 635, 856, 1677, 1111, 1202, 370, 1132,
		1582, 852, 2, 1303, 672, 930, 811, 1253, 760, 1541, 813, 693, 5,
	}
}

// The reader reproduces the table of FB-2010 (algorithms 6) exactly.
func TestFB2010(t *testing.T) {
	t.Parallel()
	w := trace(t, fb2010, workload.DefaultSizing())
	got := w.Describe()
	want := workload.Summary{
		Jobs: 24442, Classes: workload.ClassCounts{Light: 16792, Medium: 3074, Heavy: 4576},
		Stages: 24442 + 16118, Tasks: got.Tasks, Users: 200,
		Input: 1_082_621_755_403_831, Shuffle: 437_891_230_970_678, Output: 339_413_094_842_194,
		SpanS: 86399,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-published +read):\n%s", diff)
	}
	if n := smallInput(w); n != 12226 {
		t.Errorf("%d jobs with small input, published 12,226", n)
	}
	if diff := cmp.Diff(publishedHours(), perHour(w)); diff != "" {
		t.Errorf("jobs per hour (-published +read):\n%s", diff)
	}
	for _, tc := range []struct {
		name  string
		of    func(*workload.Job) int64
		zeros int
		most  int64 // as published, in units of 1e9 bytes
	}{{"input", input, 418, 11718}, {"shuffle", shuffle, 8324, 29792}, {"output", output, 1136, 85090}} {
		all := sizes(w, tc.of)
		if zeros, _ := slices.BinarySearch(all, 1); zeros != tc.zeros || (all[len(all)-1]+5e8)/1e9 != tc.most {
			t.Errorf("%s: %d jobs have none, the largest %d bytes; published %d and %de9", tc.name, zeros, all[len(all)-1], tc.zeros, tc.most)
		}
	}
}

// Tasks of FB-2010 as algorithms 6 counts them.
func TestFB2010Tasks(t *testing.T) {
	t.Parallel()
	z := workload.DefaultSizing()
	z.SWIMNodes = workload.MaxTasks // SWIM's formula without its cap, as counted there
	w := trace(t, fb2010, z)
	m, r := sizes(w, maps), sizes(w, reduces)
	single, _ := slices.BinarySearch(m, 2)
	got := []int64{sum(m), at(m, .5), at(m, .9), at(m, .99), m[len(m)-1], int64(1000*single) / int64(len(m)), sum(r), r[len(r)-1]}
	if want := []int64{8_084_865, 1, 228, 8_300, 87_307, 645, 594_186, 79_307}; !slices.Equal(got, want) {
		t.Errorf("got %d, published %d (one map: 64.5 %%)", got, want)
	}
	z.Block, z.PerReduce = 64*model.MiB, 256*model.MiB
	w = trace(t, fb2010, z)
	m, r = sizes(w, maps), sizes(w, reduces)
	if sum(m) != 16_150_741 || m[len(m)-1] != 174_613 || (sum(r)+5000)/10_000 != 234 {
		t.Errorf("64 MiB: %d maps, %d at most; 256 MiB: %d reduces; published 16,150,741, 174,613 and 2.34 million", sum(m), m[len(m)-1], sum(r))
	}
}

// FB-2009 (algorithms 6, last paragraph).
func TestFB2009(t *testing.T) {
	t.Parallel()
	w := trace(t, fb2009, workload.DefaultSizing())
	got := w.Describe()
	share := func(n int) float64 { return float64((n*100_00+got.Jobs/2)/got.Jobs) / 100 } // percent, two digits
	shares := []float64{share(got.Classes.Light), share(got.Classes.Medium), share(got.Classes.Heavy), share(smallInput(w))}
	if want := []float64{84.12, 6.75, 9.13, 81.40}; !slices.Equal(shares, want) {
		t.Errorf("light, medium, heavy, small input: got %v, published %v", shares, want)
	}
	if got.Jobs != 5894 || (got.Input+5e9)/1e10 != 2689 || (got.Shuffle+5e9)/1e10 != 2222 {
		t.Errorf("got %d jobs, %d and %d bytes; published 5,894, 2.689e13 and 2.222e13", got.Jobs, got.Input, got.Shuffle)
	}
}

// A workload is kept in kilobytes per hundred jobs: nothing is stored per task.
func TestSizeInMemory(t *testing.T) { // others would allocate beside it
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w, err := workload.Synth("synth:fb2010")
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	perJob := int(after.HeapAlloc-before.HeapAlloc) / len(w.Jobs)
	t.Logf("%d jobs, %d tasks, %d bytes a job", len(w.Jobs), w.Describe().Tasks, perJob)
	if perJob > 700 {
		t.Errorf("%d bytes a job, want at most 700", perJob)
	}
	runtime.KeepAlive(w)
}
