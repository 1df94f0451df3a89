package workload_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

func stage(tasks int, files ...model.Bytes) *workload.Stage {
	s := &workload.Stage{Tasks: tasks}
	for _, f := range files {
		s.Reads = append(s.Reads, workload.File{Bytes: f})
	}
	return s
}

func TestSplit(t *testing.T) {
	t.Parallel()
	const mib = model.MiB
	for name, tc := range map[string]struct {
		stage *workload.Stage
		want  []workload.Split
	}{
		"a task for every block":       {stage(3, 300*mib), []workload.Split{{0, 0, 128 * mib}, {0, 128 * mib, 128 * mib}, {0, 256 * mib, 44 * mib}}},
		"blocks of two files":          {stage(3, 128*mib, 130*mib), []workload.Split{{0, 0, 128 * mib}, {1, 0, 128 * mib}, {1, 128 * mib, 2 * mib}}},
		"no input":                     {stage(1), []workload.Split{{-1, 0, 0}}},
		"fewer tasks than blocks":      {stage(2, 300*mib), []workload.Split{{0, 0, 150 * mib}, {0, 150 * mib, 150 * mib}}},
		"more tasks than blocks":       {stage(3, 10), []workload.Split{{0, 0, 3}, {0, 3, 3}, {0, 6, 4}}},
		"spare tasks by size of files": {stage(5, 30, 10), []workload.Split{{0, 0, 10}, {0, 10, 10}, {0, 20, 10}, {1, 0, 5}, {1, 5, 5}}},
		"an empty file":                {stage(1, 0), []workload.Split{{-1, 0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []workload.Split
			for i := range tc.stage.Tasks {
				got = append(got, tc.stage.Split(i, workload.DefaultBlock))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// The splits of a stage cover its files once, in order, whatever their number.
func TestSplitsCoverFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 1<<41), 1, 5).Draw(t, "files")
		block := model.Bytes(rapid.Int64Range(1<<30, 1<<34).Draw(t, "block"))
		s := stage(0)
		blocks := 0
		for _, b := range sizes {
			s.Reads = append(s.Reads, workload.File{Bytes: model.Bytes(b)})
			blocks += workload.Blocks(model.Bytes(b), block)
		}
		s.Tasks = max(blocks, len(sizes))
		if rapid.Bool().Draw(t, "not a task for every block") {
			s.Tasks = rapid.IntRange(len(sizes), 300).Draw(t, "tasks")
		}
		next := make([]model.Bytes, len(sizes))
		last := 0
		for i := range s.Tasks {
			p := s.Split(i, block)
			if p.File < 0 && s.Input() == 0 {
				continue
			}
			if p.File < last || p.Offset != next[p.File] || p.Bytes < 0 {
				t.Fatalf("task %d reads %+v after file %d and %v", i, p, last, next)
			}
			last = p.File
			next[p.File] += p.Bytes
		}
		for f, b := range sizes {
			if next[f] != model.Bytes(b) {
				t.Fatalf("file %d: %d of %d bytes are read", f, next[f], b)
			}
		}
	})
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tasks int
		skew  float64
		total model.Bytes
		want  []model.Bytes
	}{
		{4, 0, 400, []model.Bytes{100, 100, 100, 100}},
		{3, 0, 100, []model.Bytes{34, 33, 33}},
		{3, 1, 1100, []model.Bytes{600, 300, 200}}, // 1 : 1/2 : 1/3
		{2, 2, 500, []model.Bytes{400, 100}},       // 1 : 1/4
		{2, 0, 1, []model.Bytes{1, 0}},
		{1, 3, 7, []model.Bytes{7}},
	} {
		s := workload.Stage{Tasks: tc.tasks, Skew: tc.skew}
		if got := s.Partitions(nil, tc.total); !slices.Equal(got, tc.want) {
			t.Errorf("%d tasks, skew %g, %d bytes: got %v, want %v", tc.tasks, tc.skew, tc.total, got, tc.want)
		}
	}
}

// Partitions sum to the total and never rise by more than rounding.
func TestPartitionsSum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := workload.Stage{Tasks: rapid.IntRange(1, 500).Draw(t, "tasks"), Skew: rapid.Float64Range(0, workload.MaxSkew).Draw(t, "skew")}
		total := model.Bytes(rapid.Int64Range(0, int64(workload.MaxBytes)).Draw(t, "total"))
		slack := model.Bytes(2) + total>>45 // of a sum of floating-point numbers
		var sum model.Bytes
		parts := s.Partitions(nil, total)
		for i, p := range parts {
			if p < 0 || i > 0 && p > parts[i-1]+slack {
				t.Fatalf("partition %d has %d bytes, the one before %v", i, p, parts[max(0, i-1)])
			}
			sum += p
		}
		if sum != total || len(parts) != s.Tasks {
			t.Fatalf("%d partitions with %d bytes, want %d with %d", len(parts), sum, s.Tasks, total)
		}
	})
}

func TestCost(t *testing.T) {
	t.Parallel()
	c := workload.Cost{Fixed: 4000, PerGiB: 128_000}
	for bytes, want := range map[model.Bytes]model.Duration{
		0:                   4000,
		128 * model.MiB:     20_000,
		model.GiB:           132_000,
		workload.MaxBytes:   4000 + 128_000*(1<<23),
		model.MiB*3/2 + 100: 4187, // 187.512 ms
	} {
		if got := c.Of(bytes); got != want {
			t.Errorf("%d bytes: got %d ms, want %d", bytes, got, want)
		}
	}
	most := workload.Cost{PerGiB: workload.MaxCost}
	if got := most.Of(workload.MaxBytes); got != workload.MaxCost*(1<<23) {
		t.Errorf("the largest cost of the most bytes: got %d", got)
	}
	if got := most.Of(model.GiB - 1); got != workload.MaxCost-81 { // 86,400,000,000 over 2^30 is 80.5
		t.Errorf("a byte less than a GiB: got %d, want %d", got, workload.MaxCost-81)
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[model.Bytes]workload.Class{
		0: workload.Light, model.MiB - 1: workload.Light, model.MiB: workload.Medium, 100 * model.MiB: workload.Medium, 100*model.MiB + 1: workload.Heavy,
	} {
		if got := workload.ClassOf(bytes); got != want {
			t.Errorf("%d bytes: got %d, want %d", bytes, got, want)
		}
	}
}

// Sums stop at the largest number instead of turning negative.
func TestSumsSaturate(t *testing.T) {
	t.Parallel()
	s := workload.Stage{Tasks: 2000}
	for range 2000 {
		s.Reads = append(s.Reads, workload.File{Bytes: workload.MaxBytes})
	}
	if got := s.Input(); got != math.MaxInt64 {
		t.Errorf("got %d", got)
	}
}
