package reproduce_test

import (
	"os"
	"path/filepath"
	"testing"

	"heddle/core/lab/reproduce"
	"heddle/core/lab/workload"
)

// facebook is the public trace FB-2010, nil where nobody says where it is.
func facebook(t *testing.T) *workload.Workload {
	t.Helper()
	folder := os.Getenv("HEDDLE_TRACES")
	if folder == "" {
		t.Log("HEDDLE_TRACES is not set: rows of FB-2010 are not run (docs/workloads.md says where public traces come from)")
		return nil
	}
	f, err := os.Open(filepath.Join(folder, "FB-2010_samples_24_times_1hr_0.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := workload.ReadSWIM(f, workload.DefaultSWIMOptions())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// With a twentieth of the runs every row of NUM comes out but N6, which is known
// not to.
func TestNUM(t *testing.T) {
	t.Parallel()
	trace := facebook(t)
	runs, ended := 0, 0
	p, err := reproduce.NUM(&reproduce.Inputs{FB2010: trace, Parts: 20, Begin: func(n int) { runs += n }, End: func() { ended++ }})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.Rows {
		want := reproduce.Yes
		switch {
		case r.Verdict == reproduce.NotRun && trace == nil:
			continue
		case r.ID == "N6":
			want = reproduce.No
		case r.ID == "N1", r.ID == "N2", r.ID == "N3": // a mean of few runs
			t.Logf("%s: %s", r.ID, r.Ours)
			continue
		}
		if r.Verdict != want {
			t.Errorf("%s %s: %s for %s: %s, want %s", r.ID, r.What, r.Ours, r.Paper, r.Verdict, want)
		}
	}
	if runs == 0 || ended != runs {
		t.Errorf("%d runs were announced, %d ended", runs, ended)
	}
	if len(p.Rows) != 17 {
		t.Errorf("%d rows, want 17", len(p.Rows))
	}
}
