package workload_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

func swim(t *testing.T, text string, change ...func(*workload.SWIMOptions)) (*workload.Workload, error) {
	t.Helper()
	opts := workload.DefaultSWIMOptions()
	opts.File = "t.tsv"
	for _, f := range change {
		f(&opts)
	}
	return workload.ReadSWIM(strings.NewReader(text), opts)
}

func TestReadSWIM(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/swim.tsv")
	if err != nil {
		t.Fatal(err)
	}
	w, err := swim(t, string(data), func(o *workload.SWIMOptions) { o.Name, o.Users = "fb", 1 })
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		id                     workload.JobID
		submit                 model.Time
		maps, reduces          int
		input, shuffle, output model.Bytes
	}
	var got []row
	for i := range w.Jobs {
		j := &w.Jobs[i]
		r := row{j.ID, j.Submit, j.Stages[0].Tasks, 0, j.Input(), j.Shuffle(), j.Output()}
		if len(j.Stages) > 1 {
			r.reduces = j.Stages[1].Tasks
		}
		if j.User != "user001" || j.Queue != workload.DefaultQueue {
			t.Errorf("job %s: user %q, queue %q", j.ID, j.User, j.Queue)
		}
		got = append(got, r)
	}
	want := []row{
		{"job0", 9000, 1, 0, 1762, 0, 14347},
		{"job1", 18000, 1, 1, 970, 609, 697},
		{"job2", 20000, 396, 1, 53088744165, 1510005522, 5759777}, // 395.5 blocks, 1.41 GiB
		{"job3", 20000, 1, 0, 0, 0, 120},                          // no input: one map
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.Name != "fb" || w.Skipped != nil {
		t.Errorf("name %q, skipped %v", w.Name, w.Skipped)
	}
}

func TestReadSWIMTakesPathsAndLineEnds(t *testing.T) {
	t.Parallel()
	w, err := swim(t, "a\t1\t1\t5\t0\t5\t/in/1\r\n\nb\t2\t1\t5\t0\t5\t/in/1\t/out/2")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 2 || w.Jobs[1].Output() != 5 {
		t.Errorf("got %+v", w.Jobs)
	}
	// The first lines of FB-2010_samples_24_times_1hr_withInputPaths_0.tsv: after the input path
	// comes an empty output path, and a tab at the end.
	w, err = swim(t, "job0\t1\t1\t2267942\t0\t1937944\tinputPath1\t\t\njob1\t2\t1\t20791551476\t12295202125\t1491950225\tinputPath2\t\t\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 2 || w.Jobs[1].Shuffle() != 12295202125 {
		t.Errorf("got %+v", w.Jobs)
	}
}

// Reduces: one for each begun GiB; SWIM's rule rounds, and jumps to a fifth of
// the nodes above their number (algorithms 3.3).
func TestReduces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		nodes           int
		shuffle, output model.Bytes
		want            int
	}{
		{0, 0, model.GiB, 0},
		{0, 1, 0, 1},
		{0, model.GiB, 0, 1},
		{0, model.GiB + 1, 0, 1},
		{0, model.GiB, model.GiB / 2, 2},
		{0, 1, 700 * model.GiB, 700},
		{600, model.GiB, model.GiB / 4, 1},
		{600, model.GiB, model.GiB / 2, 2},
		{600, 1, 0, 1},
		{600, 600 * model.GiB, 0, 600},
		{600, 601 * model.GiB, 0, 120},
		{3, 9 * model.GiB, 0, 1},
		{600, 0, model.GiB, 0},
	} {
		z := workload.DefaultSizing()
		z.SWIMNodes = tc.nodes
		if got := z.Reduces(tc.shuffle, tc.output); got != tc.want {
			t.Errorf("%d nodes, %d bytes of shuffle, %d of output: got %d, want %d", tc.nodes, tc.shuffle, tc.output, got, tc.want)
		}
	}
}

const goodRow = "a\t1\t1\t5\t6\t7\n"

func TestReadSWIMErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text   string
		reason workload.Reason
		want   string
	}{
		"negative":             {goodRow + "b\t2\t1\t-5\t6\t7\n", workload.ReasonNegative, "t.tsv:2:7: map input (bytes) is -5, below zero"},
		"missing":              {goodRow + "b\t2\t1\t5\t\t7\n", workload.ReasonMissing, "t.tsv:2:9: shuffle (bytes) is empty"},
		"no number":            {"b\tx\t1\t5\t6\t7\n", workload.ReasonNumber, `t.tsv:1:3: submit time (s) is "x", no whole number`},
		"a fraction":           {"b\t1\t1\t5.5\t6\t7\n", workload.ReasonNumber, `t.tsv:1:7: map input (bytes) is "5.5", no whole number`},
		"too large":            {"b\t1\t1\t5\t6\t9007199254740993\n", workload.ReasonRange, "t.tsv:1:11: reduce output (bytes) is 9007199254740993; the largest number is 9007199254740992"},
		"far too large":        {"b\t1\t1\t5\t6\t99999999999999999999\n", workload.ReasonRange, "t.tsv:1:11: reduce output (bytes) is 99999999999999999999; the largest number is 9007199254740992"},
		"five columns":         {"b\t1\t1\t5\t6\n", workload.ReasonColumns, "t.tsv:1:1: 5 columns; a SWIM trace has job id"},
		"nine columns":         {"b\t1\t1\t5\t6\t7\tx\ty\tz\n", workload.ReasonColumns, "t.tsv:1:1: 9 columns"},
		"spaces, no tabs":      {"b 1 1 5 6 7\n", workload.ReasonColumns, "t.tsv:1:1: 1 columns"},
		"no id":                {"\t1\t1\t5\t6\t7\n", workload.ReasonMissing, "t.tsv:1:1: job id: is empty"},
		"an id twice":          {goodRow + goodRow, workload.ReasonDuplicate, `t.tsv:2:1: job id: an earlier job is called "a" too`},
		"not by time":          {"z\t9\t1\t5\t6\t7\n" + goodRow, workload.ReasonOrder, "t.tsv:2:3: submit time (s): 1000 ms is before the job above at 9000 ms; sort jobs by submit time"},
		"the far future":       {"b\t9007199254740992\t1\t5\t6\t7\n", workload.ReasonRange, "t.tsv:1:3: submit time (s): want 0 to 35184372088832"},
		"a byte that is none":  {"b\xff\t1\t1\t5\t6\t7\n", workload.ReasonSyntax, "t.tsv:1:1: job id is not UTF-8"},
		"a line without end":   {goodRow + strings.Repeat("x", workload.MaxLine+1), workload.ReasonTooLong, "t.tsv:2:1: 4194305 bytes, more than 4194304"},
		"too many maps to run": {"b\t1\t1\t9007199254740992\t6\t7\n", "", ""}, // 2^26 maps: just allowed
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := swim(t, tc.text)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var at *workload.RecordError
			if !errors.As(err, &at) || at.Reason != tc.reason || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			w, err := swim(t, tc.text, func(o *workload.SWIMOptions) { o.Lenient = true })
			if err != nil || len(w.Skipped) != 1 || w.Skipped[0].Reason != tc.reason || w.Skipped[0].Count != 1 {
				t.Errorf("lenient: got %+v, %v; want one skipped for %q", w, err, tc.reason)
			}
		})
	}
}

func TestReadSWIMLenient(t *testing.T) {
	t.Parallel()
	text := goodRow + "b\t2\t1\t-5\t6\t7\n" + "c\t2\n" + "d\t3\t1\t5\t6\t-7\n" + "e\t4\t1\t5\t6\t7\n" + "a\t5\t1\t5\t6\t7\n"
	w, err := swim(t, text, func(o *workload.SWIMOptions) { o.Lenient = true })
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Skip{
		{Reason: workload.ReasonColumns, Count: 1, Line: 3},
		{Reason: workload.ReasonNegative, Count: 2, Line: 2},
		{Reason: workload.ReasonDuplicate, Count: 1, Line: 6},
	}
	if diff := cmp.Diff(want, w.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(w.Jobs) != 2 || w.Jobs[1].ID != "e" {
		t.Errorf("got %d jobs", len(w.Jobs))
	}
	if got := w.Describe().Skipped; len(got) != 3 {
		t.Errorf("the summary tells of %d reasons, want 3", len(got))
	}
}

func TestReadSWIMOptions(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*workload.SWIMOptions){
		"users: want 1 or more":                  func(o *workload.SWIMOptions) { o.Users = 0 },
		"block size: want 1 MiB or more":         func(o *workload.SWIMOptions) { o.Sizing.Block = 1 },
		"bytes per reduce: want 1 MiB or more":   func(o *workload.SWIMOptions) { o.Sizing.PerReduce = 0 },
		"number of nodes and of racks":           func(o *workload.SWIMOptions) { o.Sizing.SWIMNodes = -1 },
		"t.tsv:1:1: job id: is empty":            nil,
		"t.tsv:1:7: map input (bytes): want 1 t": func(o *workload.SWIMOptions) { o.Sizing.Block = model.MiB },
	} {
		text := "b\t1\t1\t9007199254740992\t6\t7\n"
		if change == nil {
			text, change = "\t1\t1\t5\t6\t7\n", func(*workload.SWIMOptions) {}
		}
		if _, err := swim(t, text, change); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := swim(t, "\n"); err == nil || err.Error() != "t.tsv has no job" {
		t.Errorf("an empty file: %v", err)
	}
}

// Users are drawn with a seed: the same seed gives the same users, and nearly
// all of 200 get a job of 2,000.
func TestReadSWIMUsers(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 2000 {
		text.WriteString(strings.ReplaceAll(goodRow, "a", "job"+string(rune('A'+i%26))+strings.Repeat("x", i/26)))
	}
	read := func(seed uint64) *workload.Workload {
		w, err := swim(t, text.String(), func(o *workload.SWIMOptions) { o.Seed = seed })
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	one := read(1)
	if diff := cmp.Diff(one, read(1)); diff != "" {
		t.Errorf("the same seed gives another workload:\n%s", diff)
	}
	if cmp.Equal(one, read(2)) {
		t.Error("another seed gives the same users")
	}
	if got := one.Describe().Users; got < 195 || got > 200 {
		t.Errorf("%d users have a job, want nearly all of 200", got)
	}
}
