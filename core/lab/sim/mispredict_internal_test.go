package sim

import (
	"testing"

	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

// spied shows every offer to a function.
type spied struct {
	policy.Policy
	see func(*policy.Input)
}

func (s spied) Place(in *policy.Input) []model.Placement {
	s.see(in)
	return s.Policy.Place(in)
}

// told is what a policy was told of a job's shuffle: while its maps ran, and where its output lay then, and at last.
type told struct {
	during, placed, last model.Bytes
	predicted            bool
}

// predictions returns what a policy was told of the job's shuffle while its maps ran, and at last.
func predictions(t *testing.T, m Misprediction, graph bool) (is told) {
	t.Helper()
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	j := workload.Job{ID: "a", User: "ann", Queue: workload.DefaultQueue, Stages: []workload.Stage{
		{Name: "map", Tasks: 40, Reads: []workload.File{{Bytes: 40 * 128 * model.MiB}}, Output: 400e6, Cost: workload.Cost{Fixed: 10 * model.Second}, Container: one},
		{Name: "reduce", Tasks: 8, Edges: []workload.Edge{{Kind: model.ScatterGather}}, Cost: workload.Cost{Fixed: model.Second}, Container: one},
	}}
	if graph {
		j.Stages = append(j.Stages, workload.Stage{Name: "last", Tasks: 1, Edges: []workload.Edge{{From: 1, Kind: model.ScatterGather}}, Container: one})
	}
	p := DefaultParams()
	p.Misprediction, p.Slowstart = m, 1
	inner, err := builtin.Registry().New("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(p, Uniform(2, 2, 2, 1e8, 1e8), &workload.Workload{Jobs: []workload.Job{j}}, "fifo", spied{inner, func(in *policy.Input) {
		for _, j := range in.View.Jobs() {
			now := j.Predict()
			switch done := j.Map.Completed; {
			case done == j.Map.Total && done > 0:
				is.last = now.Shuffle
			case done >= 30:
				is.during, is.predicted = now.Shuffle, now.Predicted
				if j.Graph != nil {
					is.placed = 0
					for _, b := range j.Graph.Stages[0].Placed {
						is.placed += b
					}
				}
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(nil); err != nil {
		t.Fatal(err)
	}
	return is
}

// Until a job's maps are done policies are told a multiple of its map output, or nothing; then the truth.
func TestMisprediction(t *testing.T) {
	t.Parallel()
	within := func(b, of model.Bytes) bool { return b > of*99/100 && b < of*101/100 }
	wrong := Misprediction{Factor: 2}
	factor := wrong.draw(1, 0)
	for _, graph := range []bool{false, true} {
		right := predictions(t, Misprediction{}, graph)
		if !within(right.during, 400e6) || graph && right.placed == 0 {
			t.Errorf("%+v is told where nothing is wrong", right)
		}
		is := predictions(t, wrong, graph)
		if want := model.Bytes(factor * 400e6); !within(is.during, want) || !within(is.last, 400e6) || !is.predicted || factor > 0.95 && factor < 1.05 {
			t.Errorf("%d bytes are told, then %d, want %d, and 400 MB", is.during, is.last, want)
		}
		if want := model.Bytes(factor * float64(right.placed)); graph && !within(is.placed, want) {
			t.Errorf("%d bytes are told to lie anywhere, want %d", is.placed, want)
		}
		is = predictions(t, Misprediction{Silent: true}, graph)
		if is.during != 40*128*model.MiB || is.predicted || !within(is.last, 400e6) || is.placed != 0 { // a ratio of 1 where nothing is known
			t.Errorf("%+v is told where nothing is to be", is)
		}
	}
}

// Factors lie within the bounds, on both sides of 1 alike, and a seed draws the same for a job under every policy.
func TestMispredictionDraws(t *testing.T) {
	t.Parallel()
	m := Misprediction{Factor: 2}
	above := 0
	for job := range 2000 {
		f := m.draw(7, job)
		if f < 0.5 || f > 2 || f != m.draw(7, job) {
			t.Fatalf("job %d: %g", job, f)
		}
		above += toInt(f > 1)
	}
	if above < 900 || above > 1100 {
		t.Errorf("%d of 2000 factors are above 1", above)
	}
	if m.draw(7, 1) == m.draw(8, 1) {
		t.Error("the same factor for two seeds")
	}
	for _, bad := range []Misprediction{{Factor: 0.5}, {Factor: 1e9}, {Factor: -1}, {Factor: 2, Silent: true}} {
		p := DefaultParams()
		if p.Misprediction = bad; p.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}
